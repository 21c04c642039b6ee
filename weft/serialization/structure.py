"""From nested Python objects to JSON and a list of tensors, and back.

In JSON, ``null``, booleans, text, plain numbers and lists stand for themselves. Everything else is
an object with one key that says what it is: ``{"tuple": [...]}``, ``{"dict": [[key, value], ...]}``,
``{"tensor": 3}``.
"""

from __future__ import annotations

import base64
import math
import re
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any

import weft

from .common import DEEPEST, DTYPES, FileError, as_count, is_numpy, short

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft import Tensor

__all__ = ["Decoder", "Encoder"]

_PLAIN_INT = 2**53  # what every JSON reader keeps
_LONG_BYTES = 4096  # longer ones are stored like tensors
_ARRAYS = set("?bhilqBHILQefdgFDG")  # characters of NumPy's numbers


class Encoder:
    """Turns objects into JSON, and collects their tensors."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.tensors: list[Tensor] = []
        self._numbers: dict[int, int] = {}
        self._open: set[int] = set()  # containers that we are inside of

    def encode(self, x: Any, path: str = "obj", depth: int = 0) -> Any:
        """Return what stands for ``x``."""
        kind = type(x)
        if x is None or kind is bool:
            return x
        if kind is str:
            return self._text(x, path)
        if kind is int and -_PLAIN_INT < x < _PLAIN_INT:
            return x
        if kind is float and math.isfinite(x):
            return x
        if isinstance(x, weft.Tensor):
            if x.layout not in (weft.strided, weft.sparse_coo):
                raise TypeError(
                    f"save: {path} has the layout {x.layout}; save x.to_sparse_coo() instead"
                )
            if x.is_sparse:
                return {"sparse": self._sparse(x, path)}
            return {"tensor": self._tensor(x, path)}
        how = _ENCODERS.get(kind)
        if how is not None:
            return how(self, x)
        if is_numpy(x, "ndarray", "generic"):
            return self._array(x, path)
        if kind in _CONTAINERS:
            return self._container(x, path, depth)
        raise TypeError(f"save: {path} is of type {full_name(kind)}, {_advice(x)}")

    def _text(self, x: str, path: str) -> str:
        try:
            x.encode("utf-8")
        except UnicodeEncodeError as e:
            raise ValueError(f"save: {path}: text that is no valid Unicode: {e}") from None
        return x

    def _container(self, x: Any, path: str, depth: int) -> Any:
        if depth >= DEEPEST:
            raise ValueError(f"save: {path}: more than {DEEPEST} containers within each other")
        if id(x) in self._open:
            raise ValueError(f"save: {path} contains itself")
        self._open.add(id(x))
        kind = type(x)
        if kind in (dict, OrderedDict, Counter):
            made: Any = []
            for key, value in x.items():
                where = f"{path}[{key!r:.100}]"
                if isinstance(key, weft.Tensor):
                    raise TypeError(f"save: {path} has a tensor as a key")
                pair = [self.encode(key, f"key {key!r:.100} of {path}", depth + 1)]
                made.append([*pair, self.encode(value, where, depth + 1)])
            made = {_CONTAINERS[kind]: made}
            if extra := getattr(x, "__dict__", None):
                made["attributes"] = self._attributes(extra, path, depth)
        else:
            items = x if kind in (list, tuple) else sorted(x, key=repr)  # sets: always the same
            made = [self.encode(v, f"{path}[{i}]", depth + 1) for i, v in enumerate(items)]
            made = made if kind is list else {_CONTAINERS[kind]: made}
        self._open.discard(id(x))
        return made

    def _attributes(self, extra: dict[str, Any], path: str, depth: int) -> Any:
        """The versions that ``Module.state_dict`` notes on its result."""
        if set(extra) != {"_metadata"}:
            raise TypeError(f"save: {path} has attributes of its own: {', '.join(map(str, extra))}")
        return self.encode(extra["_metadata"], f"{path}._metadata", depth + 1)

    def _tensor(self, x: Tensor, path: str) -> int:
        """Return the number of a tensor; the same object gets the same."""
        kind = type(x)
        if kind is not weft.Tensor and not is_parameter(x):
            raise TypeError(f"save: {path} is of type {full_name(kind)}, a subclass of Tensor")
        if id(x) not in self._numbers:
            self._numbers[id(x)] = len(self.tensors)
            self.tensors.append(x)
        return self._numbers[id(x)]

    def _sparse(self, x: Tensor, path: str) -> list[Any]:
        """Return the parts of a sparse tensor; indices and values are stored like tensors."""
        if type(x) is not weft.Tensor:
            raise TypeError(f"save: {path} is of type {full_name(type(x))}, and sparse")
        parts = [self._tensor(part, path) for part in (x._indices(), x._values())]
        return [list(x.shape), *parts, x.is_coalesced(), bool(x.requires_grad)]

    def blob(self, data: bytes) -> int:
        """Return the number of bytes that are stored like a tensor."""
        made = weft.frombuffer(bytearray(data), dtype=weft.uint8)
        self.tensors.append(made)
        self._numbers[id(made)] = len(self.tensors) - 1
        return len(self.tensors) - 1

    def _array(self, x: Any, path: str) -> Any:
        if x.dtype.char not in _ARRAYS:
            raise TypeError(
                f"save: {path} is a NumPy array of {x.dtype}, which is not only numbers"
            )
        import numpy as np

        kind = "scalar" if isinstance(x, np.generic) else "array"
        array = np.asarray(x)
        columns = bool(array.flags.f_contiguous and not array.flags.c_contiguous)
        data = array.tobytes("F" if columns else "C")
        payload = [array.dtype.str, list(array.shape), "F" if columns else "C", self.bytes(data)]
        return {f"numpy.{kind}": payload}

    def bytes(self, data: bytes | bytearray) -> Any:
        """Return short bytes as text, long ones as the number of a tensor."""
        if len(data) > _LONG_BYTES:
            return self.blob(bytes(data))
        return base64.b64encode(data).decode("ascii")


def is_parameter(x: Tensor) -> bool:
    """Say whether a tensor is a ``Parameter``, without loading ``weft.nn``."""
    kind = type(x)
    return kind.__name__ == "Parameter" and kind.__module__ == "weft.nn.parameter"


def full_name(kind: type) -> str:
    """Return the name of a type, with that of its module unless it is a builtin one."""
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def _advice(x: Any) -> str:
    if callable(getattr(x, "state_dict", None)):
        return "which is not only data: save its state_dict() instead"
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return "a named tuple: save a tuple or x._asdict() instead"
    return "which is not only data"


def _float(x: float) -> Any:
    return x if math.isfinite(x) else {"float": repr(x)}


_CONTAINERS: dict[type, str] = {
    dict: "dict",
    OrderedDict: "OrderedDict",
    Counter: "Counter",
    list: "list",
    tuple: "tuple",
    set: "set",
    frozenset: "frozenset",
}
_ENCODERS: dict[type, Callable[[Encoder, Any], Any]] = {
    int: lambda self, x: {"int": hex(x)},
    float: lambda self, x: _float(x),
    complex: lambda self, x: {"complex": [_float(x.real), _float(x.imag)]},
    bytes: lambda self, x: {"bytes": self.bytes(x)},
    bytearray: lambda self, x: {"bytearray": self.bytes(x)},
    type(...): lambda self, x: {"ellipsis": True},
    range: lambda self, x: {"range": [hex(v) for v in (x.start, x.stop, x.step)]},
    weft.Size: lambda self, x: {"Size": list(x)},
    weft.dtype: lambda self, x: {"dtype": short(x)},
    weft.device: lambda self, x: {"device": str(x)},
    weft.Generator: lambda self, x: {"Generator": self.bytes(bytes(memoryview(x.get_state())))},
}


# ---- back ---------------------------------------------------------------------------------------


class Decoder:
    """Makes objects of JSON; trusts nothing in it."""

    def __init__(self, tensors: list[Tensor], what: str, stored: int) -> None:
        """Keep the tensors that the JSON refers to, and how many bytes the file has for them."""
        self.tensors, self.what, self.stored = tensors, what, stored

    def decode(self, x: Any, depth: int = 0) -> Any:
        """Return what ``x`` stands for."""
        if depth > DEEPEST + 1:
            raise self.wrong("nested too deeply")
        if isinstance(x, list):
            return [self.decode(v, depth + 1) for v in x]
        if not isinstance(x, dict):
            return x
        attributes = None
        if "attributes" in x and "OrderedDict" in x:
            attributes = self.decode(x["attributes"], depth + 1)
            x = {"OrderedDict": x["OrderedDict"]}
        if len(x) != 1:
            raise self.wrong(f"an object with the keys {list(x)!r:.100}")
        ((tag, payload),) = x.items()
        if tag in ("dict", "OrderedDict", "Counter"):
            made = self._mapping(tag, payload, depth)
            if attributes is not None:
                made._metadata = attributes
            return made
        if tag in ("tuple", "set", "frozenset"):
            items = [self.decode(v, depth + 1) for v in self.list(payload)]
            kind = {"tuple": tuple, "set": set, "frozenset": frozenset}[tag]
            if kind is not tuple:
                for item in items:
                    check_key(item, self.what)
            return kind(items)
        if tag not in _DECODERS:
            raise self.wrong(f"the unknown kind {tag!r:.100}")
        return _DECODERS[tag](self, payload)

    def wrong(self, fault: str) -> FileError:
        """Return an error about the structure."""
        return FileError(f"{self.what}: manifest: {fault}")

    def list(self, x: Any, size: int | None = None) -> list[Any]:
        """Return what must be a list."""
        if not isinstance(x, list) or (size is not None and len(x) != size):
            raise self.wrong(f"expected a list of {size or 'some'} items, got {x!r:.100}")
        return x

    def _mapping(self, tag: str, payload: Any, depth: int) -> Any:
        made: Any = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}[tag]()
        for pair in self.list(payload):
            key, value = (self.decode(v, depth + 1) for v in self.list(pair, 2))
            check_key(key, self.what)
            if key in made:
                raise self.wrong(f"the key {key!r:.100} is there twice")
            made[key] = value
        return made

    def tensor(self, x: Any) -> Tensor:
        """Return a tensor by its number."""
        if as_count(x, self.what) >= len(self.tensors):
            raise self.wrong(f"tensor {x} of {len(self.tensors)}")
        return self.tensors[x]

    def sparse(self, x: Any) -> Tensor:
        """Return a sparse tensor by its size, the numbers of its parts, and two marks."""
        size, indices, values, coalesced, requires_grad = self.list(x, 5)
        if type(coalesced) is not bool or type(requires_grad) is not bool:
            raise self.wrong(f"the marks of a sparse tensor: {x!r:.100}")
        try:
            return weft.sparse_coo_tensor(
                self.tensor(indices).detach(),
                self.tensor(values).detach(),
                [as_count(n, self.what) for n in self.list(size)],
                is_coalesced=coalesced,
                requires_grad=requires_grad,
            )
        except (RuntimeError, OverflowError) as e:
            raise self.wrong(f"a sparse tensor: {e}") from None

    def bytes(self, x: Any) -> bytes:
        """Return bytes that were text or a tensor."""
        if isinstance(x, str):
            try:
                return base64.b64decode(x, validate=True)
            except ValueError as e:
                raise self.wrong(f"bytes: {e}") from None
        stored = self.tensor(x)
        if stored.dtype != weft.uint8 or stored.dim() != 1 or not stored.is_contiguous():
            raise self.wrong(f"tensor {x} holds no bytes")
        self.stored -= stored.numel()  # they are copied: the same ones again and again take memory
        if self.stored < 0:
            raise self.wrong("more bytes than the file has")
        return bytes(memoryview(stored)) if stored.numel() else b""

    def float(self, x: Any) -> float:
        """Return a number that may be ``{"float": "inf"}``."""
        if isinstance(x, dict) and list(x) == ["float"]:
            x = x["float"]
            if x not in ("inf", "-inf", "nan"):
                raise self.wrong(f"the number {x!r:.100}")
            return float(x)
        if type(x) not in (int, float):
            raise self.wrong(f"the number {x!r:.100}")
        return float(x)

    def int(self, x: Any) -> int:
        """Return a number written in base 16."""
        try:
            return int(x, 16)
        except (TypeError, ValueError):
            raise self.wrong(f"the number {x!r:.100}") from None

    def range(self, x: Any) -> Any:
        """Return a range by its three numbers."""
        start, stop, step = (self.int(v) for v in self.list(x, 3))
        if step == 0:
            raise self.wrong("a range of steps of 0")
        return range(start, stop, step)

    def array(self, payload: Any, scalar: bool) -> Any:
        """Return a NumPy array or scalar."""
        text, shape, order, data = self.list(payload, 4)
        dtype = plain_dtype(text, self.what)
        shape = [as_count(n, f"{self.what}: manifest: shape") for n in self.list(shape)]
        return array_of(dtype, shape, order, self.bytes(data), self.what, scalar)

    def dtype(self, x: Any) -> Any:
        """Return a dtype by its name."""
        if not isinstance(x, str) or x not in DTYPES:
            raise self.wrong(f"the dtype {x!r:.100}")
        return DTYPES[x]

    def device(self, x: Any) -> Any:
        """Return a device by its name."""
        try:
            return weft.device(x)
        except (RuntimeError, TypeError, ValueError):
            raise self.wrong(f"the device {x!r:.100}") from None

    def generator(self, x: Any) -> Any:
        """Return a generator in its state."""
        made = weft.Generator()
        try:
            made.set_state(weft.frombuffer(bytearray(self.bytes(x)), dtype=weft.uint8))
        except (RuntimeError, ValueError, TypeError) as e:
            raise self.wrong(f"the state of a generator: {e}") from None
        return made


def check_key(x: Any, what: str, largest: float = math.inf) -> None:
    """Refuse keys that cannot be hashed, or have so many parts that hashing them takes long."""
    if type(x) in (str, int):  # most are
        return
    todo, count = [x], 1
    while todo:
        part = todo.pop()
        if isinstance(part, (tuple, frozenset)):
            count += len(part)
            if count > largest:
                raise FileError(f"{what}: a key of more than {largest} parts")
            todo.extend(part)
        elif isinstance(part, (list, dict, set, bytearray)) or is_numpy(part, "ndarray"):
            raise FileError(f"{what}: a {type(part).__name__} as a key")


# NumPy reads other texts as lists of fields, with Python's parser.
_DTYPE = re.compile(r"[<>=|]?[?A-Za-z]+\d{0,2}")


def plain_dtype(text: Any, what: str) -> Any:
    """Return a NumPy dtype of plain numbers by its text, such as ``<f4``."""
    import numpy as np

    try:
        dtype = np.dtype(text) if isinstance(text, str) and _DTYPE.fullmatch(text) else None
    except (TypeError, ValueError):
        dtype = None
    if dtype is None or dtype.char not in _ARRAYS:
        raise FileError(f"{what}: the NumPy dtype {text!r:.100} is not one of numbers")
    return dtype


def array_of(
    dtype: Any,
    shape: list[int],
    order: Any,
    data: bytes | memoryview,
    what: str,
    scalar: bool = False,
    copy: bool = True,
) -> Any:
    """Return an array over ``data``, or over a copy of them."""
    import numpy as np

    count = math.prod(shape)
    if count * dtype.itemsize != len(data) or order not in ("C", "F") or len(shape) > 32:
        raise FileError(
            f"{what}: an array of shape {shape!r:.100} and {dtype} in {len(data)} bytes"
        )
    made = (np.frombuffer(data, dtype) if count else np.empty(0, dtype)).reshape(shape, order=order)
    made = made.copy(order=order) if copy else made
    if dtype.char == "?" and made.size and made.view(np.uint8).max() > 1:
        raise FileError(f"{what}: a boolean that is neither 0 nor 1")
    return made[()] if scalar else made


_DECODERS: dict[str, Callable[[Decoder, Any], Any]] = {
    "tensor": Decoder.tensor,
    "sparse": Decoder.sparse,
    "int": Decoder.int,
    "float": lambda self, x: self.float({"float": x}),
    "complex": lambda self, x: complex(*(self.float(v) for v in self.list(x, 2))),
    "bytes": Decoder.bytes,
    "bytearray": lambda self, x: bytearray(self.bytes(x)),
    "ellipsis": lambda self, x: ...,
    "range": Decoder.range,
    "Size": lambda self, x: weft.Size([as_count(n, self.what) for n in self.list(x)]),
    "dtype": Decoder.dtype,
    "device": Decoder.device,
    "Generator": Decoder.generator,
    "numpy.array": lambda self, x: self.array(x, False),
    "numpy.scalar": lambda self, x: self.array(x, True),
}
