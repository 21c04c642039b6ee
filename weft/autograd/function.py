"""Operations with a derivative of your own: ``Function``.

What happens in ``Function.apply``, and where the native part comes in:

1. ``forward`` runs with recording off; ``ctx`` collects what it asks for.
2. If recording is on and a tensor argument requires a gradient, one native call attaches one node::

       weft._C._function_record(ctx, inputs, outputs, to_save, name) -> None

   * ``ctx``: kept by the node (the only strong reference to it; ``ctx`` holds no node, so there is
     no cycle to collect).
   * ``inputs``: tuple of the tensor arguments, in order. The node gets one edge for each (none
     where the tensor requires no gradient), taken before any output gets its new history.
   * ``outputs``: tuple of the differentiable results, in order, all distinct objects. A result
     that is one of ``inputs`` was changed in place: the node becomes its history as after any
     in-place operation. Every other one has no history yet. Each is given ``requires_grad``, the
     node, and its place in this tuple as ``output_nr``.
   * ``to_save``: tuple of tensors or None, saved after the outputs have their history, by the same
     means as any node's (version check, saved-tensor hooks, no cycle through an output).
   * ``name``: what ``node.name()`` returns.

3. Backward reaches the node and calls ``ctx._run_backward(node, grads)`` with the mode of the walk
   (recording only under ``create_graph``); ``grads`` is a tuple with a tensor or None for each of
   ``outputs``. It returns a tuple with a tensor or None for each of ``inputs``, of the inputs'
   shapes and dtypes. ``node._saved()`` returns the tuple of saved tensors, or raises as any node
   whose saved tensors were changed in place or freed.
"""

from __future__ import annotations

import weft
from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from weft import Tensor

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class FunctionCtx:
    """What ``forward`` leaves for ``backward``; any further attribute may be set on it.

    Attributes:
        needs_input_grad: for each argument of ``forward``, whether its gradient is wanted.
    """

    materialize_grads = True
    to_save: tuple[Tensor | None, ...] = ()
    dirty_tensors: tuple[Tensor, ...] = ()
    non_differentiable: tuple[Tensor, ...] = ()

    # Set when a node is recorded: shape and dtype of each tensor argument; of each tensor result,
    # with whether it has a gradient; and the nodes whose backward is running: all the same one,
    # more than once if several threads walk a retained graph (append and pop are atomic).
    _args: tuple[tuple[Any, Any] | None, ...] = ()
    _results: tuple[tuple[Any, Any, bool] | None, ...] = ()
    _running: list[Any] | None = None

    def __init__(self, cls: type[Function], needs_input_grad: tuple[bool, ...]) -> None:
        self._cls = cls
        self.needs_input_grad = needs_input_grad

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``backward``, which reads them from ``ctx.saved_tensors``.

        Inputs and outputs should be kept this way and not as attributes: changes in place are
        then noticed, and no reference cycle arises.
        """
        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, weft.Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type "
                    f"{type(tensor).__name__}"
                )
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Accepted and ignored: weft has no forward-mode derivative of a ``Function``."""

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What ``save_for_backward`` kept; to be read in ``backward``."""
        return self._running[-1]._saved() if self._running else ()

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declare inputs that ``forward`` changed in place; it must also return them."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare outputs that have no gradient; ``backward`` is still given one for them."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether ``backward`` gets zeros (True, the default) or None for missing gradients."""
        self.materialize_grads = value

    def name(self) -> str:
        """Return the name of the node, such as ``ExpBackward``."""
        return self._cls.__name__ + "Backward"

    def _run_backward(
        self, node: Any, grads: tuple[Tensor | None, ...]
    ) -> tuple[Tensor | None, ...]:
        """Take the gradients of the node's outputs to those of its inputs (called by the tape)."""
        given = iter(grads)
        full: list[Tensor | None] = []
        for result in self._results:
            g = next(given) if result is not None and result[2] else None
            if g is None and result is not None and self.materialize_grads:
                g = weft.zeros(result[0], dtype=result[1])
            full.append(g)
        running = self._running
        assert running is not None  # _record made it
        running.append(node)
        try:
            answer = self._cls._derivative()(self, *full)
        finally:
            running.pop()
        return self._aligned(answer if isinstance(answer, tuple) else (answer,))

    def _aligned(self, answer: tuple[Any, ...]) -> tuple[Tensor | None, ...]:
        """Check what ``backward`` returned; keep one gradient for each tensor argument."""
        expected = len(self._args)
        extra = answer[expected:]
        if len(answer) < expected or any(g is not None for g in extra):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{expected}, got {len(answer)}): backward must return one for each argument of "
                "forward, None for those that are not tensors"
            )
        kept: list[Tensor | None] = []
        for i, (arg, g) in enumerate(zip(self._args, answer)):
            if arg is not None:
                kept.append(g if g is None else self._fitted(len(kept), g, *arg))
            elif g is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position "
                    f"{i + 1}, but the corresponding forward input was not a Variable"
                )
        return tuple(kept)

    def _fitted(self, index: int, g: Any, shape: tuple[int, ...], dtype: Any) -> Tensor:
        """Return a gradient in the shape and dtype of its input, as broadcasting allows."""
        if not isinstance(g, weft.Tensor):
            raise RuntimeError(
                f"function {self.name()}: expected Variable or None (got {type(g).__name__})"
            )
        if g.shape != shape:
            if not _expandable(shape, g.shape):
                raise RuntimeError(
                    f"Function {self.name()} returned an invalid gradient at index {index} - got "
                    f"{list(g.shape)} but expected shape compatible with {list(shape)}"
                )
            g = g.sum_to_size(shape)
        if g.dtype != dtype:
            g = g.real.to(dtype) if g.is_complex() and not dtype.is_complex else g.to(dtype)
        return g


