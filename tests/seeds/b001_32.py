"""An optimiser's step."""

from b001_28 import x, z

import weft.nn as nn
import weft.optim as optim

model = nn.Linear(3, 3)
before = [p.detach().clone() for p in model.parameters()]
nn.MSELoss()(model(x), z).backward()

# The optimiser.
optimizer = optim.SGD(params=model.parameters(), lr=0.01)

# One step.
optimizer.step()
