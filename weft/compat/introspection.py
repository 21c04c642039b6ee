"""Queries about tensors, types and settings (``is_tensor``, ``can_cast``), and small helpers."""

from __future__ import annotations

import weft
from weft._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "_assert", "as_strided_", "detach_", "get_device", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_conj",
    "is_distributed", "is_inference", "is_neg", "is_same_size", "is_signed",
    "is_warn_always_enabled", "set_flush_denormal", "set_warn_always", "sym_float", "sym_int", "sym_ite", "sym_max",
    "sym_min", "sym_not", "sym_sqrt", "sym_sum", "to_dlpack", "typename",
]  # fmt: skip


def _assert(condition: Any, message: Any) -> None:
    """Raise an AssertionError unless a condition holds; as a function, it can be traced.

    >>> weft._assert(weft.ones(2).sum() == 2, "the sum is 2")
    """
    assert condition, message


def typename(obj: Any) -> str:
    """Return the name of an object's type; of a tensor, that of its elements.

    >>> weft.typename(weft.ones(1)), weft.typename([])
    ('torch.FloatTensor', 'list')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    module = getattr(kind, "__module__", "builtins")
    return kind.__qualname__ if module in ("builtins", "") else f"{module}.{kind.__qualname__}"


def is_signed(input: Tensor) -> bool:
    """Say whether the dtype has negative numbers.

    >>> weft.is_signed(weft.ones(1)), weft.ones(1, dtype=weft.uint8).is_signed()
    (True, False)
    """
    return input.dtype not in (weft.uint8, weft.bool)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Say whether two tensors have the same shape.

    >>> weft.is_same_size(weft.ones(2), weft.zeros(2))
    True
    """
    return input.shape == other.shape


def is_conj(input: Tensor) -> bool:
    """Say whether a tensor is waiting to be conjugated: never, weft does it at once.

    >>> weft.is_conj(weft.ones(1).to(weft.complex64).conj())
    False
    """
    return input.is_conj()


def is_neg(input: Tensor) -> bool:
    """Say whether a tensor is waiting to be negated: never, weft does it at once.

    >>> weft.is_neg(weft.ones(1))
    False
    """
    return input.is_neg()


def is_inference(input: Tensor) -> bool:
    """Say whether a tensor was made in inference mode.

    >>> weft.is_inference(weft.ones(1))
    False
    """
    return input.is_inference()


def is_distributed(input: Tensor) -> bool:
    """Say whether a tensor is spread over several machines: never.

    >>> weft.is_distributed(weft.ones(1))
    False
    """
    return False


def get_device(input: Tensor) -> int:
    """Return the number of the GPU that a tensor is on; on the CPU it is -1.

    >>> weft.get_device(weft.ones(1))
    -1
    """
    return input.get_device()


def to_dlpack(tensor: Tensor) -> Any:
    """Return a capsule through which another library can use the tensor's memory.

    >>> weft.from_dlpack(weft.ones(2))
    tensor([1., 1.])
    """
    return tensor.__dlpack__()


def _anomaly() -> tuple[bool, bool]:
    before = weft._C._set_anomaly(False, False)  # which tells what was set
    weft._C._set_anomaly(*before)
    return before


def is_anomaly_enabled() -> bool:
    """Say whether ``detect_anomaly`` is on.

    >>> weft.is_anomaly_enabled()
    False
    """
    return _anomaly()[0]


def is_anomaly_check_nan_enabled() -> bool:
    """Say whether ``detect_anomaly`` looks for NaN.

    >>> weft.is_anomaly_check_nan_enabled()
    False
    """
    enabled, check_nan = _anomaly()
    return enabled and check_nan


def set_flush_denormal(mode: bool) -> bool:
    """Let numbers too small for full precision count as zero, which can be faster.

    Returns:
        Whether the CPU can do that.

    >>> weft.set_flush_denormal(True)
    True
    >>> weft.tensor([1e-323], dtype=weft.float64) * 1
    tensor([0.], dtype=torch.float64)
    >>> weft.set_flush_denormal(False)
    True
    """
    return weft._C._flush_denormals(bool(mode))


_warn_always = False


def set_warn_always(b: bool) -> None:
    """Say whether warnings are to be shown every time; weft leaves that to ``warnings``.

    >>> weft.set_warn_always(False)
    """
    global _warn_always
    if not isinstance(b, bool):
        raise TypeError(f"set_warn_always: expected a bool, got {type(b).__name__}")
    if b:
        import warnings

        warnings.simplefilter("always")
    _warn_always = b


def is_warn_always_enabled() -> bool:
    """Return the value given to ``set_warn_always``.

    >>> weft.is_warn_always_enabled()
    False
    """
    return _warn_always


# ---- numbers that PyTorch's compiler may not know yet; in weft they are numbers ---------------


