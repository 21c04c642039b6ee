"""A linear layer."""

import weft
import weft.nn as nn

# Input.
input_tensor = weft.randn(10, 5)

# A linear layer.
linear_layer = nn.Linear(in_features=5, out_features=3)

# Forward.
output_tensor = linear_layer(input_tensor)
