"""What random transforms share: the base class, draws, checks of arguments."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

import weft
from weft.nn import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Transform"]


class Transform(Module):
    """A change of an image, which can be called, put into ``Compose`` and ``nn.Sequential``.

    >>> isinstance(weft.vision.transforms.RandomHorizontalFlip(), weft.nn.Module)
    True
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.extra_repr()})"


class RandomTransform(Transform):
    """A change that is made with probability ``p``.

    >>> weft.vision.transforms.RandomInvert(p=0.25)
    RandomInvert(p=0.25)
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = check_probability(p, type(self).__name__)

    def forward(self, img: Any) -> Any:
        """Return the image, changed or as it is."""
        return self.change(img) if chance() < self.p else img

    def change(self, img: Any) -> Any:
        """Return the changed image.

        >>> weft.vision.transforms.RandomInvert().change(weft.ones(1, 1, 1))
        tensor([[[0.]]])
        """
        raise NotImplementedError(f"{type(self).__name__} has no change()")

    def extra_repr(self) -> str:
        """Return the probability."""
        return f"p={self.p}"


def chance() -> float:
    """Return a random number from 0 to 1.

    >>> from weft.vision.transforms.common import chance
    >>> 0 <= chance() < 1
    True
    """
    return float(weft.rand(()))


def uniform(low: float, high: float) -> float:
    """Return a random number between two others.

    >>> from weft.vision.transforms.common import uniform
    >>> 2 <= uniform(2, 3) <= 3
    True
    """
    return low + (high - low) * chance()


def whole(low: int, high: int) -> int:
    """Return a random whole number from ``low`` to ``high - 1``.

    >>> from weft.vision.transforms.common import whole
    >>> whole(3, 4)
    3
    """
    return int(weft.randint(low, high, ()))


def check_probability(p: Any, name: str) -> float:
    """Return a number from 0 to 1.

    >>> from weft.vision.transforms.common import check_probability
    >>> check_probability(1.5, "RandomInvert")
    Traceback (most recent call last):
    ValueError: RandomInvert: p should be a floating point value in the interval [0.0, 1.0], got 1.5
    """
    if not (isinstance(p, (int, float)) and 0 <= p <= 1):
        raise ValueError(
            f"{name}: p should be a floating point value in the interval [0.0, 1.0], got {p!r}"
        )
    return p


def as_angles(x: Any, name: str, sizes: Sequence[int] = (2,)) -> list[float]:
    """Return a range of angles; one number stands for the range around zero.

    >>> from weft.vision.transforms.common import as_angles
    >>> as_angles(10, "degrees")
    [-10.0, 10.0]
    """
    if isinstance(x, numbers.Real):
        if float(x) < 0:
            raise ValueError(f"If {name} is a single number, it must be positive, got {x}.")
        return [-float(x), float(x)]
    return [float(v) for v in as_numbers(x, name, sizes)]


def as_numbers(x: Any, name: str, sizes: Sequence[int]) -> list[Any]:
    """Return a sequence that must have one of some lengths.

    >>> from weft.vision.transforms.common import as_numbers
    >>> as_numbers((1, 2), "scale", (2,))
    [1, 2]
    """
    if not isinstance(x, (list, tuple)):
        raise TypeError(f"{name} should be a sequence of length {_either(sizes)}, got {x!r}")
    if len(x) not in sizes:
        raise ValueError(f"{name} should be a sequence of length {_either(sizes)}, got {x!r}")
    return list(x)


def _either(sizes: Sequence[int]) -> str:
    return " or ".join(str(s) for s in sizes)


def log_uniform(low: float, high: float) -> float:
    """Return a random number between two positive ones, with the same chance for each ratio.

    >>> from weft.vision.transforms.common import log_uniform
    >>> 0.5 <= log_uniform(0.5, 2.0) <= 2.0
    True
    """
    return math.exp(uniform(math.log(low), math.log(high)))


def random_box(
    height: int,
    width: int,
    scale: Sequence[float],
    ratio: Sequence[float],
    smaller: bool = False,
) -> tuple[int, int, int, int] | None:
    """Return top, left, height and width of a random part, or None if none of ten tries fits.

    Args:
        height: of the whole.
        width: of the whole.
        scale: the range of the share of the area.
        ratio: the range of width to height.
        smaller: the part must be less high and less wide than the whole.

    >>> from weft.vision.transforms.common import random_box
    >>> random_box(4, 4, (1, 1), (1, 1))
    (0, 0, 4, 4)
    """
    highest, widest = height - smaller, width - smaller
    for _ in range(10):
        area = height * width * uniform(*scale)
        shape = log_uniform(*ratio)
        w, h = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
        if 0 < w <= widest and 0 < h <= highest:
            return whole(0, height - h + 1), whole(0, width - w + 1), h, w
    return None