def _expandable(small: tuple[int, ...], large: tuple[int, ...]) -> bool:
    """Say whether ``small`` broadcasts to ``large``."""
    if len(small) > len(large):
        return False
    tail = large[len(large) - len(small) :]
    return all(a in (1, b) for a, b in zip(small, tail))


class Function:
    """Base class of operations whose derivative you write yourself.

    Write static methods, in one of two styles::

        forward(ctx, *args) -> outputs
        forward(*args) -> outputs  and  setup_context(ctx, inputs, output)

    and ``backward(ctx, *grad_outputs)``, which returns a gradient for each argument of
    ``forward`` (None for those that are not tensors). Call it by ``apply``.

    >>> class Exp(weft.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (y,) = ctx.saved_tensors
    ...         return g * y
    >>> x = weft.zeros(2, requires_grad=True)
    >>> Exp.apply(x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """

    _pure = False  # backward does nothing but ops: it may be walked again

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        import warnings

        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself: use "
            f"{type(self).__name__}.apply(...).",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            f"new-style autograd function with static forward method: {type(self).__name__}"
            ".apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; to be written by the subclass."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any, /) -> None:
        """Keep on ``ctx`` what ``backward`` needs, if ``forward`` takes no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(*args: Any, **kwargs: Any) -> Any:
        """Return the gradients of the inputs; to be written by the subclass (or as ``vjp``)."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @classmethod
    def _derivative(cls) -> Callable[..., Any]:
        """Return ``backward``, or ``vjp`` if that is the one that was written."""
        if cls.backward is Function.backward:
            return cls.vjp
        if cls.vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed: "
                f"{cls.__name__} has both."
            )
        return cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` and record one node for it. Use this, never ``forward`` itself.

        Keyword arguments are put in the order of ``forward``'s parameters.
        """
        forward = cls.forward
        separate = cls.setup_context is not Function.setup_context
        if kwargs or (separate and getattr(forward, "__defaults__", None)):
            args = _bound(forward, separate, args, kwargs)
        kind = weft.Tensor
        needs = tuple([isinstance(a, kind) and a.requires_grad for a in args])
        ctx = FunctionCtx(cls, needs)
        recording = _C._set_grad_enabled(False)
        try:
            if recording:
                _C._custom_function(cls.__name__, cls._pure)
            if separate:
                result = forward(*args)
                cls.setup_context(ctx, args, result)
            else:
                result = forward(ctx, *args)
            outputs = result if isinstance(result, tuple) else (result,)
            if ctx.dirty_tensors:
                _check_dirty(ctx, args, outputs)
            if recording and True in needs:
                outputs = _record(ctx, args, outputs)
            else:
                ctx.to_save = ()
        finally:
            _C._set_grad_enabled(recording)
        return outputs if isinstance(result, tuple) else outputs[0]


class InplaceFunction(Function):
    """A ``Function`` with an ``inplace`` flag, kept for programs that use it."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def _bound(
    forward: Callable[..., Any], separate: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Return all arguments of ``forward`` by position, with defaults in the separate style."""
    from inspect import signature

    lead = () if separate else (None,)
    bound = signature(forward).bind(*lead, *args, **kwargs)
    if separate:
        bound.apply_defaults()
    if bound.kwargs:
        names = ", ".join(bound.kwargs)
        raise TypeError(f"Function.apply: keyword-only arguments cannot be recorded: {names}")
    return bound.args[len(lead) :]


def _among(tensor: Any, others: Iterable[Any]) -> bool:
    """Say whether ``tensor`` itself, not an equal one, is among ``others``."""
    return any(tensor is other for other in others)


def _check_dirty(ctx: FunctionCtx, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """Check the tensors marked dirty, and count the change in their versions."""
    for t in ctx.dirty_tensors:
        if not _among(t, outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )
        if not _among(t, args):
            import warnings

            warnings.warn(
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors "
                "that have been mutated should be passed to ctx.mark_dirty().",
                stacklevel=3,
            )
        _C._increment_version(t)


def _record(ctx: FunctionCtx, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Attach the node of one call to its outputs, and return these.

    An input that is returned unchanged, or a result returned twice, is replaced by a tensor of its
    own that shares the memory: an output has its own history.
    """
    kind = weft.Tensor
    inputs = tuple([a for a in args if isinstance(a, kind)])
    dirty, fixed = ctx.dirty_tensors, ctx.non_differentiable
    for t in dirty:
        if t.requires_grad and t.is_leaf:
            raise RuntimeError(
                "a leaf Variable that requires grad has been used in an in-place operation: "
                f"{ctx._cls.__name__} changed an input of shape {list(t.shape)}"
            )
    final: list[Any] = []
    taken: list[Tensor] = []
    results: list[tuple[Any, Any, bool] | None] = []
    for y in outputs:
        if not isinstance(y, kind):
            final.append(y)
            results.append(None)
            continue
        differentiable = y.is_floating_point() or y.is_complex()
        if differentiable and fixed and _among(y, fixed):
            differentiable = False
        own = y
        in_place = _among(y, dirty) and not _among(y, taken)
        if not in_place and (_C._wants_grad(y) or _among(y, inputs) or _among(y, final)):
            own = y.detach()
        if differentiable:
            taken.append(own)
        final.append(own)
        results.append((own.shape, own.dtype, differentiable))
    ctx._args = tuple([(a.shape, a.dtype) if isinstance(a, kind) else None for a in args])
    ctx._results = tuple(results)
    ctx._running = []
    to_save, ctx.to_save = ctx.to_save, ()
    ctx.dirty_tensors = ctx.non_differentiable = ()
    if taken:
        _C._function_record(ctx, inputs, tuple(taken), to_save, ctx.name())
    return tuple(final)


class _DifferentiatedTwice(Function):
    """Stands between gradients and what they were made of; its own derivative is an error."""

    @staticmethod
    def forward(
        ctx: Any, name: str, grads: list[Tensor], *sources: Tensor | None
    ) -> tuple[Tensor, ...]:
        ctx.of = name
        return tuple(g.detach() for g in grads)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with "
            f"@once_differentiable: {ctx.of}"
        )


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Declare that a ``backward`` cannot be differentiated itself.

    It then runs with recording off, and a second derivative raises instead of being wrong.

    >>> class Square(weft.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @weft.autograd.function.once_differentiable
    ...     def backward(ctx, g):
    ...         return 2 * g * ctx.saved_tensors[0]
    >>> x = weft.tensor(3.0, requires_grad=True)
    >>> weft.autograd.grad(Square.apply(x), x)
    (tensor(6.),)
    """
    from functools import update_wrapper

    def wrapper(ctx: Any, *args: Any) -> Any:
        recording = _C._set_grad_enabled(False)
        try:
            answer = fn(ctx, *args)
        finally:
            _C._set_grad_enabled(recording)
        if not recording:
            return answer
        kind = weft.Tensor
        grads = answer if isinstance(answer, tuple) else (answer,)
        tensors = [g for g in grads if isinstance(g, kind)]
        # The gradients depend on these, so a second derivative passes through the node made here.
        guarded = iter(_DifferentiatedTwice.apply(ctx.name(), tensors, *args, *ctx.saved_tensors))
        grads = tuple([next(guarded) if isinstance(g, kind) else g for g in grads])
        return grads if isinstance(answer, tuple) else grads[0]

    return update_wrapper(wrapper, fn)
