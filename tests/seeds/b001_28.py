"""Three ways to make a tensor."""

import weft

# From numbers, 2x3.
x = weft.tensor([[1, 2, 3], [4, 5, 6]], dtype=weft.float32)

# Random.
y = weft.randn(2, 3)

# Ones.
z = weft.ones(2, 3)

print(x)
print(y)
print(z)
