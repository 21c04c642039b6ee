"""One step of gradient descent."""

from b001_16 import layer, weights

import weft
import weft.nn as nn
import weft.optim as optim

before = weights.clone()
x = weft.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = weft.tensor([[0.5], [0.7]], requires_grad=True)

loss_function = nn.MSELoss()
optimizer = optim.SGD(layer.parameters(), lr=0.01)

output = layer(x)
loss = loss_function(output, y.expand_as(output))

optimizer.zero_grad()
loss.backward()
optimizer.step()
