"""`DataParallel`, again."""

from b004_33 import CNN

import weft

model = CNN()
model = weft.nn.DataParallel(model)
