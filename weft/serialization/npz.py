"""``.npz``: NumPy's zip of arrays."""

from __future__ import annotations

import os
import re
import zipfile
from typing import TYPE_CHECKING, Any

import weft

from .archive import Archive
from .atomic import write_file
from .common import FileError, as_bytes, as_count, empty, name_of
from .structure import array_of, plain_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

    from weft import Tensor

__all__ = ["load_npz", "save_npz"]

_PLAIN = 48 << 20  # bytes that may be decompressed without a thought
_RATIO = 16  # beyond that, how much larger than the file
_LONGEST_HEAD = 1 << 12
_HEAD = re.compile(  # the text of a Python dict, as NumPy writes it
    rb"\{\s*'descr':\s*'(?P<dtype>[!-&(-~]{1,8})',\s*'fortran_order':\s*(?P<fortran>True|False),"
    rb"\s*'shape':\s*\((?P<shape>|N,|N(, ?N){1,63},?)\s?\),?\s*\}\s*".replace(
        b"N", rb"(0|[1-9]\d{0,19})"
    ),
    re.ASCII,
)


def save_npz(tensors: Mapping[str, Tensor], filename: Any) -> None:
    """Write tensors to a ``.npz`` file, for NumPy to read.

    Args:
        tensors: by name; any dtype but bfloat16, which NumPy does not have.
        filename: a path, or a file open for writing.

    >>> import io
    >>> file = io.BytesIO()
    >>> weft.serialization.save_npz({"x": weft.ones(2)}, file)
    >>> weft.serialization.load_npz(io.BytesIO(file.getvalue()))
    {'x': tensor([1., 1.])}
    """
    import numpy as np

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
        content = empty("uint8", info.file_size, where)
        archive.fill(name, content)
        array = _array(as_bytes(content), where)
        try:
            found[name.removesuffix(".npy")] = weft.from_numpy(array)
        except (TypeError, RuntimeError) as e:
            raise FileError(f"{where}: {e}") from None
    return found


def _array(data: memoryview, where: str) -> Any:
    """Return the array of one ``.npy``, in its memory; the head is checked before."""
    size = {b"\1\0": 2, b"\2\0": 4, b"\3\0": 4}.get(bytes(data[6:8]))
    if data[:6] != b"\x93NUMPY" or size is None or len(data) < 8 + size:
        raise FileError(f"{where}: not an array of NumPy, or of an unknown version")
    begin = 8 + size
    length = int.from_bytes(data[8:begin], "little")
    head = _HEAD.fullmatch(bytes(data[begin : begin + min(length, _LONGEST_HEAD)]))
    if length > len(data) - begin or head is None:
        raise FileError(f"{where}: the head is damaged, or not that of an array of numbers")
    dtype = plain_dtype(head["dtype"].decode(), where)
    shape = [as_count(int(n), f"{where}: shape") for n in head["shape"].split(b",") if n.strip()]
    order = "F" if head["fortran"] == b"True" else "C"
    made = array_of(dtype, shape, order, data[begin + length :], where, copy=False)
    native = made.astype(dtype.newbyteorder("="), copy=False)
    return native if native.flags.aligned else native.copy()
