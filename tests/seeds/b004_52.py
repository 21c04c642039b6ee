"""A trace in half precision."""

import weft

model = weft.nn.Linear(10, 3)
input_tensor = weft.randn(1, 10)
expected = model(input_tensor)
model = weft.jit.trace(model, input_tensor).to(weft.float16)
output = model(input_tensor.half())
