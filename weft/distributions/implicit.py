"""Samples of gamma and beta distributions as differentiable functions of their parameters.

A sample x with the distribution function F(x; a) keeps its quantile as a moves, so
dx/da = -(dF/da) / (dF/dx) (Figurnov, Mohamed, Mnih: Implicit reparameterization gradients, 2018).
With the density p(t; a), dF/da = ∫ (∂ log p(t; a)/∂a) p(t; a) dt, taken from the side of x where less
mass lies. In the logarithm of t, s = |log(t/x)|, the integrand falls smoothly from s = 0 on, so that a few
Gauss-Legendre nodes give it to about ten digits.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import weft
from weft import Tensor

from .utils import numpy_random, tiny

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["dirichlet_sample", "gamma_sample"]

_DROP = 40.0  # exp(-40): what is left out
_PANELS = (6.0, 40.0)  # ends of the first panels, where e^-s still changes
_NODES = 32
_CHUNK = 1 << 15


@functools.cache
def _rule() -> tuple[Tensor, Tensor]:
    """Return nodes and weights on [0, 1]."""
    import numpy as np

    x, w = np.polynomial.legendre.leggauss(_NODES)
    return weft.from_numpy((x + 1) / 2), weft.from_numpy(w / 2)


def _integral(
    fall: Callable[[Tensor], Tensor], weight: Callable[[Tensor], Tensor], far: Tensor
) -> Tensor:
    """Return ∫ weight(s) exp(fall(s)) ds from 0; ``fall`` goes down from 0, and is low at ``far``."""
    low, high = far * 1e-12, far
    for _ in range(16):  # where it has fallen to -40, to a percent
        middle = (low * high).sqrt()
        deep = fall(middle) < -_DROP
        low, high = weft.where(deep, low, middle), weft.where(deep, middle, high)
    nodes, weights = _rule()
    total = weft.zeros_like(far.squeeze(-1))
    begin = weft.zeros_like(high)
    for end in (*_PANELS, None):
        stop = high if end is None else high.clamp(max=end)
        width = stop - begin
        s = begin + width * nodes
        total = total + (weight(s) * weft.exp(fall(s)) * weights).sum(-1) * width.squeeze(-1)
        begin = stop
    return total


def _gamma_slope(a: Tensor, x: Tensor) -> Tensor:
    """Return dx/da for samples x of Gamma(a, 1); both are float64 of shape (n, 1)."""
    psi, log_x = weft.digamma(a), weft.log(x)
    side = weft.where(x < a, -1.0, 1.0).to(x.dtype)  # t = x e^(side s)
    total = _integral(
        lambda s: side * a * s - x * weft.expm1(side * s),
        lambda s: log_x + side * s - psi,
        weft.where(x < a, (_DROP + x) / a, (2 * _DROP / x).sqrt().clamp(max=600.0)),
    )
    return (side * x).squeeze(-1) * total


def _beta_slope(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """Return dx/da / (1 - x) for samples x of Beta(a, b); all are float64 of shape (n, 1)."""
    mean_log = weft.digamma(a) - weft.digamma(a + b)
    log_x, log_y = weft.log(x), weft.log1p(-x)
    below = x < a / (a + b)
    # t = x e^-s below x; above, the same for 1 - t
    near, far = weft.where(below, a, b), weft.where(below, b, a)
    z, log_rest = weft.where(below, x, 1 - x), weft.where(below, log_y, log_x)

    def log_other(s: Tensor) -> Tensor:
        return weft.log1p(-z * weft.exp(-s))

    total = _integral(
        lambda s: -near * s + (far - 1) * (log_other(s) - log_rest),
        lambda s: weft.where(below, log_x - s, log_other(s)) - mean_log,
        (_DROP - (far - 1).clamp(min=0) * log_rest) / near,
    )
    # dt/ds is t below x, and 1 - t above
    return weft.where(below, -x / (1 - x), 1.0).squeeze(-1) * total


def _by_chunks(slope: Callable[..., Tensor], *arguments: Tensor) -> Tensor:
    """Return a slope of the dtype and shape of the last argument, computed in float64."""
    like = arguments[-1]
    flat = [x.detach().double().expand_as(like).reshape(-1, 1) for x in arguments]
    with weft.no_grad():
        parts = [
            slope(*(x[i : i + _CHUNK] for x in flat))
            for i in range(0, max(like.numel(), 1), _CHUNK)
        ]
    return weft.cat(parts).reshape(like.shape).to(like.dtype)


def gamma_slope(concentration: Tensor, sample: Tensor) -> Tensor:
    """Return the derivative of samples of Gamma(concentration, 1) by the concentration.

    >>> from weft.distributions.implicit import gamma_slope
    >>> gamma_slope(weft.tensor(1.0), weft.tensor(1.0))
    tensor(1.1736)
    """
    return _by_chunks(_gamma_slope, concentration, sample.clamp(min=tiny(sample)))


def dirichlet_slope(sample: Tensor, concentration: Tensor, total: Tensor) -> Tensor:
    """Return the derivatives of coordinates by their concentrations, over one minus the coordinate.

    >>> from weft.distributions.implicit import dirichlet_slope
    >>> dirichlet_slope(weft.tensor(0.5), weft.tensor(1.0), weft.tensor(2.0))
    tensor(0.6931)
    """
    eps = weft.finfo(sample.dtype).eps
    inside = sample.clamp(min=tiny(sample), max=1 - eps / 2)
    return _by_chunks(_beta_slope, concentration, total - concentration, inside)


class _Gamma(weft.autograd.Function):
    """Samples of Gamma(concentration, 1)."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        drawn = numpy_random().standard_gamma(concentration.detach().double().numpy())
        sample = weft.as_tensor(drawn).to(concentration.dtype)
        sample = sample.clamp(min=tiny(sample))
        ctx.save_for_backward(concentration, sample)
        return sample

    @staticmethod
    @weft.autograd.function.once_differentiable
    def backward(ctx: Any, g: Tensor) -> Tensor:
        concentration, sample = ctx.saved_tensors
        return g * gamma_slope(concentration, sample)


