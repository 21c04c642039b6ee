"""Interpreter: runs a graph node by node. Transformer: makes another graph on the way."""

from __future__ import annotations

from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_into
from .proxy import Proxy
from .tracer import Tracer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from weft.nn import Module

    from .node import Argument, Target

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the nodes of a graph in their order; a subclass changes what a kind of node does.

    >>> import weft
    >>> class Negative(weft.fx.Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         return -super().call_function(target, args, kwargs)
    >>> Negative(weft.fx.symbolic_trace(lambda x: weft.relu(x))).run(weft.ones(1))
    tensor([-1.])
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        """Take the module, whose graph it is unless another is given.

        Args:
            module: has what the graph reads and calls.
            garbage_collect_values: drop each value after its last use.
            graph: the graph (default: that of the module).
        """
        self.module: Any = module
        self.graph: Graph = module.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            seen: set[Node] = set()
            for node in reversed(self.graph.nodes):
                last = [n for n in node.all_input_nodes if n not in seen]
                seen.update(last)
                if last:
                    self.user_to_last_uses[node] = last

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """Run the graph and return its output.

        Args:
            args: the values of the placeholders, in their order.
            initial_env: values of nodes that are not run.
            enable_io_processing: accepted both ways: graphs here change neither args nor outputs.
        """
        self.env = dict(initial_env or {})
        self.args_iter: Iterator[Any] = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as e:
                if self.extra_traceback:
                    place = f"\nWhile executing {node.format_node()}"
                    if node.stack_trace:
                        place += f"\nOriginal traceback:\n{node.stack_trace}"
                    e.args = (str(e.args[0]) + place, *e.args[1:]) if e.args else (place,)
                raise
            if self.garbage_collect_values:
                for gone in self.user_to_last_uses.get(node, ()):
                    self.env.pop(gone, None)
            if node.op == "output":
                return self.env[node]
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph with arguments in a list, which is emptied."""
        args = list(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """Run one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Return the next argument, or the default."""
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return an attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Call a method of the first argument."""
        owner, *rest = args
        return getattr(owner, target)(*rest, **kwargs)

    def call_module(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Call a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Return what the module has at a path."""
        found, atoms = self.module, target.split(".")
        for i, atom in enumerate(atoms):
            if not hasattr(found, atom):
                path = ".".join(atoms[: i + 1])
                raise RuntimeError(f"Node referenced nonexistent target {path}")
            found = getattr(found, atom)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the values of a node's arguments."""
        return self.map_nodes_to_values(n.args, n), dict(self.map_nodes_to_values(n.kwargs, n))

    def map_nodes_to_values(self, args: Argument, n: Node) -> Argument:
        """Return arguments with values in the place of nodes."""

        def value(a: Any) -> Any:
            if not isinstance(a, Node):
                return a
            if a not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {a}! Run Graph.lint()")
            return self.env[a]

        return map_into(args, value, list, dict)


class Transformer(Interpreter):
    """Runs a graph with proxies: the result is another graph, as the methods have changed it.

    >>> import weft
    >>> class NoRelu(weft.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         if target is weft.relu:
    ...             return args[0]
    ...         return super().call_function(target, args, kwargs)
    >>> NoRelu(weft.fx.symbolic_trace(lambda x: weft.relu(x))).transform()(-weft.ones(1))
    tensor([-1.])
    """

    def __init__(self, module: GraphModule) -> None:
        """Take the module whose graph is transformed."""
        super().__init__(module)
        self.new_graph = Graph(tracer_cls=module.graph._tracer_cls)

        class TransformerTracer(Tracer):
            """Appends to the new graph; every module is a leaf."""

            def __init__(self, graph: Graph, root: Any) -> None:
                super().__init__()
                self.graph, self.root = graph, root
                self._collect()

            def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
                return True

        self.tracer = TransformerTracer(self.new_graph, module)

    def placeholder(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """Make a placeholder of the new graph."""
        default = args[:1]
        return Proxy(self.new_graph.create_node("placeholder", target, default), self.tracer)

    def get_attr(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """Make a node that reads an attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Make a node that calls a submodule."""
        module = self.fetch_attr(target)
        return self.tracer.call_module(module, module.forward, args, kwargs)

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Make a node that calls a function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Return a module of the new graph."""
        from .intercept import intercepting

        with intercepting(self.tracer):
            result = super().run(enable_io_processing=False)
        old = self.graph.output_node()
        made = self.new_graph.output(self.tracer.create_arg(result), old.type)
        made.meta = dict(old.meta)
        return GraphModule(self.module, self.new_graph)
