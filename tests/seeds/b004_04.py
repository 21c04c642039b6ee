"""A node: 2 + 3."""

import weft

# A sum.
a = weft.tensor(2)
b = weft.tensor(3)
c = a + b
