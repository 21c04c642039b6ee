"""An intermediate result printed."""

import weft

# A result, looked at while the program runs.
x = weft.randn(3, 3)
y = weft.nn.functional.relu(x)
print(y)
