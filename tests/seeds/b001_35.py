"""Training it."""

from b001_33 import x, y
from b001_34 import model

import weft.nn as nn
import weft.optim as optim

# The optimiser.
optimizer = optim.SGD(model.parameters(), lr=0.01)

# Training.
for epoch in range(100):
    model.zero_grad()
    output = model(x)
    loss = nn.MSELoss()(output, y)
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(f"Epoch {epoch + 1}, Loss: {loss.item()}")
