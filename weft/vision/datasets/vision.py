"""What all sets of images share: a folder, and what is done to each image and label."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from weft.utils.data import Dataset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["StandardTransform", "VisionDataset"]


class VisionDataset(Dataset):
    """A set of images in a folder; the base of all others.

    Args:
        root: the folder.
        transforms: is called with image and target, and returns both.
        transform: is called with the image. Not together with ``transforms``.
        target_transform: is called with the target. Not together with ``transforms``.

    >>> class Squares(weft.vision.datasets.VisionDataset):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, index):
    ...         return index * index
    >>> Squares("data")
    Dataset Squares
        Number of datapoints: 3
        Root location: data
    """

    _repr_indent = 4

    def __init__(
        self,
        root: str | Path | None = None,
        transforms: Callable[..., Any] | None = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        self.root: Any = os.path.expanduser(root) if isinstance(root, str) else root
        separate = transform is not None or target_transform is not None
        if transforms is not None and separate:
            raise ValueError(
                "Only transforms or transform/target_transform can be passed as argument, got both"
            )
        self.transform, self.target_transform = transform, target_transform
        self.transforms = StandardTransform(transform, target_transform) if separate else transforms

    def __getitem__(self, index: int) -> Any:
        """Return image and target number ``index``."""
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __len__(self) -> int:
        """Return how many images there are."""
        raise NotImplementedError(f"{type(self).__name__} has no __len__")

    def _transformed(self, image: Any, target: Any) -> tuple[Any, Any]:
        """Return a pair as the user's transforms make it."""
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def __repr__(self) -> str:
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if self.transforms is not None:
            body.append(repr(self.transforms))
        indent = " " * self._repr_indent
        return "\n".join([f"Dataset {type(self).__name__}", *(indent + line for line in body)])

    def extra_repr(self) -> str:
        """Return more lines for ``repr``.

        >>> weft.vision.datasets.Digits().extra_repr()
        'Split: Train'
        """
        return ""


class StandardTransform:
    """One function for the image and one for the target, called with both.

    >>> from weft.vision.datasets.vision import StandardTransform
    >>> StandardTransform(None, lambda target: target + 1)("image", 1)
    ('image', 2)
    """

    def __init__(
        self,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        self.transform, self.target_transform = transform, target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        """Return image and target, each through its function."""
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self) -> str:
        lines = ["StandardTransform"]
        pairs = (("Transform: ", self.transform), ("Target transform: ", self.target_transform))
        for head, function in pairs:
            if function is not None:
                first, *rest = repr(function).splitlines()
                lines += [head + first, *(" " * len(head) + line for line in rest)]
        return "\n".join(lines)
