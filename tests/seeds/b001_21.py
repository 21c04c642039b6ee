"""A model of one linear layer, printed."""

import weft
import weft.nn as nn
import weft.optim as optim


# The model.
class LinearModel(nn.Module):
    def __init__(self):
        super(LinearModel, self).__init__()
        self.linear = nn.Linear(1, 1)

    def forward(self, x):
        return self.linear(x)


model = LinearModel()
print(model)
