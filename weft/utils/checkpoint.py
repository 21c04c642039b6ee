"""Activation checkpointing: what a function keeps for backward is computed again when it is needed.

Memory falls from all intermediate results to the inputs of the functions; time grows by about one
forward pass. Without reentry, tensors that nodes save are replaced by holders, which are filled
when backward first reads one of them. With reentry, the function is one node of the graph, which
runs it again and walks back through it.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
import weakref

import weft
from weft import _C
from weft.autograd import Function
from weft.autograd.graph import saved_tensors_hooks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from weft import Tensor

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "set_checkpoint_early_stop"]

_early_stop = [True]


class CheckpointError(RuntimeError):
    """The second run of a function did not do what the first did."""


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call a function, keep only its inputs, and compute the rest again in backward.

    Args:
        function: what to call. It runs twice, and must do the same both times.
        args, kwargs: its arguments. With reentry only ``args``, of which one needs a gradient.
        use_reentrant: whether it becomes one node that runs the function again (True), or the
            graph is recorded and its saved tensors computed again (False, which does all that
            True does, and ``autograd.grad`` too). One of them has to be chosen.
        context_fn: returns two contexts, for the first and the second run.
        determinism_check: ``"default"`` compares shapes and dtypes of both runs, ``"none"`` not.
        debug: not supported.
        early_stop: whether the second run ends as soon as all tensors are there.
        preserve_rng_state: (keyword, default True) whether random numbers are the same twice.

    >>> x = weft.ones(3, requires_grad=True)
    >>> y = weft.utils.checkpoint.checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False)
    >>> y.sum().backward()
    >>> x.grad
    tensor([-2.4783, -2.4783, -2.4783])
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint: use_reentrant is not given; it is taken as True. Pass use_reentrant=False, "
            "which works in more cases, or True",
            stacklevel=2,
        )
        use_reentrant = True
    if debug:
        raise NotImplementedError("checkpoint(debug=True): weft keeps no log of both runs")
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"checkpoint: determinism_check must be 'default' or 'none', got {determinism_check!r}"
        )
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        checks = determinism_check == "default"
        stops = early_stop and _early_stop[0]
        return _without_reentry(function, args, kwargs, preserve, context_fn, checks, stops)
    if kwargs:
        raise ValueError(f"checkpoint: unexpected keyword arguments: {', '.join(kwargs)}")
    if context_fn is not None or determinism_check != "default":
        raise ValueError("checkpoint: context_fn and determinism_check need use_reentrant=False")
    if weft.is_grad_enabled() and not any(_wants_grad(a) for a in args):
        warnings.warn(
            "checkpoint: none of the inputs requires a gradient, so with use_reentrant=True the "
            "result has none",
            stacklevel=2,
        )
    return _Reentrant.apply(function, preserve, *args)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """Call a sequence of modules in checkpointed segments; the last one is kept as usual.

    Args:
        functions: a ``Sequential`` or a list of functions.
        segments: in how many parts to cut it.
        input: the input of the first function.
        use_reentrant, preserve_rng_state: as for ``checkpoint``.

    >>> net = weft.nn.Sequential(weft.nn.Tanh(), weft.nn.Tanh(), weft.nn.Tanh())
    >>> x = weft.ones(1, requires_grad=True)
    >>> weft.utils.checkpoint.checkpoint_sequential(net, 3, x, use_reentrant=False)
    tensor([0.5663], grad_fn=<TanhBackward0>)
    """
    modules = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 1 <= segments <= len(modules):
        raise ValueError(
            f"checkpoint_sequential: segments must be from 1 to the {len(modules)} functions, "
            f"got {segments}"
        )
    if use_reentrant is None:
        warnings.warn(
            "checkpoint_sequential: use_reentrant is not given; it is taken as True", stacklevel=2
        )
        use_reentrant = True

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for module in modules[start:end]:
                x = module(x)
            return x

        return forward

    size = len(modules) // segments
    start = 0
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(
            run(start, start + size), input, use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )  # fmt: skip
    return run(size * (segments - 1), len(modules))(input)


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Choose inside a ``with`` block whether second runs end as soon as all tensors are there.

    >>> with weft.utils.checkpoint.set_checkpoint_early_stop(False):
    ...     pass
    """
    _early_stop.append(enable)
    _early_stop[0], _early_stop[-1] = _early_stop[-1], _early_stop[0]
    try:
        yield
    finally:
        _early_stop[0] = _early_stop.pop()


def _wants_grad(x: Any) -> bool:
    return isinstance(x, weft.Tensor) and x.requires_grad


