"""A graph made by a function."""

from b001_28 import x, y
from b001_29 import add, sub


# A function that builds a graph.
def add_and_sub(x, y):
    return add(x, y) - sub(x, y)


# Build it.
output = add_and_sub(x, y)

print(output)
