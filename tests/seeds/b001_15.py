"""A graph optimised."""

import weft
import weft.nn as nn
import weft.optim as optim

# Tensors.
x = weft.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = weft.tensor([[1.0], [2.0]], requires_grad=True)

# Operators.
linear = nn.Linear(2, 1)
sigmoid = nn.Sigmoid()


# The graph, and a loss.
def compute(x, y):
    z = linear(x)
    output = sigmoid(z)
    return (output - y).pow(2).sum()


loss = compute(x, y)

# Gradients.
loss.backward()

# The graph, optimised.
optimized = weft.jit.optimize(compute, (x, y))
print(optimized)
