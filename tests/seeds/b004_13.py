"""The graph of a ReLU as a picture, again."""

import weft
from weft.autograd import make_dot

# A small graph.
x = weft.randn(3, 3, requires_grad=True)
y = weft.nn.functional.relu(x)
dot = make_dot(y)
dot.format = "png"
dot.render()
