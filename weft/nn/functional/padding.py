"""Padding: more elements at the borders."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import functional, in_autocast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


_pad_picked = _C._op_function("pad_picked")


@functional
def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Widen dimensions by pad (before and after, the last dimension first); negative cuts off.

    mode is 'constant' (of value), 'reflect', 'replicate' or 'circular'.

    >>> weft.nn.functional.pad(weft.tensor([[1.0, 2.0, 3.0]]), (1, 1), mode="reflect")
    tensor([[2., 1., 2., 3., 2.]])
    """
    if mode == "constant":
        return weft.constant_pad_nd(input, pad, 0 if value is None else value)
    if value not in (None, 0):
        raise ValueError(f'pad: Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    n = len(pad) // 2
    if mode != "circular" and (mode, n) != ("reflect", 3):
        input = in_autocast(input, weft.float32)
    return _pad_picked(input, pad, mode)
