"""``compile``, as long as weft has no compiler: what it is given runs eagerly."""

from __future__ import annotations

import functools
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["compile"]

_told: set[str] = set()


def tell_once(name: str) -> None:
    """Warn, the first time, that something is not compiled."""
    if name not in _told:
        _told.add(name)
        warnings.warn(
            f"{name}: weft does not compile yet; the program runs eagerly, with the same results",
            stacklevel=3,
        )


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Return a module or function as it is: it runs eagerly, and a warning says so once.

    Args:
        model: what to compile; without it, a decorator is returned.
        fullgraph, dynamic, backend, mode, options: how PyTorch would compile. They change speed,
            not results, and there is nothing to speed up yet.
        disable: compile nothing, and say nothing.

    >>> f = weft.compile(weft.sin, disable=True)
    >>> f is weft.sin
    True
    """
    if mode is not None and options is not None:
        raise RuntimeError("compile: either mode or options can be given, not both")
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, disable=disable,
        )  # fmt: skip
    if not callable(model):
        raise TypeError(f"compile: expected a module or a function, got {type(model).__name__}")
    if not disable:
        tell_once("compile")
    return model
