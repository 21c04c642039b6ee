"""The gradient of an input."""

from b001_16 import layer

import weft
import weft.nn as nn
import weft.optim as optim

x = weft.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = weft.tensor([[0.5], [0.7]], requires_grad=True)

loss_function = nn.MSELoss()

output = layer(x)
loss = loss_function(output, y.expand_as(output))

loss.backward()
print(x.grad)
