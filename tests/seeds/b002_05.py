"""`autograd.backward`."""

from b002_02 import x
from b002_04 import model, y_pred

import weft

y_true = weft.tensor([[1.0], [2.0]])

# The loss.
criterion = weft.nn.MSELoss()
loss = criterion(y_pred, y_true)

# Gradients.
weft.autograd.backward(loss)
