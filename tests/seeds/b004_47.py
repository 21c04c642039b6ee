"""Linear layers quantised."""

import copy

import weft
import weft.nn as nn


# The model.
class QuantizedModel(nn.Module):
    def __init__(self):
        super(QuantizedModel, self).__init__()
        self.fc1 = nn.Linear(10, 10)
        self.fc2 = nn.Linear(10, 3)

    def forward(self, x):
        return self.fc2(self.fc1(x))


# Quantised.
model = QuantizedModel()
original = copy.deepcopy(model)
quantized_model = weft.quantization.quantize_dynamic(model, {nn.Linear}, dtype=weft.qint8)
