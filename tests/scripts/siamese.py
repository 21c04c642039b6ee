"""Two images through the same network: are they of one class?"""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from common import fill, numbers, report, whole
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, count):
        self.labels = whole(0, 4, count, 2)
        self.noise = numbers(1, count, 2, 1, 12, 12, scale=0.2)

    def __len__(self):
        return len(self.labels)

    def image(self, index, side):
        image = self.noise[index, side].clone()
        label = int(self.labels[index, side])
        image[:, 3 * label : 3 * label + 3] += 1.0
        return image

    def __getitem__(self, index):
        same = float(self.labels[index, 0] == self.labels[index, 1])
        return self.image(index, 0), self.image(index, 1), torch.tensor(same, dtype=torch.float)


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 3, stride=2, padding=1),
            nn.BatchNorm2d(6),
            nn.ReLU(inplace=True),
            nn.Conv2d(6, 8, 3, stride=2, padding=1),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d((3, 1)),
        )
        self.fc = nn.Sequential(nn.Linear(48, 16), nn.ReLU(inplace=True), nn.Linear(16, 1))
        self.sigmoid = nn.Sigmoid()
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def forward_once(self, x):
        return self.features(x).view(x.size()[0], -1)

    def forward(self, input1, input2):
        output = torch.cat((self.forward_once(input1), self.forward_once(input2)), 1)
        return self.sigmoid(self.fc(output))


def main():
    loader = DataLoader(Pairs(48), batch_size=16, drop_last=True)
    model = fill(SiameseNetwork(), 2)
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.7)
    criterion = nn.BCELoss()
    for _ in range(3):
        model.train()
        for one, two, target in loader:
            optimizer.zero_grad()
            loss = criterion(model(one, two).squeeze(), target)
            loss.backward()
            optimizer.step()
        scheduler.step()
    model.eval()
    correct, total = 0, 0.0
    with torch.no_grad():
        for one, two, target in loader:
            outputs = model(one, two).squeeze()
            total += F.binary_cross_entropy(outputs, target).item()
            pred = torch.where(outputs > 0.5, 1, 0)
            correct += pred.eq(target.view_as(pred)).sum().item()
    report(loss=loss, eval_loss=total, correct=correct, mean=model.features[1].running_mean.sum())


if __name__ == "__main__":
    main()
