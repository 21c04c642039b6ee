"""Tracer: runs a module with proxies, and writes what it does into a graph."""

from __future__ import annotations

import builtins
import collections
import inspect
import itertools
import math
import sys
import types
import warnings

import weft
from weft.nn import Module, Parameter, Sequential
from weft.utils._pytree import tree_leaves

from . import intercept
from .graph import Graph
from .graph_module import GraphModule
from .proxy import Proxy, TracerBase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .node import Argument

__all__ = ["PH", "Tracer", "symbolic_trace", "wrap"]


class _Placeholder:
    """Marks an argument among ``concrete_args`` that stays a parameter."""

    def __repr__(self) -> str:
        return "PH"


PH = _Placeholder()


class Tracer(TracerBase):
    """Traces modules and functions; a subclass may decide what is a leaf.

    >>> class Through(weft.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return False
    >>> model = weft.nn.Sequential(weft.nn.ReLU())
    >>> [node.op for node in Through().trace(model).nodes]
    ['placeholder', 'call_function', 'output']
    """

    def __init__(
        self,
        autowrap_modules: tuple[types.ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        """Set what is a node besides weft's functions.

        Args:
            autowrap_modules: modules whose native functions are nodes.
            autowrap_functions: further functions that are nodes.
            param_shapes_constant: not there.
        """
        if param_shapes_constant:
            raise NotImplementedError("Tracer: param_shapes_constant=True")
        self._autowrap_modules = tuple(autowrap_modules)
        self._autowrap_functions = tuple(autowrap_functions)
        self.root: Any = None
        self.scope_calls: collections.Counter[str] = collections.Counter()

    # ---- what a subclass may change -------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Say whether a call of a module is one node: those of ``nn`` are, but for Sequential."""
        where = type(m).__module__
        return where.startswith(("weft.nn.", "weft.quantization.nn")) and not isinstance(
            m, Sequential
        )

    def path_of_module(self, mod: Module) -> str:
        """Return the path of a submodule from the root."""
        path = self._paths.get(id(mod))
        if path is None:
            for name, found in self.root.named_modules():
                if found is mod:
                    return name
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Answer a call of a submodule: a node for a leaf, else what its forward makes."""
        path = self.path_of_module(m)
        count = self.scope_calls[path]
        self.scope_calls[path] += 1
        key = f"{path}@{count}" if count else path
        self.module_stack[key] = (path, type(m))
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.module_stack.pop(key, None)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """Answer for a parameter, buffer or submodule that is read from a module."""
        if isinstance(attr_val, Parameter):
            tables = [self._parameter_names]
        elif self.proxy_buffer_attributes and isinstance(attr_val, weft.Tensor):
            tables = [self._buffer_names]
        else:
            return attr_val
        name = tables[0].get(id(attr_val))
        if name is None:
            return attr_val
        if name not in parameter_proxy_cache:
            parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {})
        return parameter_proxy_cache[name]

    def get_fresh_qualname(self, prefix: str) -> str:
        """Return the first of prefix0, prefix1 … that the root does not have."""
        return next(n for i in itertools.count() if not hasattr(self.root, n := f"{prefix}{i}"))

    def create_arg(self, a: Any) -> Argument:
        """Return what a node's arguments have for a value; tensors become attributes of the root."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, Parameter) and id(a) in self._parameter_names:
            return self.create_node("get_attr", self._parameter_names[id(a)], (), {})
        if isinstance(a, weft.Tensor):
            return self.create_node("get_attr", self._name_of_tensor(a), (), {})
        if isinstance(a, Module):
            path = self._paths.get(id(a))
            if path is None:
                path = self.get_fresh_qualname(f"_{type(a).__name__}")
                setattr(self.root, path, a)
                self._paths[id(a)] = path
            return self.create_node("get_attr", path, (), {})
        return super().create_arg(a)

    def _name_of_tensor(self, tensor: Any) -> str:
        known = self._tensor_names.get(id(tensor))
        if known is None:
            name = self.get_fresh_qualname("_tensor_constant")
            setattr(self.root, name, tensor)
            known = self._tensor_names[id(tensor)] = (name, tensor)
        return known[0]

    # ---- tracing --------------------------------------------------------------------------------

    def trace(
        self,
        root: Module | Callable[..., Any],
        concrete_args: dict[str, Any] | None = None,
    ) -> Graph:
        """Return the graph of a module's forward, or of a function.

        Args:
            root: the module or the function.
            concrete_args: values for arguments that are no parameters of the graph.
        """
        is_module = isinstance(root, Module)
        if is_module:
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(
                    f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
                )
            fn = getattr(type(root), self.traced_func_name)
        else:
            self.root, fn = Module(), root
        self.graph = Graph(tracer_cls=type(self))
        self._collect()
        self._natives: dict[int, Any] = {
            id(f): f
            for module in self._autowrap_modules
            for f in vars(module).values()
            if isinstance(f, types.BuiltinFunctionType)
        }
        with intercept.intercepting(self):
            fn, args = self.create_args_for_root(fn, is_module, concrete_args)
            self._patch_own(fn)
            result = self.create_arg(fn(*args))
            self.create_node("output", "output", (result,), {})
        return self.graph

    def _collect(self) -> None:
        """Note under which names the root has its modules, parameters, buffers and tensors."""
        self.module_stack.clear()
        self.scope_calls.clear()
        self._paths = {id(m): name for name, m in self.root.named_modules()}
        self._parameter_names = {id(p): name for name, p in self.root.named_parameters()}
        self._buffer_names = {id(b): name for name, b in self.root.named_buffers()}
        self._read_parameters: dict[str, Proxy] = {}
        self._tensor_names: dict[int, tuple[str, Any]] = {}
        for path, module in self.root.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, weft.Tensor):
                    full = f"{path}.{name}" if path else name
                    self._tensor_names.setdefault(id(value), (full, value))

    def _patch_own(self, fn: Callable[..., Any]) -> None:
        for module in self._autowrap_modules:
            intercept.patch_globals(vars(module), self._natives)
        for f in self._autowrap_functions:
            intercept.wrap_for_now(f)
            self._natives[id(f)] = f
        self._patch_names_of(fn)

    def _patch_names_of(self, fn: Any) -> None:
        names = getattr(inspect.unwrap(fn), "__globals__", None)
        if names is not None:
            intercept.patch_globals(names, {**self._natives, **intercept.wrapped_natives})

    def _call_of_module(self, m: Any, call: Any, args: Any, kwargs: Any) -> Any:
        """Answer a call of a module while this tracer is at work."""
        self._patch_names_of(type(m).forward)

        def forward(*args: Any, **kwargs: Any) -> Any:
            return call(m, *args, **kwargs)

        return self.call_module(m, forward, args, kwargs)

    def _attribute_of_module(self, name: str, value: Any) -> Any:
        """Answer for a tensor or a module that is read while this tracer is at work."""
        return self.getattr(name, value, self._read_parameters)

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Make the parameters of the graph; return a function, and the arguments to call it with.

        What stands behind * and ** is one proxy each, under its own name.
        """
        f: Any = inspect.unwrap(root_fn)
        code = f.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames[:count])
        if is_module and not names:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        args: list[Any] = [self.root] if is_module else []
        names = names[1:] if is_module else names
        if isinstance(concrete_args, tuple):
            if len(concrete_args) != len(names):
                raise RuntimeError(
                    f"Tracing expected {len(names)} arguments but got {len(concrete_args)} "
                    "concrete arguments"
                )
            concrete_args = dict(zip(names, concrete_args))
        unknown = set(concrete_args or ()) - set(names)
        if unknown:
            raise TypeError(f"concrete_args: {f.__name__} has no argument {sorted(unknown)}")
        parameters = inspect.signature(f).parameters
        given = concrete_args or {}
        args += [self._parameter(n, parameters[n].default, f, given) for n in names]
        stars = [n for n, flag in (("*", inspect.CO_VARARGS), ("**", inspect.CO_VARKEYWORDS))
                 if code.co_flags & flag]  # fmt: skip
        for i, star in enumerate(stars):
            name = star + code.co_varnames[count + i]
            args.append(self.create_proxy("placeholder", name, (), {}))
        if stars or code.co_kwonlyargcount:
            flat = code.replace(
                co_argcount=len(args),
                co_posonlyargcount=0,
                co_kwonlyargcount=0,
                co_flags=code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS),
            )
            return types.FunctionType(flat, f.__globals__, f.__name__, None, f.__closure__), args
        return root_fn, args

    def _parameter(self, name: str, default: Any, f: Any, concrete: dict[str, Any]) -> Any:
        """Return a proxy for a parameter, or the value that is given for it."""
        kind = f.__annotations__.get(name)
        given = () if default is inspect.Parameter.empty else (default,)
        if name not in concrete or concrete[name] is PH:
            return self.create_proxy("placeholder", name, given, {}, type_expr=kind)
        value = concrete[name]
        if any(leaf is PH for leaf in tree_leaves(value)):
            raise NotImplementedError(f"concrete_args: PH inside of {name}={value!r}")
        number = list(concrete).index(name) + 1
        made: Any = self.create_proxy("placeholder", f"{name}_{number}", given, {}, type_expr=kind)
        message = f"{name} has been specialized to have value {value} but got another value"
        if isinstance(value, (bool, int, float, str)):
            self.create_proxy("call_function", weft._assert, (made == value, message), {})
        elif value is None:
            self.create_proxy("call_function", assert_is_none, (made, message), {})
        else:
            warnings.warn(
                f"symbolic_trace: the graph does not check that {name} is the value it was "
                "traced with",
                stacklevel=2,
            )
        return value


def assert_is_none(value: Any, message: str) -> None:
    """Raise if an argument that a program was traced without is given.

    >>> weft.fx.tracer.assert_is_none(None, "x has a value")
    """
    if value is not None:
        raise AssertionError(message)


def symbolic_trace(
    root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """Return a module that does what a module or a function does, as a graph that can be changed.

    Args:
        root: the module or the function.
        concrete_args: values for arguments, on which control flow may depend.

    >>> traced = weft.fx.symbolic_trace(lambda x: weft.relu(x) + 1)
    >>> print(traced.code.strip())  # doctest: +ELLIPSIS
    def forward(self, x):
        relu = ....relu(x);  x = None
        add = relu + 1;  relu = None
        return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    is_module = isinstance(root, Module)
    name = type(root).__name__ if is_module else getattr(root, "__name__", type(root).__name__)
    return GraphModule(tracer.root, graph, name)


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Let calls of a function of this module be one node: tracing does not look into it.

    Args:
        fn_or_name: a function, or its name; at the top of a module, also as a decorator.
    """
    if not isinstance(fn_or_name, str) and not callable(fn_or_name):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    names = frame.f_globals
    known = names.get(name, getattr(builtins, name, None))
    function = known if isinstance(fn_or_name, str) else fn_or_name
    if isinstance(function, types.FunctionType):
        intercept.wrapped_functions.add(function)
    elif function is not None:
        intercept.wrapped_natives[id(function)] = function
    if not names.get("_is_generated"):
        intercept.wrapped_names[id(names), name] = names
    return fn_or_name
