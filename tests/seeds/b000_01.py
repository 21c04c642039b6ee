"""One training step of three linear layers."""

import weft
import weft.nn as nn
import weft.optim as optim


# The network.
class SimpleModel(nn.Module):
    def __init__(self):
        super(SimpleModel, self).__init__()
        self.fc1 = nn.Linear(10, 5)
        self.fc2 = nn.Linear(5, 3)
        self.fc3 = nn.Linear(3, 2)

    def forward(self, x):
        x = self.fc1(x)
        x = self.fc2(x)
        x = self.fc3(x)
        return x


model = SimpleModel()

# Loss and optimiser.
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.01)

# Input.
x = weft.randn(1, 10)
y = weft.tensor([1])

# Forward.
outputs = model(x)
loss = criterion(outputs, y)

# Backward, and a step.
optimizer.zero_grad()
loss.backward()
optimizer.step()