def sym_int(a: Any) -> int:
    """Return a number as an int, rounded toward zero.

    >>> weft.sym_int(2.7)
    2
    """
    return int(a)


def sym_float(a: Any) -> float:
    """Return a number as a float.

    >>> weft.sym_float(2)
    2.0
    """
    return float(a)


def sym_max(a: Any, b: Any) -> Any:
    """Return the larger of two numbers, a float if one of them is.

    >>> weft.sym_max(3, 2.0)
    3.0
    """
    found = max(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers, a float if one of them is.

    >>> weft.sym_min(3, 2)
    2
    """
    found = min(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_not(a: Any) -> bool:
    """Return the opposite of a truth value.

    >>> weft.sym_not(True)
    False
    """
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """Return ``t`` if ``b``, else ``f``, which are of one type.

    >>> weft.sym_ite(True, 1, 2)
    1
    """
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """Return the square root of a number.

    >>> weft.sym_sqrt(9)
    3.0
    """
    return float(a**0.5)


def sym_sum(args: Any) -> Any:
    """Return the sum of numbers.

    >>> weft.sym_sum([1, 2, 3])
    6
    """
    return sum(args)


def detach_(input: Tensor) -> Tensor:
    """Cut a tensor off from what made it.

    >>> x = weft.ones(2, requires_grad=True) * 2
    >>> weft.detach_(x).requires_grad
    False
    """
    return input.detach_()


def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Change a tensor to another view of its memory.

    >>> weft.as_strided_(weft.arange(4), (2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
    return input.as_strided_(size, stride, storage_offset)


# ---- methods of Tensor ------------------------------------------------------------------------


def dim_order(self: Tensor) -> tuple[int, ...]:
    """Return the dimensions in the order in which they lie in memory, the widest steps first.

    >>> weft.zeros(2, 3).t().dim_order()
    (1, 0)
    """
    steps = self.stride()
    return tuple(sorted(range(self.dim()), key=lambda d: (-steps[d], d)))


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Set the main diagonal.

    Args:
        self: a matrix, or a tensor of equal sizes.
        fill_value: what to set.
        wrap: in a matrix with more rows than columns, begin again after each block.

    >>> weft.zeros(2, 3).fill_diagonal_(1)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if self.dim() < 2:
        raise RuntimeError("fill_diagonal_: dimensions must be larger than 1")
    if self.dim() > 2 and len(set(self.shape)) > 1:
        raise RuntimeError(f"fill_diagonal_: all dimensions must be equal, got {list(self.shape)}")
    rows, columns = self.shape[0], self.shape[1]
    shortest = min(self.shape)
    at = weft.arange(shortest)
    places = [at] * self.dim()
    if wrap and self.dim() == 2 and rows > columns + 1:
        flat = weft.arange(0, rows * columns, columns + 1)
        places = [flat // columns, flat % columns]
    self[tuple(places)] = fill_value
    return self


def as_subclass(self: Tensor, cls: type) -> Any:
    """Return the same values as an instance of a subclass of Tensor; gradients flow.

    >>> class Named(weft.Tensor):
    ...     name = "mine"
    >>> weft.ones(2).as_subclass(Named).name
    'mine'
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"as_subclass: expected a subclass of Tensor, got {cls!r}")
    made = self.view_as(self)
    made.__class__ = cls
    return made


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element by a Python function of it and of those of two tensors; slow.

    >>> weft.arange(2).map2_(weft.tensor([5, 6]), weft.tensor([1, 1]), lambda a, b, c: a + b + c)
    tensor([6, 8])
    """
    if self.requires_grad:
        raise RuntimeError(
            "Can't call map2_() on Variable that requires grad. Use var.detach().map2_() instead."
        )
    if x.dtype != self.dtype or y.dtype != self.dtype:
        raise TypeError(f"map2_: expected tensors of {self.dtype}, got {x.dtype} and {y.dtype}")
    others = [t.detach().expand(self.shape).reshape(-1).tolist() for t in (x, y)]
    values = [callable(*three) for three in zip(self.reshape(-1).tolist(), *others)]
    if values:
        self.copy_(weft.tensor(values, dtype=self.dtype).reshape(self.shape))
    return self


def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """Return a new tensor of the same dtype: of sizes, or of data. An older form of ``new_empty``.

    >>> weft.ones(1).new([1, 2])
    tensor([1., 2.])
    """
    from weft.tensor import _legacy_new

    return _legacy_new(*args, device=device, dtype=self.dtype)


def hardshrink(self: Tensor, lambd: float = 0.5) -> Tensor:
    """Set elements between ``-lambd`` and ``lambd`` to zero.

    >>> weft.tensor([-1.0, 0.2]).hardshrink()
    tensor([-1.,  0.])
    """
    return weft.nn.functional.hardshrink(self, lambd)
