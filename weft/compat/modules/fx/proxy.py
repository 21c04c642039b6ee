"""Proxy: what stands for a value while a program is traced, and notes what is done with it."""

from __future__ import annotations

import collections
import dis
import operator
import os
import sys

import weft

from .graph import Graph
from .intercept import report_while_alive
from .node import Node, map_aggregate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .node import Argument, Target

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_WEFT = os.path.dirname(os.path.abspath(weft.__file__)) + os.sep


class TraceError(ValueError):
    """The program asks for a value that is not known while it is traced."""


def user_line() -> str:
    """Return the line of the traced program, as text behind a message."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    code = frame.f_code
    return f"\n  at {code.co_filename}:{frame.f_lineno}, in {code.co_name}"


_PLAIN = (
    str, int, float, bool, complex, bytes, type(None), type(Ellipsis), weft.dtype, weft.device,
    weft.layout, weft.memory_format, weft.Generator,
)  # fmt: skip


class TracerBase:
    """What notes operations in a graph. ``Tracer`` runs a module; this only takes calls."""

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    @property
    def module_stack(self) -> dict[str, Any]:
        """The modules whose forward runs."""
        if "_module_stack" not in self.__dict__:
            self.__dict__["_module_stack"] = collections.OrderedDict()
        return self.__dict__["_module_stack"]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Put a node into the graph."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.module_stack:
            node.meta["nn_module_stack"] = self.module_stack.copy()
        if self.record_stack_traces:
            node.stack_trace = user_line().strip()
        if self.check_mutable_operations and node.op != "call_module" and _is_mutable(node):
            raise RuntimeError(
                f"Tried to trace mutable operation {node.format_node()}. FX only supports "
                f"functional code{user_line()}"
            )
        return node

    def proxy(self, node: Node) -> Proxy:
        """Return what stands for a node's value."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Note an operation, and return what stands for its result."""
        args_, kwargs_ = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args_, dict(kwargs_), name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Argument:
        """Return what a node's arguments have for a value."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, Node):
            return a
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(x) for x in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            return {self._key(k): self.create_arg(v) for k, v in a.items()}
        if isinstance(a, slice):
            return slice(*(self.create_arg(x) for x in (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(a.start, a.stop, a.step)
        if isinstance(a, (*_PLAIN, weft.Tensor)):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}{user_line()}")

    def _key(self, key: Any) -> Any:
        def refuse(x: Any) -> Any:
            if isinstance(x, (Node, Proxy)):
                raise RuntimeError(
                    f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {x}"
                )
            return x

        return map_aggregate(key, refuse) if isinstance(key, (tuple, Proxy, Node)) else key

    # ---- what a program may ask a proxy for -----------------------------------------------------

    def to_bool(self, obj: Proxy) -> bool:
        """Answer ``bool(proxy)``: raise, as the value is not known."""
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow" + user_line()
        )

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Answer ``iter(proxy)``: its parts if they are unpacked into a known number of names."""
        frame: Any = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
            frame = frame.f_back
        for instruction in dis.get_instructions(frame.f_code):
            if instruction.offset == frame.f_lasti and instruction.opname == "UNPACK_SEQUENCE":
                return (obj[i] for i in range(instruction.argval))  # type: ignore[index]
        raise TraceError(
            "Proxy object cannot be iterated: the number of its items is not known while a program "
            "is traced, in a loop or behind * or **" + user_line()
        )

    def keys(self, obj: Proxy) -> Any:
        """Answer ``proxy.keys()``, which ``**proxy`` asks for, too."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """A tracer for proxies made by hand: ``Proxy(node)`` appends to the node's graph."""

    def __init__(self, graph: Graph) -> None:
        """Take the graph that is appended to."""
        self.graph = graph


class Proxy:
    """Stands for the value of a node: operations on it become nodes of the graph.

    >>> graph = weft.fx.Graph()
    >>> x = weft.fx.Proxy(graph.placeholder("x"))
    >>> y = x.relu() + 1
    >>> y.node.op, y.node.args
    ('call_function', (relu, 1))
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        """Stand for a node."""
        self.node = node
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        report_while_alive(self.tracer)

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Any:
        if name in ("node", "tracer") or (name.startswith("__") and name in _NOT_TRACED):
            raise AttributeError(name)
        return Attribute(self, name)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        import copy

        made = type(self).__new__(type(self))
        made.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items()})
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Proxy]:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope" + user_line()
        )

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def keys(self) -> Any:
        """Return what stands for the keys."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None
    ) -> Proxy:
        """Note a call of a function of weft, or of a method of Tensor, with a proxy among its arguments."""
        from .intercept import find_proxy, kind_of

        args, kwargs = args or (), kwargs or {}
        proxy = find_proxy((args, kwargs))
        if proxy is None:
            raise TypeError("__torch_function__: there is no Proxy among the arguments")
        kind, target = kind_of(orig_method)
        return proxy.tracer.create_proxy(kind, target, args, kwargs)


class Attribute(Proxy):
    """An attribute of a proxy. It is a node only when it is used, and not called as a method."""

    def __init__(self, root: Proxy, attr: str) -> None:
        """Keep whose attribute it is."""
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute."""
        if self._node is None:
            made = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._node = made.node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


# Names that Python and libraries ask any object for; they are no attributes of the value.
_NOT_TRACED = frozenset(
    "__fx_create_arg__ __array__ __array_interface__ __array_struct__ __cuda_array_interface__ "
    "__index__ __int__ __float__ __complex__ __length_hint__ __deepcopy__ __copy__ __dlpack__ "
    "__wrapped__ __signature__ __code__ __defaults__ __func__ __set_name__".split()
)

_BINARY = "add sub mul floordiv truediv mod pow lshift rshift and_ or_ xor matmul getitem".split()
_OTHER = "eq ne lt gt le ge pos neg invert".split()


def _define() -> None:
    def forwards(function: Any) -> Any:
        def method(self: Proxy, *args: Any, **kwargs: Any) -> Proxy:
            return self.tracer.create_proxy("call_function", function, (self, *args), kwargs)

        return method

    def reflected(function: Any) -> Any:
        def method(self: Proxy, other: Any) -> Proxy:
            return self.tracer.create_proxy("call_function", function, (other, self), {})

        return method

    for name in (*_BINARY, *_OTHER):
        magic = name.strip("_")
        made = forwards(getattr(operator, name))
        made.__name__ = f"__{magic}__"
        setattr(Proxy, f"__{magic}__", made)
        if name in _BINARY:
            made = reflected(getattr(operator, name))
            made.__name__ = f"__r{magic}__"
            setattr(Proxy, f"__r{magic}__", made)


_define()


def _is_mutable(node: Node) -> bool:
    name = (
        str(node.target) if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    )
    in_place = name.endswith("_") and not name.endswith("__")
    called = node.op in ("call_function", "call_method")
    return called and (in_place or "out" in node.kwargs or node.kwargs.get("inplace") is True)
