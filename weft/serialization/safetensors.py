"""``.safetensors``: the length of a JSON header, the header, the tensors' bytes.

The header is checked before anything is allocated: every byte of the data belongs to exactly one
tensor, and every size follows from dtype and shape.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import weft

from .atomic import write_file
from .common import (
    DEEPEST,
    LARGEST_HEADER,
    SIZES,
    FileError,
    as_bytes,
    as_count,
    check_bools,
    empty,
    fill,
    name_of,
    parse_json,
    product,
    read_exactly,
    shaped,
    short,
    size_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

    from weft import Tensor

__all__ = ["load_file", "read_metadata", "save_file"]

CODES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
}
NAMES = {code: name for name, code in CODES.items()}


def save_file(
    tensors: Mapping[str, Tensor], filename: Any, metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors to a ``.safetensors`` file.

    Args:
        tensors: by name. Each is written in full, also if it shares memory with others.
        filename: a path, or a file open for writing.
        metadata: text to go with them.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.safetensors")
    >>> weft.serialization.save_file({"x": weft.ones(2)}, path)
    >>> weft.serialization.load_file(path)
    {'x': tensor([1., 1.])}
    """
    for name, x in tensors.items():
        if not isinstance(name, str) or name == "__metadata__":
            raise TypeError(f"save_file: {name!r} cannot be the name of a tensor")
        if not isinstance(x, weft.Tensor):
            raise TypeError(f"save_file: {name!r} is no tensor, but of type {type(x).__name__}")
        if short(x.dtype) not in CODES:
            raise TypeError(f"save_file: {name!r}: safetensors has no {short(x.dtype)}")
    for key, value in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"save_file: metadata must be text, got {key!r}: {value!r}")
    write_file(filename, lambda f: write(f, tensors, metadata))


def write(
    f: BinaryIO, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Write checked tensors to an open file."""
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))  # aligned
    f.write(header(tensors, names, metadata))
    for name in names:
        f.write(as_bytes(tensors[name].detach().contiguous().reshape(-1)))


def header(
    tensors: Mapping[str, Tensor], names: list[str], metadata: Mapping[str, str] | None = None
) -> bytes:
    """Return the head of a file whose tensors follow in this order."""
    table: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for name in names:
        x = tensors[name]
        end = at + x.numel() * x.element_size()
        code = CODES[short(x.dtype)]
        table[name] = {"dtype": code, "shape": list(x.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % 8)
    if len(text) > LARGEST_HEADER:
        raise ValueError(f"save_file: a header of {len(text)} bytes, more than {LARGEST_HEADER}")
    return len(text).to_bytes(8, "little") + text


def load_file(filename: Any, device: Any = "cpu") -> dict[str, Tensor]:
    """Read the tensors of a ``.safetensors`` file.

    Args:
        filename: a path, or a file open for reading.
        device: only the CPU.

    >>> import io
    >>> file = io.BytesIO()
    >>> weft.serialization.save_file({"x": weft.arange(3)}, file)
    >>> weft.serialization.load_file(io.BytesIO(file.getvalue()))
    {'x': tensor([0, 1, 2])}
    """
    weft._environment.require_cpu(device)
    if not isinstance(filename, (str, bytes, os.PathLike)):
        return read(filename, f"load_file: {name_of(filename)}")
    with open(filename, "rb") as f:
        return read(f, f"load_file: {name_of(filename)}")


def read_metadata(filename: Any) -> dict[str, str]:
    """Return the text that a ``.safetensors`` file carries, without reading its tensors.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.safetensors")
    >>> weft.serialization.save_file({"x": weft.ones(2)}, path, {"epoch": "3"})
    >>> weft.serialization.read_metadata(path)
    {'epoch': '3'}
    """
    with open(filename, "rb") as f:
        return read_header(f, size_of(f), f"read_metadata: {name_of(filename)}")[1]


def read(f: BinaryIO, what: str) -> dict[str, Tensor]:
    """Read an open file from where it stands to its end."""
    entries, _ = read_header(f, size_of(f) - f.tell(), what)
    found = {}
    for name, dtype, shape, _ in entries:
        flat = empty(dtype, product(shape), f"{what}: {name!r}")
        fill(flat, f, f"{what}: {name!r}")
        if dtype == "bool":
            check_bools(flat, f"{what}: {name!r}")
        found[name] = shaped(flat, shape, f"{what}: {name!r}")
    return found


Entry = tuple[str, str, list[int], tuple[int, int]]


def read_header(f: BinaryIO, size: int, what: str) -> tuple[list[Entry], dict[str, str]]:
    """Read and check the head of ``size`` bytes; return the tensors in their order, and the text."""
    if size < 8:
        raise FileError(f"{what}: {size} bytes are too few for a safetensors file")
    length = int.from_bytes(read_exactly(f, 8, what), "little")
    if length > LARGEST_HEADER:
        raise FileError(f"{what}: a header of {length} bytes, more than {LARGEST_HEADER}")
    if length > size - 8:
        raise FileError(f"{what}: a header of {length} bytes in a file of {size}")
    text = read_exactly(f, length, f"{what}: header")
    if not text.startswith(b"{"):
        raise FileError(f"{what}: the header does not begin with '{{'")
    table = parse_json(text, f"{what}: header")
    metadata = table.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise FileError(f"{what}: __metadata__ must map text to text")
    entries = [_entry(name, value, what) for name, value in table.items()]
    entries.sort(key=lambda entry: entry[3])
    at = 0
    for name, _, _, (begin, end) in entries:
        if begin != at:
            fault = "overlaps the tensor before it" if begin < at else f"leaves {begin - at} bytes"
            raise FileError(f"{what}: {name!r} {fault} (data_offsets {[begin, end]})")
        at = end
    if at != size - 8 - length:
        raise FileError(f"{what}: tensors of {at} bytes, but {size - 8 - length} bytes of data")
    return entries, metadata


def _entry(name: str, value: Any, what: str) -> Entry:
    """Check what the header says of one tensor."""
    what = f"{what}: {name!r:.200}"
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise FileError(f"{what}: expected dtype, shape and data_offsets, got {value!r:.200}")
    code, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(code, str) or code not in NAMES:
        raise FileError(f"{what}: weft has no dtype {code!r:.50}")
    dtype = NAMES[code]
    if not isinstance(shape, list) or len(shape) > DEEPEST:
        raise FileError(f"{what}: bad shape {shape!r:.200}")
    shape = [as_count(n, f"{what}, shape") for n in shape]
    if not isinstance(offsets, list) or len(offsets) != 2:
        raise FileError(f"{what}: bad data_offsets {offsets!r:.200}")
    begin, end = (as_count(n, f"{what}, data_offsets") for n in offsets)
    if end - begin != product(shape) * SIZES[dtype]:
        raise FileError(
            f"{what}: {code} of shape {shape} does not take the {end - begin} bytes from {begin} "
            f"to {end}"
        )
    return name, dtype, shape, (begin, end)
