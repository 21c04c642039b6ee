"""``python -m bench.nan``: what ``weft.debug.nan_origin`` adds to training steps where all is finite.

Each model trains with it and without it in short turns, on one thread; the figures are the least CPU
time of a step in each way, and the peak of memory.
"""

from __future__ import annotations

import argparse
import gc
import time
from typing import Any

import weft
import weft.nn.functional as F
from weft import nn


class Transformer(nn.Module):
    """Embeds tokens, runs an encoder over them, and predicts tokens."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(500, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.out = nn.Linear(width, 500)

    def forward(self, x: Any) -> Any:
        """Return logits, a row for each token."""
        return self.out(self.encoder(self.embed(x))).flatten(0, 1)


def mlp(width: int, batch: int) -> tuple[Any, Any, Any]:
    """A network of three linear layers and its batch."""
    net = nn.Sequential(
        nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
    )
    return net, weft.rand(batch, 64), weft.randint(0, 10, (batch,))


def cnn() -> tuple[Any, Any, Any]:
    """Two convolutions with batch norms and their batch."""
    net = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    return net, weft.rand(16, 3, 32, 32), weft.randint(0, 10, (16,))


def transformer(width: int, layers: int, batch: int, length: int) -> tuple[Any, Any, Any]:
    """A transformer and its batch."""
    x = weft.randint(0, 500, (batch, length))
    return Transformer(width, layers), x, weft.randint(0, 500, (batch * length,))


def resnet18() -> tuple[Any, Any, Any]:
    """A ResNet-18 and its batch."""
    from weft.vision.models import resnet18 as make

    return make(), weft.rand(8, 3, 64, 64), weft.randint(0, 1000, (8,))


MODELS = {
    "small: MLP of width 32, batch 8": (lambda: mlp(32, 8), 200),
    "small: transformer 64x2, 8x16 tokens": (lambda: transformer(64, 2, 8, 16), 8),
    "small: CNN 32x32, batch 16": (cnn, 3),
    "middle: MLP of width 512, batch 64": (lambda: mlp(512, 64), 15),
    "large: transformer 256x4, 4x128 tokens": (lambda: transformer(256, 4, 4, 128), 1),
    "large: ResNet-18 64x64, batch 8": (resnet18, 1),
}


def measure(make: Any, count: int, seconds: float) -> tuple[list[float], list[int]]:
    """Return the least seconds of a step, and the peak bytes, without and with the check."""
    weft.manual_seed(0)
    net, x, y = make()
    optimizer = weft.optim.SGD(net.parameters(), lr=1e-4)

    def steps() -> float:
        began = time.thread_time()
        for _ in range(count):
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return (time.thread_time() - began) / count

    least, peaks = [float("inf")] * 2, [0, 0]
    steps()
    until, turn = time.perf_counter() + seconds, 0
    gc.disable()
    while time.perf_counter() < until or turn < 6:
        for on in ((0, 1), (1, 0))[turn % 2]:
            weft.reset_peak_memory_stats()
            with weft.debug.nan_origin(bool(on)):
                least[on] = min(least[on], steps())
            peaks[on] = max(peaks[on], weft.max_memory_allocated())
        turn += 1
    gc.enable()
    return least, peaks


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    args = parser.parse_args()
    weft.set_num_threads(1)
    for name, (make, count) in MODELS.items():
        least, peaks = measure(make, count, args.seconds)
        print(
            f"{name:40} {least[0] * 1e6:9.1f} µs, {least[1] * 1e6:9.1f} with it: "
            f"{100 * (least[1] / least[0] - 1):+.1f} %; peak {peaks[0] / 1e6:.1f} MB, "
            f"{peaks[1] / 1e6:.1f} with it",
            flush=True,
        )


if __name__ == "__main__":
    main()
