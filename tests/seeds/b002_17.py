"""Training it on noise."""

from b002_16 import model

import weft
import weft.nn as nn
import weft.optim as optim

# Optimiser and loss.
optimizer = optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
criterion = nn.CrossEntropyLoss()

# The data.
train_data = weft.randn(5, 3, 32, 32)
train_labels = weft.randint(0, 10, (5,))

# Training.
for i in range(10):
    optimizer.zero_grad()
    outputs = model(train_data)
    loss = criterion(outputs, train_labels)
    loss.backward()
    optimizer.step()
    print(f"Epoch {i + 1}, loss: {loss.item()}")
