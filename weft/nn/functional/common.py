"""What the functions of this folder share: how they are declared, and how arguments are read."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

NARROW = (weft.float16, weft.bfloat16)


def functional(f: F) -> F:
    """Declare a function of weft.nn.functional as an op made of others."""
    return op(name=f"nn_functional_{f.__name__}", function=False, method=False)(f)  # type: ignore[return-value]


def hot(f: F) -> F:
    """Declare a function that calls a native op at once: errors and their lines are the op's."""
    functional(f)
    return f


def functional_out(f: F) -> F:
    """Declare a function that also takes ``out=``."""
    name = f"nn_functional_{f.__name__}"
    return op(name=name, function=False, method=False, out=True)(f)  # type: ignore[return-value]


def random(f: F) -> F:
    """Declare a function whose result is drawn: its derivative is that of the draw."""
    return functional(f)


def discrete(f: F) -> F:
    """Declare a function that gives whole numbers, and so has no derivative."""
    reason = "the result is a whole number"
    g = op(name=f"nn_functional_{f.__name__}", function=False, method=False, derivative=reason)
    return g(f)  # type: ignore[return-value]


def into(input: Tensor, f: Callable[..., Tensor], *args: Any) -> Tensor:
    """Write f(input, *args) into input; the parts of a recorded f keep a copy of it."""
    recorded = input.requires_grad and _C._grad_enabled()
    return input.copy_(f(input.clone() if recorded else input, *args))


def wide(x: Tensor) -> Tensor:
    """Return x with a mantissa long enough to compute with."""
    return x.float() if x.dtype in NARROW else x


def in_autocast(x: Tensor, dtype: weft.dtype) -> Tensor:
    """Return x in a dtype that autocast would cast it to: for a part of a function that is on a list."""
    return _C._autocast_to(x, dtype) if _C._autocast_enabled() else x


def like(y: Tensor, x: Tensor) -> Tensor:
    """Return y in the dtype of x."""
    return y if y.dtype == x.dtype else y.to(x.dtype)


def need_floating(x: Tensor, name: str, *, complex: bool = False) -> None:
    """Raise for dtypes that a function is not defined for."""
    if not (x.is_floating_point() or (complex and x.is_complex())):
        kind = str(x.dtype).rpartition(".")[2].capitalize()
        raise NotImplementedError(f"\"{name}\" not implemented for '{kind}'")


def tuple_of(value: Any, n: int, name: str, what: str) -> tuple[int, ...]:
    """Return n integers: one repeated, or as many as were given."""
    if isinstance(value, (list, tuple)):
        if len(value) == 1:
            return (int(value[0]),) * n
        if len(value) != n:
            raise RuntimeError(
                f"{name}: {what} must be an int or a tuple of {n} ints, got {tuple(value)}"
            )
        return tuple(int(v) for v in value)
    return (int(value),) * n


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """Read the arguments that reduction replaced."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """Reduce the losses of all elements: 'none', 'mean' or 'sum'."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def prod(values: Sequence[int]) -> int:
    """Return the product of whole numbers."""
    p = 1
    for v in values:
        p *= v
    return p
