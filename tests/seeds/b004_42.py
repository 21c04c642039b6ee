"""An experiment as a function."""

from made_up import loader

import weft
import weft.nn as nn
import weft.optim as optim


# One experiment: the share of right answers after each epoch.
def experiment(model, criterion, optimizer, train_loader, test_loader):
    accuracies = []
    for epoch in range(10):
        for i, (x, y) in enumerate(train_loader):
            optimizer.zero_grad()
            outputs = model(x)
            loss = criterion(outputs, y)
            loss.backward()
            optimizer.step()
        with weft.no_grad():
            right = []
            for x, y in test_loader:
                outputs = model(x)
                right.append(outputs.argmax(1) == y)
        accuracies.append(weft.cat(right).float().mean().item())
    return accuracies


train_loader = loader(64, 10, classes=3, batch_size=16)
test_loader = loader(32, 10, classes=3, batch_size=16)
results = {}
for name in ("SGD", "Adam"):
    model = nn.Linear(10, 3)
    optimizer = getattr(optim, name)(model.parameters(), lr=0.05)
    results[name] = experiment(model, nn.CrossEntropyLoss(), optimizer, train_loader, test_loader)
