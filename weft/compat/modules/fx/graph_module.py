"""GraphModule: a module whose forward is the code of a graph."""

from __future__ import annotations

import contextlib
import copy
import itertools
import linecache
import weakref

import weft
from weft.nn import Module

from .graph import Graph, PythonCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["GraphModule", "reduce_graph_module"]

_numbers = itertools.count()
_HOOKS = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")
_TABLES = ("_parameters", "_buffers", "_modules")


def _compile(src: str, names: dict[str, Any], owner: Any) -> Callable[..., Any]:
    """Return the function of some code; tracebacks show its lines as long as ``owner`` lives."""
    filename = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[filename] = (len(src), None, src.splitlines(True), filename)
    weakref.finalize(owner, linecache.cache.pop, filename, None)
    space = {**names, "_is_generated": True}
    exec(compile(src, filename, "exec"), space)
    return space["forward"]


class GraphModule(Module):
    """A module made of a graph, and of what the graph uses of another module.

    ``code`` is its forward as Python; after a change of the graph ``recompile`` writes it anew.

    >>> traced = weft.fx.symbolic_trace(weft.nn.Sequential(weft.nn.Linear(2, 3), weft.nn.ReLU()))
    >>> sorted(traced.state_dict())
    ['0.bias', '0.weight']
    """

    _graph: Graph
    _code: str

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        """Make a module of a class of its own, as its forward is its own."""
        for base in cls.__mro__:
            if "GraphModuleImpl" not in base.__qualname__:
                made = type("GraphModuleImpl", (base,), {"__module__": __name__})
                made.__qualname__ = "GraphModule.__new__.<locals>.GraphModuleImpl"
                return super().__new__(made)
        raise AssertionError("GraphModule is a class of its own")

    def __init__(
        self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        """Take the parts of ``root`` that the graph names, and write the code.

        Args:
            root: a module, or a dict from paths to modules and tensors.
            graph: the graph; it belongs to this module from now on.
            class_name: what the module is called in text.
        """
        super().__init__()
        self.__class__.__name__ = class_name
        targets = [str(n.target) for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for target in targets:
                if target not in root:
                    raise RuntimeError(
                        f"Node referenced target {target} but that target was not provided in root"
                    )
            for target in sorted(dict.fromkeys(targets), key=lambda t: t.count(".")):
                _assign(self, target, root[target])
        else:
            raise RuntimeError(f"Unsupported type {type(root)} passed for root!")
        for name in _HOOKS:
            self.__dict__[name] = []
        self.meta: dict[str, Any] = {}
        if isinstance(root, Module) and isinstance(getattr(root, "meta", None), dict):
            self.meta.update(root.meta)
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph. Assigning another makes the code anew; changing it needs ``recompile``."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The code of ``forward``."""
        if "_code" not in self.__dict__:
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self.__dict__["_code"]

    def recompile(self) -> PythonCode:
        """Write the code of the graph as it is now; calls run it from now on."""
        made = self._graph.python_code("self")
        self.__dict__["_code"] = made.src
        cls: Any = type(self)
        cls.forward = _compile(made.src, made.globals, cls)
        return made

    # ---- parts ----------------------------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path, with empty modules on the way; False if something is in the way."""
        *prefix, last = target.split(".")
        at: Any = self
        for atom in prefix:
            if not hasattr(at, atom):
                setattr(at, atom, Module())
            at = getattr(at, atom)
            if not isinstance(at, Module):
                return False
        at.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path; False if there is none."""
        *prefix, last = target.split(".")
        at: Any = self
        for atom in prefix:
            at = getattr(at, atom, None)
            if not isinstance(at, Module):
                return False
        if not isinstance(getattr(at, last, None), Module):
            return False
        delattr(at, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that the graph neither calls nor reads from."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
                if node.op == "call_module":
                    inner = self.get_submodule(str(node.target))
                    used.update(f"{node.target}.{n}" for n, _ in inner.named_modules() if n)
        for name in [n for n, _ in self.named_modules() if n and n not in used]:
            self.delete_submodule(name)

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Not there: save ``state_dict()`` and ``code``, or pickle the module."""
        raise NotImplementedError("GraphModule.to_folder")

    # ---- copies, text ---------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the code and the members; loading traces the code."""
        made = self._graph.python_code("self")
        names = {k: v for k, v in made.globals.items() if v is not weft}
        roots = [k for k, v in made.globals.items() if v is weft]
        state: dict[str, Any] = {
            "name": type(self).__name__,
            "src": made.src,
            "names": names,
            "roots": roots,
        }
        state["members"] = {name: dict(self.__dict__[name]) for name in _TABLES}
        state["hidden"] = sorted(self._non_persistent_buffers_set)
        state["others"] = self._others()
        state["kind"] = type(self).__mro__[1]
        state["placeholders"] = [
            (n.name, n.target, n.type, n.args) for n in self._graph.nodes if n.op == "placeholder"
        ]
        return reduce_graph_module, (state,)

    def _others(self) -> dict[str, Any]:
        """Return the attributes that are neither in a table of the module nor part of its code."""
        listed = {"_graph", "_code", "_made", "_non_persistent_buffers_set", *_HOOKS, *_TABLES}
        for table in _TABLES:
            listed.update(self.__dict__[table])
        return {k: v for k, v in self.__dict__.items() if k not in listed}

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        """Copy the members and the graph."""
        made: Any = type(self).__new__(type(self))
        memo[id(self)] = made
        Module.__init__(made)
        type(made).__name__ = type(self).__name__
        made.__dict__.update(copy.deepcopy(self._others(), memo))
        made._non_persistent_buffers_set.update(self._non_persistent_buffers_set)
        for name in _HOOKS:
            made.__dict__[name] = list(self.__dict__[name])
        for table in _TABLES:
            for name, value in self.__dict__[table].items():
                made.__dict__[table][name] = copy.deepcopy(value, memo)
        made.graph = copy.deepcopy(self._graph)
        for hook in self._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self) -> GraphModule:
        """Return another module with the same parts, and a graph of its own."""
        made: Any = type(self).__mro__[1]
        result = made(self, copy.deepcopy(self._graph), type(self).__name__)
        result.meta = dict(self.meta)
        return result

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
    ) -> str:
        """Return the code as that of a class, with the submodules that are graphs; print it."""
        for name, value in (("include_stride", include_stride), ("include_device", include_device),
                            ("colored", colored)):  # fmt: skip
            if value:
                raise NotImplementedError(f"print_readable: {name}=True")
        from .node import root_name

        body = "\n".join(f"    {line}".rstrip() for line in self.code.strip().splitlines())
        parts = [f"class {type(self).__name__}({root_name()}.nn.Module):\n{body}\n"]
        for child in self.children():
            if isinstance(child, GraphModule):
                text = child.print_readable(print_output=False)
                parts.append("\n".join(f"    {line}".rstrip() for line in text.splitlines()))
        text = "\n".join(parts)
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self.code, hint])

    def _register_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f: Callable[..., Any]) -> None:
        self._deepcopy_hooks.append(f)

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable[..., Any]) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)


