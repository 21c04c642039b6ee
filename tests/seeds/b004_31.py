"""`DataParallel`."""

from b004_22 import CNN

import weft

model = CNN()
model.to("cpu")
model = weft.nn.DataParallel(model)
