"""The digits that come with weft, as a dataset: no download, no files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft
from weft.vision.pillow import pillow

from .mnist import MNIST
from .vision import VisionDataset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Digits"]

_LEARN = 1437  # of the 1,797, in the order of the file


class Digits(VisionDataset):
    """Handwritten digits of 8x8 grey pixels: 1,437 to learn from and 360 to test with.

    They come with weft, so ``root`` need not be given. ``data`` holds all images (uint8,
    N x 8 x 8, white ink on black), ``targets`` all labels (int64).

    Args:
        root: is kept, and not used.
        train: the images to learn from, or those to test with.
        transform: is called with each image, which is one of Pillow.
        target_transform: is called with each label, which is an int.

    >>> digits = weft.vision.datasets.Digits()
    >>> len(digits), digits.data.shape, digits.classes[3]
    (1437, torch.Size([1437, 8, 8]), '3 - three')
    """

    classes = MNIST.classes

    def __init__(
        self,
        root: str | Path | None = None,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        from weft.utils.data.digits import load_digits

        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        images, labels = load_digits()
        part = slice(None, _LEARN) if train else slice(_LEARN, None)
        grey = (images[part] * 255 + 0.5).astype("uint8")
        self.data = weft.from_numpy(grey)
        self.targets = weft.from_numpy(labels[part].copy())

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The label of each class."""
        return {name: i for i, name in enumerate(self.classes)}

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return image and label number ``index``."""
        image = pillow().fromarray(self.data[index].numpy())
        return self._transformed(image, int(self.targets[index]))

    def __len__(self) -> int:
        """Return how many images there are."""
        return len(self.data)

    def extra_repr(self) -> str:
        """Return which part this is."""
        return f"Split: {'Train' if self.train else 'Test'}"
