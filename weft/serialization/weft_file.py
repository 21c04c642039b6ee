"""weft's own files: a zip of the tensors' memory, as safetensors, and a manifest in JSON.

The manifest comes last and names the SHA-256 of the tensors: a file without a whole manifest, or
with other tensors, is damaged. Tensors that shared memory when they were saved share it again.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from typing import TYPE_CHECKING, Any

import weft

from . import safetensors
from .common import (
    DTYPES,
    LARGEST_HEADER,
    FileError,
    as_bytes,
    as_count,
    check_bools,
    empty,
    fill,
    parse_json,
    product,
    short,
    view_of,
)
from .structure import Decoder, Encoder, is_parameter

if TYPE_CHECKING:
    from typing import BinaryIO

    from weft import Tensor

    from .archive import Archive

__all__ = ["read", "write"]

DATA, MANIFEST = "data.safetensors", "manifest.json"
FORMAT, VERSION = "weft", 1


def write(f: BinaryIO, obj: Any) -> None:
    """Write ``obj`` to an open file."""
    encoder = Encoder()
    tree = encoder.encode(obj)
    storages, table = _storages(encoder.tensors)
    names = list(storages)
    head = safetensors.header(storages, names)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "made_by": f"weft {weft.__version__}",
        "object": tree,
        "tensors": table,
        "data": {"member": DATA, "sha256": ""},
    }
    length = len(json.dumps(manifest, allow_nan=False, ensure_ascii=False).encode("utf-8"))
    if length > LARGEST_HEADER - 1024:
        raise ValueError(
            f"save: {length} bytes of structure, more than {LARGEST_HEADER}: put large lists of "
            "numbers into tensors"
        )
    digest = hashlib.sha256()
    with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as z:
        size = len(head) + sum(x.numel() * x.element_size() for x in storages.values())
        info = zipfile.ZipInfo(DATA)
        info.file_size = size
        with z.open(info, "w", force_zip64=size >= 1 << 31) as member:
            parts = [memoryview(head), *(as_bytes(storages[name]) for name in names)]
            for part in parts:
                for at in range(0, len(part), 1 << 20):
                    member.write(part[at : at + (1 << 20)])
                    digest.update(part[at : at + (1 << 20)])
        manifest["data"] = {"member": DATA, "sha256": digest.hexdigest()}
        text = json.dumps(manifest, allow_nan=False, ensure_ascii=False)
        z.writestr(zipfile.ZipInfo(MANIFEST), text.encode("utf-8"))


def _storages(tensors: list[Tensor]) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    """Return the memory behind tensors, each piece once, and where the tensors are in it."""
    groups: dict[int, list[int]] = {}  # address of a storage: the tensors in it
    for i, x in enumerate(tensors):
        base = x.data_ptr() - x.storage_offset() * x.element_size() if x.numel() else -1 - i
        groups.setdefault(base, []).append(i)
    storages: dict[str, Tensor] = {}
    table: list[dict[str, Any]] = [{} for _ in tensors]
    for number, members in enumerate(groups.values()):
        piece, begin = _piece([tensors[i] for i in members])
        for i in members:
            x = tensors[i]
            table[i] = {
                "storage": str(number),
                "dtype": short(x.dtype),
                "shape": list(x.shape),
                "stride": list(x.stride()),
                "offset": x.storage_offset() - begin // x.element_size() if x.numel() else 0,
                "requires_grad": bool(x.requires_grad),
                "parameter": is_parameter(x),
            }
        if short(piece.dtype) == "complex128":  # which safetensors has not
            piece = weft.view_as_real(piece).reshape(-1)
        storages[str(number)] = piece
    ordered = sorted(storages, key=lambda name: -storages[name].element_size())  # aligned
    return {name: storages[name] for name in ordered}, table


def _piece(tensors: list[Tensor]) -> tuple[Tensor, int]:
    """Return the part of one storage that tensors use, flat, and the byte where it begins."""
    x = min(tensors, key=lambda t: t.element_size())
    if not x.numel():
        return weft.empty(0, dtype=x.dtype), 0
    largest = max(t.element_size() for t in tensors)
    begin = min(t.storage_offset() * t.element_size() for t in tensors) // largest * largest
    end = max(
        (t.storage_offset() + sum((n - 1) * s for n, s in zip(t.shape, t.stride())) + 1)
        * t.element_size()
        for t in tensors
    )
    size = x.element_size()
    count = -(-(end - begin) // size)
    flat = x.detach().as_strided((count,), (1,), begin // size)
    if len({short(t.dtype) for t in tensors}) > 1:
        flat = flat.view(weft.uint8)
    return flat, begin


# ---- back ---------------------------------------------------------------------------------------


def read(archive: Archive) -> Any:
    """Read the object of an open file."""
    what = archive.what
    if set(archive.members) != {DATA, MANIFEST}:
        raise FileError(
            f"{what}: members {list(archive.members)!r:.200} instead of {DATA} and {MANIFEST}"
        )
    manifest = parse_json(archive.read(MANIFEST, LARGEST_HEADER), f"{what}: {MANIFEST}")
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FileError(f"{what}: {MANIFEST} is not weft's")
    version = manifest.get("version")
    if version != VERSION:
        raise FileError(f"{what}: version {version!r:.50} of the format; this weft reads {VERSION}")
    data, table = manifest.get("data"), manifest.get("tensors")
    if not isinstance(data, dict) or not isinstance(table, list) or "object" not in manifest:
        raise FileError(f"{what}: {MANIFEST} is incomplete")
    storages = _read_storages(archive, data.get("sha256"))
    tensors = [_tensor(entry, storages, f"{what}: tensor {i}") for i, entry in enumerate(table)]
    return Decoder(tensors, what, archive.info(DATA).file_size).decode(manifest["object"])


def _read_storages(archive: Archive, expected: Any) -> dict[str, Tensor]:
    size = archive.seek(DATA)
    f, what, digest = archive.file, f"{archive.what}: {DATA}", hashlib.sha256()
    begin = f.tell()
    entries, _ = safetensors.read_header(f, size, what)
    head = f.tell() - begin
    f.seek(begin)
    digest.update(f.read(head))
    storages = {}
    for name, dtype, shape, _ in entries:
        if len(shape) != 1:
            raise FileError(f"{what}: storage {name!r:.50} is not flat")
        storages[name] = empty(dtype, product(shape), what)
        fill(storages[name], f, what, digest)
        if dtype == "bool":
            check_bools(storages[name], what)
    if digest.hexdigest() != expected:
        raise FileError(f"{what}: the checksum is wrong: the file is damaged")
    return storages


_KEYS = {"storage", "dtype", "shape", "stride", "offset", "requires_grad", "parameter"}


def _tensor(entry: Any, storages: dict[str, Tensor], what: str) -> Tensor:
    if not isinstance(entry, dict) or set(entry) != _KEYS:
        raise FileError(f"{what}: {entry!r:.200} does not describe a tensor")
    storage, dtype = entry["storage"], entry["dtype"]
    if not isinstance(storage, str) or storage not in storages:
        raise FileError(f"{what}: no storage {storage!r:.50}")
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise FileError(f"{what}: no dtype {dtype!r:.50}")
    if not isinstance(entry["shape"], list) or not isinstance(entry["stride"], list):
        raise FileError(f"{what}: shape and stride must be lists")
    offset = as_count(entry["offset"], what)
    x = view_of(storages[storage], dtype, entry["shape"], entry["stride"], offset, what)
    if dtype == "bool" and short(storages[storage].dtype) != "bool":
        check_bools(storages[storage].view(weft.bool), what)
    if entry["parameter"] is True:
        from weft.nn import Parameter

        x = Parameter(x, requires_grad=False)
    return set_grad(x, entry["requires_grad"], what)


def set_grad(x: Tensor, requires_grad: Any, what: str) -> Tensor:
    """Return a loaded tensor, with its mark of requiring a gradient."""
    if type(requires_grad) is not bool:
        raise FileError(f"{what}: requires_grad is {requires_grad!r:.50}")
    if requires_grad and not (x.is_floating_point() or x.is_complex()):
        raise FileError(f"{what}: {short(x.dtype)} cannot require a gradient")
    return x.requires_grad_() if requires_grad else x
