"""A recurrent network."""

import weft
import weft.nn as nn
import weft.optim as optim


# The model.
class RNN(nn.Module):
    def __init__(self):
        super(RNN, self).__init__()
        self.rnn = nn.RNN(2, 2)
        self.fc = nn.Linear(2, 2)

    def forward(self, x, hidden):
        out, hidden = self.rnn(x, hidden)
        y_pred = self.fc(out)
        return y_pred, hidden


model = RNN()

# Optimiser and loss.
optimizer = optim.SGD(model.parameters(), lr=0.01)
criterion = nn.MSELoss()


# One step.
def train(model, x, y, hidden):
    optimizer.zero_grad()
    y_pred, hidden = model(x, hidden)
    loss = criterion(y_pred, y)
    loss.backward()
    optimizer.step()
    return loss


# The data.
x = weft.randn(10, 2)
y = weft.randn(10, 2)
hidden = weft.randn(1, 2)

# Training.
losses = []
for i in range(100):
    loss = train(model, x, y, hidden)
    losses.append(loss.item())