def _copy_attr(source: Any, to: Any, target: str) -> None:
    """Let ``to`` have what ``source`` has at a path, with empty modules on the way."""
    *prefix, last = target.split(".")
    for atom in prefix:
        inner = getattr(source, atom)
        if inner is getattr(to, atom, None):
            return  # a whole module was taken, with what is in it
        if not hasattr(to, atom):
            setattr(to, atom, Module())
        source, to = inner, getattr(to, atom)
    value = getattr(source, last)
    _set(to, last, value, last not in getattr(source, "_non_persistent_buffers_set", ()))


def _set(owner: Any, name: str, value: Any, persistent: bool = True) -> None:
    if isinstance(value, weft.Tensor) and not isinstance(value, weft.nn.Parameter):
        owner.register_buffer(name, value, persistent=persistent)
    else:
        setattr(owner, name, value)


def _assign(to: Any, target: str, value: Any) -> None:
    *prefix, last = target.split(".")
    for atom in prefix:
        if not hasattr(to, atom):
            setattr(to, atom, Module())
        to = getattr(to, atom)
    _set(to, last, value)


def reduce_graph_module(state: dict[str, Any]) -> GraphModule:
    """Return the module that was pickled: its code is traced, with its submodules as leaves."""
    from .tracer import Tracer

    class KeepModules(Tracer):
        """Takes every call of a submodule as one node, as the code has them."""

        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    root: Any = type("CodeOnlyModule", (Module,), {})()
    for table, members in state["members"].items():
        for name, value in members.items():
            root.__dict__[table][name] = value
    root._non_persistent_buffers_set.update(state["hidden"])
    root.__dict__.update(state["others"])
    names = {**state["names"], **dict.fromkeys(state["roots"], weft)}
    type(root).forward = _compile(state["src"], names, type(root))
    graph = KeepModules().trace(root)
    for node, (name, target, kind, args) in zip(graph.nodes, state["placeholders"]):
        node.target, node.type, node.args = target, kind, args
        node._rename(name)
    made = state["kind"](root, graph, state["name"])
    made.__dict__.update(state["others"])
    return made
