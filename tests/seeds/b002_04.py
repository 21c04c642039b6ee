"""A linear model."""

from b002_02 import x

import weft

# The model.
w = weft.tensor([[0.1], [0.2], [0.3]])
b = weft.tensor([0.3])
model = weft.nn.Linear(3, 1)
model.weight = weft.nn.Parameter(w.t().clone())
model.bias = weft.nn.Parameter(b.clone())

# Forward.
y_pred = model(x)
