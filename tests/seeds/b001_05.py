"""Tensors freed when their names go."""

import weft
import weft.nn as nn

before = weft.memory_allocated()

# Input.
input_tensor = weft.randn(10, 5)

# A linear layer.
linear_layer = nn.Linear(in_features=5, out_features=3)

# Forward.
output_tensor = linear_layer(input_tensor)
between = weft.memory_allocated()

# Free the memory.
del input_tensor
del linear_layer
del output_tensor
after = weft.memory_allocated()
