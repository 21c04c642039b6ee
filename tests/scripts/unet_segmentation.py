"""A small U-Net finds discs in images, with a Dice loss beside cross entropy."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, report
from torch.utils.data import DataLoader, Dataset, random_split


class DoubleConv(nn.Module):
    """(convolution => [BN] => ReLU) * 2"""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(out_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, in_channels, out_channels, bilinear):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(in_channels + in_channels // 2, out_channels)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diff_y, diff_x = x2.size()[2] - x1.size()[2], x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diff_x // 2, diff_x - diff_x // 2, diff_y // 2, diff_y - diff_y // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, n_channels=1, n_classes=2, bilinear=False):
        super().__init__()
        self.inc = DoubleConv(n_channels, 4)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(4, 8))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(8, 16))
        self.up1 = Up(16, 8, bilinear)
        self.up2 = Up(8, 4, bilinear)
        self.outc = nn.Conv2d(4, n_classes, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        return self.outc(self.up2(self.up1(x3, x2), x1))


class Discs(Dataset):
    def __init__(self, count, size=18):
        rng = np.random.RandomState(0)
        y, x = np.mgrid[:size, :size]
        self.samples = []
        for _ in range(count):
            cy, cx, r = rng.uniform(5, size - 5, 2).tolist() + [rng.uniform(3, 5)]
            mask = ((y - cy) ** 2 + (x - cx) ** 2 < r * r).astype("int64")
            self.samples.append(((mask + rng.randn(size, size) * 0.3).astype("float32"), mask))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        image, mask = self.samples[i]
        return {"image": torch.as_tensor(image[None]), "mask": torch.as_tensor(mask)}


def dice_loss(input, target, epsilon=1e-6):
    inter = 2 * (input * target).sum(dim=(-1, -2))
    sets = input.sum(dim=(-1, -2)) + target.sum(dim=(-1, -2))
    return 1 - ((inter + epsilon) / (sets + epsilon)).mean()


def main():
    data = Discs(12)
    first, second = random_split(data, [8, 4], generator=torch.Generator().manual_seed(0))
    assert len(first) == 8 and len(second) == 4
    loader = DataLoader(data, batch_size=4, num_workers=0)
    for bilinear in (False, True):
        net = fill(UNet(bilinear=bilinear), 1)
        net.apply(lambda m: nn.init.ones_(m.weight) if isinstance(m, nn.BatchNorm2d) else None)
        optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3, weight_decay=1e-8, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=1)
        for batch in loader:
            masks_pred = net(batch["image"])
            one_hot = F.one_hot(batch["mask"], 2).permute(0, 3, 1, 2).float()
            loss = F.cross_entropy(masks_pred, batch["mask"])
            loss = loss + dice_loss(F.softmax(masks_pred, dim=1), one_hot)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
        scheduler.step(-loss.item())
        kind = "bilinear" if bilinear else "transposed"
        report(**{f"{kind}_loss": loss, f"{kind}_area": masks_pred.argmax(dim=1).sum()})


if __name__ == "__main__":
    main()
