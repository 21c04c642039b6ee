"""A small convolutional network that has learnt the bundled digits, for `tests/quantization/`."""

from __future__ import annotations

from functools import cache
from typing import Any

import weft
from weft import nn
from weft.quantization import DeQuantStub, QuantStub
from weft.utils.data.digits import load_digits

SHOWN = 1400  # images to learn from; the others are for judging


class Net(nn.Module):
    """Two convolutions, the first with batch norm, and two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = QuantStub(), DeQuantStub()
        self.conv1, self.bn1, self.relu1 = (
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
        )
        self.conv2, self.relu2 = nn.Conv2d(16, 32, 3, padding=1), nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.fc1, self.relu3, self.fc2 = nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10)

    def forward(self, x: Any) -> Any:
        x = self.quant(x)
        x = self.relu1(self.bn1(self.conv1(x)))
        x = self.pool(self.relu2(self.conv2(x)))
        x = self.relu3(self.fc1(x.flatten(1)))
        return self.dequant(self.fc2(x))


FUSED = [["conv1", "bn1", "relu1"], ["conv2", "relu2"], ["fc1", "relu3"]]


@cache
def digits() -> tuple[Any, Any]:
    """All images (1797, 1, 8, 8) and what they show, in a random order."""
    images, labels = load_digits()
    order = weft.randperm(len(labels), generator=weft.Generator().manual_seed(0))
    return weft.from_numpy(images)[order].unsqueeze(1), weft.from_numpy(labels)[order]


def learn(net: nn.Module, steps: int, lr: float = 3e-3) -> nn.Module:
    """Train on batches of 64."""
    x, y = digits()
    optimizer = weft.optim.Adam(net.parameters(), lr=lr)
    net.train()
    for _ in range(steps):
        batch = weft.randint(0, SHOWN, (64,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x[batch]), y[batch]).backward()
        optimizer.step()
    return net.eval()


def accuracy(net: nn.Module) -> float:
    """The share of unseen digits that are recognised."""
    x, y = digits()
    with weft.no_grad():
        return (net(x[SHOWN:]).argmax(1) == y[SHOWN:]).float().mean().item()


@cache
def learnt() -> Net:
    """A network that recognises them. Copy it before you change it."""
    state = weft.get_rng_state()
    weft.manual_seed(0)
    net = Net()
    learn(net, 150)
    weft.set_rng_state(state)
    return net
