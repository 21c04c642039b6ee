"""CIFAR-10."""

from b002_16 import CNN
from b002_17 import criterion
from made_up import cifar10

import weft
import weft.optim as optim
import weft.vision
import weft.vision.transforms as transforms

cifar10("data", 20)

# The loader.
transform = transforms.Compose(
    [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
)
train_dataset = weft.vision.datasets.CIFAR10(root="./data", train=True, transform=transform)
train_loader = weft.utils.data.DataLoader(train_dataset, batch_size=20, shuffle=True)

# Model and optimiser.
model = CNN()
optimizer = optim.SGD(model.parameters(), lr=0.001, momentum=0.9)

# Training.
for epoch in range(4):
    for i, (inputs, labels) in enumerate(train_loader):
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        print(f"Epoch {epoch + 1}, batch {i + 1}, loss: {loss.item()}")
