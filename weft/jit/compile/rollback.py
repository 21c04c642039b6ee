"""How what a capture for any sizes has changed is put back: gradients, elements, optimisers."""

from __future__ import annotations

import contextlib

import weft
from weft import _C

from .capture import paused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from weft import Tensor

__all__ = [
    "contents_as_they_are", "elements_as_they_are", "grad_as_it_is", "optimizer_as_it_is", "quiet",
]  # fmt: skip


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what the capture does itself from observers and recorders."""
    observer = _C._observe(None)
    try:
        with paused():
            yield
    finally:
        _C._observe(observer)


def elements_as_they_are(t: Tensor) -> Callable[[], None]:
    """Return what sets the elements of a tensor to what they are now."""
    with quiet(), weft.no_grad():
        kept = t.detach().clone()

    def put() -> None:
        if t.shape == kept.shape and _C._is_writable(t):
            t.detach().copy_(kept)

    return put


def contents_as_they_are(x: Any) -> Callable[[], None]:
    """Return what puts back what a container of the arguments holds now.

    >>> from weft.jit.compile.rollback import contents_as_they_are
    >>> given = [1, 2]
    >>> put = contents_as_they_are(given)
    >>> given.append(3)
    >>> put()
    >>> given
    [1, 2]
    """
    items = list(x) if isinstance(x, list) else None
    pairs = dict(x) if isinstance(x, dict) else None
    members = dict(x.__dict__) if hasattr(x, "__dict__") else None

    def put() -> None:
        if items is not None:
            x[:] = items
        if pairs is not None:
            x.clear()
            x.update(pairs)
        if members is not None:
            x.__dict__.clear()
            x.__dict__.update(members)

    return put


def grad_as_it_is(t: Tensor) -> Callable[[], None]:
    """Return what sets a gradient to what it is now."""
    with quiet(), weft.no_grad():
        grad = _C._grad_of(t)
        kept = None if grad is None else grad.detach().clone()

    def put() -> None:
        if grad is not None and kept is not None:
            grad.detach().copy_(kept)
        t.grad = grad

    return put


def optimizer_as_it_is(optimizer: Any) -> Callable[[], None]:
    """Return what sets the parameters and the state of an optimiser to what they are now."""

    def kept(x: Any) -> Any:
        return x.detach().clone() if isinstance(x, weft.Tensor) else x

    with quiet(), weft.no_grad():
        params = [(p, kept(p)) for group in optimizer.param_groups for p in group["params"]]
        states = [
            (p, items, [(key, x, kept(x)) for key, x in items.items()])
            for p, items in optimizer.state.items()
        ]

    def put() -> None:
        for p, elements in params:
            p.detach().copy_(elements)
        optimizer.state.clear()
        for p, items, before in states:
            optimizer.state[p] = items
            items.clear()
            for key, x, elements in before:
                if isinstance(x, weft.Tensor):
                    x.detach().copy_(elements)
                items[key] = x

    return put
