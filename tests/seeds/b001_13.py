"""A graph of a linear layer and a sigmoid."""

import weft
import weft.nn as nn
import weft.optim as optim

# Tensors.
x = weft.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = weft.tensor([[1.0], [2.0]], requires_grad=True)

# Operators.
linear = nn.Linear(2, 1)
sigmoid = nn.Sigmoid()

# The graph.
z = linear(x)
output = sigmoid(z)

# A tensor knows the op it came from.
print(output)
