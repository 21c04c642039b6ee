"""How the checks look at what a program left behind: its names, its text, its files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import weft


def close(a: Any, b: Any, within: float = 1e-5) -> bool:
    """Whether two tensors, or tensor and numbers, have the same shape and nearly equal elements."""
    a, b = (t.detach() if isinstance(t, weft.Tensor) else weft.tensor(t) for t in (a, b))
    return a.shape == b.shape and weft.allclose(a.double(), b.double(), rtol=within, atol=within)


def losses(text: str) -> list[float]:
    """The losses that a program printed, in order."""
    return [float(x) for x in re.findall(r"[Ll]oss(?: =|:) ([-+.\de]+)", text)]


def accuracy(text: str) -> float:
    """The last accuracy that a program printed, in percent."""
    return float(re.findall(r"Accuracy.*: ([.\d]+)%", text)[-1])


def mean(values: Iterable[float]) -> float:
    """The mean."""
    values = list(values)
    return sum(values) / len(values)


def fell(values: Sequence[float], to: float = 1.0, over: int = 1) -> bool:
    """Whether the mean of the last ``over`` values is below ``to`` times that of the first ones."""
    return len(values) >= 2 * over and mean(values[-over:]) < to * mean(values[:over])


def stepped(before: Iterable[Any], parameters: Iterable[Any], lr: float) -> bool:
    """Whether each parameter is where it was, less ``lr`` times its gradient."""
    pairs = list(zip(before, parameters, strict=True))
    moved = all(not old.equal(p) for old, p in pairs)
    return moved and all(close(p, old - lr * p.grad) for old, p in pairs)


def mse_gradients(x: Any, output: Any, target: Any) -> tuple[Any, Any]:
    """The gradients of the mean squared error of a linear layer: of its weight, of its bias."""
    slope = 2 / output.numel() * (output - target).detach()
    return slope.t() @ x.detach(), slope.sum(0)


def differentiable(function: Callable[..., Any], *sizes: int, count: int = 1) -> bool:
    """Whether finite differences agree with the derivative of a function."""
    inputs = [weft.randn(*sizes, dtype=weft.float64, requires_grad=True) for _ in range(count)]
    return weft.autograd.gradcheck(function, tuple(inputs))


def scalars(folder: str) -> dict[str, list[float]]:
    """What TensorBoard's own reader finds in a folder, by tag."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(folder)
    found.Reload()
    return {tag: [s.value for s in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def is_picture(path: str, kind: str = "PNG") -> bool:
    """Whether a file is a picture that is not of one colour."""
    from PIL import Image

    with Image.open(path) as image:
        return image.format == kind and len(image.convert("RGB").getcolors(1 << 24)) > 1


def ops(graph: Any) -> list[str]:
    """The ops of a static graph."""
    return [node.op for node in graph]


def right(model: Any, batches: Iterable[Any]) -> float:
    """The share of samples whose label a model predicts."""
    with weft.no_grad():
        return weft.cat([model(x).argmax(1) == y for x, y in batches]).float().mean().item()


def zero_share(t: Any) -> float:
    """The share of zeros."""
    return (t == 0).float().mean().item()
