"""Layers made in a loop."""

import weft
import weft.nn as nn
import weft.optim as optim


# A network with several hidden layers.
class MultiLayerNN(nn.Module):
    def __init__(self, input_size, hidden_sizes, output_size):
        super(MultiLayerNN, self).__init__()
        layers = []
        for hidden_size in hidden_sizes:
            layers.append(nn.Linear(input_size, hidden_size))
            layers.append(nn.ReLU())
            input_size = hidden_size
        layers.append(nn.Linear(hidden_sizes[-1], output_size))
        self.model = nn.Sequential(*layers)

    def forward(self, x):
        return self.model(x)


# Model, loss and optimiser.
model = MultiLayerNN(input_size=10, hidden_sizes=[50, 100], output_size=2)
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
print(list(model.parameters()))
