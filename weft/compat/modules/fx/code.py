"""The text of a graph: Python code of a function ``forward``."""

from __future__ import annotations

import enum
import keyword
import operator
import re
from typing import NamedTuple

import weft

from .intercept import is_wrapped
from .namespace import Namespace
from .node import Node, qualified_name, root_name, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .graph import Graph

__all__ = ["PythonCode", "generate"]

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "lt": "<",
    "le": "<=", "eq": "==", "ne": "!=", "ge": ">=", "gt": ">", "pow": "**", "and_": "&",
    "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "matmul": "@",
}  # fmt: skip
_IN_PLACE = {
    "iadd": "+=", "isub": "-=", "imul": "*=", "ifloordiv": "//=", "itruediv": "/=", "imod": "%=",
    "ipow": "**=", "iand": "&=", "ior": "|=", "ixor": "^=", "ilshift": "<<=", "irshift": ">>=",
    "imatmul": "@=",
}  # fmt: skip
_FORMATS: dict[Any, str] = {
    **{getattr(operator, name): "{} " + sign + " {}" for name, sign in _BINARY.items()},
    operator.neg: "-{}",
    operator.pos: "+{}",
    operator.invert: "~{}",
    operator.getitem: "{}[{}]",
}
_UPDATES = {getattr(operator, name): sign for name, sign in _IN_PLACE.items()}


class PythonCode(NamedTuple):
    """Generated code: its text, and the objects that it names."""

    src: str
    globals: dict[str, Any]


class _Writer:
    """Writes the code of one graph."""

    def __init__(self, graph: Graph, root: str, names: Namespace) -> None:
        self.graph, self.root, self.names = graph, root, names
        self.globals: dict[str, Any] = {}
        self.wrapped: list[str] = []
        self.parameters: list[str] = []
        self.lines: list[str] = []
        self.returns = ""
        self.unused_after = _last_uses(graph)

    # ---- what is written into arguments ---------------------------------------------------------

    def global_name(self, hint: str, obj: Any) -> str:
        """Return a name by which the code reaches an object."""
        first = hint.partition(".")[0]
        if first in ("torch", "weft") and _reaches(hint, obj):
            self.globals[first] = weft
            return hint
        if getattr(obj, "__module__", None) == "builtins" and "." not in hint:
            self.globals[hint] = obj  # a global, so that a trace of the code can stand in for it
            return hint
        name = self.names.create_name(hint.replace(".", "_"), obj if _hashable(obj) else None)
        self.globals[name] = obj
        return name

    def argument(self, a: Any) -> str:
        """Return the text of an argument."""
        if isinstance(a, Node):
            return self.names.create_name(a.name, a)
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            kind = self.global_name(qualified_name(type(a)), type(a))
            return f"{kind}({', '.join(map(self.argument, a))})"
        if isinstance(a, tuple) and type(a) is weft.Size:
            return f"{self.global_name(f'{root_name()}.Size', weft.Size)}({[*a]})"
        if isinstance(a, tuple):
            inner = ", ".join(map(self.argument, a))
            return f"({inner},)" if len(a) == 1 else f"({inner})"
        if isinstance(a, list):
            return f"[{', '.join(map(self.argument, a))}]"
        if isinstance(a, dict):
            return "{" + ", ".join(f"{k!r}: {self.argument(v)}" for k, v in a.items()) + "}"
        if isinstance(a, slice):
            return f"slice({', '.join(map(self.argument, (a.start, a.stop, a.step)))})"
        return self.plain(a)

    def plain(self, a: Any) -> str:
        """Return the text of a value without parts."""
        if isinstance(a, enum.Enum):
            return f"{self.global_name(qualified_name(type(a)), type(a))}.{a.name}"
        if isinstance(a, float) and (a != a or a in (float("inf"), float("-inf"))):
            self.globals[repr(a).lstrip("-")] = abs(a)
            return repr(a)
        if isinstance(a, complex):
            return f"complex({self.plain(a.real)}, {self.plain(a.imag)})"
        if a is None or a is Ellipsis or isinstance(a, (str, int, float, bytes, range)):
            return repr(a)
        if isinstance(a, weft.device):
            self.globals["device"] = weft.device
            return repr(a)
        if isinstance(a, (weft.dtype, weft.layout, weft.memory_format)):
            return self.global_name(f"{root_name()}.{str(a).rpartition('.')[2]}", a)
        if callable(a):
            return self.global_name(qualified_name(a), a)
        return self.global_name(f"_constant_{type(a).__name__}", a)

    def arguments(self, args: Any, kwargs: Any) -> str:
        """Return the text between the parentheses of a call."""
        named = [f"{k} = {self.argument(v)}" for k, v in kwargs.items()]
        return ", ".join([*map(self.argument, args), *named])

    def annotation(self, t: Any) -> str:
        """Return the text of a type, whose names the code can reach."""
        text = type_name(t)
        if isinstance(t, type) and not hasattr(t, "__args__"):
            return self.global_name(text, t)
        if isinstance(t, str):
            return repr(t)
        return self.global_name(f"_type_{re.sub(r'[^a-zA-Z0-9]+', '_', text).strip('_')}", t)

    # ---- nodes ----------------------------------------------------------------------------------

    def write(self, node: Node) -> None:
        """Write one node."""
        name = self.names.create_name(node.name, node)
        typed = "" if node.type is None else f" : {self.annotation(node.type)}"
        if node.op == "placeholder":
            return self.parameter(node, name, typed)
        if node.op == "output":
            if node.type is not None:
                self.returns = f" -> {self.annotation(node.type)}"
            self.lines.append(f"return {self.argument(node.args[0])}")
            return None
        if node.op == "call_function" and node.target in _UPDATES and not node.kwargs:
            left, right = map(self.argument, node.args)
            line = f"{left} {_UPDATES[node.target]} {right};  {name}{typed} = {left}"
        else:
            line = f"{name}{typed} = {self.expression(node)}"
        dropped = [self.names.create_name(n.name, n) for n in self.unused_after.get(node, ())]
        self.lines.append(line + (f";  {' = '.join(dropped)} = None" if dropped else ""))
        return None

    def parameter(self, node: Node, name: str, typed: str) -> None:
        """Write a parameter of the function."""
        target = str(node.target)
        default = f" = {self.argument(node.args[0])}" if node.args else ""
        self.parameters.append(f"{target}{typed}{default}")
        if target.lstrip("*") != name:
            self.lines.append(f"{name} = {target.lstrip('*')}")

    def expression(self, node: Node) -> str:
        """Return the expression that computes a node."""
        target: Any = node.target
        if node.op == "get_attr":
            return attribute(self.root, target)
        if node.op == "call_module":
            return f"{attribute(self.root, target)}({self.arguments(node.args, node.kwargs)})"
        if node.op == "call_method":
            if not node.args:
                raise RuntimeError(f"call_method node {node} has no self argument")
            owner = operand(self.argument(node.args[0]), node.args[0])
            return f"{owner}.{target}({self.arguments(node.args[1:], node.kwargs)})"
        if node.op != "call_function":
            raise NotImplementedError(f"node: {node.op} {target}")
        shape = _FORMATS.get(target) if _hashable(target) else None
        if shape and not node.kwargs and shape.count("{}") == len(node.args):
            texts = [operand(self.argument(a), a) for a in node.args]
            if target is operator.getitem:
                texts[1] = self.argument(node.args[1])
            return shape.format(*texts)
        if target is getattr and len(node.args) == 2 and _is_name(node.args[1]):
            return f"{operand(self.argument(node.args[0]), node.args[0])}.{node.args[1]}"
        called = self.global_name(qualified_name(target), target)
        if is_wrapped(target) and called not in self.wrapped:
            self.wrapped.append(called)
        return f"{called}({self.arguments(node.args, node.kwargs)})"


