"""Images read from files and written to them, as tensors of bytes (C, H, W)."""

from __future__ import annotations

import io as _io
import os
from enum import Enum
from typing import TYPE_CHECKING, Any

import weft

from .files import write_bytes
from .pillow import pillow
from .transforms.functional import pil_to_tensor, to_pil_image

if TYPE_CHECKING:
    from pathlib import Path

    from weft import Tensor

__all__ = [
    "ImageReadMode",
    "decode_image",
    "encode_jpeg",
    "encode_png",
    "read_file",
    "read_image",
    "write_file",
    "write_jpeg",
    "write_png",
]


class ImageReadMode(Enum):
    """In which channels an image is read; UNCHANGED: in those that the file has.

    >>> weft.vision.io.ImageReadMode["RGB"].name
    'RGB'
    """

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def _read_mode(mode: Any) -> ImageReadMode:
    if isinstance(mode, ImageReadMode):
        return mode
    names = {"RGBA": "RGB_ALPHA"}
    if isinstance(mode, str) and names.get(mode.upper(), mode.upper()) in ImageReadMode.__members__:
        return ImageReadMode[names.get(mode.upper(), mode.upper())]
    raise ValueError(
        f"expected mode to be one of {', '.join(ImageReadMode.__members__)}, got {mode!r}"
    )


def _decode(data: Any, what: str, mode: Any, apply_exif_orientation: bool) -> Tensor:
    image, wanted = pillow(), _read_mode(mode)
    try:
        img = image.open(data)
        img.load()
    except (OSError, SyntaxError, ValueError, image.DecompressionBombError) as e:
        raise RuntimeError(f"{what}: no image that Pillow can read: {e}") from e
    if apply_exif_orientation:
        img = pillow("ImageOps").exif_transpose(img)
    if wanted is not ImageReadMode.UNCHANGED:
        img = img.convert(_MODES[wanted.value])
    elif img.mode not in _MODES.values():
        few = "L" if img.mode in ("1", "I", "I;16", "F") else "RGB"
        img = img.convert("RGBA" if "transparency" in img.info else few)
    return pil_to_tensor(img)


def _check_bytes(data: Any, name: str) -> None:
    if not isinstance(data, weft.Tensor) or data.dtype != weft.uint8 or data.ndim != 1:
        kind = type(data).__name__
        if isinstance(data, weft.Tensor):
            kind = f"{data.dtype} of shape {list(data.shape)}"
        raise RuntimeError(f"{name}: expected a 1-dimensional tensor of uint8, got {kind}")


def decode_image(
    input: Tensor, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """Return the image in the bytes of a file: JPEG, PNG, GIF, WebP or what else Pillow knows.

    Args:
        input: the bytes, a tensor of uint8 in one dimension.
        mode: an ``ImageReadMode``, or its name.
        apply_exif_orientation: turn the image as a camera has noted in it.

    >>> data = weft.vision.io.encode_png(weft.full((3, 1, 2), 7, dtype=weft.uint8))
    >>> weft.vision.io.decode_image(data).shape
    torch.Size([3, 1, 2])
    """
    _check_bytes(input, "decode_image")
    data = _io.BytesIO(input.numpy().tobytes())
    return _decode(data, "decode_image", mode, apply_exif_orientation)


def read_file(path: str | Path) -> Tensor:
    """Return the bytes of a file, a tensor of uint8 in one dimension.

    >>> weft.vision.io.read_file(weft.__file__).dtype
    torch.uint8
    """
    import numpy as np

    return weft.from_numpy(np.fromfile(path, np.uint8))


def read_image(
    path: str | Path, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """Return the image in a file, as bytes (C, H, W).

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.png")
    >>> weft.vision.io.write_png(weft.full((1, 1, 2), 7, dtype=weft.uint8), path)
    >>> weft.vision.io.read_image(path)
    tensor([[[7, 7]]], dtype=torch.uint8)
    """
    with open(path, "rb") as f:
        return _decode(f, os.fspath(path), mode, apply_exif_orientation)


def _encoded(input: Tensor, name: str, channels: tuple[int, ...], **options: Any) -> bytes:
    if not isinstance(input, weft.Tensor) or input.dtype != weft.uint8:
        kind = input.dtype if isinstance(input, weft.Tensor) else type(input).__name__
        raise RuntimeError(f"{name}: expected a tensor of uint8, got {kind}")
    if input.ndim != 3 or input.shape[0] not in channels:
        raise RuntimeError(
            f"{name}: expected the shape (C, H, W) with {' or '.join(map(str, channels))} channels, "
            f"got {list(input.shape)}"
        )
    out = _io.BytesIO()
    to_pil_image(input).save(out, **options)
    return out.getvalue()


def _as_bytes(data: bytes) -> Tensor:
    return weft.frombuffer(bytearray(data), dtype=weft.uint8)


def _png(input: Tensor, compression_level: int) -> bytes:
    if not 0 <= compression_level <= 9:
        raise RuntimeError(
            f"write_png: compression_level should be from 0 to 9, got {compression_level}"
        )
    return _encoded(input, "write_png", (1, 3), format="PNG", compress_level=compression_level)


def _jpeg(input: Tensor, quality: int) -> bytes:
    if not 1 <= quality <= 100:
        raise RuntimeError(f"write_jpeg: quality should be from 1 to 100, got {quality}")
    return _encoded(input, "write_jpeg", (1, 3), format="JPEG", quality=quality)


def encode_png(input: Tensor, compression_level: int = 6) -> Tensor:
    """Return the bytes of a PNG file with an image (C, H, W) of uint8.

    >>> weft.vision.io.encode_png(weft.zeros(3, 2, 2, dtype=weft.uint8))[1:4]
    tensor([80, 78, 71], dtype=torch.uint8)
    """
    return _as_bytes(_png(input, compression_level))


def encode_jpeg(input: Tensor, quality: int = 75) -> Tensor:
    """Return the bytes of a JPEG file with an image (C, H, W) of uint8.

    >>> weft.vision.io.encode_jpeg(weft.zeros(3, 2, 2, dtype=weft.uint8))[:2]
    tensor([255, 216], dtype=torch.uint8)
    """
    return _as_bytes(_jpeg(input, quality))


def write_file(filename: str | Path, data: Tensor) -> None:
    """Write bytes, a tensor of uint8 in one dimension, to a file, whole or not at all.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a")
    >>> weft.vision.io.write_file(path, weft.tensor([104, 105], dtype=weft.uint8))
    >>> path.read_text()
    'hi'
    """
    _check_bytes(data, "write_file")
    write_bytes(filename, data.numpy().tobytes())


def write_png(input: Tensor, filename: str | Path, compression_level: int = 6) -> None:
    """Write an image (C, H, W) of uint8 to a PNG file, whole or not at all.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.png")
    >>> weft.vision.io.write_png(weft.zeros(3, 2, 2, dtype=weft.uint8), path)
    """
    data = _png(input, compression_level)
    write_bytes(filename, data)


def write_jpeg(input: Tensor, filename: str | Path, quality: int = 75) -> None:
    """Write an image (C, H, W) of uint8 to a JPEG file, whole or not at all.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.jpg")
    >>> weft.vision.io.write_jpeg(weft.zeros(3, 2, 2, dtype=weft.uint8), path)
    """
    data = _jpeg(input, quality)
    write_bytes(filename, data)
