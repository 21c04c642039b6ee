"""The idx format of MNIST: a magic number, sizes, then the elements, the largest byte first."""

from __future__ import annotations

import gzip
import math
import os
import zlib
from typing import TYPE_CHECKING, Any

import weft
from weft.vision.files import damaged

if TYPE_CHECKING:
    from pathlib import Path

    from weft import Tensor

__all__ = ["read_idx"]

_DTYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_CHUNK = 1 << 22


def read_idx(path: str | Path) -> Tensor:
    """Return the tensor in an idx file, which may be in gzip.

    >>> import os, tempfile
    >>> from weft.vision.datasets.idx import read_idx
    >>> path = os.path.join(tempfile.mkdtemp(), "labels")
    >>> with open(path, "wb") as f:
    ...     _ = f.write(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))  # uint8, one dimension, of 3
    >>> read_idx(path)
    tensor([7, 2, 1], dtype=torch.uint8)
    """
    import numpy as np

    name = os.fspath(path)
    with open(name, "rb") as start:
        packed = start.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(name, "rb") if packed else open(name, "rb") as f:
            shape, dtype = _header(f, name)
            data = _body(f, math.prod(shape) * np.dtype(dtype).itemsize, shape, name)
    except (EOFError, zlib.error, gzip.BadGzipFile) as e:
        raise damaged(f"{name}: damaged gzip file: {e}") from e
    made = np.frombuffer(data, dtype).reshape(shape)
    return weft.from_numpy(made.astype(made.dtype.newbyteorder("="), copy=False))


def _header(f: Any, name: str) -> tuple[list[int], str]:
    from weft.serialization.common import read_exactly

    magic = read_exactly(f, 4, name)
    if magic[:2] != b"\0\0" or magic[2] not in _DTYPES or not 1 <= magic[3] <= 8:
        raise damaged(
            f"{name}: not an idx file: begins with the bytes {magic.hex(' ')}, expected 00 00, a "
            "type from 08 to 0e and the number of dimensions"
        )
    sizes = read_exactly(f, 4 * magic[3], name)
    shape = [int.from_bytes(sizes[i : i + 4], "big") for i in range(0, len(sizes), 4)]
    return shape, _DTYPES[magic[2]]


def _body(f: Any, size: int, shape: list[int], name: str) -> bytearray:
    """Read what is there, in pieces: the sizes in a damaged header may be of any height."""
    data = bytearray()
    while len(data) <= size and (chunk := f.read(min(_CHUNK, size + 1 - len(data)))):
        data += chunk
    if len(data) != size:
        there = f"more than {size}" if len(data) > size else str(len(data))
        raise damaged(f"{name}: expected {size} bytes for the sizes {shape}, but {there} follow")
    return data
