"""Mixed precision by `amp.initialize`."""

from b004_33 import CNN

import weft
import weft.nn as nn
import weft.optim as optim
from weft import amp

model = CNN()

# Mixed precision.
optimizer = optim.Adam(model.parameters(), lr=0.001)
criterion = nn.CrossEntropyLoss()
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")

# One step.
x, y = weft.randn(4, 3, 54, 54), weft.tensor([0, 1, 2, 3])
outputs = model(x)
loss = criterion(outputs, y)
with amp.scale_loss(loss, optimizer) as scaled_loss:
    scaled_loss.backward()
optimizer.step()
