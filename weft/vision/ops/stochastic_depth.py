"""Branches of residual networks left out at random while training."""

from __future__ import annotations

from weft.nn import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["StochasticDepth", "stochastic_depth"]


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    """Return the input with its rows set to zero at random, and the rest scaled by 1 / (1 - p).

    Args:
        input: a batch.
        p: the probability of a zero.
        mode: 'row' decides for each row, 'batch' for all of them at once.
        training: if not, the input is returned as it is.

    >>> weft.vision.ops.stochastic_depth(weft.ones(2, 2), 0.5, "row", training=False)
    tensor([[1., 1.],
            [1., 1.]])
    """
    if not 0 <= p <= 1:
        raise ValueError(f"stochastic_depth: p must be between 0 and 1, got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"stochastic_depth: mode must be 'batch' or 'row', got {mode!r}")
    if not training or p == 0:
        return input
    rows = input.shape[0] if mode == "row" else 1
    kept = input.new_empty([rows] + [1] * (input.ndim - 1)).bernoulli_(1 - p)
    return input * (kept / (1 - p) if p < 1 else kept)


class StochasticDepth(Module):
    """``stochastic_depth`` while training.

    Args:
        p: the probability of a zero.
        mode: 'row' decides for each row, 'batch' for all of them at once.

    >>> weft.vision.ops.StochasticDepth(1.0, "batch")(weft.ones(2))
    tensor([0., 0.])
    """

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p, self.mode = p, mode

    def forward(self, input: Tensor) -> Tensor:
        return stochastic_depth(input, self.p, self.mode, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}, mode={self.mode}"
