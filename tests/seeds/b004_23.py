"""Training it."""

from b004_22 import CNN
from made_up import loader

import weft
import weft.nn as nn

train_loader = loader(40, 3, 54, 54)
model = CNN()
optimizer = weft.optim.Adam(model.parameters(), lr=0.001)
criterion = nn.CrossEntropyLoss()

for epoch in range(4):
    for i, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        outputs = model(x)
        loss = criterion(outputs, y)
        loss.backward()
        optimizer.step()
        print(f"Epoch [{epoch + 1}/{4}], Step [{i + 1}/{len(train_loader)}], Loss: {loss.item()}")
