"""A graph of two layers."""

import weft
import weft.nn as nn


# A small graph.
class SimpleGraph(nn.Module):
    def __init__(self):
        super(SimpleGraph, self).__init__()
        self.fc1 = nn.Linear(10, 10)
        self.fc2 = nn.Linear(10, 10)

    def forward(self, x):
        x = self.fc1(x)
        x = self.fc2(x)
        return x


# Run it.
model = SimpleGraph()
x = weft.randn(10, 10)
y = model(x)
