"""``weft.compiler``: what surrounds ``weft.compile``. ``torch._dynamo`` means this module too.

>>> weft.compiler.is_compiling()
False
"""

from __future__ import annotations

import functools
from types import SimpleNamespace

import weft
from weft import _C
from weft.jit.compile import BACKENDS, compile
from weft.jit.compile.dynamic import mark
from weft.jit.compile.function import forget_all
from weft.jit.compile.module import OptimizedModule
from weft.jit.effects import declare_pure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "graph_break",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "reset",
]

# Switches of PyTorch's compiler. They can be set and read, and change nothing.
config = SimpleNamespace(
    cache_size_limit=8,
    recompile_limit=8,
    suppress_errors=False,
    verbose=False,
)


def is_compiling() -> bool:
    """Say whether the call is one that ``weft.compile`` captures.

    >>> f = weft.compile(lambda x: x + 1 if weft.compiler.is_compiling() else x)
    >>> f(weft.zeros(1)), weft.compiler.is_compiling()
    (tensor([1.]), False)
    """
    return _C._recorder() is not None and not weft.jit.is_tracing()


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """Say whether a program is being exported. weft has no export.

    >>> weft.compiler.is_exporting()
    False
    """
    return False


def reset() -> None:
    """Forget all that was captured. Compiled functions and modules begin anew.

    >>> f = weft.compile(lambda x: x + 1)
    >>> f(weft.zeros(1)), len(f.specializations)
    (tensor([1.]), 1)
    >>> weft.compiler.reset()
    >>> len(f.specializations)
    0
    """
    forget_all()


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True) -> Any:
    """Return a function that is never captured: a compiled one that calls it runs eagerly.

    Args:
        fn: the function, or a module; without it, a decorator is returned.
        recursive: whether what it calls is not captured either. It must be True.

    >>> @weft.compiler.disable
    ... def half(x):
    ...     return x / 2
    >>> half(weft.ones(1))
    tensor([0.5000])
    """
    if not recursive:
        raise NotImplementedError("disable(recursive=False): what a function calls goes with it")
    if fn is None:
        return disable
    if not callable(fn):
        raise TypeError(f"disable: expected a function or a module, got {type(fn).__name__}")
    if isinstance(fn, weft.nn.Module):
        fn.forward = disable(fn.forward)
        return fn
    name = getattr(fn, "__qualname__", type(fn).__name__)

    @functools.wraps(fn)
    def eager(*args: Any, **kwargs: Any) -> Any:
        _break(f"a call of {name}, which is disabled")
        return fn(*args, **kwargs)

    return eager


def graph_break() -> None:
    """Let a compiled function that comes here run eagerly.

    >>> weft.compiler.graph_break()
    """
    _break("graph_break()")


def _break(what: str) -> None:
    if is_compiling():
        _C._recorder().lost(what, _C._here())


def allow_in_graph(fn: Any) -> Any:
    """Return the function itself: whatever is made of ops can be captured.

    A function of a C library, of which weft cannot know what it does besides returning a value, is
    taken to be pure from now on: a replay leaves it out.

    >>> weft.compiler.allow_in_graph(weft.relu) is weft.relu
    True
    """
    declare_pure(fn)
    return fn


def list_backends(exclude_tags: Sequence[str] = ("debug", "experimental")) -> list[str]:
    """Return what ``weft.compile`` takes as a backend.

    Args:
        exclude_tags: kinds of backends to leave out: with ``"debug"``, those that only run eagerly.

    >>> weft.compiler.list_backends()
    ['inductor', 'weft']
    """
    eager = ("eager", "aot_eager") if "debug" in exclude_tags else ()
    return [name for name in BACKENDS if name not in eager]


def mark_dynamic(t: weft.Tensor, index: Any) -> None:
    """Say that sizes of a tensor will vary: calls with it are captured for any such sizes at once.

    Args:
        t: the tensor; others that are given in its place later need no mark.
        index: the dimension, or a list of them.

    >>> f = weft.compile(lambda x: x.sum(0))
    >>> for n in range(2, 6):
    ...     x = weft.ones(n, 3)
    ...     weft.compiler.mark_dynamic(x, 0)
    ...     y = f(x)
    >>> f.any_size[0].captures
    2
    """
    mark(t, _dims(t, index, "mark_dynamic"), True)


def mark_static(t: weft.Tensor, index: Any = None) -> None:
    """Say that sizes of a tensor will not vary: each gets a program of its own.

    Args:
        t: the tensor.
        index: the dimension, or a list of them; without it, all.

    >>> weft.compiler.mark_static(weft.ones(2, 3), 0)
    """
    mark(t, _dims(t, list(range(t.dim())) if index is None else index, "mark_static"), False)


def _dims(t: weft.Tensor, index: Any, name: str) -> list[int]:
    dims = list(index) if isinstance(index, (list, tuple, set)) else [index]
    for d in dims:
        if type(d) is not int or not -t.dim() <= d < t.dim():
            raise IndexError(f"{name}: a tensor of shape {list(t.shape)} has no dimension {d!r}")
    return [d % t.dim() for d in dims]


def cudagraph_mark_step_begin() -> None:
    """Say that a step begins. Results keep memory of their own here, so nothing follows.

    >>> weft.compiler.cudagraph_mark_step_begin()
    """
