"""Gradients as tensors of a graph."""

import weft
from weft.autograd import grad

x = weft.tensor([1.0, 2.0], requires_grad=True)
y = weft.tensor([3.0, 4.0], requires_grad=True)

output = x * y

# Gradients for x and y.
grad_x, grad_y = grad(output, [x, y], grad_outputs=weft.ones_like(output), create_graph=True)

print(grad_x)
print(grad_y)
