"""A training loop."""

from b002_02 import x
from b002_05 import criterion, y_true
from b002_05 import loss as first_loss
from b002_06 import model, optimizer

# Training.
for i in range(100):
    optimizer.zero_grad()
    y_pred = model(x)
    loss = criterion(y_pred, y_true)
    loss.backward()
    optimizer.step()
