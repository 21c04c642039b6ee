"""A convolutional network on folders of images."""

from made_up import picture_folders

import weft
import weft.nn as nn
import weft.nn.functional as F
from weft.utils.data import DataLoader
from weft.vision import datasets, transforms

num_epochs = 3
picture_folders("train", 160)
picture_folders("test", 40)

# The data.
transform = transforms.Compose(
    [transforms.Grayscale(), transforms.Resize(28), transforms.ToTensor()]
)
train_data = datasets.ImageFolder("train", transform=transform)
test_data = datasets.ImageFolder("test", transform=transform)

batch_size = 16
train_loader = DataLoader(train_data, batch_size=batch_size, shuffle=True)
test_loader = DataLoader(test_data, batch_size=batch_size, shuffle=False)


# The network.
class CNNModel(nn.Module):
    def __init__(self, input_shape, num_classes):
        super(CNNModel, self).__init__()
        self.conv1 = nn.Conv2d(input_shape[0], 64, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(64, 128, kernel_size=3, padding=1)
        self.fc1 = nn.Linear(128 * 7 * 7, 512)
        self.fc2 = nn.Linear(512, num_classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(x, 2)
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = x.view(x.size(0), -1)
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return x


# Training.
model = CNNModel(input_shape=(1, 28, 28), num_classes=10)
optimizer = weft.optim.Adam(model.parameters(), lr=0.001)
criterion = nn.CrossEntropyLoss()

losses = []
for epoch in range(num_epochs):
    for batch_idx, (data, target) in enumerate(train_loader):
        optimizer.zero_grad()
        output = model(data)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
