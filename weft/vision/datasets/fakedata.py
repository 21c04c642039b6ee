"""Images of noise, to try a program without data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft

from .vision import VisionDataset

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FakeData"]


class FakeData(VisionDataset):
    """Random images with random labels; each index always gives the same pair.

    Args:
        size: how many there are.
        image_size: channels, height and width.
        num_classes: labels are below this.
        transform: is called with each image, which is one of Pillow.
        target_transform: is called with each label, which is an int.
        random_offset: another set of images for each number.

    >>> image, label = weft.vision.datasets.FakeData(size=2, image_size=(3, 4, 6))[1]
    >>> image.size, image.mode, 0 <= label < 10
    ((6, 4), 'RGB', True)
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(None, transform=transform, target_transform=target_transform)
        self.size, self.image_size = size, image_size
        self.num_classes, self.random_offset = num_classes, random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return image and label number ``index``."""
        from weft.vision.transforms.functional import to_pil_image

        if not 0 <= index < self.size:
            raise IndexError(f"FakeData: index {index} out of range for {self.size} images")
        generator = weft.Generator()
        generator.manual_seed(index + self.random_offset)
        image = weft.randn(self.image_size, generator=generator)
        target = int(weft.randint(0, self.num_classes, (1,), generator=generator))
        return self._transformed(to_pil_image((image * 255).to(weft.int64).to(weft.uint8)), target)

    def __len__(self) -> int:
        """Return how many images there are."""
        return self.size
