"""Sub-pixel convolution: small images made larger by PixelShuffle."""

import argparse
from math import log10

import torch
import torch.nn as nn
import torch.nn.init as init
import torch.optim as optim
from common import fill, numbers, report
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super(Net, self).__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 8, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(8, 8, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        return self.pixel_shuffle(self.conv3(x))

    def _initialize_weights(self):
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight)


def images(count, size):
    """Smooth waves with a little noise."""
    at = torch.linspace(0, 3, size)
    phase = torch.arange(count).float().view(-1, 1, 1)
    wave = torch.sin(at.view(1, -1, 1) * 2 + phase) * torch.cos(at.view(1, 1, -1) + phase)
    return (0.5 + 0.4 * wave).unsqueeze(1) + numbers(0, count, 1, size, size, scale=0.01)


def main():
    parser = argparse.ArgumentParser(description="Super resolution")
    parser.add_argument("--upscale_factor", type=int, default=2)
    parser.add_argument("--nEpochs", type=int, default=3)
    opt = parser.parse_args()
    target = images(12, 16)
    small = nn.functional.interpolate(
        target, scale_factor=1 / opt.upscale_factor, mode="bilinear", align_corners=False
    )
    loader = DataLoader(dataset=TensorDataset(small, target), num_workers=0, batch_size=4)
    model = fill(Net(opt.upscale_factor), 1)
    criterion = nn.MSELoss()
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(1, opt.nEpochs + 1):
        epoch_loss = 0
        for iteration, batch in enumerate(loader, 1):
            input, target = batch[0], batch[1]
            optimizer.zero_grad()
            loss = criterion(model(input), target)
            epoch_loss += loss.item()
            loss.backward()
            optimizer.step()
        print("Epoch {} Complete: Avg. Loss: {:.4f}".format(epoch, epoch_loss / len(loader)))
    with torch.no_grad():
        mse = criterion(model(small), images(12, 16))
        cubic = nn.functional.interpolate(small, scale_factor=2, mode="bicubic")
    report(loss=epoch_loss, psnr=10 * log10(1 / mse.item()), cubic=cubic.std())


if __name__ == "__main__":
    main()
