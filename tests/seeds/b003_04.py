"""Gradients of a product."""

import weft

# A node.
x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = weft.tensor([4.0, 5.0, 6.0], requires_grad=True)

z = x * y

# Walk back from it.
z.backward(weft.ones_like(z))

# Gradients.
print(x.grad)  # 4, 5, 6
print(y.grad)  # 1, 2, 3
