"""Operators fused."""

import weft
import weft.nn as nn


# The module.
class FusedModule(nn.Module):
    def __init__(self):
        super(FusedModule, self).__init__()
        self.fc1 = nn.Linear(10, 10)
        self.fc2 = nn.Linear(10, 3)

    def forward(self, x):
        return self.fc2(self.fc1(x))


# Fused.
module = FusedModule()
fused_model = weft.jit.fuse(module)
