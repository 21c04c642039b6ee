"""PyTorch's ``.pt`` and ``.pth``: data are read, code is refused by name."""

from __future__ import annotations

import io
from collections import Counter, OrderedDict, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import weft

from .common import (
    DTYPES,
    LARGEST_HEADER,
    SIZES,
    FileError,
    as_count,
    check_bools,
    empty,
    fill,
    short,
    size_of,
    view_of,
)
from .pickles import Global, Patch, Reader
from .structure import array_of, plain_dtype
from .weft_file import set_grad

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from weft import Tensor

    from .archive import Archive

__all__ = ["read", "read_legacy", "read_plain"]

_STORAGES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "UntypedStorage": "uint8",
}
_ALIASES = {"half": "float16", "float": "float32", "double": "float64", "int": "int32"}
_ALIASES |= {"long": "int64", "short": "int16", "cfloat": "complex64", "cdouble": "complex128"}
_FOREIGN = set("uint16 uint32 uint64 complex32 chalf bits8 quint8 qint8 qint32 quint4x2".split())
_FOREIGN |= {f"float8_{kind}" for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")}
_MAGIC = 0x1950A86A20F9469CFC6C  # the first number of PyTorch's files before version 1.6


def read(archive: Archive) -> Any:
    """Read the object of a zip that ``torch.save`` wrote."""
    what = archive.what
    pickles = [n for n in archive.members if n.count("/") == 1 and n.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise FileError(f"{what}: {len(pickles)} members data.pkl")
    root = pickles[0].removesuffix("data.pkl")
    swap = False
    if f"{root}byteorder" in archive.members:
        order = archive.read(f"{root}byteorder", 64)
        if order not in (b"little", b"big"):
            raise FileError(f"{what}: the byte order {order!r}")
        swap = order == b"big"
    loaded: dict[str, Tensor] = {}

    def storage(dtype: str, key: str, count: int) -> Tensor:
        if key not in loaded:
            member = f"{root}data/{key}"
            size = archive.info(member).file_size
            if size != count * SIZES[dtype]:
                raise FileError(f"{what}: {member!r}: {size} bytes for {count} of {dtype}")
            flat = empty(dtype, count, what)
            archive.fill(member, flat)
            loaded[key] = _checked(flat, swap, what)
        return loaded[key]

    data = archive.read(pickles[0], LARGEST_HEADER)
    return _Torch(storage, what).run(io.BytesIO(data))


def read_legacy(f: BinaryIO, what: str) -> Any:
    """Read a file of PyTorch before 1.6: five pickles, then the storages one after another."""
    size = size_of(f)
    f = _Within(f, size)  # type: ignore[assignment]
    promised: dict[str, Tensor] = {}
    total = 0

    def storage(dtype: str, key: str, count: int) -> Tensor:
        nonlocal total
        if key not in promised:
            total += count * SIZES[dtype]
            if total > size:
                raise FileError(f"{what}: storages of {total} bytes in a file of {size}")
            promised[key] = empty(dtype, count, what)
        return promised[key]

    reader = _Torch(storage, what)
    magic = reader.run(f)
    if magic != _MAGIC:
        raise FileError(f"{what}: a pickle, but not one of torch.save")
    version, system = reader.run(f), reader.run(f)
    if version != 1001 or not isinstance(system, dict):
        raise FileError(f"{what}: version {version!r:.50} of PyTorch's old format")
    swap = system.get("little_endian") is False
    begin = f.tell()
    reader.run(f)  # to learn of the storages, which come last
    keys = reader.run(f)
    if not isinstance(keys, list):
        raise FileError(f"{what}: no list of storages")
    for key in keys:
        if not isinstance(key, str) or key not in promised:
            raise FileError(f"{what}: the storage {key!r:.50} is not used")
        flat = promised[key]
        count = int.from_bytes(f.read(8), "big" if swap else "little")
        if count != flat.numel():
            raise FileError(f"{what}: storage {key!r:.50}: {count} elements, not {flat.numel()}")
        fill(flat, f, f"{what}: storage {key!r:.50}")
        _checked(flat, swap, what)
    if lost := set(promised) - set(keys):
        raise FileError(f"{what}: no data for the storage {sorted(lost)[0]!r:.50}")
    f.seek(begin)
    return reader.run(f)


def read_plain(f: BinaryIO, what: str) -> Any:
    """Read a pickle of containers, numbers, text and NumPy arrays, and no tensors.

    >>> import io, pickle
    >>> from weft.serialization.torch_file import read_plain
    >>> read_plain(io.BytesIO(pickle.dumps({"labels": [3, 1]})), "batch")
    {'labels': [3, 1]}
    """

    def storage(dtype: str, key: str, count: int) -> Tensor:
        raise FileError(f"{what}: a tensor, where only arrays are expected")

    within: Any = _Within(f, size_of(f))
    return _Torch(storage, what).run(within)


class _Within:
    """A file of which no more is asked for than there is: Python takes memory for what is asked."""

    def __init__(self, f: BinaryIO, size: int) -> None:
        self.file, self.size = f, size
        self.seek, self.tell, self.readline = f.seek, f.tell, f.readline

    def read(self, count: int) -> bytes:
        return self.file.read(max(0, min(count, self.size - self.file.tell())))


def _checked(flat: Tensor, swap: bool, what: str) -> Tensor:
    """Return a storage that was read, in this machine's byte order."""
    dtype = short(flat.dtype)
    if swap and flat.numel():
        size = SIZES[dtype] // (2 if "complex" in dtype else 1)
        raw = flat.view(weft.uint8)
        raw.copy_(raw.reshape(-1, size).flip(1).reshape(-1))
    if dtype == "bool":
        check_bools(flat, what)
    return flat


class _Storage(NamedTuple):
    """A storage of a pickle, as ``_rebuild_tensor_v2`` is given it."""

    flat: Tensor
    dtype: str


class _Array(Patch):
    """A NumPy array whose state is still to come."""

    def build(self, state: Any, what: str) -> Any:
        _, shape, dtype, fortran, data = state
        if not isinstance(dtype, _Dtype) or not isinstance(shape, tuple):
            raise FileError(f"{what}: a NumPy array of {dtype!r:.100}")
        sizes = [as_count(n, what) for n in shape]
        data = data.encode("latin1") if isinstance(data, str) else data
        if not isinstance(data, bytes):
            raise FileError(f"{what}: a NumPy array of objects")
        made = array_of(dtype.dtype, sizes, "F" if fortran else "C", data, what)
        return made.astype(made.dtype.newbyteorder("="), copy=False)


class _Dtype(Patch):
    """A NumPy dtype of plain numbers."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def build(self, state: Any, what: str) -> Any:
        if not isinstance(state, tuple) or len(state) < 5 or state[2:5] != (None, None, None):
            raise FileError(f"{what}: a NumPy dtype of more than numbers")
        if state[1] not in ("<", ">", "|", "="):
            raise FileError(f"{what}: the byte order {state[1]!r:.20}")
        self.dtype = self.dtype.newbyteorder(state[1])
        return self


class _Torch:
    """The names that data in PyTorch's files refer to."""

    def __init__(self, storage: Callable[[str, str, int], Tensor], what: str) -> None:
        self.storage, self.what = storage, what
        self.reader = Reader(self.find, self.persistent, what)
        self.names: dict[str, Callable[..., Any]] = {
            "collections.OrderedDict": self._ordered,
            "collections.Counter": self._counter,
            "collections.defaultdict": self._defaultdict,
            "torch._utils._rebuild_tensor": self._tensor,
            "torch._utils._rebuild_tensor_v2": self._tensor,
            "torch._utils._rebuild_tensor_v3": self._tensor_v3,
            "torch._utils._rebuild_parameter": self._parameter,
            "torch._utils._rebuild_parameter_with_state": self._parameter,
            "torch._tensor._rebuild_from_type_v2": self._of_type,
            "torch.Size": self._size,
            "torch.device": self._device,
            "builtins.set": self._set,
            "builtins.frozenset": self._frozenset,
            "builtins.complex": complex,
            "builtins.bytearray": self._bytearray,
            "builtins.bytes": self._bytes,
            "builtins.range": range,
            "builtins.slice": slice,
            "_codecs.encode": self._encode,
            "numpy.dtype": self._numpy_dtype,
            "numpy.core.multiarray.scalar": self._numpy_scalar,
            "numpy.core.multiarray._reconstruct": self._numpy_array,
            "numpy.core.numeric._frombuffer": self._numpy_buffer,
        }

    def run(self, f: BinaryIO) -> Any:
        self.met: set[str] = set()  # storages
        made = self.reader.run(f)
        todo, seen = [made], {id(made)}
        while todo:  # not by recursion: a file may nest as deeply as it likes
            x = todo.pop()
            if isinstance(x, (_Kind, _Storage, Patch)):
                name = x.name if isinstance(x, _Kind) else type(x).__name__.strip("_")
                raise FileError(f"{self.what}: {name} as a value, which is not only data")
            parts: Any = x if isinstance(x, (list, tuple)) else ()
            if isinstance(x, dict):
                parts = [*x.keys(), *x.values()]
            for part in parts:
                if id(part) not in seen:
                    seen.add(id(part))
                    todo.append(part)
        return made

    def find(self, module: str, name: str) -> Global | None:
        """Return what stands for a global name, if it is a known one."""
        module = {"__builtin__": "builtins", "torch.storage": "torch"}.get(module, module)
        module = module.replace("numpy._core.", "numpy.core.")
        name = "range" if (module, name) == ("builtins", "xrange") else name
        full = f"{module}.{name}"
        if module == "torch" and name in _STORAGES:
            return Global(full, value=_Storage(weft.empty(0), _STORAGES[name]))
        if module == "torch" and _ALIASES.get(name, name) in DTYPES:
            return Global(full, value=DTYPES[_ALIASES.get(name, name)])
        if module == "torch" and name in _FOREIGN:
            raise FileError(f"{self.what}: holds {full}, a dtype that weft does not have")
        if full in ("numpy.ndarray", "torch.Tensor", "torch.nn.parameter.Parameter"):
            return Global(full, value=_Kind(full))
        if full in ("builtins.int", "builtins.float", "builtins.list", "builtins.dict"):
            return Global(full, value=_Kind(full))
        if full in self.names:
            return Global(full, call=self.names[full], value=_Kind(full))
        return None

    def persistent(self, ident: Any) -> Any:
        """Return the storage that ``("storage", type, key, place, count)`` means."""
        if not isinstance(ident, tuple) or len(ident) < 5 or ident[0] != "storage":
            raise FileError(f"{self.what}: the reference {ident!r:.100}")
        kind = ident[1].value if isinstance(ident[1], Global) else ident[1]
        if not isinstance(kind, _Storage) or not isinstance(ident[2], str):
            raise FileError(f"{self.what}: a storage of {kind!r:.100}")
        if len(ident) > 5 and ident[5] is not None:
            raise FileError(f"{self.what}: a storage that is a part of another one")
        count = as_count(ident[4], f"{self.what}: storage {ident[2]!r:.50}")
        flat = self.storage(kind.dtype, ident[2], count)
        if ident[2] not in self.met:
            self.met.add(ident[2])
            self.reader.copied -= flat.numel() * flat.element_size()  # it may be copied once
        return _Storage(flat, kind.dtype)

    # ---- tensors --------------------------------------------------------------------------------

    def _tensor(
        self,
        storage: Any,
        offset: Any,
        size: Any,
        stride: Any,
        requires_grad: Any = False,
        hooks: Any = None,
        metadata: Any = None,
    ) -> Tensor:
        if not isinstance(storage, _Storage):
            raise FileError(f"{self.what}: a tensor over {type(storage).__name__}")
        if hooks:
            raise FileError(f"{self.what}: a tensor with hooks, which are code")
        what = f"{self.what}: tensor"
        shape, steps = self._sizes(size), self._sizes(stride)
        x = view_of(storage.flat, storage.dtype, shape, steps, offset, what)
        for key in metadata or {}:
            if key not in ("conj", "neg"):
                raise FileError(f"{what}: with {key!r:.50}")
            if metadata[key]:
                self.reader.copy(x.numel() * x.element_size())
                x = x.conj() if key == "conj" else x.neg()
        return set_grad(x, requires_grad, what)

    def _sizes(self, x: Any) -> list[Any]:
        if not isinstance(x, (list, tuple)):  # a range may be long
            raise FileError(f"{self.what}: a shape of {type(x).__name__}")
        return list(x)

    def _tensor_v3(
        self,
        storage: Any,
        offset: Any,
        size: Any,
        stride: Any,
        requires_grad: Any,
        hooks: Any,
        dtype: Any,
        metadata: Any = None,
    ) -> Tensor:
        if not isinstance(dtype, weft.dtype) or not isinstance(storage, _Storage):
            raise FileError(f"{self.what}: a tensor of {dtype!r:.100}")
        typed = _Storage(storage.flat, short(dtype))
        return self._tensor(typed, offset, size, stride, requires_grad, hooks, metadata)

    def _parameter(
        self, data: Any, requires_grad: Any, hooks: Any = None, state: Any = None
    ) -> Tensor:
        from weft.nn import Parameter

        if not isinstance(data, weft.Tensor) or hooks:
            raise FileError(f"{self.what}: a parameter of {type(data).__name__}, or with hooks")
        made = Parameter(data.detach(), requires_grad=False)
        return set_grad(made, requires_grad, f"{self.what}: parameter")

    def _of_type(self, function: Any, kind: Any, args: Any, state: Any) -> Any:
        """A tensor with attributes of its own: the tensor is loaded, they are not."""
        known = isinstance(kind, _Kind) and kind.name.startswith("torch.")
        if not known or not isinstance(function, _Kind) or "_rebuild" not in function.name:
            raise FileError(f"{self.what}: a tensor of a class of its own")
        return self.names[function.name](*args)

    # ---- the rest -------------------------------------------------------------------------------

    def _ordered(self, items: Any = ()) -> Any:
        return OrderedDict(self._pairs(items))

    def _counter(self, items: Any = None) -> Any:
        return Counter(dict(self._pairs(items or {})))

    def _defaultdict(self, factory: Any = None, items: Any = ()) -> Any:
        known: dict[str, Any] = {"builtins.int": int, "builtins.float": float}
        known |= {"builtins.list": list, "builtins.dict": dict, "builtins.set": set}
        if factory is not None and getattr(factory, "name", None) not in known:
            raise FileError(f"{self.what}: a defaultdict of {factory!r:.100}")
        return defaultdict(None if factory is None else known[factory.name], self._pairs(items))

    def _pairs(self, items: Any) -> list[Any]:
        pairs = items.items() if isinstance(items, dict) else items
        return [(self.reader.key(key), value) for key, value in pairs]

    def _items(self, items: Any) -> list[Any]:
        if not isinstance(items, (list, tuple, set, frozenset)):
            raise FileError(f"{self.what}: a set of {type(items).__name__}")
        return list(map(self.reader.key, items))

    def _set(self, items: Any = ()) -> Any:
        return set(self._items(items))

    def _frozenset(self, items: Any = ()) -> Any:
        return frozenset(self._items(items))

    def _size(self, sizes: Any = ()) -> Any:
        return weft.Size([as_count(n, self.what) for n in self._sizes(sizes)])

    def _device(self, kind: Any, index: Any = None) -> Any:
        """A device; all of them are the CPU here."""
        if not isinstance(kind, str) or not isinstance(index, (int, type(None))):
            raise FileError(f"{self.what}: the device {kind!r:.50}")
        return weft.device("cpu")

    def _bytes(self, data: Any = b"") -> bytes:
        """Bytes of nothing, or of bytes: a number would make as many zeros."""
        if not isinstance(data, (bytes, list, tuple)):
            raise FileError(f"{self.what}: bytes of {type(data).__name__}")
        return bytes(data)

    def _bytearray(self, data: Any = b"", encoding: Any = None) -> bytearray:
        if isinstance(data, str) and encoding in ("latin-1", "latin1"):
            return bytearray(data.encode("latin1"))
        return bytearray(self._bytes(data))

    def _encode(self, text: Any, encoding: Any = "latin1") -> bytes:
        """How protocol 2 writes bytes."""
        if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
            raise FileError(f"{self.what}: text in the encoding {encoding!r:.50}")
        return text.encode("latin1")

    def _numpy_dtype(self, text: Any, align: Any = False, copy: Any = True) -> Any:
        return _Dtype(plain_dtype(text, self.what))

    def _numpy_scalar(self, dtype: Any, data: Any) -> Any:
        data = data.encode("latin1") if isinstance(data, str) else data
        if not isinstance(dtype, _Dtype) or not isinstance(data, bytes):
            raise FileError(f"{self.what}: a NumPy scalar of {dtype!r:.100}")
        native = dtype.dtype.newbyteorder("=")
        return array_of(dtype.dtype, [], "C", data, self.what).astype(native)[()]

    def _numpy_buffer(self, data: Any, dtype: Any, shape: Any, order: Any) -> Any:
        """How protocol 5 writes arrays."""
        state = (1, shape, dtype, order == "F", bytes(data))
        return _Array().build(state, self.what)

    def _numpy_array(self, kind: Any, shape: Any, typecode: Any) -> Any:
        if not isinstance(kind, _Kind) or kind.name != "numpy.ndarray":
            raise FileError(f"{self.what}: an array of a class of its own")
        return _Array()


class _Kind:
    """A name as a value, where data need one; it can do nothing."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name
