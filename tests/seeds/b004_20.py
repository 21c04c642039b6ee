"""Sounds classified by a convolutional network."""

from made_up import tones

import weft
import weft.audio
import weft.nn as nn
from weft.utils.data import DataLoader, TensorDataset

# Spectrograms: 54 pitches at 54 times.
spectrogram = weft.nn.Sequential(
    weft.audio.transforms.MelSpectrogram(8000, n_fft=800, hop_length=80, n_mels=54),
    weft.audio.transforms.AmplitudeToDB(),
)


def sounds(count):
    waves, labels = tones(10, count, length=53 * 80)
    return TensorDataset(spectrogram(waves).unsqueeze(1) / 50, labels)


train_loader = DataLoader(sounds(8), batch_size=8, shuffle=True)
test_loader = DataLoader(sounds(3), batch_size=8)


# The model.
class VoiceRecognition(nn.Module):
    def __init__(self):
        super(VoiceRecognition, self).__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
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
model = VoiceRecognition()
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
