"""A loss and its gradients."""

import weft
import weft.nn as nn

# Input.
input_tensor = weft.randn(10, 5)
target = weft.randn(10, 3)

# A linear layer.
linear_layer = nn.Linear(in_features=5, out_features=3)

# A loss.
loss_function = nn.MSELoss()

# Forward.
output_tensor = linear_layer(input_tensor)
loss = loss_function(output_tensor, target)

# Gradients.
loss.backward()
