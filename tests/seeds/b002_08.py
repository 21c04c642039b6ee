"""A linear model of two outputs."""

import weft

# The model.
x = weft.randn(2, 2)
w = weft.randn(2, 2)
b = weft.randn(2)
model = weft.nn.Linear(2, 2)
model.weight, model.bias = weft.nn.Parameter(w), weft.nn.Parameter(b)

# Forward.
y_pred = model(x)
