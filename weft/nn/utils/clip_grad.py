"""Gradients cut down to size."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from weft import Tensor

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]


def _list(tensors: Tensor | Iterable[Tensor], what: str) -> list[Tensor]:
    """Return one tensor or several as a list; warn of a generator that gives none."""
    found = [tensors] if isinstance(tensors, weft.Tensor) else list(tensors)
    if not found and isinstance(tensors, Iterator):
        warnings.warn(f"`{what}` is an empty generator: nothing is clipped", stacklevel=4)
    return found


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all elements of several tensors, as if they were one vector.

    Args:
        tensors: one or several.
        norm_type: the p of the norm; may be infinity.
        error_if_nonfinite: raise if the norm is NaN or infinite.
        foreach: accepted; weft has one way to do it.

    >>> weft.nn.utils.get_total_norm([weft.tensor([3.0]), weft.tensor([4.0])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, weft.Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return weft.tensor(0.0)
    with weft.no_grad():
        norms = [weft.linalg.vector_norm(t.detach(), norm_type) for t in tensors]
        total = norms[0] if len(norms) == 1 else weft.stack([n.to(norms[0].dtype) for n in norms])
        if len(norms) > 1:
            total = weft.linalg.vector_norm(total, norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale gradients by ``max_norm / total_norm`` if that is less than one.

    >>> p = weft.ones(1, requires_grad=True)
    >>> (p * 4).backward()
    >>> weft.nn.utils.clip_grads_with_norm_(p, 1.0, weft.tensor(8.0))
    >>> p.grad
    tensor([0.5000])
    """
    parameters = [parameters] if isinstance(parameters, weft.Tensor) else list(parameters)
    grads = [p.grad for p in parameters if p.grad is not None]
    if not grads:
        return
    with weft.no_grad():
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for g in grads:
            g.mul_(factor.to(g.dtype))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of parameters so that their norm is at most ``max_norm``.

    Args:
        parameters: one or several.
        max_norm: the largest norm allowed.
        norm_type: the p of the norm; may be infinity.
        error_if_nonfinite: raise if the norm is NaN or infinite.
        foreach: accepted; weft has one way to do it.

    Returns:
        The norm before.

    >>> p = weft.ones(1, requires_grad=True)
    >>> (p * 4).backward()
    >>> weft.nn.utils.clip_grad_norm_(p, 2.0)
    tensor(4.)
    >>> p.grad
    tensor([2.0000])
    """
    found = _list(parameters, "parameters")
    grads = [p.grad for p in found if p.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(found, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Do what ``clip_grad_norm_`` does: its old name."""
    warnings.warn(
        "`clip_grad_norm` is now deprecated in favor of `clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Cut the elements of gradients at ±``clip_value``.

    >>> p = weft.ones(1, requires_grad=True)
    >>> (p * 4).backward()
    >>> weft.nn.utils.clip_grad_value_(p, 1.5)
    >>> p.grad
    tensor([1.5000])
    """
    parameters = [parameters] if isinstance(parameters, weft.Tensor) else parameters
    clip_value = float(clip_value)
    with weft.no_grad():
        for p in parameters:
            if p.grad is not None:
                p.grad.clamp_(-clip_value, clip_value)
