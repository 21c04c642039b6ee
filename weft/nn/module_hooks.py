"""Hooks of modules: where they are kept, how they are called, and those that see every module.

A module without hooks pays for none of this: ``Module.__call__`` looks at one flag, ``_hooked``,
and at one of this file, ``_any_global``. The tables are made when they are first asked for.
"""

from __future__ import annotations

import functools
import itertools
import warnings
import weakref
from collections import OrderedDict

from weft.nn.module_backward import BackwardHooks, first_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = [
    "RemovableHandle",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


class RemovableHandle:
    """What registering a hook returns; ``remove()`` takes the hook away again.

    >>> m = weft.nn.Identity()
    >>> with m.register_forward_hook(lambda m, args, out: out + 1):
    ...     m(weft.zeros(1))
    tensor([1.])
    >>> m(weft.zeros(1))
    tensor([0.])
    """

    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = [] if extra_dict is None else extra_dict
        extra = [extra] if isinstance(extra, dict) else extra
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra)

    def remove(self) -> None:
        """Take the hook away; again is no error."""
        for kept in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = kept()
            if table is not None:
                table.pop(self.id, None)
        _look_at_globals()

    def __getstate__(self) -> Any:
        """Pickle the tables with the handle."""
        return (self.hooks_dict_ref(), self.id, tuple(r() for r in self.extra_dict_ref))

    def __setstate__(self, state: Any) -> None:
        """Point at the tables that came along."""
        tables = [OrderedDict() if t is None else t for t in (state[0], *state[2])]
        self.hooks_dict_ref = weakref.ref(tables[0])
        self.id = state[1]
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        self.extra_dict_ref = tuple(weakref.ref(t) for t in tables[1:])

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


def add(
    table: Any, hook: Any, marks: tuple[Any, ...] = (), prepend: bool = False
) -> RemovableHandle:
    """Put a hook into a table, and its id into the tables of marks.

    >>> table = weft.nn.module_hooks.OrderedDict()
    >>> weft.nn.module_hooks.add(table, print).id in table
    True
    """
    handle = RemovableHandle(table, extra_dict=list(marks))
    table[handle.id] = hook
    for mark in marks:
        mark[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


class HookTable:
    """A table of hooks of one module, made when it is first asked for.

    Args:
        calls: whether its hooks run when the module is called.
    """

    def __init__(self, calls: bool = True) -> None:
        self.calls = calls

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, module: Any, owner: Any = None) -> Any:
        if module is None:
            return self
        table = module.__dict__.get(self.name)
        if table is None:
            table = OrderedDict()
            self.__set__(module, table)
        return table

    def __set__(self, module: Any, table: Any) -> None:
        module.__dict__[self.name] = table
        if self.calls:
            module.__dict__["_hooked"] = True


# ---- hooks that see every module ----------------------------------------------------------------

_global_forward_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Any] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, Any] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, Any] = OrderedDict()
_global_backward_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Any] = OrderedDict()
_global_is_full_backward_hook: bool | None = None
_global_buffer_registration_hooks: OrderedDict[int, Any] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Any] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Any] = OrderedDict()

_CALLED = (
    _global_forward_pre_hooks,
    _global_forward_hooks,
    _global_backward_pre_hooks,
    _global_backward_hooks,
)
_any_global: list[int] = []  # not empty while one of them has a hook; always the same list


def _look_at_globals() -> None:
    """Set the flag that calls of modules look at."""
    _any_global[:] = [1] if any(_CALLED) else []


def _add_global(table: Any, hook: Any, marks: tuple[Any, ...] = ()) -> RemovableHandle:
    handle = add(table, hook, marks)
    _look_at_globals()
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module.

    >>> h = weft.nn.modules.module.register_module_forward_pre_hook(lambda m, args: (args[0] + 1,))
    >>> weft.nn.Identity()(weft.zeros(1))
    tensor([1.])
    >>> h.remove()
    """
    return _add_global(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward of every module.

    Args:
        hook: what it returns, unless None, takes the place of the output.
        with_kwargs: call ``hook(module, args, kwargs, output)`` instead.
        always_call: also if forward raises.

    >>> h = weft.nn.modules.module.register_module_forward_hook(lambda m, args, out: out * 2)
    >>> weft.nn.Identity()(weft.ones(1))
    tensor([2.])
    >>> h.remove()
    """
    marks: list[Any] = [_global_forward_hooks_with_kwargs] if with_kwargs else []
    marks += [_global_forward_hooks_always_called] if always_call else []
    return _add_global(_global_forward_hooks, hook, tuple(marks))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` when gradients reach any module.

    >>> h = weft.nn.modules.module.register_module_full_backward_pre_hook(lambda m, g: None)
    >>> h.remove()
    """
    return _add_global(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` when gradients have passed any module.

    >>> h = weft.nn.modules.module.register_module_full_backward_hook(lambda m, gi, go: None)
    >>> h.remove()
    """
    _choose_global_kind(True)
    return _add_global(_global_backward_hooks, hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook`` with the gradients of the last step of any module (an old form).

    >>> h = weft.nn.modules.module.register_module_backward_hook(lambda m, gi, go: None)
    >>> h.remove()
    """
    _choose_global_kind(False)
    return _add_global(_global_backward_hooks, hook)


