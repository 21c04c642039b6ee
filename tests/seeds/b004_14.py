"""The nodes of a graph."""

from b004_13 import y

from weft.autograd import make_dot

dot = make_dot(y)
for node in dot.graph.nodes:
    print(node)
