"""While a program is traced: calls of weft's functions with proxies become nodes.

Three ways lead into weft. Native ops and operators of tensors report their calls to the observer
of the thread (``csrc/bind/observer.h``) before they read an argument. Functions written in Python get
other code for the time (so that every reference to them, in whatever module or table, is covered):
it looks for proxies and otherwise runs the function. Modules are called, and their parameters read,
through two methods of ``Module``. Functions of ``math``, and those named by ``wrap`` that are not
Python's, are replaced in the modules that name them. All is undone when the last trace ends.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import threading
import types
import weakref

import weft
from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from .proxy import Proxy

__all__ = ["find_proxy", "intercepting", "kind_of"]

_lock = threading.RLock()
_depth = _traces = 0
_undo: list[Callable[[], None]] = []
_undo_modules: list[Callable[[], None]] = []
_alive: weakref.WeakSet[Any] = weakref.WeakSet()  # tracers of proxies made by hand
_patched: dict[tuple[int, str], dict[str, Any]] = {}
_current = threading.local()


def find_proxy(value: Any) -> Proxy | None:
    """Return a proxy that is in nested containers, or None."""
    from .proxy import Proxy

    if isinstance(value, Proxy):
        return value
    if isinstance(value, (tuple, list)):
        parts: Any = value
    elif isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, slice):
        parts = (value.start, value.stop, value.step)
    else:
        return None
    for part in parts:
        found = find_proxy(part)
        if found is not None:
            return found
    return None


# Operators of a tensor on the left of a proxy, by what PyTorch calls them as methods.
_METHODS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "__floordiv__",
    "mod": "remainder", "pow": "pow", "matmul": "matmul", "and_": "__and__", "or_": "__or__",
    "xor": "__xor__", "lshift": "__lshift__", "rshift": "__rshift__", "getitem": "__getitem__",
    "setitem": "__setitem__", "iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_",
    "ifloordiv": "floor_divide_", "imod": "remainder_", "ipow": "pow_", "iand": "__iand__",
    "ior": "__ior__", "ixor": "__ixor__", "ilshift": "__ilshift__", "irshift": "__irshift__",
}  # fmt: skip


def kind_of(f: Any) -> tuple[str, Any]:
    """Return the op and the target of a node that calls ``f``."""
    from .node import _names_in_weft

    name = getattr(f, "__name__", "")
    if getattr(f, "__module__", None) == "_operator":
        return "call_method", _METHODS.get(name, name)
    if id(f) in _names_in_weft():
        return "call_function", f
    if getattr(weft.Tensor, name, None) is f:
        return "call_method", name
    return "call_function", f


def _record(f: Any, proxy: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return type(proxy).__torch_function__(f, (type(proxy),), args, kwargs)


class _Observer:
    """Receives calls of native ops on the thread of a trace."""

    def call(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        """Note a call with a proxy, make any other."""
        proxy = find_proxy((args, kwargs))
        if proxy is not None:
            return _note_call(f, proxy, args, kwargs or {})
        return f(*args, **(kwargs or {}))

    def shape(self, tensor: Any) -> Any:
        """Return the shape of a tensor."""
        return tensor.shape

    def length(self, tensor: Any) -> None:
        """Allow len(tensor)."""


# ---- functions written in Python ------------------------------------------------------------------


class _Swap:
    """Other code for a function, which looks for proxies among the arguments."""

    def __init__(self, f: types.FunctionType, note: Callable[..., Any]) -> None:
        self.function = weakref.ref(f)
        self.own = f.__code__
        kept = types.FunctionType(
            self.own, f.__globals__, f.__name__, f.__defaults__, f.__closure__
        )
        kept.__kwdefaults__ = f.__kwdefaults__
        kept.__dict__.update(f.__dict__)
        self.original = kept
        ref = self.function

        def entry(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            proxy = find_proxy((args, kwargs))
            return kept(*args, **kwargs) if proxy is None else note(ref(), proxy, args, kwargs)

        self.code = _calling(entry, self.own)

    def put(self) -> Callable[[], None]:
        """Change the code; return what changes it back."""
        f: Any = self.function()
        f.__code__ = self.code

        def back() -> None:
            f.__code__ = self.own

        return back


def _calling(entry: Callable[..., Any], own: types.CodeType) -> types.CodeType:
    """Return code that calls ``entry(args, kwargs)``, with as many free variables as ``own``."""
    free = [f"_{i}" for i in range(len(own.co_freevars))]
    unused = f"        if 0: {', '.join(free)}\n" if free else ""
    text = (
        f"def make({', '.join(free)}):\n    def call(*args, **kwargs):\n{unused}"
        f"        return 'entry'(args, kwargs)\n    return call\n"
    )
    made: dict[str, Any] = {}
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # a string is called: entry takes its place
        exec(compile(text, __file__, "exec"), made)
    code = made["make"](*free).__code__
    consts = tuple(entry if c == "entry" else c for c in code.co_consts)
    return code.replace(co_consts=consts, co_name=own.co_name)


_swaps: dict[int, _Swap] = {}


def _swap_of(f: types.FunctionType, note: Callable[..., Any]) -> _Swap:
    known = _swaps.get(id(f))
    if known is None or known.function() is not f or f.__code__ not in (known.own, known.code):
        known = _swaps[id(f)] = _Swap(f, note)
    return known


def original_of(f: Any) -> Any:
    """Return a function with its own code, also while other code stands in for it."""
    known = _swaps.get(id(f))
    return known.original if known is not None and known.function() is f else f


def _note_call(f: Any, proxy: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from .calls import as_recorded

    f, args, kwargs = as_recorded(f, args, kwargs)
    if isinstance(f, str):
        return proxy.tracer.create_proxy("call_method", f, args, kwargs)
    return _record(f, proxy, args, kwargs)


def _note_wrapped(f: Any, proxy: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return proxy.tracer.create_proxy("call_function", f, args, kwargs)


# Questions about an object, which a proxy answers itself.
_PLAIN = "is_tensor is_storage is_warn_always_enabled typename get_default_dtype".split()
_NAMESPACES = "weft weft.nn.functional weft.linalg weft.special weft.fft".split()


def _functions() -> Iterable[types.FunctionType]:
    """Return the functions of weft that are written in Python, and such methods of Tensor."""
    found: dict[int, types.FunctionType] = {}
    places = [vars(importlib.import_module(name)) for name in _NAMESPACES]
    layers = importlib.import_module("weft.nn.functional.top_level")
    for names in (*places, vars(layers), vars(weft.Tensor)):
        for name, value in list(names.items()):
            mine = isinstance(value, types.FunctionType) and value.__module__.startswith("weft")
            if mine and not name.startswith("_") and name not in _PLAIN:
                found[id(value)] = value
    return found.values()


# ---- wrap -----------------------------------------------------------------------------------------

wrapped_names: dict[tuple[int, str], dict[str, Any]] = {}
wrapped_natives: dict[int, Any] = {}
wrapped_functions: weakref.WeakSet[Any] = weakref.WeakSet()


def is_wrapped(f: Any) -> bool:
    """Say whether ``wrap`` named a function, or it is one of ``math``."""
    if isinstance(f, types.FunctionType):
        return f in wrapped_functions
    return wrapped_natives.get(id(f)) is f or getattr(math, getattr(f, "__name__", ""), None) is f


def patch_name(names: dict[str, Any], name: str, f: Any) -> None:
    """Let a global name mean a function that notes its calls, until the traces end."""
    with _lock:
        if (id(names), name) in _patched:
            return
        absent = name not in names

        def call(*args: Any, **kwargs: Any) -> Any:
            proxy = find_proxy((args, kwargs))
            return f(*args, **kwargs) if proxy is None else _note_wrapped(f, proxy, args, kwargs)

        def back() -> None:
            if absent:
                names.pop(name, None)
            else:
                names[name] = f

        call.__name__ = name
        _patched[(id(names), name)] = names
        _undo.append(back)
        names[name] = call


def patch_globals(names: dict[str, Any], natives: dict[int, Any]) -> None:
    """Patch the names of a module that mean one of some native functions."""
    for name, value in list(names.items()):
        if isinstance(value, types.BuiltinFunctionType) and natives.get(id(value)) is value:
            patch_name(names, name, value)


def wrap_for_now(f: Any) -> None:
    """Note the calls of a function of Python until the traces end."""
    if isinstance(f, types.FunctionType):
        with _lock:
            _undo.append(_swap_of(f, _note_wrapped).put())


def _patch_wrapped() -> None:
    import builtins

    for (_, name), names in wrapped_names.items():
        f = names.get(name, getattr(builtins, name, None))
        if isinstance(f, types.FunctionType):
            wrapped_functions.add(f)
        elif f is not None:
            wrapped_natives[id(f)] = f
            patch_name(names, name, f)
    for f in list(wrapped_functions):
        _undo.append(_swap_of(f, _note_wrapped).put())


# ---- modules --------------------------------------------------------------------------------------


def _patch_modules() -> None:
    from weft.nn import Module

    call, get = _C.ModuleBase.__call__, object.__getattribute__

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        tracer = getattr(_current, "tracer", None)
        if tracer is None:
            return call(self, *args, **kwargs)
        return tracer._call_of_module(self, call, args, kwargs)

    def __getattribute__(self: Any, name: str) -> Any:
        value = get(self, name)
        if isinstance(value, (weft.Tensor, Module)):
            tracer = getattr(_current, "tracer", None)
            if tracer is not None:
                return tracer._attribute_of_module(name, value)
        return value

    own_call, own_get = Module.__dict__.get("__call__"), Module.__dict__.get("__getattribute__")

    def back() -> None:
        for name, own in (("__call__", own_call), ("__getattribute__", own_get)):
            if own is None:
                delattr(Module, name)
            else:
                setattr(Module, name, own)

    Module.__call__ = __call__
    Module.__getattribute__ = __getattribute__  # type: ignore[method-assign]
    _undo_modules.append(back)


def _enter(modules: bool) -> None:
    """Let functions report calls with proxies; and modules theirs, in a trace."""
    global _depth, _traces
    with _lock:
        _depth += 1
        _traces += modules
        try:
            if _depth == 1:
                for f in _functions():
                    _undo.append(_swap_of(f, _note_call).put())
            if modules and _traces == 1:
                _patch_modules()
            _patch_wrapped()
        except BaseException:
            _leave(modules)
            raise


def _leave(modules: bool) -> None:
    global _depth, _traces
    with _lock:
        _depth -= 1
        _traces -= modules
        if modules and _traces == 0:
            while _undo_modules:
                _undo_modules.pop()()
        if _depth == 0:
            while _undo:
                _undo.pop()()
            _patched.clear()


@contextlib.contextmanager
def intercepting(tracer: Any) -> Iterator[None]:
    """Report calls with proxies to the tracer, on this thread, in the block of ``with``."""
    _enter(modules=True)
    before = getattr(_current, "tracer", None)
    observed = _C._observe(_Observer())
    _current.tracer = tracer
    try:
        yield
    finally:
        _current.tracer = before
        _C._observe(observed)
        _leave(modules=True)


def report_while_alive(tracer: Any) -> None:
    """Report calls with proxies that were made by hand, outside of a trace, while they can be used.

    Their tracer is alive as long as one of them is. The observer is that of this thread.
    """
    if getattr(_current, "tracer", None) is not None or tracer in _alive:
        return
    _enter(modules=False)
    _alive.add(tracer)
    if _count_here() == 0:
        _current.observed = _C._observe(_Observer())
    _current.count = _count_here() + 1
    weakref.finalize(tracer, _released, threading.get_ident()).atexit = False


def _count_here() -> int:
    return getattr(_current, "count", 0)


def _released(thread: int) -> None:
    _leave(modules=False)
    if thread == threading.get_ident():
        _current.count = _count_here() - 1
        if _current.count == 0:
            _C._observe(_current.observed)
