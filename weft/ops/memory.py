"""The order of dimensions in memory: what ``memory_format=`` asks for, as strides."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft._setting import channels_last, channels_last_3d, contiguous_format, preserve_format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_layout_as = _C._op_function("layout_as")
_clone, _contiguous, _is_contiguous = Tensor.clone, Tensor.contiguous, Tensor.is_contiguous
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
        step *= max(sizes[d], 1)
    return strides


def is_in_order(t: Tensor, memory_format: Any) -> bool:
    """Say whether the strides of ``t`` are what ``memory_format`` asks for."""
    if memory_format is None or memory_format is preserve_format:
        return True
    if memory_format is contiguous_format:
        return _is_contiguous(t)
    if _rank(memory_format) != t.dim():
        return False
    wanted = strides_for(t.shape, memory_format)
    return all(n == 1 or s == w for n, s, w in zip(t.shape, t.stride(), wanted))


def ordered(t: Tensor, memory_format: Any) -> Tensor:
    """Return ``t`` with the strides that ``memory_format`` asks for; itself if it has them."""
    if is_in_order(t, memory_format):
        return t
    if memory_format is contiguous_format:
        return _contiguous(t)
    return _layout_as(t, strides_for(t.shape, memory_format))


def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Say whether the elements lie in order without gaps, or in the order of ``memory_format``.

    >>> weft.ones(1, 2, 2, 2).is_contiguous(memory_format=weft.channels_last)
    False
    """
    if memory_format is None or memory_format is preserve_format:
        return _is_contiguous(self)
    return is_in_order(self, memory_format)


def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """Return the tensor itself if its elements lie in order, else a copy that does.

    >>> weft.ones(1, 2, 2, 2).contiguous(memory_format=weft.channels_last).stride()
    (8, 1, 4, 2)
    """
    if memory_format is None:
        return _contiguous(self)
    if memory_format is preserve_format and not _is_contiguous(self):
        raise RuntimeError("contiguous: preserve_format is no order that could be asked for")
    return ordered(self, memory_format)


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
        if memory_format is None or memory_format is preserve_format:
            return native(*args, **kwargs)
        requires_grad = kwargs.pop("requires_grad", False)
        t = ordered(native(*args, **kwargs), memory_format)
        return t.requires_grad_() if requires_grad else t

    f.__name__ = f.__qualname__ = name
    f.__doc__ = native.__doc__
    setattr(weft, name, f)


for _name in (
    "empty", "empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like",
    "zeros_like",
):  # fmt: skip
    _with_format(_name)
for _f in (clone, contiguous, is_contiguous):
    setattr(Tensor, _f.__name__, _f)
weft.clone = clone
