"""Random geometric changes: rotation, affine maps, perspective, elastic deformation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft

from . import functional as F
from .common import (
    RandomTransform,
    Transform,
    as_angles,
    as_numbers,
    uniform,
    whole,
)
from .functional.common import InterpolationMode, as_mode, get_dimensions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft import Tensor

__all__ = ["ElasticTransform", "RandomAffine", "RandomPerspective", "RandomRotation"]


def _as_fill(fill: Any, name: str) -> Any:
    if fill is None:
        return 0
    if not isinstance(fill, (int, float, list, tuple)):
        raise TypeError(f"{name}: Fill should be either a sequence or a number, got {fill!r}")
    return fill


class RandomRotation(Transform):
    """An image turned by a random angle.

    Args:
        degrees: the range of angles; one number ``x`` stands for ``-x`` to ``x``.
        interpolation: how values between pixels are found.
        expand: make the result as large as the turned image.
        center: x and y of the point that stays, by default the middle.
        fill: the pixels outside of the image.

    >>> weft.vision.transforms.RandomRotation(10)
    RandomRotation(degrees=[-10.0, 10.0], interpolation=nearest, expand=False, fill=0)
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: Any = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.degrees = as_angles(degrees, "degrees")
        if center is not None:
            as_numbers(center, "center", (2,))
        self.center, self.expand = center, expand
        self.interpolation = as_mode(interpolation)
        self.fill = _as_fill(fill, "RandomRotation")

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """Return a random angle.

        >>> weft.vision.transforms.RandomRotation.get_params([5.0, 5.0])
        5.0
        """
        return uniform(degrees[0], degrees[1])

    def forward(self, img: Any) -> Any:
        """Return the turned image."""
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)

    def extra_repr(self) -> str:
        """Return the arguments."""
        text = f"degrees={self.degrees}, interpolation={self.interpolation.value}"
        text += f", expand={self.expand}"
        if self.center is not None:
            text += f", center={self.center}"
        return text + f", fill={self.fill}"


