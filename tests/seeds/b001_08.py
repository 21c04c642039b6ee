"""Gradients printed."""

import weft
import weft.nn as nn

# Input.
input_tensor = weft.randn(10, 5)
target = weft.randn(10, 3)

# A linear layer.
linear_layer = nn.Linear(in_features=5, out_features=3)

# Forward.
output_tensor = linear_layer(input_tensor)

# A loss.
loss_function = nn.MSELoss()
loss = loss_function(output_tensor, target)

# Gradients.
loss.backward()
print(linear_layer.weight.grad)
