"""``weft.compile``: a function's calls, captured as they run and replayed without Python.

In the order of a call: ``function.py`` decides how it is made, ``python_state.py`` finds the Python values
that it depends on, ``capture.py`` records it, ``segments.py`` splits it at decisions on values,
``backward.py`` captures its gradients, ``specialization.py`` replays it. ``dynamic.py`` does all of this for
calls whose sizes vary. ``report.py`` describes what was captured.
"""

from __future__ import annotations

import functools

from weft import _C

from .function import CompiledFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["CompiledFunction", "OptimizedModule", "compile"]

BACKENDS = ("inductor", "weft", "eager", "aot_eager")
_MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
# Of PyTorch's compiler: hints that change nothing here.
_OPTIONS = (
    "epilogue_fusion", "fallback_random", "max_autotune", "shape_padding", "triton.cudagraphs",
)  # fmt: skip


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    exact: bool = True,
) -> Any:
    """Return a function or module whose calls are captured and replayed as static programs.

    A call is captured while it runs as ever: forward, backward and steps of optimisers alike. When
    two calls in a row were the same, further ones run without Python, as long as everything that
    Python could see is as it was: shapes, modes, attributes, globals. Decisions on values (``if``,
    ``while``, ``item()``) split the program, and the value selects how it goes on. What cannot be
    captured runs eagerly, and a warning says why.

    Args:
        model: what to compile; without it, a decorator is returned.
        fullgraph: raise where the program is split or runs eagerly, naming the line.
        dynamic: ``None``: sizes that come often get a program of their own, and where sizes vary more
            than that pays, one program serves all. ``True``: one program serves all from the second
            call on. ``False``: each size is a program of its own, or runs eagerly.
        mode, options: hints that steer PyTorch's compiler; there is one mode here.
        backend: ``"inductor"`` (or ``"weft"``) compiles, ``"eager"`` and ``"aot_eager"`` do not.
        disable: return the function as it is.
        exact: results have every bit that eager gives them. Without it, programs may also use what
            holds for real numbers: ``x * 2 / 3`` is one product, ``x.exp().log()`` is ``x``. Then
            results are rounded otherwise, and NaN and infinities may come out as numbers.

    >>> model = weft.nn.Linear(3, 1)
    >>> optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
    >>> @weft.compile
    ... def step(x, y):
    ...     optimizer.zero_grad()
    ...     loss = ((model(x) - y) ** 2).mean()
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss
    >>> x, y = weft.randn(8, 3), weft.randn(8, 1)
    >>> losses = [step(x, y).item() for _ in range(10)]
    >>> losses[-1] < losses[0]
    True
    """
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, disable=disable, exact=exact,
        )  # fmt: skip
    if not callable(model):
        raise TypeError(f"compile: expected a module or a function, got {type(model).__name__}")
    _check_flags(fullgraph=fullgraph, disable=disable, exact=exact)
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"compile: dynamic must be a bool or None, not {dynamic!r:.100}")
    _check_options(options)
    if mode is not None and options is not None:
        raise RuntimeError("compile: either mode or options can be given, not both")
    if backend not in BACKENDS:
        raise NotImplementedError(f"compile(backend={backend!r}): weft has {', '.join(BACKENDS)}")
    if mode not in _MODES:
        raise RuntimeError(f"compile: unknown mode {mode!r}, expected one of {_MODES}")
    if disable:
        return model
    eager = backend in ("eager", "aot_eager")
    if isinstance(model, _C.ModuleBase):
        from .module import OptimizedModule

        return OptimizedModule(model, fullgraph, eager, exact, dynamic)
    if eager:
        return model
    return CompiledFunction(model, fullgraph, exact, dynamic)


def _check_flags(**flags: Any) -> None:
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"compile: {name} must be a bool, not {flag!r:.100}")


def _check_options(options: Any) -> None:
    if options is None:
        return
    if not isinstance(options, dict):
        raise TypeError(f"compile: options must be a dict or None, not {options!r:.100}")
    if unknown := [key for key in options if key not in _OPTIONS]:
        raise NotImplementedError(
            f"compile(options=...): there is no option {unknown[0]!r}; known are {', '.join(_OPTIONS)}"
        )


def __getattr__(name: str) -> Any:
    """Load what needs ``weft.nn`` on first use."""
    if name == "OptimizedModule":
        from .module import OptimizedModule

        return OptimizedModule
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
