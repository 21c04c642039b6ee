"""A recurrent network on sequences."""

import weft
import weft.nn as nn
import weft.optim as optim


# A small recurrent network.
class SimpleRNN(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers):
        super(SimpleRNN, self).__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.rnn = nn.RNN(input_size, hidden_size, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_size, 1)

    def forward(self, x):
        h0 = weft.zeros(self.num_layers, x.size(0), self.hidden_size)
        out, _ = self.rnn(x, h0)
        return self.fc(out[:, -1, :])


# Model, loss and optimiser.
model = SimpleRNN(input_size=10, hidden_size=20, num_layers=2)
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.001)

# The data.
x = weft.randn(32, 5, 10)
y = weft.randn(32, 1)

# Training.
for epoch in range(100):
    optimizer.zero_grad()
    z = model(x)
    loss = criterion(z, y)
    loss.backward()
    optimizer.step()
    print(f"Epoch {epoch}: Loss = {loss.item()}")

# The parameters.
print(list(model.parameters()))
