"""Sounds classified by 13 MFCC features."""

from made_up import tone_features

import weft
import weft.nn as nn
from weft.utils.data import DataLoader

train_loader = DataLoader(tone_features(28, 12), batch_size=32, shuffle=True)
test_loader = DataLoader(tone_features(28, 3), batch_size=32)


# A network of linear layers.
class DNN(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim):
        super(DNN, self).__init__()
        self.fc1 = nn.Linear(input_dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, hidden_dim)
        self.fc3 = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        x = weft.relu(self.fc1(x))
        x = weft.relu(self.fc2(x))
        x = self.fc3(x)
        return x


# A recurrent network.
class RNN(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim):
        super(RNN, self).__init__()
        self.hidden_dim = hidden_dim
        self.rnn = nn.RNN(input_dim, hidden_dim, num_layers=1, batch_first=True)
        self.fc = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        h0 = weft.zeros(1, x.size(0), self.hidden_dim)
        out, _ = self.rnn(x, h0)
        out = self.fc(out[:, -1, :])
        return out


# Training.
model = DNN(input_dim=13, hidden_dim=128, output_dim=28)
optimizer = weft.optim.Adam(model.parameters(), lr=0.001)
criterion = nn.CrossEntropyLoss()

for epoch in range(30):
    for i, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        outputs = model(x)
        loss = criterion(outputs, y)
        loss.backward()
        optimizer.step()
        if (i + 1) % 10 == 0:
            print(
                f"Epoch [{epoch + 1}/{30}], Step [{i + 1}/{len(train_loader)}], Loss: {loss.item()}"
            )

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
