"""Data for a regression."""

import weft

# Inputs and targets.
x = weft.randn(100, 1)
y = 2 * x + weft.randn(100, 1)