class _Dirichlet(weft.autograd.Function):
    """Samples of Dirichlet(concentration), along the last dimension."""

    @staticmethod
    def forward(ctx: Any, concentration: Tensor) -> Tensor:
        a = concentration.detach().double()
        # Gamma(a) is Gamma(a + 1) U^(1/a): in logarithms small concentrations do not underflow.
        random = numpy_random()
        log_gamma = weft.as_tensor(random.standard_gamma((a + 1).numpy())).log()
        log_gamma = log_gamma - weft.as_tensor(random.standard_exponential(tuple(a.shape))) / a
        sample = weft.softmax(log_gamma, -1).to(concentration.dtype)
        ctx.save_for_backward(concentration, sample)
        return sample

    @staticmethod
    @weft.autograd.function.once_differentiable
    def backward(ctx: Any, g: Tensor) -> Tensor:
        concentration, sample = ctx.saved_tensors
        total = concentration.sum(-1, True).expand_as(concentration)
        slope = dirichlet_slope(sample, concentration, total)
        return slope * (g - (sample * g).sum(-1, True))


def gamma_sample(concentration: Tensor) -> Tensor:
    """Draw a sample of Gamma(concentration, 1) for each element; differentiable.

    >>> from weft.distributions.implicit import gamma_sample
    >>> gamma_sample(weft.ones(3)).shape
    torch.Size([3])
    """
    return _Gamma.apply(concentration)


def dirichlet_sample(concentration: Tensor) -> Tensor:
    """Draw a sample of Dirichlet(concentration) for each last dimension; differentiable.

    >>> from weft.distributions.implicit import dirichlet_sample
    >>> dirichlet_sample(weft.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    return _Dirichlet.apply(concentration)
