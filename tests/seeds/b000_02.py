"""A module compiled by `jit.script`."""

import weft
import weft.nn as nn


# A dynamic graph.
class DynamicModel(nn.Module):
    def __init__(self):
        super(DynamicModel, self).__init__()
        self.fc1 = nn.Linear(10, 5)
        self.fc2 = nn.Linear(5, 3)
        self.fc3 = nn.Linear(3, 1)

    def forward(self, x):
        x = self.fc1(x)
        x = self.fc2(x)
        x = self.fc3(x)
        return x


model = DynamicModel()

# Compiled.
scripted_model = weft.jit.script(model)

# Run it.
x = weft.randn(1, 10)
outputs = scripted_model(x)
