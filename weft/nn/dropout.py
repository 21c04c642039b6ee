"""Random zeros while training."""

from __future__ import annotations

from weft._environment import at_line
from weft.nn import functional as F
from weft.nn.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft import Tensor

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """What these modules share: a probability, and whether the input is overwritten."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(
                at_line(
                    f"{type(self).__name__}: dropout probability has to be between 0 and 1, "
                    f"but got {p}"
                )
            )
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Sets elements to zero with probability p while training, and scales the rest by 1 / (1 - p).

    >>> weft.nn.Dropout(0.5).eval()(weft.ones(3))
    tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        if not self.training:
            return input
        return F.dropout(input, self.p, True, self.inplace)


class Dropout1d(_DropoutNd):
    """Sets whole channels of (N, C, L) to zero with probability p while training.

    >>> weft.nn.Dropout1d().eval()(weft.ones(1, 1, 2))
    tensor([[[1., 1.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Sets whole channels of (N, C, H, W) to zero with probability p while training.

    >>> weft.nn.Dropout2d().eval()(weft.ones(1, 1, 1, 2))
    tensor([[[[1., 1.]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Sets whole channels of (N, C, D, H, W) to zero with probability p while training.

    >>> weft.nn.Dropout3d().eval()(weft.ones(1, 1, 1, 1, 1)).item()
    1.0
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance of signals after ``SELU``.

    >>> weft.nn.AlphaDropout().eval()(weft.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Alpha dropout of whole channels.

    >>> weft.nn.FeatureAlphaDropout().eval()(weft.ones(1, 1, 2))
    tensor([[[1., 1.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
