"""Input data."""

import weft

# The input.
x = weft.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
