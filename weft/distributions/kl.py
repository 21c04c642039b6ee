"""Kullback-Leibler divergence: which formula is for which pair of distributions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from .distribution import Distribution

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft import Tensor

__all__ = ["kl_divergence", "register_kl"]

_FORMULAS: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}
_CHOSEN: dict[tuple[type, type], Callable[[Any, Any], Tensor] | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Register a function of two distributions for ``kl_divergence``; a decorator.

    Subclasses use it too, unless there is one for them.

    >>> from weft.distributions import Normal, register_kl, kl_divergence
    >>> class Mine(Normal):
    ...     pass
    >>> @register_kl(Mine, Mine)
    ... def kl_of_mine(p, q):
    ...     return weft.tensor(42.0)
    >>> kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0))
    tensor(42.)
    """
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected a subclass of Distribution but got {kind}")

    def register(formula: Any) -> Any:
        _FORMULAS[type_p, type_q] = formula
        _CHOSEN.clear()
        return formula

    return register


def _choose(type_p: type, type_q: type) -> Callable[[Any, Any], Tensor] | None:
    """Return the formula for the nearest classes."""
    steps_p, steps_q = type_p.__mro__, type_q.__mro__
    found = [
        (steps_p.index(p), steps_q.index(q), formula)
        for (p, q), formula in _FORMULAS.items()
        if p in steps_p and q in steps_q
    ]
    if not found:
        return None
    left = min(found, key=lambda f: (f[0], f[1]))
    right = min(found, key=lambda f: (f[1], f[0]))
    if left[2] is not right[2]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({steps_p[left[0]].__name__}, {steps_q[right[1]].__name__})",
            RuntimeWarning,
            stacklevel=4,
        )
    return left[2]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the Kullback-Leibler divergence E_p[log p - log q].

    >>> from weft.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    from . import kl_formulas  # noqa: F401  (registers them)

    key = type(p), type(q)
    if key not in _CHOSEN:
        _CHOSEN[key] = _choose(*key)
    formula = _CHOSEN[key]
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
            f"{type(q).__name__}"
        )
    return formula(p, q)
