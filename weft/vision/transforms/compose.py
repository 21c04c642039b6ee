"""Transforms made of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft
from weft.nn import Module, ModuleList

from .common import chance, check_probability

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Compose", "Lambda", "RandomApply", "RandomChoice", "RandomOrder"]


def _lines(name: str, lines: Sequence[Any]) -> str:
    return "\n".join([f"{name}(", *(f"    {line}" for line in lines), ")"])


class Compose:
    """Several transforms, one after another.

    >>> from weft.vision import transforms
    >>> twice = transforms.Compose([transforms.Lambda(lambda x: x + 1), lambda x: 2 * x])
    >>> twice(1)
    4
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        """Return the image after all transforms."""
        for t in self.transforms:
            img = t(img)
        return img

    def __repr__(self) -> str:
        return _lines(type(self).__name__, self.transforms)


class Lambda:
    """A function of one's own as a transform.

    >>> weft.vision.transforms.Lambda(lambda x: x * 2)(3)
    6
    """

    def __init__(self, lambd: Callable[..., Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        """Return what the function makes of the image."""
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Several:
    """What those that choose among transforms share."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        if not isinstance(transforms, (list, tuple)):
            raise TypeError(f"Argument transforms should be a sequence, got {transforms!r:.100}")
        self.transforms = transforms

    def __repr__(self) -> str:
        return _lines(type(self).__name__, self.transforms)


class RandomApply(Module):
    """Several transforms one after another, with probability ``p``; else none of them.

    >>> weft.vision.transforms.RandomApply([weft.vision.transforms.ToTensor()], p=0.25)
    RandomApply(
        p=0.25
        ToTensor()
    )
    """

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        if not isinstance(transforms, (list, tuple, ModuleList)):
            raise TypeError(f"Argument transforms should be a sequence, got {transforms!r:.100}")
        self.transforms = transforms
        self.p = check_probability(p, "RandomApply")

    def forward(self, img: Any) -> Any:
        """Return the image, changed or as it is."""
        if chance() < self.p:
            for t in self.transforms:
                img = t(img)
        return img

    def __repr__(self) -> str:
        return _lines(type(self).__name__, [f"p={self.p}", *self.transforms])


class RandomOrder(_Several):
    """Several transforms, in a random order each time.

    >>> order = weft.vision.transforms.RandomOrder([lambda x: x + 1, lambda x: x + 2])
    >>> order(0)
    3
    """

    def __call__(self, img: Any) -> Any:
        """Return the image after all transforms."""
        for i in weft.randperm(len(self.transforms)).tolist():
            img = self.transforms[i](img)
        return img


class RandomChoice(_Several):
    """One of several transforms each time; ``p`` gives their weights.

    >>> choice = weft.vision.transforms.RandomChoice([lambda x: 1, lambda x: 2], p=[0, 1])
    >>> choice(0)
    2
    """

    def __init__(
        self, transforms: Sequence[Callable[..., Any]], p: Sequence[float] | None = None
    ) -> None:
        super().__init__(transforms)
        if p is not None and len(p) != len(transforms):
            raise ValueError(f"RandomChoice: {len(p)} weights p for {len(transforms)} transforms")
        self.p = p

    def __call__(self, img: Any) -> Any:
        """Return what one of the transforms makes of the image."""
        weights = [1.0] * len(self.transforms) if self.p is None else [float(w) for w in self.p]
        index = int(weft.multinomial(weft.tensor(weights), 1))
        return self.transforms[index](img)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"
