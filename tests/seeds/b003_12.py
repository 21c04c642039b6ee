"""A multi-layer perceptron."""

import weft
import weft.nn as nn
import weft.optim as optim


# A multi-layer perceptron.
class MLP(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(MLP, self).__init__()
        self.fc1 = nn.Linear(input_size, hidden_size)
        self.fc2 = nn.Linear(hidden_size, output_size)

    def forward(self, x):
        x = weft.relu(self.fc1(x))
        x = self.fc2(x)
        return x


# Model, loss and optimiser.
model = MLP(input_size=10, hidden_size=50, output_size=2)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=0.001)

# The data.
x = weft.randn(1, 10)
y = weft.tensor([0])

# Training.
for epoch in range(100):
    optimizer.zero_grad()
    z = model(x)
    loss = criterion(z, y)
    loss.backward()
    optimizer.step()
    print(f"Epoch {epoch}: Loss = {loss.item()}")

# The parameters.
print(model.fc1.weight)
print(model.fc2.weight)
