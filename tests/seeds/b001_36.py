"""A prediction of the trained network."""

from b001_35 import model

import weft

# A new input.
new_x = weft.tensor([[2.0]], dtype=weft.float32)
new_output = model(new_x)
print(f"Predicted Output: {new_output.item()}")
