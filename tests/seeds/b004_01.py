"""A classifier trained and evaluated."""

import weft
import weft.nn as nn
import weft.optim as optim


# A small network.
class SimpleNN(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim):
        super(SimpleNN, self).__init__()
        self.fc1 = nn.Linear(input_dim, hidden_dim)
        self.relu = nn.ReLU()
        self.fc2 = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        out = self.fc1(x)
        out = self.relu(out)
        out = self.fc2(out)
        return out


# Network, loss and optimiser.
model = SimpleNN(input_dim=10, hidden_dim=50, output_dim=3)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=0.001)

# Data: noise with labels.
x = weft.randn(32, 10)
y = weft.randint(0, 3, (32,))

# Training.
for epoch in range(100):
    optimizer.zero_grad()
    outputs = model(x)
    loss = criterion(outputs, y)
    loss.backward()
    optimizer.step()
    if (epoch + 1) % 10 == 0:
        print(f"Epoch [{epoch + 1}/100], Loss: {loss.item()}")

# Evaluation.
with weft.no_grad():
    outputs = model(x)
    _, predicted = weft.max(outputs, 1)
    correct = (predicted == y).sum().item()
    print(f"Accuracy: {correct / len(y) * 100}%")
