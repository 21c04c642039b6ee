"""A dynamic graph made static and optimised."""

import weft
from weft.jit import optimize

# A dynamic graph.
x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = weft.tensor([4.0, 5.0, 6.0], requires_grad=True)

z = x * y
w = z + y

# Make it static.
static_graph = optimize(w)

# Optimise it.
optimized_graph = static_graph.optimize()

# Look at it.
print(optimized_graph)
