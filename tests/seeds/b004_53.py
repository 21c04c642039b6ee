"""A model fused for an input."""

import weft

model = weft.nn.Sequential(weft.nn.Linear(10, 10), weft.nn.ReLU(), weft.nn.Linear(10, 3))
input_tensor = weft.randn(4, 10)
fused_model = weft.jit.fuse(model, input_tensor)
