"""Node: one operation of a graph, its arguments, and who uses its result."""

from __future__ import annotations

import builtins
import types

import weft

from .immutable_collections import immutable_dict, immutable_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .graph import Graph

    Argument = Any
    Target = Callable[..., Any] | str

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

OPS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output", "root")

_side_effects: set[Any] = {weft.manual_seed}


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keep calls of a function when dead code is removed.

    >>> @weft.fx.has_side_effect
    ... def log(x):
    ...     print(x)
    """
    _side_effects.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """Return nested tuples, lists, dicts and slices with ``fn`` applied to what is in them.

    >>> from weft.fx.node import map_aggregate
    >>> map_aggregate((1, [2, {"a": 3}]), lambda x: x + 1)
    (2, [3, {'a': 4}])
    """
    return map_into(a, fn, immutable_list, immutable_dict)


def map_into(a: Argument, fn: Callable[[Argument], Argument], lists: Any, dicts: Any) -> Argument:
    """Do what ``map_aggregate`` does; lists and dicts become those of the given types.

    >>> from weft.fx.node import map_into
    >>> type(map_into([1], lambda x: x, list, dict))
    <class 'list'>
    """
    if isinstance(a, tuple):
        items = [map_into(x, fn, lists, dicts) for x in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return lists([map_into(x, fn, lists, dicts) for x in a])
    if isinstance(a, dict):
        return dicts((k, map_into(v, fn, lists, dicts)) for k, v in a.items())
    if isinstance(a, slice):
        return slice(*(map_into(x, fn, lists, dicts) for x in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """Return an argument with ``fn`` applied to each node in it.

    >>> graph = weft.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> weft.fx.map_arg((x, 1), lambda node: node.name)
    ('x', 1)
    """
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


class Node:
    """One operation: ``op`` says of which kind, ``target`` what is called, read or named.

    >>> graph = weft.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(weft.relu, (x,))
    >>> y.op, y.name, y.args, list(x.users)
    ('call_function', 'relu', (x,), [relu])
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any | None = None,
    ) -> None:
        """Make a node that is in no graph's order yet: ``Graph.create_node`` does all of it."""
        if op not in OPS:
            raise AssertionError(f"op must be one of {', '.join(OPS)}, got {op!r}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                    f"{type(target).__name__} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{type(target).__name__} but a str is expected"
            )
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = immutable_dict()
        self._prev = self._next = self
        self._erased = False
        self.meta: dict[str, Any] = {}
        self._set(args, kwargs)

    # ---- arguments ------------------------------------------------------------------------------

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments. Assign a new tuple to change them."""
        return self._args

    @args.setter
    def args(self, a: tuple[Argument, ...]) -> None:
        self._set(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The keyword arguments. Assign a new dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Argument]) -> None:
        self._set(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes in the arguments, each once, in their order."""
        return list(self._input_nodes)

    def _set(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> None:
        """Take new arguments, and be a user of the nodes in them and of no others."""
        for node in self._input_nodes:
            node.users.pop(self, None)
        found: dict[Node, None] = {}

        def note(node: Node) -> Node:
            found[node] = None
            node.users.setdefault(self)
            return node

        self._args = map_arg(tuple(args), note)
        self._kwargs = map_arg(dict(kwargs), note)
        self._input_nodes = found

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace one positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Insert a positional argument."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_arg: idx must be in 0 to {len(self.args)}, got {idx}")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set one keyword argument."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use another node wherever the arguments have ``old_input``."""

        def other(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set(map_arg(self.args, other), map_arg(self.kwargs, other))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let the users of this node use another; return those that were changed.

        Args:
            replace_with: the node that they use afterwards.
            delete_user_cb: says which users are changed (default: all).
            propagate_meta: copy ``meta`` to the other node, which must have none.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("propagate_meta: the new node has meta already")
            replace_with.meta.update(self.meta)
        changed = [u for u in self.users if delete_user_cb is None or delete_user_cb(u)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        module = self.graph.owning_module
        for hook in getattr(module, "_replace_hooks", ()):
            for user in changed:
                hook(old=self, new=replace_with.name, user=user)
        return changed

    # ---- the order of the graph -----------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node after this one; after the last comes the graph's root."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one; before the first comes the graph's root."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move ``x`` before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._remove()
        before = self._prev
        before._next = self._prev = x
        x._prev, x._next = before, self

    def append(self, x: Node) -> None:
        """Move ``x`` behind this node."""
        if x is not self:
            x_after = self._next._next if self._next is x else self._next
            x_after.prepend(x)

    def _remove(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev
        self._prev = self._next = self

    def __lt__(self, other: Node) -> bool:
        return self._position() < other._position()

    def __gt__(self, other: Node) -> bool:
        return self._position() > other._position()

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    def _position(self) -> int:
        return next(i for i, node in enumerate(self.graph.nodes) if node is self)

    # ---- what it is -----------------------------------------------------------------------------

    @property
    def stack_trace(self) -> str | None:
        """Where the traced program made this node, if the tracer recorded that."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Say whether the node must stay although nobody uses its result.

        Args:
            impure_random: random functions count, as they move the generator on.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            module = self.graph.owning_module
            if module is None:
                raise AssertionError("is_impure of a call_module node: the graph has no module")
            return getattr(module.get_submodule(str(self.target)), "_is_impure", False)
        if self.op == "call_method":
            name = str(self.target)
            return (name.endswith("_") and not name.endswith("__")) or name == "__setitem__"
        if self.op != "call_function":
            return False
        name = getattr(self.target, "__name__", "")
        if self.target in _side_effects or name in ("setitem", "setattr", "delitem"):
            return True
        if impure_random and name in RANDOM:
            return name not in DROPOUTS or self.kwargs.get("training", True) is not False
        in_place = name.endswith("_") and not name.startswith("_")
        return in_place or self.kwargs.get("inplace") is True or "out" in self.kwargs

    def __repr__(self) -> str:
        return self.name

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    @staticmethod
    def _pretty_print_target(target: Any) -> str:
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) == "builtins":
            return f"builtins.{target.__name__}"
        if getattr(target, "__module__", None) == "_operator":
            return f"operator.{target.__name__}"
        return qualified_name(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """Return the node as a line of text; parameters and the return type go into the lists."""
        if include_tensor_metadata:
            raise NotImplementedError("format_node: include_tensor_metadata")
        typed = "" if self.type is None else type_name(self.type)
        head = f"%{self.name} : {typed}{' ' * bool(typed)}[num_users={len(self.users)}] = "
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(f"{self.target}{': ' * bool(typed)}{typed}")
                return None
            default = f"(default={self.args[0]})" if self.args else ""
            return f"{head}placeholder[target={self.target}]{default}"
        target = self._pretty_print_target(self.target)
        if self.op == "get_attr":
            return f"{head}get_attr[target={target}]"
        if self.op == "output":
            if typed and maybe_return_typename is not None:
                maybe_return_typename[0] = f" -> {typed}"
            return f"return {self.args[0]}"
        args, kwargs = _percent(self.args), _percent(self.kwargs)
        return f"{head}{self.op}[target={target}](args = {args}, kwargs = {kwargs})"


RANDOM = frozenset(
    "bernoulli dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout rrelu "
    "multinomial normal poisson rand randint randn randperm rand_like randint_like randn_like".split()
)
DROPOUTS = frozenset(n for n in RANDOM if "dropout" in n or n == "rrelu")


def _percent(a: Argument) -> str:
    """Return arguments as text, nodes with a % before their names."""
    if isinstance(a, Node):
        return f"%{a}"
    if isinstance(a, tuple) and not hasattr(a, "_fields"):
        inner = ", ".join(map(_percent, a))
        return f"({inner},)" if len(a) == 1 else f"({inner})"
    if isinstance(a, list):
        return f"[{', '.join(map(_percent, a))}]"
    if isinstance(a, dict):
        return "{" + ", ".join(f"{k}: {_percent(v)}" for k, v in a.items()) + "}"
    return str(a)


# ---- names of functions and types ---------------------------------------------------------------


def root_name() -> str:
    """Return what a program calls weft here: ``torch`` if it is found under this name."""
    import sys

    at = sys.modules.get("torch")
    return "torch" if at is not None and getattr(at, "relu", None) is weft.relu else "weft"


_names: dict[int, tuple[Any, str]] = {}


def _names_in_weft() -> dict[int, tuple[Any, str]]:
    if not _names:
        import weft.fft
        import weft.linalg
        import weft.nn.functional
        import weft.special

        modules = (weft, weft.nn.functional, weft.special, weft.linalg, weft.fft)
        for module in modules:
            for name in dir(module):
                if not name.startswith("__"):
                    _note_name(module, name)
    return _names


def _note_name(module: types.ModuleType, name: str) -> None:
    value = vars(module).get(name)
    if callable(value) and not isinstance(value, type):
        prefix = module.__name__.partition(".")[2]
        full = f"{prefix}.{name}" if prefix else name
        known = _names.get(id(value))
        if known is None or (known[1].startswith("_") and not name.startswith("_")):
            _names[id(value)] = (value, full)


def qualified_name(f: Any) -> str:
    """Return the dotted name under which a function is found.

    >>> from weft.fx.node import qualified_name
    >>> import operator
    >>> qualified_name(operator.add)
    '_operator.add'
    """
    short: str = getattr(f, "__name__", "")
    if f is not None and getattr(builtins, short, None) is f:
        return short
    found = _names_in_weft().get(id(f))
    if found is not None:
        return f"{root_name()}.{found[1]}"
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or type(f).__name__
    module = getattr(f, "__module__", None)
    if module is None:
        return name
    first, _, rest = module.partition(".")
    if first == "weft":
        module = f"{root_name()}.{rest}" if rest else root_name()
    return f"{module}.{name}"


def type_name(t: Any) -> str:
    """Return the text of an annotation."""
    if isinstance(t, str):
        return t
    if isinstance(t, type) and not hasattr(t, "__args__"):
        if t.__module__ == "builtins":
            return t.__name__
        if t is weft.Tensor:
            return f"{root_name()}.Tensor"
        return f"{t.__module__}.{t.__qualname__}"
    return repr(t)