def _hashable(obj: Any) -> bool:
    try:
        hash(obj)
    except TypeError:
        return False
    return True


def _is_name(a: Any) -> bool:
    return isinstance(a, str) and a.isidentifier() and not keyword.iskeyword(a)


def _reaches(dotted: str, obj: Any) -> bool:
    """Say whether a dotted name leads to an object."""
    found: Any = weft
    for part in dotted.split(".")[1:]:
        found = getattr(found, part, None)
    return found is obj or (found == obj and isinstance(obj, (weft.dtype, weft.layout)))


def operand(text: str, a: Any) -> str:
    """Return an operand, in parentheses where its parts could be taken for those of a neighbour."""
    loose = isinstance(a, (int, float, complex)) and not isinstance(a, bool)
    return f"({text})" if loose and text.startswith("-") else text


def attribute(root: str, target: str) -> str:
    """Return the expression for an attribute of attributes.

    >>> from weft.fx.code import attribute
    >>> attribute("self", "layers.0.weight")
    'getattr(self.layers, "0").weight'
    """
    text = root
    for atom in target.split("."):
        text = f"{text}.{atom}" if _is_name(atom) else f'getattr({text}, "{atom}")'
    return text


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """Return which nodes nobody uses any more behind each node."""
    seen: set[Node] = set()
    after: dict[Node, list[Node]] = {}
    for node in reversed(graph.nodes):
        inputs = node.all_input_nodes
        if node.op in ("placeholder", "output"):
            seen.update(inputs)
            continue
        after[node] = [n for n in inputs if n not in seen]
        seen.update(inputs)
        if not node.users:
            after[node].append(node)
    return after


def generate(graph: Graph, root_module: str) -> PythonCode:
    """Return the code of a graph, as a function whose first argument is ``root_module``."""
    names = Namespace()
    for node in graph.nodes:  # no global takes the name of a node
        names.create_name(node.name, node)
    writer = _Writer(graph, root_module, names)
    for node in graph.nodes:
        writer.write(node)
    fn_globals = writer.globals
    root = root_name()
    head = "\n".join(f'{root}.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped)
    if writer.wrapped:
        fn_globals[root] = weft
    starred = [p for p in writer.parameters if p.startswith("*")]
    plain = [p for p in writer.parameters if not p.startswith("*")]
    parameters = ", ".join([root_module, *plain, *starred])
    body = "\n    ".join(writer.lines or ["pass"])
    src = f"\n{head}\n\ndef forward({parameters}){writer.returns}:\n    {body}\n    "
    return PythonCode(src, fn_globals)
