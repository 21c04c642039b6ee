"""Memory formats, the order of dimensions in memory: what ``memory_format=`` asks for, as strides."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft._environment import channels_last, channels_last_3d, contiguous_format, preserve_format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_layout_as = _C._op_function("layout_as")
_clone, _is_contiguous = Tensor.clone, Tensor.is_contiguous
_CHANNELS_LAST = {channels_last: 4, channels_last_3d: 5}


def _rank(memory_format: Any) -> int:
    if memory_format not in _CHANNELS_LAST:
        raise TypeError(f"memory_format must be a weft.memory_format, got {memory_format!r}")
    return _CHANNELS_LAST[memory_format]


def strides_for(sizes: Sequence[int], memory_format: Any) -> list[int]:
    """Dense strides: dimension 1, the channels, is the innermost, then the last to the first."""
    if len(sizes) != _rank(memory_format):
        raise RuntimeError(
            f"required rank {_rank(memory_format)} tensor to use "
            f"{str(memory_format).rpartition('.')[2]} format, got shape {list(sizes)}"
        )
    strides, step = [0] * len(sizes), 1
    for d in (1, *range(len(sizes) - 1, 1, -1), 0):
        strides[d] = step
        step *= sizes[d]
    return strides


def order_of(t: Tensor) -> Any:
    """Return the format that the strides of ``t`` suggest; the contiguous one if it is open."""
    n, sizes, strides = t.dim(), t.shape, t.stride()
    if n not in (4, 5) or strides[1] == 0 or 0 in sizes:
        return contiguous_format
    least = 0
    for d in (1, *range(n - 1, 1, -1), 0):
        if strides[d] < least or (d == 0 and least == strides[1]):
            return contiguous_format
        least = strides[d] * sizes[d]
    return channels_last if n == 4 else channels_last_3d


def laid_out(t: Tensor, memory_format: Any) -> Tensor:
    """Return a new tensor ``t`` with exactly the strides of ``memory_format``."""
    if memory_format is None or memory_format is preserve_format:
        return t
    if memory_format is contiguous_format:
        return t.contiguous()
    strides = strides_for(t.shape, memory_format)
    return t if list(t.stride()) == strides else _layout_as(t, strides)


def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Say whether the elements lie in order without gaps, or in the order of ``memory_format``.

    >>> weft.ones(1, 2, 2, 2).is_contiguous(memory_format=weft.channels_last)
    False
    """
    if memory_format in (None, contiguous_format, preserve_format):
        return _is_contiguous(self)
    if _rank(memory_format) != self.dim():
        return False
    wanted = strides_for(self.shape, memory_format)
    return all(n == 1 or s == w for n, s, w in zip(self.shape, self.stride(), wanted))


def _in_format(x: Tensor, memory_format: Any) -> Tensor:
    """Return x itself if it lies in the order of ``memory_format``, else a copy that does."""
    if not isinstance(memory_format, type(contiguous_format)):
        raise TypeError(
            "contiguous: argument 'memory_format' must be memory_format, not "
            f"{type(memory_format).__name__}"
        )
    if is_contiguous(x, memory_format):
        return x
    if memory_format is preserve_format:
        raise RuntimeError("contiguous: preserve_format is no order that could be asked for")
    return laid_out(x, memory_format)


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """Return a copy with its own memory; gradients flow through it.

    >>> weft.ones(1, 2, 2, 2).clone(memory_format=weft.channels_last).stride()
    (8, 1, 4, 2)
    """
    if memory_format is None or memory_format is preserve_format:
        return _clone(input)
    if memory_format is contiguous_format:
        return _clone(input, memory_format=memory_format)
    return _layout_as(input, strides_for(input.shape, memory_format))


def _with_format(name: str) -> None:
    """Let a native op that makes a new tensor heed ``memory_format=``."""
    native = getattr(weft, name)

    def f(*args: Any, memory_format: Any = None, **kwargs: Any) -> Tensor:
        if memory_format is None:
            return native(*args, **kwargs) if kwargs else native(*args)
        if memory_format is preserve_format and name == "empty":
            raise RuntimeError("empty: preserve_format: there is nothing to preserve")
        requires_grad = kwargs.pop("requires_grad", False)
        t = laid_out(native(*args, **kwargs), memory_format)
        return t.requires_grad_() if requires_grad else t

    f.__name__ = f.__qualname__ = name
    f.__doc__ = native.__doc__
    setattr(weft, name, f)


for _name in (
    "empty", "empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like",
    "zeros_like",
):  # fmt: skip
    _with_format(_name)
for _f in (clone, is_contiguous):
    setattr(Tensor, _f.__name__, _f)
weft.clone = clone
_C._set_in_format(_in_format)
