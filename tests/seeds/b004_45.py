"""`jit.script` and `jit.trace` of one model."""

import weft
import weft.nn as nn


# The model.
class SimpleModel(nn.Module):
    def __init__(self):
        super(SimpleModel, self).__init__()
        self.fc1 = nn.Linear(10, 10)
        self.fc2 = nn.Linear(10, 3)

    def forward(self, x):
        x = self.fc1(x)
        x = self.fc2(x)
        return x


# From its source.
model = SimpleModel()
scripted_model = weft.jit.script(model)

# From one call.
input_tensor = weft.randn(1, 10)
traced_model = weft.jit.trace(model, input_tensor)
