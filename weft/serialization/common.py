"""What all readers share: ``FileError``, names of dtypes, JSON with limits, tensors over bytes."""

from __future__ import annotations

import json
import os
import sys
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import weft

if TYPE_CHECKING:
    from typing import BinaryIO

    from weft import Tensor

__all__ = ["FileError"]

LARGEST_HEADER = 100 << 20  # bytes of JSON or pickle: they take many times as much in memory
DEEPEST = 64  # containers within containers
MOST_ELEMENTS = 2**56  # of a tensor

DTYPES = {
    name: getattr(weft, name)
    for name in (
        "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
    ).split()
}
SIZES = {name: weft.empty(0, dtype=dtype).element_size() for name, dtype in DTYPES.items()}


class FileError(RuntimeError):
    """A file is damaged, not what it seems to be, or holds what weft will not load.

    >>> import io
    >>> weft.load(io.BytesIO(b"no model"))
    Traceback (most recent call last):
    weft.serialization.common.FileError: load: <BytesIO>: neither ...
    """


def is_numpy(x: Any, *names: str) -> bool:
    """Return whether an object is of one of these types of NumPy, which is not loaded for it."""
    if type(x).__module__ == "builtins":  # most are
        return False
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, tuple(attrgetter(n)(numpy) for n in names))


def short(dtype: Any) -> str:
    """Return ``float32`` for ``weft.float32``."""
    return str(dtype).rpartition(".")[2]


def name_of(f: Any) -> str:
    """Return how errors name a file."""
    if isinstance(f, (str, bytes, os.PathLike)):
        return os.fsdecode(f)
    name = getattr(f, "name", None)
    return name if isinstance(name, str) else f"<{type(f).__name__}>"


def size_of(f: BinaryIO) -> int:
    """Return the size of an open file."""
    at = f.tell()
    end = f.seek(0, os.SEEK_END)
    f.seek(at)
    return end


def read_exactly(f: BinaryIO, count: int, what: str) -> bytes:
    """Read ``count`` bytes, or say that the file ends early."""
    data = f.read(count)
    if len(data) != count:
        raise FileError(f"{what}: the file ends after {len(data)} of {count} bytes")
    return data


def parse_json(data: bytes, what: str) -> Any:
    """Parse strict JSON: no duplicate keys, no NaN, not too large, not too deep."""
    if len(data) > LARGEST_HEADER:
        raise FileError(f"{what}: {len(data)} bytes of JSON, more than {LARGEST_HEADER}")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            seen: set[str] = set()
            twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
            raise FileError(f"{what}: the key {twice!r} is there twice")
        return made

    def refuse(constant: str) -> Any:
        raise FileError(f"{what}: {constant} is not JSON")

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=refuse)
    except FileError:
        raise
    except RecursionError:
        raise FileError(f"{what}: nested too deeply") from None
    except ValueError as e:
        raise FileError(f"{what}: not valid JSON: {e}") from None


def as_count(x: Any, what: str) -> int:
    """Return a number that must be a whole one, no larger than any size of a tensor."""
    if type(x) is not int or not 0 <= x <= MOST_ELEMENTS:
        raise FileError(f"{what}: expected a count, at most {MOST_ELEMENTS}, got {x!r:.100}")
    return x


def shaped(flat: Tensor, shape: list[int], what: str) -> Tensor:
    """Return a flat tensor with this shape, which has as many elements."""
    try:
        return flat.reshape(shape)
    except (RuntimeError, MemoryError) as e:  # some size is 0, and others are too large together
        raise FileError(f"{what}: sizes that no tensor can have: {e}") from None


def product(sizes: list[int]) -> int:
    """Return the number of elements of a shape."""
    n = 1
    for size in sizes:
        n *= size
    return n


def as_bytes(flat: Tensor) -> memoryview:
    """Return the memory of a contiguous tensor."""
    return memoryview(flat.view(weft.uint8)) if flat.numel() else memoryview(b"")


def empty(dtype: str, count: int, what: str) -> Tensor:
    """Return memory for ``count`` elements."""
    try:
        return weft.empty(count, dtype=DTYPES[dtype])
    except (RuntimeError, MemoryError) as e:
        raise FileError(f"{what}: no memory for {count} elements of {dtype}: {e}") from None


def fill(flat: Tensor, f: BinaryIO, what: str, *sinks: Any) -> None:
    """Read a contiguous tensor's bytes from a file; ``sinks`` (hashes) are given them too."""
    memory, at = as_bytes(flat), 0
    while at < len(memory):
        part = memory[at : at + (1 << 20)]
        got = _read_into(f, part)
        if not got:
            raise FileError(f"{what}: the file ends after {at} of {len(memory)} bytes")
        for sink in sinks:
            sink.update(part[:got])
        at += got


def _read_into(f: BinaryIO, part: memoryview) -> int:
    """``readinto``, also for file objects that have only ``read``."""
    readinto = getattr(f, "readinto", None)
    if readinto is not None:
        return readinto(part) or 0
    data = f.read(len(part))
    part[: len(data)] = data
    return len(data)


def view_of(
    storage: Tensor, dtype: str, shape: list[int], stride: list[int], offset: int, what: str
) -> Tensor:
    """Return a view into a storage (a flat tensor), after all checks of its bounds."""
    shape = [as_count(n, f"{what}, shape") for n in shape]
    stride = [as_count(n, f"{what}, stride") for n in stride]
    as_count(offset, f"{what}, offset")
    if len(shape) != len(stride):
        raise FileError(f"{what}: {len(shape)} sizes, but {len(stride)} strides")
    if len(shape) > DEEPEST:
        raise FileError(f"{what}: {len(shape)} dimensions")
    if short(storage.dtype) != dtype:
        flat = storage.view(weft.uint8) if storage.numel() else weft.empty(0, dtype=weft.uint8)
        whole = flat[: flat.numel() // SIZES[dtype] * SIZES[dtype]]
        storage = whole.view(DTYPES[dtype]) if whole.numel() else empty(dtype, 0, what)
    if 0 in shape:
        return shaped(empty(dtype, 0, what), shape, what)
    last = offset + sum((n - 1) * s for n, s in zip(shape, stride))
    if last >= storage.numel():
        raise FileError(
            f"{what}: shape {shape}, stride {stride} and offset {offset} reach element {last}, "
            f"but the storage has {storage.numel()}"
        )
    try:
        return storage.as_strided(shape, stride, offset)
    except (RuntimeError, OverflowError, ValueError, MemoryError) as e:  # many elements
        raise FileError(f"{what}: sizes that no tensor can have: {e}") from None


def check_bools(storage: Tensor, what: str) -> None:
    """Refuse booleans that are neither 0 nor 1."""
    if storage.numel() and int(storage.view(weft.uint8).max()) > 1:
        raise FileError(f"{what}: a boolean that is neither 0 nor 1")