class _State:
    """What the first run of a function found, for the second: autocast, and random numbers."""

    def __init__(self, random: bool) -> None:
        """Keep both, or only autocast."""
        self.autocast = _C._autocast_state()
        self.random = weft.get_rng_state() if random else None

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Let a block find them again; then what held before holds again."""
        now = None if self.random is None else weft.get_rng_state()
        autocast = _C._set_autocast(*self.autocast)
        _C._nest_autocast(1)
        if self.random is not None:
            weft.set_rng_state(self.random)
        try:
            yield
        finally:
            _C._nest_autocast(-1)
            _C._set_autocast(*autocast)
            if now is not None:
                weft.set_rng_state(now)


# ---- without reentry ----------------------------------------------------------------------------


class _Stop(BaseException):  # not an Exception: a function must not catch it
    """All tensors are there: end the second run."""


class _Holder:
    """Stands in a node for a tensor that is computed again."""

    __slots__ = ("__weakref__", "kind", "value")

    def __init__(self, tensor: Tensor) -> None:
        """Remember what the tensor looked like."""
        self.kind = (tuple(tensor.shape), tensor.dtype)
        self.value: Tensor | None = None


class _Frame:
    """One call of ``checkpoint``: the holders of its first run, and how to run again."""

    def __init__(self, again: Callable[[], Any], checks: bool, stops: bool) -> None:
        """Start with no holders."""
        self.again, self.checks, self.stops = again, checks, stops
        self.holders: list[Any] = []

    def pack(self, tensor: Tensor) -> _Holder:
        """Put a holder in the place of a tensor."""
        holder = _Holder(tensor)
        self.holders.append(weakref.ref(holder))
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        """Return the tensor of a holder, which the first to ask makes all of them get."""
        if holder.value is None:
            self.fill()
        if holder.value is None:
            raise CheckpointError(
                "checkpoint: the second run of the function saved fewer tensors than the first"
            )
        return holder.value

    def fill(self) -> None:
        """Run the function again, and give the holders what it saves."""
        count = 0

        def collect(tensor: Tensor) -> Tensor:
            nonlocal count
            if count >= len(self.holders):
                if self.checks:
                    raise CheckpointError(
                        "checkpoint: the second run of the function saved more tensors than the "
                        f"first, which saved {len(self.holders)}"
                    )
                return tensor
            holder = self.holders[count]()
            count += 1
            if holder is not None:
                kind = (tuple(tensor.shape), tensor.dtype)
                if self.checks and kind != holder.kind:
                    raise CheckpointError(
                        f"checkpoint: saved tensor {count - 1} was of shape {list(holder.kind[0])} "
                        f"and {holder.kind[1]} in the first run of the function, and of "
                        f"{list(kind[0])} and {kind[1]} in the second"
                    )
                holder.value = tensor
            if self.stops and count == len(self.holders):
                raise _Stop
            return tensor

        with contextlib.suppress(_Stop), weft.enable_grad():
            with saved_tensors_hooks(collect, lambda t: t):
                self.again()


def _without_reentry(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    preserve: bool,
    context_fn: Callable[[], tuple[Any, Any]] | None,
    checks: bool,
    stops: bool,
) -> Any:
    first, second = context_fn() if context_fn else (contextlib.nullcontext(),) * 2
    if not weft.is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    state = _State(preserve)

    def again() -> None:
        with state.restored(), second:
            function(*args, **kwargs)

    frame = _Frame(again, checks, stops)
    with first, saved_tensors_hooks(frame.pack, frame.unpack):
        return function(*args, **kwargs)


# ---- with reentry -------------------------------------------------------------------------------


def _refuse_partial_walk() -> None:
    """Raise if the walk that got here is one of ``autograd.grad`` or has ``inputs=``."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        whole = frame.f_code is weft.autograd.backward.__code__
        if whole and frame.f_locals["wanted"] is None:
            return
        if whole or frame.f_code is weft.autograd.grad.__code__:
            raise RuntimeError(
                "checkpoint: with use_reentrant=True neither autograd.grad nor backward(inputs=...) "
                "works: pass use_reentrant=False"
            )
        frame = frame.f_back


class _Reentrant(Function):
    """A function as one node, whose backward runs it again with recording on."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
        ctx.function = function
        ctx.state = _State(preserve)
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, weft.Tensor)]
        ctx.args = [None if isinstance(a, weft.Tensor) else a for a in args]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with weft.no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        _refuse_partial_walk()
        args = list(ctx.args)
        for i, tensor in zip(ctx.places, ctx.saved_tensors):
            args[i] = tensor.detach().requires_grad_(tensor.requires_grad)
        with ctx.state.restored(), weft.enable_grad():
            outputs = ctx.function(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(y, g) for y, g in zip(outputs, grads) if _wants_grad(y)]
        if not pairs:
            raise RuntimeError("checkpoint: no result of the function requires a gradient")
        weft.autograd.backward([y for y, _ in pairs], [g for _, g in pairs])
        return (None, None, *(a.grad if isinstance(a, weft.Tensor) else None for a in args))
