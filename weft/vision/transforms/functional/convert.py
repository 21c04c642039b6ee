"""Between images of Pillow, arrays and tensors; between dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft
from weft.vision.pillow import is_pil, pillow

from .common import check_image, largest

if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["convert_image_dtype", "normalize", "pil_to_tensor", "to_pil_image", "to_tensor"]

_ARRAYS = {"I": "int32", "I;16": "int16", "I;16L": "int16", "I;16B": ">i2", "I;16N": "int16"}
_MODES = {1: ("L",), 2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}


def _array_of(pic: Any) -> Any:
    """Return the pixels of an image of Pillow, (H, W, C), in memory of their own."""
    import numpy as np

    if pic.mode in ("1", "P"):  # their bytes: 0 and 255, numbers of colours
        raw = np.array(pic.convert("L") if pic.mode == "1" else pic, np.uint8)
    else:
        raw = np.array(pic)
        if pic.mode in _ARRAYS:
            raw = raw.view(_ARRAYS[pic.mode]) if raw.itemsize == 2 else raw.astype("int32")
            raw = raw.astype(raw.dtype.newbyteorder("="), copy=False)
    return raw[:, :, None] if raw.ndim == 2 else raw


def pil_to_tensor(pic: Any) -> Tensor:
    """Return an image of Pillow as a tensor (C, H, W) with the same numbers.

    >>> from weft.vision.pillow import pillow
    >>> weft.vision.transforms.functional.pil_to_tensor(pillow().new("L", (2, 1), 7))
    tensor([[[7, 7]]], dtype=torch.uint8)
    """
    if not is_pil(pic):
        raise TypeError(f"pil_to_tensor: pic should be PIL Image. Got {type(pic)}")
    return weft.from_numpy(_array_of(pic)).permute(2, 0, 1).contiguous()


def to_tensor(pic: Any) -> Tensor:
    """Return an image of Pillow or an array (H, W, C) as a tensor (C, H, W).

    Bytes become floating point from 0 to 1; other numbers stay as they are.

    >>> from weft.vision.pillow import pillow
    >>> weft.vision.transforms.functional.to_tensor(pillow().new("L", (2, 1), 51))
    tensor([[[0.2000, 0.2000]]])
    """
    if is_pil(pic):
        array = _array_of(pic)
    elif type(pic).__module__ == "numpy" and type(pic).__name__ == "ndarray":
        if pic.ndim not in (2, 3):
            raise ValueError(
                f"to_tensor: pic should be 2/3 dimensional. Got {pic.ndim} dimensions."
            )
        array = pic[:, :, None] if pic.ndim == 2 else pic
        if any(step < 0 for step in array.strides) or not array.flags.writeable:
            array = array.copy()
    else:
        raise TypeError(f"to_tensor: pic should be PIL Image or ndarray. Got {type(pic)}")
    planes = weft.from_numpy(array).permute(2, 0, 1)
    planes = planes.contiguous()  # while they are small
    return weft.div(planes, 255) if planes.dtype == weft.uint8 else planes


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """Return a tensor (C, H, W) or an array (H, W, C) as an image of Pillow.

    Floating point from 0 to 1 becomes bytes, unless ``mode`` is 'F'.

    >>> weft.vision.transforms.functional.to_pil_image(weft.ones(3, 4, 5)).size
    (5, 4)
    """
    import numpy as np

    if isinstance(pic, weft.Tensor):
        if pic.ndim not in (2, 3):
            raise ValueError(
                f"to_pil_image: pic should be 2/3 dimensional. Got {pic.ndim} dimensions."
            )
        planes = pic.detach() if pic.ndim == 3 else pic.detach().unsqueeze(0)
        if planes.is_floating_point() and mode != "F":
            planes = planes.mul(255).to(weft.uint8)
        array = planes.permute(1, 2, 0).contiguous().numpy()
    elif isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(
                f"to_pil_image: pic should be 2/3 dimensional. Got {pic.ndim} dimensions."
            )
        array = pic if pic.ndim == 3 else pic[:, :, None]
    else:
        raise TypeError(f"to_pil_image: pic should be Tensor or ndarray. Got {type(pic)}.")
    height, width, channels = array.shape
    if channels not in _MODES:
        raise ValueError(f"to_pil_image: pic should have 1 to 4 channels. Got {channels} channels.")
    mode = _mode_for(array.dtype.name, channels, mode)
    return pillow().frombytes(mode, (width, height), np.ascontiguousarray(array).tobytes())


def _mode_for(dtype: str, channels: int, mode: str | None) -> str:
    if channels == 1:
        modes: tuple[str, ...] = {
            "uint8": ("L",),
            "int16": ("I;16",),
            "int32": ("I",),
            "float32": ("F",),
        }.get(dtype, ())
    else:
        modes = _MODES[channels] if dtype == "uint8" else ()
    if not modes:
        raise TypeError(
            f"to_pil_image: Input type {dtype} with {channels} channels is not supported by Pillow"
        )
    if mode is not None and mode not in modes:
        raise ValueError(
            f"to_pil_image: Incorrect mode ({mode}) supplied for input type {dtype} with "
            f"{channels} channels. Should be {' or '.join(modes)}"
        )
    return mode or modes[0]


def convert_image_dtype(image: Tensor, dtype: Any = weft.float32) -> Tensor:
    """Return a tensor in another dtype, with the range of values scaled to that dtype's.

    >>> bytes_ = weft.tensor([0, 255], dtype=weft.uint8)
    >>> weft.vision.transforms.functional.convert_image_dtype(bytes_)
    tensor([0., 1.])
    """
    if not isinstance(image, weft.Tensor):
        raise TypeError(f"convert_image_dtype: Input img should be Tensor Image, got {type(image)}")
    if image.dtype == dtype:
        return image
    white, new_white = largest(image.dtype), largest(dtype)
    if image.is_floating_point():
        if dtype.is_floating_point:
            return image.to(dtype)
        exact = image.dtype == weft.float64 and dtype != weft.int64
        if dtype in (weft.int32, weft.int64) and not exact:
            raise RuntimeError(
                f"The cast from {image.dtype} to {dtype} cannot be performed safely."
            )
        return image.mul(new_white + 1 - 1e-3).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / white
    if white > new_white:
        return weft.div(image, (white + 1) // (new_white + 1), rounding_mode="floor").to(dtype)
    return image.to(dtype) * ((new_white + 1) // (white + 1))


def normalize(tensor: Tensor, mean: Any, std: Any, inplace: bool = False) -> Tensor:
    """Return ``(tensor - mean) / std``, with one mean and one std per channel.

    >>> image = weft.full((1, 1, 2), 0.75)
    >>> weft.vision.transforms.functional.normalize(image, mean=[0.5], std=[0.25])
    tensor([[[1., 1.]]])
    """
    if not isinstance(tensor, weft.Tensor):
        raise TypeError(f"normalize: img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"normalize: Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            "normalize: Expected tensor to be a tensor image of size (..., C, H, W). Got "
            f"tensor.size() = {list(tensor.shape)}"
        )
    means, stds = (weft.as_tensor(x, dtype=tensor.dtype) for x in (mean, std))
    if bool((stds == 0).any()):
        raise ValueError(f"std evaluated to zero in {tensor.dtype}, leading to division by zero.")
    means, stds = (x.view(-1, 1, 1) if x.ndim == 1 else x for x in (means, stds))
    return tensor.sub_(means).div_(stds) if inplace else tensor.sub(means).div_(stds)


def as_tensor_and_back(name: str, img: Any, function: Any) -> Any:
    """Return what a function of tensors makes of an image of either kind.

    >>> from weft.vision.transforms.functional.convert import as_tensor_and_back
    >>> as_tensor_and_back("double", weft.ones(1), lambda x: 2 * x)
    tensor([2.])
    """
    if isinstance(img, weft.Tensor) or not check_image(img, name):
        return function(img)
    if img.mode not in ("L", "LA", "RGB", "RGBA", "YCbCr", "HSV", "CMYK", "I", "F"):
        raise TypeError(f"{name}: an image of Pillow in mode {img.mode}, which it can not change")
    return to_pil_image(function(pil_to_tensor(img)), img.mode)
