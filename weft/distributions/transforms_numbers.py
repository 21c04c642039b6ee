"""Transforms of numbers, one at a time."""

from __future__ import annotations

import math
from typing import Any

import weft
from weft import Tensor
from weft.nn.functional import softplus

from . import constraints
from .transform import Transform
from .utils import broadcast_all, sum_rightmost

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ExpTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
]


class _Alike(Transform):
    """A transform without parameters: all of a class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = object.__hash__


class _Rising(_Alike):
    """A bijection of numbers that goes up."""

    bijective = True

    @property
    def sign(self) -> Any:
        """It goes up."""
        return 1


class ExpTransform(_Rising):
    """y = exp(x).

    >>> weft.distributions.ExpTransform()(weft.tensor(0.0))
    tensor(1.)
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """y = x ** exponent, for positive x.

    >>> weft.distributions.PowerTransform(weft.tensor(2.0))(weft.tensor(3.0))
    tensor(9.)
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @property
    def sign(self) -> Any:
        """That of the exponent."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        """Return whether the exponents are equal."""
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def _shape_forward(self, shape: Any) -> Any:
        return weft.broadcast_shapes(shape, self.exponent.shape)

    _shape_back = _shape_forward


class SigmoidTransform(_Rising):
    """y = 1 / (1 + exp(-x)).

    >>> weft.distributions.SigmoidTransform()(weft.tensor(0.0))
    tensor(0.5000)
    """

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        info = weft.finfo(x.dtype)
        return weft.sigmoid(x).clamp(min=info.tiny, max=1.0 - info.eps)

    def _inverse(self, y: Tensor) -> Tensor:
        info = weft.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Rising):
    """y = log(1 + exp(x)).

    >>> weft.distributions.SoftplusTransform()(weft.tensor(0.0))
    tensor(0.6931)
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(_Rising):
    """y = tanh(x).

    >>> weft.distributions.TanhTransform()(weft.tensor(0.0))
    tensor(0.)
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return weft.atanh(y)

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Alike):
    """y = |x|; its inverse gives the positive one.

    >>> weft.distributions.AbsTransform()(weft.tensor(-2.0))
    tensor(2.)
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """y = loc + scale * x.

    Args:
        loc: what is added.
        scale: what is multiplied by.
        event_dim: how many dimensions make one value.
        cache_size: see :class:`Transform`.

    >>> weft.distributions.AffineTransform(1.0, 2.0)(weft.tensor(3.0))
    tensor(7.)
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        """How many dimensions make one value."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """Real numbers."""
        n = self._event_dim
        return constraints.independent(constraints.real, n) if n else constraints.real

    codomain = domain

    @property
    def sign(self) -> Any:
        """That of the scale."""
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def __eq__(self, other: object) -> bool:
        """Return whether both numbers are equal."""
        return isinstance(other, AffineTransform) and all(
            bool(weft.as_tensor(a == b).all())
            for a, b in ((self.loc, other.loc), (self.scale, other.scale))
        )

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def _log_det(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, Tensor):
            result = self.scale.abs().log()
        else:
            result = weft.full_like(x, math.log(abs(self.scale)))
        if self._event_dim:
            result = weft.broadcast_to(result, weft.broadcast_shapes(result.shape, x.shape))
            result = sum_rightmost(result, self._event_dim)
            return result.expand(x.shape[: x.dim() - self._event_dim])
        return result.expand(weft.broadcast_shapes(result.shape, x.shape))

    def _shape_forward(self, shape: Any) -> Any:
        shapes = [x.shape for x in (self.loc, self.scale) if isinstance(x, Tensor)]
        return weft.broadcast_shapes(shape, *shapes)

    _shape_back = _shape_forward
