"""``.npz``: NumPy's zip of arrays."""

from __future__ import annotations

import io
import os
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

import weft

from .archive import Archive
from .atomic import write_file
from .common import LARGEST_HEADER, FileError, name_of
from .structure import array_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

    from weft import Tensor

__all__ = ["load_npz", "save_npz"]

_PLAIN = 256 << 20  # bytes that may be decompressed without a thought
_RATIO = 64  # beyond that, how much larger than the file


def save_npz(tensors: Mapping[str, Tensor], filename: Any) -> None:
    """Write tensors to a ``.npz`` file, for NumPy to read.

    Args:
        tensors: by name; any dtype but bfloat16, which NumPy has not.
        filename: a path, or a file open for writing.

    >>> import io
    >>> file = io.BytesIO()
    >>> weft.serialization.save_npz({"x": weft.ones(2)}, file)
    >>> weft.serialization.load_npz(io.BytesIO(file.getvalue()))
    {'x': tensor([1., 1.])}
    """
    arrays = {}
    for name, x in tensors.items():
        if not isinstance(name, str) or not isinstance(x, (weft.Tensor, np.ndarray)):
            raise TypeError(f"save_npz: expected tensors by name, got {name!r}: {type(x).__name__}")
        arrays[name] = np.asarray(x.detach() if isinstance(x, weft.Tensor) else x)
        if arrays[name].dtype.hasobject:
            raise TypeError(f"save_npz: {name!r} is an array of objects")

    def write(f: BinaryIO) -> None:
        with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as z:
            for name, array in arrays.items():
                with z.open(f"{name}.npy", "w", force_zip64=array.nbytes >= 1 << 31) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)

    write_file(filename, write)


def load_npz(filename: Any) -> dict[str, Tensor]:
    """Read the arrays of a ``.npz`` file as tensors.

    >>> import io, numpy
    >>> file = io.BytesIO()
    >>> numpy.savez(file, x=numpy.arange(3))
    >>> weft.serialization.load_npz(io.BytesIO(file.getvalue()))
    {'x': tensor([0, 1, 2])}
    """
    what = f"load_npz: {name_of(filename)}"
    if not isinstance(filename, (str, bytes, os.PathLike)):
        return read(Archive(filename, what, compressed=True))
    with open(filename, "rb") as f:
        return read(Archive(f, what, compressed=True))


def read(archive: Archive) -> dict[str, Tensor]:
    """Read an open file."""
    total = sum(info.file_size for info in archive.members.values())
    if total > max(_PLAIN, _RATIO * archive.size):
        raise FileError(
            f"{archive.what}: {archive.size} bytes that claim to hold {total}: numpy.load reads "
            "it, if you trust it"
        )
    found = {}
    for name, info in archive.members.items():
        where = f"{archive.what}: {name!r:.200}"
        if not name.endswith(".npy"):
            raise FileError(f"{where}: no array")
        array = _array(archive.read(name, info.file_size), where)
        try:
            found[name.removesuffix(".npy")] = weft.from_numpy(array)
        except (TypeError, RuntimeError) as e:
            raise FileError(f"{where}: {e}") from None
    return found


def _array(data: bytes, where: str) -> Any:
    """Parse one ``.npy``: its head is checked before the array is made."""
    f = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(f)
        readers = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        if version not in readers or len(data) > LARGEST_HEADER << 20:
            raise ValueError(f"version {version}")
        shape, fortran, dtype = readers[version](f)
    except Exception as e:  # NumPy parses the head as a Python literal, which fails in many ways
        raise FileError(f"{where}: damaged: {e}") from None
    if dtype.hasobject or dtype.names or dtype.subdtype or dtype.kind not in "biufc":
        raise FileError(f"{where}: an array of {dtype!s:.100}, not of numbers")
    body = data[f.tell() :]
    made = array_of(dtype, list(shape), "F" if fortran else "C", body, where)
    return np.ascontiguousarray(made.astype(dtype.newbyteorder("="))).reshape(made.shape)
