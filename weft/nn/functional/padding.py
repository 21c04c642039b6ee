"""Padding: more elements at the borders."""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.nn.functional.common import functional, in_autocast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def _at(mode: str, size: int, before: int, after: int, dim: int) -> Tensor:
    """Return which elements make the widened dimension."""
    i = weft.arange(-before, size + after)
    if mode == "replicate":
        if size == 0:
            raise RuntimeError(f"pad: dimension {dim} is empty, there is nothing to replicate")
        return i.clamp(0, size - 1)
    if mode == "circular":
        if before > size or after > size:
            raise RuntimeError(
                f"pad: Padding value causes wrapping around more than once: {before}, {after} at "
                f"dimension {dim} of size {size}"
            )
        return i % size
    if before >= size or after >= size:
        raise RuntimeError(
            "pad: Padding size should be less than the corresponding input dimension, but got: "
            f"padding ({before}, {after}) at dimension {dim} of size {size}"
        )
    i = weft.abs(i)  # reflect
    return (size - 1) - weft.abs((size - 1) - i)


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
    x = input
    for i in range(n):
        before, after = pad[2 * i], pad[2 * i + 1]
        if before or after:
            d = input.ndim - 1 - i
            if x.shape[d] + before + after < 1:
                raise RuntimeError(
                    f"pad: dimension {d} of size {x.shape[d]} would have no elements left after "
                    f"padding ({before}, {after})"
                )
            if mode == "circular" and min(before, after) < 0:  # what is cut off does not come back
                start, end = max(-before, 0), x.shape[d] - max(-after, 0)
                x = x.narrow(d, start, end - start)
                before, after = max(before, 0), max(after, 0)
            x = x.index_select(d, _at(mode, x.shape[d], before, after, d))
    return x.clone() if x is input else x
