"""Names tagged by an LSTM."""

import weft
import weft.nn as nn
import weft.optim as optim


# An LSTM that tags words.
class NERModel(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim):
        super(NERModel, self).__init__()
        self.embedding = nn.Embedding(input_dim, hidden_dim)
        self.lstm = nn.LSTM(hidden_dim, hidden_dim, num_layers=1, batch_first=True)
        self.fc = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        embedded = self.embedding(x)
        outputs, (hidden, cell) = self.lstm(embedded)
        out = self.fc(outputs)
        return out


# Model, loss and optimiser.
model = NERModel(input_dim=100, hidden_dim=32, output_dim=10)
loss_function = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=0.02)

# Words, and their tags.
x = weft.randint(1, 100, (32, 12))
y = x % 10

# Training.
for epoch in range(40):
    optimizer.zero_grad()
    outputs = model(x)
    loss = loss_function(outputs.flatten(0, 1), y.flatten())
    loss.backward()
    optimizer.step()
    print(f"Epoch [{epoch + 1}/40], Loss: {loss.item()}")

# Evaluation.
with weft.no_grad():
    outputs = model(x)
    _, predicted = weft.max(outputs, 2)
    correct = (predicted == y).sum().item()
    print(f"Accuracy: {correct / y.numel() * 100}%")
