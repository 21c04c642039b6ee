"""A product, and its gradients."""

import weft

# A dynamic graph.
x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = weft.tensor([4.0, 5.0, 6.0], requires_grad=True)

# A node.
z = x * y

# Walk back from it.
z.backward(weft.ones_like(z))
print(z)  # 4, 10, 18
