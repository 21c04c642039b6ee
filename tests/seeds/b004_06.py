"""Loss and gradients of that graph."""

from b004_05 import model, x

import weft
import weft.nn as nn

y = weft.randint(0, 10, (10,))

# Loss and gradients.
criterion = nn.CrossEntropyLoss()
y_hat = model(x)
loss = criterion(y_hat, y)
loss.backward()
