"""Where operations are recorded: ``no_grad``, ``enable_grad``, ``set_grad_enabled`` and
``inference_mode``.

Each is a context manager and a decorator, of functions and of generator functions. The mode
belongs to the thread. An object may be entered again while it is in use: it keeps the modes it
found as a linked list, so entering and leaving allocate one small tuple and nothing else.
"""

from __future__ import annotations

from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]

_set_grad = _C._set_grad_enabled
_set_inference = _C._set_inference_mode
_GENERATOR = 0x20  # inspect.CO_GENERATOR


def _both(mode: tuple[bool, bool]) -> tuple[bool, bool]:
    """Set (inference mode, gradient mode); return what they were."""
    return _set_inference(mode[0]), _set_grad(mode[1])


def _decorated(fn: Callable[..., Any], switch: Callable[[Any], Any], mode: Any) -> Any:
    """Return ``fn`` so wrapped that it runs after ``switch(mode)``, which gives the mode before."""
    from functools import update_wrapper

    if isinstance(fn, type):
        import warnings

        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should "
            "only decorate functions or methods. To preserve the current behavior of class "
            "decoration, you can directly decorate the `__init__` method and nothing else.",
            FutureWarning,
            stacklevel=3,
        )
        cls = fn
        return lambda *args, **kwargs: _call(cls, args, kwargs, switch, mode)
    inner: Any = fn
    while not hasattr(inner, "__code__") and hasattr(inner, "func"):  # functools.partial
        inner = inner.func
    code = getattr(inner, "__code__", None)
    if code is not None and code.co_flags & _GENERATOR:

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return _generate(fn(*args, **kwargs), switch, mode)

    else:

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return _call(fn, args, kwargs, switch, mode)

    return update_wrapper(wrapper, fn)


def _call(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    switch: Callable[[Any], Any],
    mode: Any,
) -> Any:
    """Call ``fn`` in ``mode``."""
    before = switch(mode)
    try:
        return fn(*args, **kwargs)
    finally:
        switch(before)


def _generate(
    inner: Generator[Any, Any, Any], switch: Callable[[Any], Any], mode: Any
) -> Generator[Any, Any, Any]:
    """Run a generator in ``mode``; while it is suspended, its caller has the caller's own mode."""
    step: Callable[..., Any] = inner.send
    args: tuple[Any, ...] = (None,)
    try:
        while True:
            try:
                value = _call(step, args, {}, switch, mode)
            except StopIteration as stop:
                return stop.value
            try:
                args = ((yield value),)
                step = inner.send
            except GeneratorExit:
                raise
            except BaseException as error:
                args = (error,)
                step = inner.throw
    finally:
        _call(inner.close, (), {}, switch, mode)


class _FixedMode(_C.FixedMode):
    """What ``no_grad`` and ``enable_grad`` share: a gradient mode known from the start.

    The native base makes, enters and leaves it; given a function, ``_decorate`` makes it instead:
    ``@weft.no_grad`` works.
    """

    __slots__ = ()
    _mode: bool

    @classmethod
    def _decorate(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        return cls() if orig_func is None else _decorated(orig_func, _set_grad, cls._mode)

    def __call__(self, orig_func: F) -> F:
        """Decorate ``orig_func``."""
        return _decorated(orig_func, _set_grad, self._mode)


class no_grad(_FixedMode):
    """Operations inside are not recorded: their results do not require gradients.

    >>> x = weft.tensor([1.0], requires_grad=True)
    >>> with weft.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    >>> @weft.no_grad()
    ... def doubler(x):
    ...     return x * 2
    >>> doubler(x).requires_grad
    False
    """

    __slots__ = ()
    _mode = False


class enable_grad(_FixedMode):
    """Operations inside are recorded, also within ``no_grad``.

    >>> x = weft.tensor([1.0], requires_grad=True)
    >>> with weft.no_grad(), weft.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    __slots__ = ()
    _mode = True


class set_grad_enabled:
    """Switch recording on or off: at once, for a ``with`` block, or for a function.

    Args:
        mode: True to record, False not to.

    >>> x = weft.tensor([1.0], requires_grad=True)
    >>> with weft.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    >>> _ = weft.set_grad_enabled(True)
    >>> (x * 2).requires_grad
    True
    """

    __slots__ = ("_before", "mode")

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                f"{type(mode).__name__}"
            )
        self.mode = mode
        # The first `with` ends what the constructor began: it must not be switched a second time.
        self._before: Any = (_set_grad(mode), None, True)

    def __enter__(self) -> None:
        before, rest, fresh = self._before if self._before else (None, None, False)
        if fresh:
            _set_grad(self.mode)  # something else may have switched since
            self._before = (before, rest, False)
        else:
            self._before = (_set_grad(self.mode), self._before, False)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        before, self._before, _ = self._before
        _set_grad(before)

    def __call__(self, orig_func: F) -> F:
        """Decorate ``orig_func`` and undo what the constructor switched."""
        if self._before:
            _set_grad(self._before[0])
        return _decorated(orig_func, _set_grad, self.mode)

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}(mode={self.mode})"


class inference_mode:
    """Like ``no_grad``, and the results can never take part in a recorded operation.

    Args:
        mode: True to enter it; False leaves it for the block, and records.

    >>> x = weft.ones(2, requires_grad=True)
    >>> with weft.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    __slots__ = ("_before", "mode")
    mode: bool
    _before: Any

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        """Make the context manager or, given a function, decorate it."""
        if not isinstance(mode, bool):
            if not callable(mode):
                raise TypeError(f"inference_mode: mode must be a bool, got {type(mode).__name__}")
            return _decorated(mode, _both, (True, False))
        self = object.__new__(cls)
        self.mode = mode
        self._before = None
        return self

    def __enter__(self) -> None:
        self._before = (_both((self.mode, not self.mode)), self._before)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        before, self._before = self._before
        _both(before)

    def __call__(self, orig_func: F) -> F:
        """Decorate ``orig_func``."""
        return _decorated(orig_func, _both, (self.mode, not self.mode))
