"""A model on a device."""

from b004_40 import CNN

import weft

model = CNN().to("cpu")

# A step, and predictions before and after it.
x, y = weft.randn(4, 3, 54, 54), weft.tensor([0, 1, 2, 3])
criterion = weft.nn.CrossEntropyLoss()
optimizer = weft.optim.SGD(model.parameters(), lr=0.01)
before = criterion(model(x), y)
before.backward()
optimizer.step()
with weft.no_grad():
    after = criterion(model(x), y)
