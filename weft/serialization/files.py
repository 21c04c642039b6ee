"""``save`` and ``load``: which of the formats a file has is seen from its first bytes."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

import weft

from . import safetensors, weft_file
from .archive import Archive
from .atomic import write_file
from .common import FileError, name_of

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["load", "save"]


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: Any = None) -> None:
    """Save tensors, numbers, text and containers of them to a file.

    Saved are tensors (also parameters; shared memory stays shared), numbers, text, bytes, None,
    lists, tuples, dicts, sets, sizes, dtypes, devices, generators, and NumPy arrays and numbers,
    nested in any way. Anything else raises ``TypeError`` and says where it was met.

    Args:
        obj: what to save.
        f: a path, which is replaced in one go, or a file open for writing.
        pickle_module, pickle_protocol: not supported, weft does not pickle.

    >>> import io
    >>> file = io.BytesIO()
    >>> weft.save([weft.arange(2), "text"], file)
    >>> weft.load(io.BytesIO(file.getvalue()))
    [tensor([0, 1]), 'text']
    >>> weft.save({"model": [print]}, file)
    Traceback (most recent call last):
    TypeError: save: obj['model'][0] is of type builtin_function_or_method, which is not only data
    """
    for name, value in (("pickle_module", pickle_module), ("pickle_protocol", pickle_protocol)):
        if value is not None:
            raise NotImplementedError(f"save({name}=...): weft's files are not pickles")
    write_file(f, lambda file: weft_file.write(file, obj))


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
) -> Any:
    """Load what ``weft.save`` or ``torch.save`` saved, or a ``.safetensors`` or ``.npz`` file.

    Of PyTorch's files, data are read: tensors, containers, numbers. A file that needs code of its
    own to be loaded is refused, with the name of what it asked for.

    Args:
        f: a path, or a file open for reading that can seek.
        map_location: only the CPU.
        pickle_module: not supported, weft does not unpickle.
        weights_only: accepted; weft never loads more than data.
        mmap: not supported: a file that is cut while it is mapped ends the process.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "state.pt")
    >>> weft.save({"step": 1}, path)
    >>> weft.load(path, map_location="cpu")
    {'step': 1}
    """
    if pickle_module is not None:
        raise NotImplementedError("load(pickle_module=...): weft does not unpickle")
    if mmap:
        raise NotImplementedError("load(mmap=True): weft reads files, it does not map them")
    _check_location(map_location)
    what = f"load: {name_of(f)}"
    if isinstance(f, (str, bytes, os.PathLike)):
        with open(f, "rb") as file:
            return _load(file, what)
    if not hasattr(f, "read"):
        raise TypeError(f"load: expected a path or a file to read from, got {type(f).__name__}")
    if not (hasattr(f, "seek") and hasattr(f, "tell")):
        raise TypeError("load: the file cannot seek: read it into an io.BytesIO first")
    return _load(f, what)


def _check_location(where: Any) -> None:
    """Refuse devices that weft does not have. A function or a dict can only ever mean the CPU."""
    if isinstance(where, dict):
        for value in where.values():
            weft._environment.require_cpu(value)
    elif where is not None and not callable(where):
        weft._environment.require_cpu(where)


def _load(file: BinaryIO, what: str) -> Any:
    start = file.tell()
    head = file.read(16)
    if not isinstance(head, bytes):
        raise TypeError(f"{what}: the file is open for text, not for bytes")
    if start and head[:4] == b"PK\x03\x04":  # zip counts from the beginning
        file = io.BytesIO(head + file.read())
        start = 0
    file.seek(start)
    try:
        return _by_format(file, head, what)
    except RecursionError:
        raise FileError(f"{what}: nested too deeply") from None
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as e:
        raise FileError(f"{what}: damaged: {type(e).__name__}: {e}") from e  # met by no test


def _by_format(file: BinaryIO, head: bytes, what: str) -> Any:
    if head[:2] == b"PK":
        archive = Archive(file, what, compressed=True)
        if weft_file.MANIFEST in archive.members:
            return weft_file.read(Archive(file, what))
        if any(name.count("/") == 1 and name.endswith("/data.pkl") for name in archive.members):
            if any(
                name.split("/")[1:2] in (["constants.pkl"], ["code"]) for name in archive.members
            ):
                raise FileError(f"{what}: a TorchScript program, which is code and not only data")
            from .torch_file import read

            return read(Archive(file, what))
        if archive.members and all(name.endswith(".npy") for name in archive.members):
            from . import npz

            return npz.read(archive)
        names = ", ".join(sorted(archive.members)[:5])
        raise FileError(f"{what}: a zip of neither weft, PyTorch nor NumPy (it holds {names:.200})")
    if head[:1] == b"\x80":
        from .torch_file import read_legacy

        return read_legacy(file, what)
    if head[8:9] == b"{":
        return safetensors.read(file, what)
    if not head:
        raise FileError(f"{what}: empty")
    raise FileError(
        f"{what}: neither a file of weft, PyTorch, NumPy (.npz) nor safetensors; it begins with "
        f"{head[:8]!r}"
    )
