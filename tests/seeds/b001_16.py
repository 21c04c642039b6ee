"""A layer with weights of one's own."""

import weft
import weft.nn as nn

x = weft.tensor([[1.0, 2.0], [3.0, 4.0]])
weights = weft.tensor([[0.1, 0.2], [0.3, 0.4]])
bias = weft.tensor([0.5, 0.6])

layer = nn.Linear(2, 2)
layer.weight = nn.Parameter(weights)
layer.bias = nn.Parameter(bias)

output = layer(x)
print(output)
