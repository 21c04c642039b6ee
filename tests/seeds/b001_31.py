"""Gradients through that function."""

from b001_28 import x, y
from b001_30 import add_and_sub

x.requires_grad_()
y.requires_grad_()
output = add_and_sub(x, y).sum()

# Gradients.
output.backward()

print(x.grad)
print(y.grad)
