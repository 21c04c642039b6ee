"""Graph: nodes in the order in which they run, made and changed by hand or by the tracer."""

from __future__ import annotations

import copy
import inspect
from functools import partial

from .code import PythonCode, generate
from .namespace import Namespace, snake_case
from .node import OPS, Node, map_arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .node import Argument, Target

__all__ = ["Graph", "PythonCode"]


class _Nodes:
    """The nodes of a graph, forwards or backwards, also while they are changed."""

    def __init__(self, graph: Graph, backwards: bool = False) -> None:
        self.graph, self.backwards = graph, backwards

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        at = root._prev if self.backwards else root._next
        while at is not root:
            if not at._erased:
                yield at
            at = at._prev if self.backwards else at._next

    def __reversed__(self) -> _Nodes:
        return _Nodes(self.graph, not self.backwards)


class _InsertPoint:
    """Where new nodes go, until the block of ``with`` ends."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self.graph._insert = self.before


class Graph:
    """A program: parameters, calls and a result, each a ``Node``.

    >>> graph = weft.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(weft.relu, (x,))
    >>> _ = graph.output(y)
    >>> weft.fx.GraphModule(weft.nn.Module(), graph)(weft.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(
        self,
        owning_module: Any | None = None,
        tracer_cls: Any | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        """Make an empty graph."""
        self._root = Node(self, "", "root", "", (), {})
        self._len = 0
        self._insert: Callable[[Node], None] = self._root.prepend
        self._graph_namespace = Namespace()
        self._owning_module = owning_module
        self._owners = 0
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras

    @property
    def owning_module(self) -> Any:
        """The ``GraphModule`` that runs the graph, if it is only one."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: Any) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> Any:
        """The nodes in their order; ``reversed(graph.nodes)`` goes backwards."""
        return _Nodes(self)

    def output_node(self) -> Node:
        """Return the node that is the result."""
        last = self._root._prev
        if last.op != "output":
            raise RuntimeError("the graph has no output node at its end")
        return last

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """Return the nodes of a kind, and with a target if one is given; in the graph's order.

        ``sort=False`` allows another order; here they are in order anyway.
        """
        if op == "call_function" and target is None:
            raise AssertionError("find_nodes: call_function needs a target")
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    # ---- new nodes ------------------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Make a node and put it where new nodes go: at the end, or where ``inserting_*`` says."""
        if op not in OPS[:-1]:
            raise AssertionError(f"op '{op}' is not one of {', '.join(OPS[:-1])}")
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args).__name__}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs).__name__}")

        def of_this_graph(n: Node) -> Node:
            if n.graph is not self:
                raise RuntimeError(f"create_node: argument {n} is a node of another graph")
            return n

        map_arg((args, kwargs), of_this_graph)
        candidate = name if name is not None else self._target_to_str(target)
        node = Node(self, "", op, target, args, kwargs, type_expr)
        node.name = self._graph_namespace.create_name(candidate, node)
        self._insert(node)
        self._len += 1
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        return node

    @staticmethod
    def _target_to_str(target: Target) -> str:
        if callable(target):
            name = getattr(target, "__name__", type(target).__name__)
        else:
            name = target
            if name.startswith("__") and name.endswith("__"):
                name = name[2:-2]
        return snake_case(name)

    def placeholder(
        self, name: str, type_expr: Any | None = None, default_value: Any = inspect.Signature.empty
    ) -> Node:
        """Make a parameter of the program."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any | None = None) -> Node:
        """Make a node that reads a parameter, a buffer or another attribute of the module."""
        module = self.owning_module
        if module is not None and not _has(module, qualified_name):
            import warnings

            warnings.warn(
                f"get_attr: the module that owns the graph has no attribute {qualified_name!r}",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Make a node that calls a submodule."""
        module = self.owning_module
        if module is not None and not _has(module, module_name):
            import warnings

            warnings.warn(
                f"call_module: the module that owns the graph has no submodule {module_name!r}",
                stacklevel=2,
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Make a node that calls a method of its first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
        name: str | None = None,
    ) -> Node:
        """Make a node that calls a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Argument, type_expr: Any | None = None) -> Node:
        """Make the node that is the result."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x
    ) -> Node:
        """Copy a node of another graph; ``arg_transform`` says what its arguments are here."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, dict(kwargs), node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Argument | None:
        """Copy the nodes of another graph, but for its output; return what that returns.

        Args:
            g: the other graph.
            val_map: which nodes stand for which of the other graph; gets the copies.
            return_output_node: return the output node of the other graph, too.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    # ---- where, and which -----------------------------------------------------------------------

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Put new nodes before a node (default: before all), in the block of ``with`` or for good."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("inserting_before: the node is of another graph")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Put new nodes behind a node (default: behind all), in the block of ``with`` or for good."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("inserting_after: the node is of another graph")
        return _InsertPoint(self, n.append)

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that nobody uses."""
        if to_erase.graph is not self:
            raise RuntimeError(f"erase_node: {to_erase} is not in this graph")
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!"
            )
        if to_erase._erased:
            import warnings

            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        before, after = to_erase._prev, to_erase._next
        before._next, after._prev = after, before  # its own links stay: a loop may be at it
        to_erase._erased = True
        self._len -= 1
        to_erase._set((), {})

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove nodes whose results nobody uses and that do nothing else; say whether there were."""
        self.lint()
        impure = is_impure_node or Node.is_impure
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """Raise if the graph is not well formed: order, names, targets in the module."""
        seen: set[Node] = set()
        names: set[str] = set()

        def check(user: Node, arg: Node) -> Node:
            if arg.graph is not self:
                raise RuntimeError(f"Argument '{arg}' of Node '{user}' is not in this graph")
            if arg not in seen:
                raise RuntimeError(
                    f"Argument '{arg}' of Node '{user}' was used before it has been defined! "
                    f"Please check that Nodes in the graph are topologically ordered\n{self}"
                )
            return arg

        for node in self.nodes:
            if node.op not in OPS[:-1]:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            map_arg((node.args, node.kwargs), partial(check, node))
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if node.op in ("get_attr", "call_module") and self.owning_module is not None:
                if not _has(self.owning_module, str(node.target)):
                    raise RuntimeError(
                        f"Node {node} target {node.target} references nonexistent attribute "
                        f"of {type(self.owning_module).__name__}"
                    )

    # ---- as text --------------------------------------------------------------------------------

    def python_code(self, root_module: str, *, verbose: bool = False) -> PythonCode:
        """Return the graph as code of Python.

        Args:
            root_module: the name of the module in the code, ``"self"`` for a method.
            verbose: not there: comments with types and places.
        """
        if verbose:
            raise NotImplementedError("python_code: verbose=True")
        return generate(self, root_module)

    def print_tabular(self) -> None:
        """Print the nodes as a table.

        >>> weft.fx.symbolic_trace(lambda x: x + 1).graph.print_tabular()
        opcode         name    target                   args    kwargs
        -------------  ------  -----------------------  ------  --------
        placeholder    x       x                        ()      {}
        call_function  add     <built-in function add>  (x, 1)  {}
        output         output  output                   (add,)  {}
        """
        head = ("opcode", "name", "target", "args", "kwargs")
        rows = [tuple(str(getattr(n, k)) for k in ("op", *head[1:])) for n in self.nodes]
        widths = [max(len(h) + 2 * (i > 0), *(len(r[i]) for r in rows), 0) if rows else len(h)
                  for i, h in enumerate(head)]  # fmt: skip
        for row in (head, tuple("-" * w for w in widths), *rows):
            print("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip())

    def __str__(self) -> str:
        parameters: list[str] = []
        returns = [""]
        lines = [n.format_node(None, returns) for n in self.nodes]
        head = f"graph({', '.join(parameters)}){returns[0]}:"
        return "\n    ".join([head, *(line for line in lines if line)])

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        """Copy the nodes; the copy belongs to no module yet."""
        made = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        val_map: dict[Node, Node] = {}
        found = made.graph_copy(self, val_map, return_output_node=True)
        if found is not None:
            result, old = found
            made.output(result, old.type).meta = copy.copy(old.meta)
        return made


def _has(module: Any, target: str) -> bool:
    for atom in target.split("."):
        if not hasattr(module, atom):
            return False
        module = getattr(module, atom)
    return True
