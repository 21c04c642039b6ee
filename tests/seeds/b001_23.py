"""A prediction."""

from b001_22 import model

import weft

# A new input.
x_new = weft.tensor([[5.0]])
output_new = model(x_new)
print(f"Predicted Output: {output_new.item()}")