class RandomAffine(Transform):
    """An image turned, moved, scaled and sheared at random.

    Args:
        degrees: the range of angles; one number ``x`` stands for ``-x`` to ``x``.
        translate: how far it may move to each side, as shares of width and height.
        scale: the range of factors.
        shear: the range of angles along x; or along x and y, four numbers; one number ``x`` stands
            for ``-x`` to ``x``.
        interpolation: how values between pixels are found.
        fill: the pixels outside of the image.
        center: x and y of the point that stays, by default the middle.

    >>> weft.vision.transforms.RandomAffine(10, translate=(0.1, 0.2))
    RandomAffine(degrees=[-10.0, 10.0], translate=(0.1, 0.2))
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.degrees = as_angles(degrees, "degrees")
        if translate is not None:
            for t in as_numbers(translate, "translate", (2,)):
                if not 0.0 <= t <= 1.0:
                    raise ValueError(
                        f"translation values should be between 0 and 1, got {translate}"
                    )
        if scale is not None:
            for s in as_numbers(scale, "scale", (2,)):
                if s <= 0:
                    raise ValueError(f"scale values should be positive, got {scale}")
        if center is not None:
            as_numbers(center, "center", (2,))
        self.translate, self.scale, self.center = translate, scale, center
        self.shear = None if shear is None else as_angles(shear, "shear", (2, 4))
        self.interpolation = as_mode(interpolation)
        self.fill = _as_fill(fill, "RandomAffine")

    @staticmethod
    def get_params(
        degrees: Sequence[float],
        translate: Sequence[float] | None,
        scale_ranges: Sequence[float] | None,
        shears: Sequence[float] | None,
        img_size: Sequence[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """Return angle, translation, scale and shear for an image of some width and height.

        >>> affine = weft.vision.transforms.RandomAffine
        >>> affine.get_params([5.0, 5.0], None, None, None, [4, 4])
        (5.0, (0, 0), 1.0, (0.0, 0.0))
        """
        angle = uniform(degrees[0], degrees[1])
        moves = (0, 0)
        if translate is not None:
            most = [float(t * n) for t, n in zip(translate, img_size)]
            moves = (round(uniform(-most[0], most[0])), round(uniform(-most[1], most[1])))
        scale = 1.0 if scale_ranges is None else uniform(scale_ranges[0], scale_ranges[1])
        slants = (0.0, 0.0)
        if shears is not None:
            down = uniform(shears[2], shears[3]) if len(shears) == 4 else 0.0
            slants = (uniform(shears[0], shears[1]), down)
        return angle, moves, scale, slants

    def forward(self, img: Any) -> Any:
        """Return the changed image."""
        _, h, w = get_dimensions(img)
        params = self.get_params(self.degrees, self.translate, self.scale, self.shear, [w, h])
        return F.affine(
            img, *params, interpolation=self.interpolation, fill=self.fill, center=self.center
        )

    def extra_repr(self) -> str:
        """Return the arguments that were given."""
        text = f"degrees={self.degrees}"
        for name in ("translate", "scale", "shear"):
            if getattr(self, name) is not None:
                text += f", {name}={getattr(self, name)}"
        if self.interpolation != InterpolationMode.NEAREST:
            text += f", interpolation={self.interpolation.value}"
        if self.fill != 0:
            text += f", fill={self.fill}"
        return text if self.center is None else f"{text}, center={self.center}"


class RandomPerspective(RandomTransform):
    """An image seen from a random side, with probability ``p``.

    Args:
        distortion_scale: how far the corners may move, from 0 to 1.
        p: the probability.
        interpolation: how values between pixels are found.
        fill: the pixels outside of the image.

    >>> weft.vision.transforms.RandomPerspective()
    RandomPerspective(p=0.5)
    """

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Any = InterpolationMode.BILINEAR,
        fill: Any = 0,
    ) -> None:
        super().__init__(p)
        if not 0 <= distortion_scale <= 1:
            raise ValueError(f"distortion_scale should be from 0 to 1, got {distortion_scale}")
        self.distortion_scale = distortion_scale
        self.interpolation = as_mode(interpolation)
        self.fill = _as_fill(fill, "RandomPerspective")

    @staticmethod
    def get_params(
        width: int, height: int, distortion_scale: float
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Return the corners of an image, and where they go.

        >>> weft.vision.transforms.RandomPerspective.get_params(4, 2, 0.0)[1]
        [[0, 0], [3, 0], [3, 1], [0, 1]]
        """
        most_x = int(distortion_scale * (width // 2)) + 1
        most_y = int(distortion_scale * (height // 2)) + 1
        right, low = width - 1, height - 1
        start = [[0, 0], [right, 0], [right, low], [0, low]]
        end = [
            [abs(x - whole(0, most_x)), abs(y - whole(0, most_y))] for x, y in start
        ]  # towards the middle: from 0 up, from the far sides down
        return start, end

    def change(self, img: Any) -> Any:
        """Return the image from another side."""
        _, h, w = get_dimensions(img)
        start, end = self.get_params(w, h, self.distortion_scale)
        return F.perspective(img, start, end, self.interpolation, self.fill)


class ElasticTransform(Transform):
    """An image bent like rubber, by smooth random displacements.

    Args:
        alpha: how far, along x and y; or one number.
        sigma: how smooth, along x and y; or one number.
        interpolation: how values between pixels are found.
        fill: the pixels outside of the image.

    >>> weft.vision.transforms.ElasticTransform(alpha=10.0)(weft.ones(1, 8, 8)).shape
    torch.Size([1, 8, 8])
    """

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: Any = InterpolationMode.BILINEAR,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.alpha, self.sigma = self._pair(alpha, "alpha"), self._pair(sigma, "sigma")
        self.interpolation = as_mode(interpolation)
        self.fill = _as_fill(fill, "ElasticTransform")

    @staticmethod
    def _pair(x: Any, name: str) -> list[float]:
        if isinstance(x, (int, float)):
            return [float(x)] * 2
        pair = [float(v) for v in as_numbers(x, name, (1, 2))]
        return pair * 2 if len(pair) == 1 else pair

    @staticmethod
    def get_params(alpha: Sequence[float], sigma: Sequence[float], size: Sequence[int]) -> Tensor:
        """Return random displacements for an image of some height and width.

        >>> elastic = weft.vision.transforms.ElasticTransform
        >>> elastic.get_params([1.0, 1.0], [1.0, 1.0], [4, 5]).shape
        torch.Size([1, 4, 5, 2])
        """
        parts = []
        for strength, width, length in zip(alpha, sigma, (size[0], size[1])):
            field = weft.rand(1, 1, *size) * 2 - 1
            if width > 0.0:
                side = int(8 * width + 1)
                side += side % 2 == 0
                field = _blurred(field, side, width)
            parts.append(field * strength / length)
        return weft.cat(parts, 1).permute(0, 2, 3, 1)

    def forward(self, tensor: Any) -> Any:
        """Return the bent image."""
        _, h, w = get_dimensions(tensor)
        displacement = self.get_params(self.alpha, self.sigma, [h, w])
        return F.elastic_transform(tensor, displacement, self.interpolation, self.fill)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return (
            f"alpha={self.alpha}, sigma={self.sigma}, interpolation={self.interpolation}, "
            f"fill={self.fill}"
        )


def _blurred(field: Tensor, side: int, width: float) -> Tensor:
    """Blur a field of numbers; its edges are reflected, as often as the window is wide."""
    half = side // 2
    wide = F.pad(field, half, padding_mode="symmetric")
    return F.center_crop(F.gaussian_blur(wide, side, width), list(field.shape[-2:]))
