"""Images classified by a convolutional network."""

from made_up import loader

import weft
import weft.nn as nn
import weft.vision

train_loader = loader(80, 3, 54, 54)
test_loader = loader(40, 3, 54, 54)


# The model.
class CNN(nn.Module):
    def __init__(self):
        super(CNN, self).__init__()
        self.conv1 = nn.Conv2d(3, 32, 3)
        self.fc1 = nn.Linear(32 * 26 * 26, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = self.conv1(x)
        x = nn.functional.max_pool2d(x, 2)
        x = x.view(x.size(0), -1)
        x = self.fc1(x)
        x = self.fc2(x)
        return x


# Training.
model = CNN()
criterion = nn.CrossEntropyLoss()
optimizer = weft.optim.Adam(model.parameters(), lr=0.001)

for epoch in range(4):
    for i, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        outputs = model(x)
        loss = criterion(outputs, y)
        loss.backward()
        optimizer.step()
        print(f"Epoch [{epoch + 1}/{4}], Step [{i + 1}/{len(train_loader)}], Loss: {loss.item()}")

# Evaluation.
with weft.no_grad():
    correct = 0
    total = 0
    for x, y in test_loader:
        outputs = model(x)
        _, predicted = weft.max(outputs.data, 1)
        total += y.size(0)
        correct += (predicted == y).sum().item()
    print(f"Accuracy: {100 * correct / total}%")
