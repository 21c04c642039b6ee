"""What surrounds tensors: devices, layouts, limits of dtypes, defaults, modes, memory counters."""

from __future__ import annotations

from . import _C
from ._C import Size, Tensor, dtype

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def at_line(message: str) -> str:
    """Return an error's message with the line of the user's program, as native errors have it."""
    return message if "\n  at " in message else f"{message}\n  at {_C._here()}"


def is_tracing() -> bool:
    """Say whether ``weft.jit.trace`` is recording on this thread.

    >>> weft.jit.is_tracing()
    False
    """
    recorder = _C._recorder()
    return recorder is not None and recorder.traces


# ---- devices, layouts, memory formats -----------------------------------------------------------


DEVICES = "cpu cuda mps xpu hip meta xla ipu hpu mtia vulkan".split()
AGNOSTIC = (
    "weft runs on CPUs; code that runs anywhere says "
    "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu') and x.to(device)"
)


class device:
    """Where tensors live. weft has one device, the CPU; others can be named, but not used.

    >>> weft.device("cpu")
    device(type='cpu')
    >>> weft.device("cuda:1").index
    1
    """

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __new__(cls, type: str | device = "cpu", index: int | None = None) -> device:
        """Return a device by its name, ``"cpu"`` or ``"cuda:0"``."""
        if isinstance(type, device):
            return type
        if isinstance(type, int):
            raise RuntimeError(at_line(f"device({type}): weft has no accelerators, only 'cpu'"))
        name, _, number = str(type).partition(":")
        if name not in DEVICES:
            what = "there is no such device; what weft has is 'cpu'"
            raise RuntimeError(at_line(f"device('{type}'): {what}"))
        if number and not number.isdigit():
            raise RuntimeError(at_line(f"device('{type}'): the index must be a number"))
        if number and index is not None:
            raise RuntimeError(at_line(f"device('{type}', {index}): the index is given twice"))
        self = object.__new__(cls)
        self.type, self.index = name, int(number) if number else index
        return self

    def __repr__(self) -> str:
        """Return the text that makes this device again."""
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        """Return the short name."""
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        """Devices are equal if type and index are."""
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        """Hash by type and index."""
        return hash((self.type, self.index))

    def __reduce__(self) -> Any:
        """Pickle by name."""
        return device, (str(self),)

    def __enter__(self) -> device:
        """Make new tensors on this device inside a ``with`` block: the CPU."""
        return require_cpu(self)

    def __exit__(self, *error: object) -> None:
        """Leave the block."""


class layout:
    """How a tensor's elements are stored: ``strided`` or one of the sparse layouts."""

    def __init__(self, name: str) -> None:
        """Name the layout."""
        self._name = name

    def __repr__(self) -> str:
        """Return its public name."""
        return f"torch.{self._name}"


class memory_format(layout):
    """The order of a tensor's dimensions in memory."""


strided: layout = layout("strided")
sparse_coo: layout = layout("sparse_coo")
sparse_csr: layout = layout("sparse_csr")
sparse_csc: layout = layout("sparse_csc")
contiguous_format = memory_format("contiguous_format")
legacy_contiguous_format = contiguous_format  # its older name
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

CPU = device("cpu")


def require_cpu(where: Any) -> device:
    """Return a device that tensors can live on; raise for all but the CPU.

    >>> weft._environment.require_cpu("cpu:0")
    device(type='cpu', index=0)
    """
    found = device(where)
    if found.type != "cpu":
        what = "weft has no such device; what it has is 'cpu'"
        raise RuntimeError(at_line(f"device('{found}'): {what}. {AGNOSTIC}"))
    return found


_C._set_device_check(require_cpu)


# ---- number types -------------------------------------------------------------------------------

_FLOATS = {  # bits, digits of the mantissa, largest exponent
    "float16": (16, 10, 15),
    "bfloat16": (16, 7, 127),
    "float32": (32, 23, 127),
    "float64": (64, 52, 1023),
    "complex64": (32, 23, 127),
    "complex128": (64, 52, 1023),
}


def _short(t: dtype) -> str:
    return str(t).rpartition(".")[2]


