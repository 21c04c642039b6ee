"""Linear regression."""

import b001_20
from b001_21 import model

import weft
import weft.nn as nn
import weft.optim as optim

x = weft.from_numpy(b001_20.x).float()
y = weft.from_numpy(b001_20.y).float()

# Loss and optimiser.
loss_function = nn.MSELoss()
optimizer = optim.SGD(model.parameters(), lr=0.01)

# Training.
n_epochs = 100
for epoch in range(n_epochs):
    optimizer.zero_grad()
    output = model(x)
    loss = loss_function(output, y)
    loss.backward()
    optimizer.step()

    if epoch % 10 == 0:
        print(f"Epoch {epoch + 1}/{n_epochs}, Loss: {loss.item()}")
