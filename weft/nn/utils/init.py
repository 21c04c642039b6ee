"""Modules made without initialising their parameters."""

from __future__ import annotations

import contextlib

from weft.nn import init as _init
from weft.nn.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["no_init", "skip_init"]


@contextlib.contextmanager
def no_init() -> Iterator[None]:
    """Within this, the functions of ``nn.init`` leave their tensors as they are.

    Modules are made at once, and hold whatever memory holds. Load their state before use.

    >>> with weft.nn.utils.no_init():
    ...     layer = weft.nn.Linear(2, 1)
    >>> layer.load_state_dict({"weight": weft.ones(1, 2), "bias": weft.ones(1)})
    <All keys matched successfully>
    """
    names = [name for name in _init.__all__ if name.endswith("_")]
    before = {name: getattr(_init, name) for name in names}
    try:
        for name in names:
            setattr(_init, name, lambda tensor, *args, **kwargs: tensor)
        yield
    finally:
        for name, function in before.items():
            setattr(_init, name, function)


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a module without drawing its parameters, which hold whatever memory holds.

    Args:
        module_cls: a class of modules that takes a ``device``.
        args: its arguments.
        kwargs: its arguments by name.

    >>> weft.nn.utils.skip_init(weft.nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    import inspect  # takes milliseconds to import

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with no_init():
        return module_cls(*args, **kwargs)
