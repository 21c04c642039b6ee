"""A recurrent network whose state goes from batch to batch."""

from made_up import loader

import weft
import weft.nn as nn
import weft.optim as optim

dataset = loader(96, 7, 10, classes=3, batch_size=32)


# A small recurrent network.
class RNNModel(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim):
        super(RNNModel, self).__init__()
        self.rnn = nn.RNN(input_dim, hidden_dim, num_layers=1, batch_first=True)
        self.fc = nn.Linear(hidden_dim, output_dim)

    def forward(self, x, h):
        out, h = self.rnn(x, h)
        out = self.fc(out[:, -1, :])
        return out, h


# Model and optimiser.
model = RNNModel(input_dim=10, hidden_dim=50, output_dim=3)
optimizer = optim.Adam(model.parameters(), lr=0.001)

# The first state: one layer, 32 sequences, 50 numbers.
h = weft.zeros(1, 32, 50)

# Training.
for epoch in range(20):
    for x, y in dataset:
        optimizer.zero_grad()
        outputs, h = model(x, h)
        loss = nn.CrossEntropyLoss()(outputs, y)
        loss.backward()
        optimizer.step()
        h = h.detach()  # keep the state, and cut it from the graph

    print(f"Epoch [{epoch + 1}/20], Loss: {loss.item()}")

# Evaluation.
with weft.no_grad():
    outputs, _ = model(x, h)
    _, predicted = weft.max(outputs, 1)
    correct = (predicted == y).sum().item()
    print(f"Accuracy: {correct / len(y) * 100}%")
