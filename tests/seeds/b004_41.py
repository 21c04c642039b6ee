"""Networks with more and more layers."""

from made_up import loader

import weft
import weft.nn as nn


class CNN(nn.Module):
    def __init__(self, layers):
        super(CNN, self).__init__()
        sizes = [3, *[8] * layers]
        self.convs = nn.ModuleList(
            nn.Conv2d(sizes[k], sizes[k + 1], 3, padding=1) for k in range(layers)
        )
        self.fc = nn.Linear(8 * 8 * 8, 10)

    def forward(self, x):
        for conv in self.convs:
            x = nn.functional.relu(conv(x))
        return self.fc(x.view(x.size(0), -1))


train_loader = loader(80, 3, 8, 8)
test_loader = loader(40, 3, 8, 8)
models, accuracies = [], []

# Another number of convolutions each time.
for i in range(5):
    model = CNN(i + 1)
    optimizer = weft.optim.Adam(model.parameters(), lr=0.005)
    for epoch in range(4):
        for x, y in train_loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    with weft.no_grad():
        right = [model(x).argmax(1) == y for x, y in test_loader]
    models.append(model)
    accuracies.append(weft.cat(right).float().mean().item())
