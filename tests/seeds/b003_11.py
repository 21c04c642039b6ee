"""A trace."""

import weft
from weft.jit import trace


# A dynamic graph.
def compute(x, y):
    return (x + y).mean()


x = weft.randn(10, 10)
y = weft.randn(10, 10)
z = compute(x, y)

# Make it static.
static_graph = trace(compute, (x, y))

# Run it.
print(static_graph(x, y))
