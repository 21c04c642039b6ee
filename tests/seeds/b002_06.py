"""A step."""

from b002_05 import model

import weft

before = [p.detach().clone() for p in model.parameters()]

# The optimiser.
optimizer = weft.optim.SGD(model.parameters(), lr=0.01)

# Update the parameters.
optimizer.step()
