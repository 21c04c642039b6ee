"""A dynamic graph made static and optimised."""

import weft
from weft.jit import optimize


# A dynamic graph.
def compute(x, y):
    z = x * y
    w = z + y
    return w


x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = weft.tensor([4.0, 5.0, 6.0], requires_grad=True)

w = compute(x, y)

# Make it static.
static_graph = optimize(compute, (x, y))

# Optimise it.
optimized_graph = static_graph.optimize()

# Look at it.
print(optimized_graph)
