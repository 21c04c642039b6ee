"""A model for several devices."""

import weft
import weft.nn as nn


class Model(nn.Module):
    def __init__(self):
        super(Model, self).__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)


device, device_ids = "cpu", None
model = Model().to(device)
model = nn.DataParallel(model, device_ids=device_ids)
