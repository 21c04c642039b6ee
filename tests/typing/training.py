"""A training in full types, as a careful user writes it: checkers in strict mode find nothing in it.

It is run as well: a network learns which of two interleaved half moons a point lies on.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

import weft
import weft.nn as nn
import weft.nn.functional as F
from weft import Tensor
from weft.optim.lr_scheduler import CosineAnnealingLR
from weft.utils.data import DataLoader, Dataset, TensorDataset


@dataclass
class Settings:
    """What a run is given."""

    width: int = 32
    epochs: int = 20
    batch: int = 50
    lr: float = 0.02
    seed: int = 0
    device: str = "cuda" if weft.cuda.is_available() else "cpu"


def moons(count: int, generator: weft.Generator) -> tuple[Tensor, Tensor]:
    """Points on two half circles, with noise, and the half that each is on."""
    angle = weft.rand(count, generator=generator) * math.pi
    side = weft.randint(0, 2, (count,), generator=generator)
    upper = weft.stack([angle.cos(), angle.sin()], 1)
    lower = weft.stack([1 - angle.cos(), 0.5 - angle.sin()], 1)
    points = weft.where(side.unsqueeze(1) == 0, upper, lower)
    return points + 0.08 * weft.randn(count, 2, generator=generator), side


class Block(nn.Module):
    """Two layers, and a way around them."""

    def __init__(self, width: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.first = nn.Linear(width, 2 * width)
        self.second = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """x and what the layers make of it."""
        hidden = F.gelu(self.first(self.norm(x)))
        return x + self.dropout(self.second(hidden))


class Classifier(nn.Module):
    """Scores of the two halves."""

    scale: Tensor

    def __init__(self, width: int, blocks: int = 2) -> None:
        super().__init__()
        self.enter = nn.Linear(2, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(blocks)])
        self.leave = nn.Linear(width, 2)
        self.temperature = nn.Parameter(weft.ones(()))
        self.register_buffer("scale", weft.tensor(2.0))

    def forward(self, x: Tensor, normalise: bool = False) -> Tensor:
        """Scores, or their probabilities."""
        y = self.enter(x * self.scale)
        for block in self.blocks:
            y = block(y)
        scores = self.leave(y) / self.temperature
        return scores.softmax(-1) if normalise else scores


def batches(data: Dataset[tuple[Tensor, ...]], size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Pairs of points and halves, shuffled."""
    yield from DataLoader(data, batch_size=size, shuffle=True)


def train(settings: Settings) -> tuple[Classifier, list[float]]:
    """Train, and return the model with the loss of each epoch."""
    weft.manual_seed(settings.seed)
    generator = weft.Generator().manual_seed(settings.seed)
    data = TensorDataset(*moons(500, generator))
    model = Classifier(settings.width).to(settings.device)
    optimizer = weft.optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=0.01)
    schedule = CosineAnnealingLR(optimizer, T_max=settings.epochs)
    history: list[float] = []
    for _ in range(settings.epochs):
        model.train()
        total = weft.zeros(())
        for points, sides in batches(data, settings.batch):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(points), sides, label_smoothing=0.02)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            total += loss.detach() * len(points)
        schedule.step()
        history.append(float(total) / len(data))
    return model, history


@weft.no_grad()
def accuracy(model: Classifier, points: Tensor, sides: Tensor) -> float:
    """The part of the points whose half is found."""
    model.eval()
    chances = model(points, normalise=True)
    best, guess = chances.max(dim=1)
    assert bool((best >= 0.5).all())
    return (guess == sides).double().mean().item()


def main() -> float:
    """Train, save, load, and return the accuracy on new points."""
    model, history = train(Settings())
    path = os.path.join(tempfile.mkdtemp(), "moons.safetensors")
    weft.save(model.state_dict(), path)
    again = Classifier(Settings.width)
    again.load_state_dict(weft.load(path))
    points, sides = moons(400, weft.Generator().manual_seed(7))
    largest = max(p.abs().max().item() for p in again.parameters() if p.grad is None)
    print(f"loss {history[0]:.3f} -> {history[-1]:.3f}, largest weight {largest:.2f}")
    return accuracy(again, points, sides)


if __name__ == "__main__":
    print(f"accuracy {main():.3f}")
