"""To tensors and back, numbers brought into range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft

from . import functional as F
from .common import Transform, chance, check_probability, random_box

if TYPE_CHECKING:
    from weft import Tensor

__all__ = [
    "ConvertImageDtype",
    "LinearTransformation",
    "Normalize",
    "PILToTensor",
    "RandomErasing",
    "ToPILImage",
    "ToTensor",
]


class ToTensor:
    """An image of Pillow or an array (H, W, C) as a tensor (C, H, W); bytes as 0.0 to 1.0.

    >>> from weft.vision.pillow import pillow
    >>> weft.vision.transforms.ToTensor()(pillow().new("RGB", (4, 2))).shape
    torch.Size([3, 2, 4])
    """

    def __call__(self, pic: Any) -> Tensor:
        """Return the tensor."""
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class PILToTensor:
    """An image of Pillow as a tensor (C, H, W) of the same numbers.

    >>> from weft.vision.pillow import pillow
    >>> weft.vision.transforms.PILToTensor()(pillow().new("L", (1, 1), 7))
    tensor([[[7]]], dtype=torch.uint8)
    """

    def __call__(self, pic: Any) -> Tensor:
        """Return the tensor."""
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ConvertImageDtype(Transform):
    """A tensor in another dtype, with the range of values scaled to that dtype's.

    >>> weft.vision.transforms.ConvertImageDtype(weft.uint8)(weft.ones(1, 1, 1))
    tensor([[[255]]], dtype=torch.uint8)
    """

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        if not isinstance(dtype, weft.dtype):
            raise TypeError(f"ConvertImageDtype: expected a dtype, got {dtype!r}")
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:
        """Return the tensor in the other dtype."""
        return F.convert_image_dtype(image, self.dtype)


class ToPILImage:
    """A tensor (C, H, W) or an array (H, W, C) as an image of Pillow.

    >>> weft.vision.transforms.ToPILImage()(weft.ones(3, 2, 4)).size
    (4, 2)
    """

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        """Return the image."""
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        mode = "" if self.mode is None else f"mode={self.mode}"
        return f"{type(self).__name__}({mode})"


class Normalize(Transform):
    """``(x - mean) / std``, with one mean and one std per channel.

    >>> normalize = weft.vision.transforms.Normalize(mean=(0.5,), std=(0.25,))
    >>> normalize(weft.full((1, 1, 2), 0.75))
    tensor([[[1., 1.]]])
    """

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = mean, std, inplace

    def forward(self, tensor: Tensor) -> Tensor:
        """Return the normalised tensor."""
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def extra_repr(self) -> str:
        """Return mean and std."""
        return f"mean={self.mean}, std={self.std}"


class LinearTransformation(Transform):
    """All pixels of a tensor less a mean, times a square matrix: whitening.

    >>> flat = weft.vision.transforms.LinearTransformation(2 * weft.eye(4), weft.ones(4))
    >>> flat(weft.ones(1, 2, 2)).flatten()
    tensor([0., 0., 0., 0.])
    """

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        rows, columns = transformation_matrix.shape
        if rows != columns:
            raise ValueError(f"transformation_matrix should be square. Got {rows} x {columns}.")
        if mean_vector.shape[0] != columns:
            raise ValueError(
                f"mean_vector should have the same length {mean_vector.shape[0]} as any one of the "
                f"dimensions of the transformation_matrix [{rows} x {columns}]"
            )
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def forward(self, tensor: Tensor) -> Tensor:
        """Return the transformed tensor."""
        count = self.transformation_matrix.shape[0]
        shape = tensor.shape
        if shape[-3] * shape[-2] * shape[-1] != count:
            raise ValueError(
                "Input tensor and transformation matrix have incompatible shape. "
                f"[{shape[-3]} x {shape[-2]} x {shape[-1]}] != {count}"
            )
        flat = tensor.reshape(-1, count) - self.mean_vector
        return weft.matmul(flat, self.transformation_matrix).reshape(shape)

    def extra_repr(self) -> str:
        """Return matrix and mean."""
        matrix, mean = self.transformation_matrix.tolist(), self.mean_vector.tolist()
        return f"transformation_matrix={matrix}, mean_vector={mean}"


class RandomErasing(Transform):
    """A random rectangle of a tensor wiped out, with probability ``p``.

    Args:
        p: the probability.
        scale: the range of the rectangle's share of the area.
        ratio: the range of its width to height.
        value: what it is filled with: a number, one for each channel, or 'random'.
        inplace: change the tensor itself.

    >>> erase = weft.vision.transforms.RandomErasing(p=1, scale=(0.25, 0.25), ratio=(1, 1))
    >>> int(erase(weft.ones(1, 4, 4)).sum())
    12
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: tuple[float, float] = (0.02, 0.33),
        ratio: tuple[float, float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(value, (int, float, str, tuple, list)):
            raise TypeError(
                f"Argument value should be either a number or str or a sequence, got {value!r}"
            )
        if isinstance(value, str) and value != "random":
            raise ValueError(f"If value is str, it should be 'random', got {value!r}")
        if not 0 <= scale[0] <= scale[1] <= 1:
            raise ValueError(f"Scale should be between 0 and 1, the smaller first, got {scale}")
        if not 0 < ratio[0] <= ratio[1]:
            raise ValueError(f"Ratio should be positive, the smaller first, got {ratio}")
        self.p = check_probability(p, "RandomErasing")
        self.scale, self.ratio, self.value, self.inplace = scale, ratio, value, inplace

    @staticmethod
    def get_params(
        img: Tensor,
        scale: tuple[float, float],
        ratio: tuple[float, float],
        value: list[float] | None = None,
    ) -> tuple[int, int, int, int, Tensor]:
        """Return top, left, height and width of the rectangle, and its content.

        >>> erasing = weft.vision.transforms.RandomErasing
        >>> erasing.get_params(weft.ones(1, 4, 4), (0.25, 0.25), (1, 1), [0.0])[2:4]
        (2, 2)
        """
        c, h, w = img.shape[-3:]
        box = random_box(h, w, scale, ratio, smaller=True)
        if box is None:
            return 0, 0, h, w, img
        if value is None:
            return (*box, weft.randn(c, box[2], box[3], dtype=weft.float32).to(img.dtype))
        return (*box, weft.tensor(value, dtype=img.dtype).reshape(-1, 1, 1))

    def forward(self, img: Tensor) -> Tensor:
        """Return the tensor, with a rectangle wiped out or as it is."""
        if not isinstance(img, weft.Tensor) or img.ndim < 3:
            raise TypeError(
                f"RandomErasing: expected a tensor (..., C, H, W), got {type(img).__name__}; "
                "put it behind ToTensor"
            )
        if chance() >= self.p:
            return img
        value: list[float] | None = None
        if isinstance(self.value, (int, float)):
            value = [float(self.value)]
        elif not isinstance(self.value, str):
            value = [float(v) for v in self.value]
        if value is not None and len(value) not in (1, img.shape[-3]):
            raise ValueError(
                "If value is a sequence, it should have either a single value or "
                f"{img.shape[-3]} (number of input channels), got {len(value)}"
            )
        i, j, h, w, v = self.get_params(img, self.scale, self.ratio, value)
        return F.erase(img, i, j, h, w, v, self.inplace)

    def extra_repr(self) -> str:
        """Return the arguments."""
        return (
            f"p={self.p}, scale={self.scale}, ratio={self.ratio}, value={self.value}, "
            f"inplace={self.inplace}"
        )