def _choose_global_kind(full: bool) -> None:
    """Global backward hooks are all of one kind."""
    global _global_is_full_backward_hook
    if not _global_backward_hooks:
        _global_is_full_backward_hook = None
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them."
        )
    _global_is_full_backward_hook = full


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when a buffer is registered; it may return another.

    >>> h = weft.nn.modules.module.register_module_buffer_registration_hook(lambda m, n, b: b)
    >>> h.remove()
    """
    return add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when a child is registered; it may return another.

    >>> h = weft.nn.modules.module.register_module_module_registration_hook(lambda m, n, c: c)
    >>> h.remove()
    """
    return add(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, param)`` when a parameter is registered; it may return another.

    >>> h = weft.nn.modules.module.register_module_parameter_registration_hook(lambda m, n, p: p)
    >>> h.remove()
    """
    return add(_global_parameter_registration_hooks, hook)


# ---- the call of a module with hooks ------------------------------------------------------------


class HookMethods:
    """What ``Module`` has for hooks on its calls."""

    _hooked = False
    _is_full_backward_hook: bool | None = None
    _forward_pre_hooks = HookTable()
    _forward_pre_hooks_with_kwargs = HookTable()
    _forward_hooks = HookTable()
    _forward_hooks_with_kwargs = HookTable()
    _forward_hooks_always_called = HookTable()
    _backward_pre_hooks = HookTable()
    _backward_hooks = HookTable()

    def _has_hooks(self) -> bool:
        """Say whether anything but forward has to run."""
        own = self.__dict__.get
        return bool(
            _any_global
            or own("_forward_pre_hooks")
            or own("_forward_hooks")
            or own("_backward_pre_hooks")
            or own("_backward_hooks")
        )

    def _drop_empty_tables(self) -> None:
        """Let calls be quick again, where there are no hooks any more."""
        if not self._has_hooks():
            for name in _CALL_TABLES:
                self.__dict__.pop(name, None)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """Call forward with its hooks around it."""
        me: Any = self
        if not self._has_hooks():  # any more
            self._drop_empty_tables()
            return me.forward(*args, **kwargs)
        state: dict[str, Any] = {"args": args, "kwargs": kwargs, "done": set(), "result": None}
        try:
            return self._call_with_hooks(state)
        except Exception:
            self._run_always_called(state)
            raise

    def _call_with_hooks(self, state: dict[str, Any]) -> Any:
        args, kwargs = state["args"], state["kwargs"]
        me: Any = self
        for key, hook in _all(_global_forward_pre_hooks, self._forward_pre_hooks):
            if key in self._forward_pre_hooks_with_kwargs:
                answer = hook(self, args, kwargs)
                if answer is not None:
                    if not (isinstance(answer, tuple) and len(answer) == 2):
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of (new_args, "
                            f"new_kwargs), but got {answer}."
                        )
                    args, kwargs = answer
            else:
                answer = hook(self, args)
                if answer is not None:
                    args = answer if isinstance(answer, tuple) else (answer,)
            state["args"], state["kwargs"] = args, kwargs
        full, old, pre = self._get_backward_hooks()
        around = BackwardHooks(self, full, pre) if full or pre else None
        if around is not None:
            args = state["args"] = around.setup_inputs(args)
        result = state["result"] = me.forward(*args, **kwargs)
        for key, hook in _all(_global_forward_hooks, self._forward_hooks):
            state["done"].add(key)
            answer = self._run_forward_hook(key, hook, args, kwargs, result)
            if answer is not None:
                result = state["result"] = answer
        if around is not None:
            result = around.setup_outputs(result)
        if old:
            tensor = first_tensor(result)
            if tensor is not None and tensor.grad_fn is not None:
                for hook in old:
                    tensor.grad_fn.register_hook(functools.partial(hook, self))
        return result

    def _run_forward_hook(self, key: int, hook: Any, args: Any, kwargs: Any, result: Any) -> Any:
        wants = _global_forward_hooks_with_kwargs, self._forward_hooks_with_kwargs
        if any(key in table for table in wants):
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _run_always_called(self, state: dict[str, Any]) -> None:
        """After an error: run the hooks that are to see every call, and have not yet."""
        always = {**_global_forward_hooks_always_called, **self._forward_hooks_always_called}
        for key, hook in _all(_global_forward_hooks, self._forward_hooks):
            if key not in always or key in state["done"]:
                continue
            try:
                answer = self._run_forward_hook(
                    key, hook, state["args"], state["kwargs"], state["result"]
                )
                state["result"] = state["result"] if answer is None else answer
            except Exception as e:
                warnings.warn(
                    "module forward hook with ``always_call=True`` raised an exception that was silenced "
                    f"as another error was raised in forward: {e}",
                    stacklevel=2,
                )

    def _get_backward_hooks(self) -> tuple[list[Any], list[Any], list[Any]]:
        """Return the full hooks, those of the old kind, and those that run before."""
        full: list[Any] = []
        old: list[Any] = []
        if _global_backward_hooks:
            kind = full if _global_is_full_backward_hook else old
            kind += _global_backward_hooks.values()
        if self.__dict__.get("_backward_hooks"):
            kind = full if self._is_full_backward_hook else old
            kind += self._backward_hooks.values()
        pre = [*_global_backward_pre_hooks.values()]
        if self.__dict__.get("_backward_pre_hooks"):
            pre += self._backward_pre_hooks.values()
        return full, old, pre

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before forward; what it returns replaces the arguments.

        Args:
            hook: returns None, one argument, or a tuple of arguments.
            prepend: run it before the other hooks.
            with_kwargs: call ``hook(module, args, kwargs)``, which returns None or both.

        >>> m = weft.nn.Identity()
        >>> h = m.register_forward_pre_hook(lambda m, args: args[0] + 1)
        >>> m(weft.zeros(1))
        tensor([1.])
        """
        marks = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return add(self._forward_pre_hooks, hook, marks, prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after forward; what it returns is the new output.

        Args:
            hook: returns None to leave the output as it is.
            prepend: run it before the other hooks.
            with_kwargs: call ``hook(module, args, kwargs, output)`` instead.
            always_call: also if forward raises, with the output None.

        >>> m = weft.nn.Identity()
        >>> h = m.register_forward_hook(lambda m, args, out: out + 1)
        >>> m(weft.zeros(1))
        tensor([1.])
        """
        marks: list[Any] = [self._forward_hooks_with_kwargs] if with_kwargs else []
        marks += [self._forward_hooks_always_called] if always_call else []
        return add(self._forward_hooks, hook, tuple(marks), prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when gradients arrive; it may return others.

        >>> m = weft.nn.Identity()
        >>> h = m.register_full_backward_pre_hook(lambda m, g: (g[0] * 2,))
        >>> x = weft.ones(1, requires_grad=True)
        >>> m(x).backward()
        >>> x.grad
        tensor([2.])
        """
        return add(self._backward_pre_hooks, hook, (), prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the inputs' gradients are known.

        Args:
            hook: what it returns, unless None, takes the place of ``grad_input``.
            prepend: run it before the other hooks.

        >>> m = weft.nn.Identity()
        >>> h = m.register_full_backward_hook(lambda m, gi, go: (gi[0] * 3,))
        >>> x = weft.ones(1, requires_grad=True)
        >>> m(x).backward()
        >>> x.grad
        tensor([3.])
        """
        self._choose_kind(True)
        return add(self._backward_hooks, hook, (), prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook`` with the gradients of the module's last step; full hooks see more.

        >>> m = weft.nn.Sigmoid()
        >>> h = m.register_backward_hook(lambda m, gi, go: print(go))
        >>> m(weft.zeros(1, requires_grad=True)).backward()
        (tensor([1.]),)
        """
        self._choose_kind(False)
        return add(self._backward_hooks, hook)

    def _choose_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._is_full_backward_hook = full


_CALL_TABLES = (
    "_hooked",
    *(name for name, t in vars(HookMethods).items() if isinstance(t, HookTable)),
)


def _all(*tables: Any) -> Iterator[tuple[int, Any]]:
    """The hooks of several tables, which may change while they run."""
    return itertools.chain(*[list(t.items()) for t in tables])
