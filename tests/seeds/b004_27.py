"""A model made from its checkpoint, and evaluated."""

from b004_22 import CNN
from b004_23 import model as trained
from made_up import loader

import weft
import weft.nn as nn

test_loader = loader(20, 3, 54, 54)
checkpoint_path = "cnn.weft"
trained.save_checkpoint(checkpoint_path)

model = CNN.load_from_checkpoint(checkpoint_path)
criterion = nn.CrossEntropyLoss()
with weft.no_grad():
    correct = 0
    total = 0
    for x, y in test_loader:
        outputs = model(x)
        _, predicted = weft.max(outputs, 1)
        total += y.size(0)
        correct += (predicted == y).sum().item()
print(f"Accuracy: {100 * correct / total}%")