class finfo:
    """Limits of a floating-point type.

    >>> weft.finfo(weft.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: dtype | None = None) -> None:
        """Look up the limits of ``type`` (default: the default dtype)."""
        name = _short(type if type is not None else get_default_dtype())
        if name not in _FLOATS:
            raise TypeError(f"finfo() requires a floating point input type, got {name}. Use iinfo.")
        self.bits, mantissa, top = _FLOATS[name]
        self.dtype = name.replace("complex64", "float32").replace("complex128", "float64")
        self.eps = 2.0**-mantissa
        self.max = (2 - self.eps) * 2.0**top
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - top)
        self.resolution = 10.0 ** -int(mantissa * 0.30103)

    def __repr__(self) -> str:
        """Return the limits as text."""
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.tiny:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer type.

    >>> weft.iinfo(weft.int8).max
    127
    """

    def __init__(self, type: dtype) -> None:
        """Look up the limits of ``type``."""
        name = _short(type)
        if "int" not in name:
            raise TypeError(f"iinfo() requires an integer input type, got {name}. Use finfo.")
        self.bits = int(name.removeprefix("u").removeprefix("int"))
        signed = not name.startswith("u")
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -(2 ** (self.bits - 1)) if signed else 0
        self.dtype = name

    def __repr__(self) -> str:
        """Return the limits as text."""
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def get_default_dtype() -> dtype:
    """Return the dtype of new floating-point tensors.

    >>> weft.get_default_dtype()
    torch.float32
    """
    return _C._default_dtype()


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of new floating-point tensors.

    >>> weft.set_default_dtype(weft.float32)
    """
    _C._set_default_dtype(d)


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Return the smallest dtype that holds both.

    >>> weft.promote_types(weft.int32, weft.float16)
    torch.float16
    """
    return _C._promote(type1, type2)


def can_cast(from_: dtype, to: dtype) -> bool:
    """Say whether a result of one dtype may be written into another.

    >>> weft.can_cast(weft.float32, weft.int64)
    False
    """
    return _C._can_cast(from_, to)


# ---- modes --------------------------------------------------------------------------------------


def is_grad_enabled() -> bool:
    """Say whether ops are recorded.

    >>> weft.is_grad_enabled()
    True
    """
    return _C._grad_enabled()


def is_inference_mode_enabled() -> bool:
    """Say whether inference mode is on.

    >>> weft.is_inference_mode_enabled()
    False
    """
    return _C._inference_mode()


def is_tensor(obj: object) -> bool:
    """Say whether ``obj`` is a tensor.

    >>> weft.is_tensor(3)
    False
    """
    return isinstance(obj, Tensor)


def get_default_device() -> device:
    """Return the device of new tensors.

    >>> weft.get_default_device()
    device(type='cpu')
    """
    return CPU


def set_default_device(device: Any) -> None:
    """Set the device of new tensors, of which there is one: the CPU. None means it, too.

    >>> weft.set_default_device("cpu")
    """
    if device is not None:
        require_cpu(device)


# ---- memory -------------------------------------------------------------------------------------


def memory_allocated() -> int:
    """Return the bytes that live tensors hold.

    >>> before = weft.memory_allocated()
    >>> x = weft.zeros(1024)
    >>> weft.memory_allocated() - before
    4096
    """
    return _C._memory_stats()["live"]


def max_memory_allocated() -> int:
    """Return the most that ``memory_allocated`` has been since the last reset.

    >>> weft.max_memory_allocated() >= weft.memory_allocated()
    True
    """
    return _C._memory_stats()["peak"]


def reset_peak_memory_stats() -> None:
    """Let ``max_memory_allocated`` count from now on.

    >>> weft.reset_peak_memory_stats()
    """
    _C._reset_peak()


def empty_cache() -> None:
    """Give the memory that weft keeps for reuse back to the system.

    >>> weft.empty_cache()
    """
    _C._empty_cache()


# ---- Size ---------------------------------------------------------------------------------------


def _size_repr(self: Size) -> str:
    return f"torch.Size([{', '.join(map(str, self))}])"


def _size_numel(self: Size) -> int:
    n = 1
    for s in self:
        n *= s
    return n


def _size_new(cls: type, sizes: Iterable[int] = ()) -> Size:
    values = [int(s.item()) if isinstance(s, Tensor) else s for s in sizes]
    for v in values:
        if not hasattr(v, "__index__"):
            raise TypeError(f"Size() takes an iterable of ints, got {type(v).__name__}")
    return tuple.__new__(cls, values)


Size.__repr__ = _size_repr
Size.numel = _size_numel
Size.__new__ = staticmethod(_size_new)
Size.__reduce__ = lambda self: (Size, (tuple(self),))
