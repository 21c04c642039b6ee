"""A network in a row."""

import weft.nn as nn

# The model.
model = nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 1))

print(model)
