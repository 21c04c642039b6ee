"""What these programs share: numbers that do not come from torch's random stream, and the report."""

import numpy as np
import torch


def numbers(seed, *shape, scale=1.0):
    """Normal numbers as a float32 tensor."""
    return torch.from_numpy((np.random.RandomState(seed).randn(*shape) * scale).astype("float32"))


def whole(seed, high, *shape):
    """Whole numbers below `high` as an int64 tensor."""
    return torch.from_numpy(np.random.RandomState(seed).randint(0, high, size=shape))


def fill(module, seed=0):
    """Give every parameter numbers of its own, of a size that suits its fan-in."""
    rng = np.random.RandomState(seed)
    with torch.no_grad():
        for p in module.parameters():
            fan = p[0].numel() if p.dim() > 1 else max(p.numel(), 4)
            values = rng.uniform(-1, 1, size=tuple(p.shape)) / np.sqrt(fan)
            p.copy_(torch.from_numpy(np.asarray(values)).to(p.dtype))
    return module


def report(**values):
    """Print one line for each number."""
    for name, value in values.items():
        print(name, format(float(value), ".9g"))
