"""A residual network on small colour images: augmentation, warm-up and cosine schedule."""

import argparse

import numpy as np
import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from common import fill, numbers, report, whole


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, in_planes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != self.expansion * planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, self.expansion * planes, 1, stride=stride, bias=False),
                nn.BatchNorm2d(self.expansion * planes),
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class ResNet(nn.Module):
    def __init__(self, block, num_blocks, num_classes=5):
        super(ResNet, self).__init__()
        self.in_planes = 8
        self.conv1 = nn.Conv2d(3, 8, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.layer1 = self._make_layer(block, 8, num_blocks[0], stride=1)
        self.layer2 = self._make_layer(block, 16, num_blocks[1], stride=2)
        self.linear = nn.Linear(16 * block.expansion, num_classes)

    def _make_layer(self, block, planes, num_blocks, stride):
        strides = [stride] + [1] * (num_blocks - 1)
        layers = []
        for stride in strides:
            layers.append(block(self.in_planes, planes, stride))
            self.in_planes = planes * block.expansion
        return nn.Sequential(*layers)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer2(self.layer1(out))
        out = F.avg_pool2d(out, 8)
        out = out.view(out.size(0), -1)
        return self.linear(out)


def augment(images, rng):
    """Flips and shifted crops, chosen by NumPy."""
    padded = F.pad(images, (2, 2, 2, 2), mode="reflect")
    out = []
    for image in padded:
        y, x = rng.randint(0, 5, 2)
        crop = image[:, y : y + 16, x : x + 16]
        out.append(torch.flip(crop, dims=[-1]) if rng.rand() < 0.5 else crop)
    return torch.stack(out)


parser = argparse.ArgumentParser(description="CIFAR-like training")
parser.add_argument("--lr", default=0.05, type=float)
args = parser.parse_args()
device = "cuda" if torch.cuda.is_available() else "cpu"
net = fill(ResNet(BasicBlock, [1, 1]), 1)
for m in net.modules():
    if isinstance(m, nn.BatchNorm2d):
        nn.init.constant_(m.weight, 1)
        nn.init.constant_(m.bias, 0)
net = net.to(device)
if device == "cuda":
    net = torch.nn.DataParallel(net)
    cudnn.benchmark = True
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
scheduler = optim.lr_scheduler.SequentialLR(
    optimizer,
    [
        optim.lr_scheduler.LinearLR(optimizer, start_factor=0.2, total_iters=2),
        optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4),
    ],
    milestones=[2],
)
rng = np.random.RandomState(0)
images, labels = numbers(5, 24, 3, 16, 16), whole(6, 5, 24)
images += labels.view(-1, 1, 1, 1) * 0.3
rates = []
for epoch in range(3):
    net.train()
    for i in range(0, 24, 12):
        inputs, targets = augment(images[i : i + 12], rng).to(device), labels[i : i + 12].to(device)
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
    rates.append(optimizer.param_groups[0]["lr"])
    scheduler.step()
net.eval()
with torch.inference_mode():
    _, predicted = net(images).max(1)
report(loss=loss, right=predicted.eq(labels).sum(), rates=sum(rates), last_rate=rates[-1])
report(var=net.bn1.running_var.sum(), batches=net.bn1.num_batches_tracked)
