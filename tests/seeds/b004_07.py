"""LeNet on MNIST."""

from made_up import mnist

import weft
import weft.nn as nn
import weft.vision

mnist("data", 800)

# Data to learn from and to test with.
transform = weft.vision.transforms.ToTensor()
train_data = weft.vision.datasets.MNIST(root="./data", train=True, transform=transform)
test_data = weft.vision.datasets.MNIST(root="./data", train=False, transform=transform)


# The network.
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def num_flat_features(self, x):
        return x[0].numel()

    def forward(self, x):
        x = self.conv1(x)
        x = nn.functional.max_pool2d(x, 2)
        x = self.conv2(x)
        x = nn.functional.max_pool2d(x, 2)
        x = x.view(-1, self.num_flat_features(x))
        x = self.fc1(x)
        x = self.fc2(x)
        x = self.fc3(x)
        return x


# Loss and optimiser.
model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = weft.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

train_loader = weft.utils.data.DataLoader(train_data, batch_size=20, shuffle=True)

# Training, twice through the data.
for epoch in range(2):
    running_loss = 0.0
    for i, data in enumerate(train_loader, 0):
        inputs, labels = data
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        if i % 5 == 4:
            print(f"[{epoch + 1}, {i + 1:5d}] loss: {running_loss / 5:0.3f}")
            running_loss = 0.0

print("Finished Training")

# Test.
test_data_loader = weft.utils.data.DataLoader(test_data, batch_size=1000, shuffle=False)
correct = 0
total = 0
with weft.no_grad():
    for data in test_data_loader:
        images, labels = data
        outputs = model(images)
        _, predicted = weft.max(outputs.data, 1)
        total += labels.size(0)
        correct += (predicted == labels).sum().item()

print(f"Accuracy of the network on the {total} test images: {100 * correct / total}%")
