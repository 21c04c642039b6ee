"""Dynamic quantisation."""

import copy

from b004_22 import CNN

import weft
import weft.nn as nn

model = CNN()
original = copy.deepcopy(model)
model = weft.quantization.quantize_dynamic(model, {nn.Linear, nn.Conv2d}, dtype=weft.qint8)
