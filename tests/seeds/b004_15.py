"""An intermediate result printed, again."""

import weft

x = weft.randn(3, 3)
y = weft.nn.functional.relu(x)
print(y)
