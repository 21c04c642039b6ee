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
    pad = [int(p) for p in pad]
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "pad: Padding length must be even and at most twice the number of dimensions, got "
            f"{len(pad)} for {input.ndim} dimensions"
        )
    if mode == "constant":
        return weft.constant_pad_nd(input, pad, 0 if value is None else value)
    if value not in (None, 0):
        raise ValueError(f'pad: Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    n = len(pad) // 2
    if n not in (1, 2, 3) or input.ndim not in (n + 1, n + 2):
        raise NotImplementedError(
            "modes other than constant pad the last one to three of two to five dimensions"
        )
    if any(s == 0 for s in input.shape[1 if input.ndim == n + 2 else 0 :]):
        raise RuntimeError(
            f"pad: Expected input without empty dimensions but the batch, got {list(input.shape)}"
        )
    if (mode, n) not in (("reflect", 3), ("circular", n)):
        input = in_autocast(input, weft.float32)
    return _pad_picked(input, pad, mode)
