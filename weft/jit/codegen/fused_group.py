"""What a fused group does, as text: the argument of the op ``fused``, and read back from it.

The text is a small program in Python's syntax. Inputs come first; ``once`` has one element along
the last dimension. Each step names the op that eager would call, and the dtype of its result::

    a: float32; b: once[float32]; c: float32 = mul(a, b); d: float32 = add(c, 1.5); return c, d

``expand(1.0, (8, 5))`` is a number in the shape of a tensor. A reduction comes last.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["KIND_OF", "Group", "Ref", "Step", "parse"]

KIND_OF = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "bool": "i1"}
REDUCTIONS = frozenset({"sum", "sum.dim", "mean", "mean.dim", "amax", "amin"})
_NUMBERS = {"inf": float("inf"), "nan": float("nan")}


class Ref:
    """A value of the group, by its number: inputs first, then the results of steps."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        """Name value ``number``."""
        self.number = number

    def __repr__(self) -> str:
        """Return the name in the text."""
        return f"v{self.number}"


class Step:
    """An op, its arguments (Ref, numbers, dtypes as text, tuples, None) and the dtype of its result."""

    __slots__ = ("args", "dtype", "op")

    def __init__(self, op: str, args: tuple[Any, ...], dtype: str) -> None:
        """Make a step."""
        self.op, self.args, self.dtype = op, args, dtype


class Group:
    """Inputs (dtype, once), steps, and the numbers of the values that are returned."""

    def __init__(self) -> None:
        """Start empty."""
        self.inputs: list[tuple[str, bool]] = []
        self.steps: list[Step] = []
        self.outputs: list[int] = []

    @property
    def reduces(self) -> bool:
        """Whether the last step is a reduction.

        >>> text = "v0: float32; v1: float32 = exp(v0); v2: float32 = sum(v1, None); return v2"
        >>> weft.jit.codegen.fused_group.parse(text).reduces
        True
        """
        return bool(self.steps) and self.steps[-1].op in REDUCTIONS

    def dtype(self, number: int) -> str:
        """Return the dtype of a value.

        >>> weft.jit.codegen.fused_group.parse("v0: int64; v1: bool = eq(v0, 0); return v1").dtype(1)
        'bool'
        """
        count = len(self.inputs)
        return self.inputs[number][0] if number < count else self.steps[number - count].dtype

    def __str__(self) -> str:
        """Return the text."""
        lines = [
            f"v{i}: once[{dtype}]" if once else f"v{i}: {dtype}"
            for i, (dtype, once) in enumerate(self.inputs)
        ]
        lines += [
            f"v{i}: {s.dtype} = {s.op}({', '.join(map(_text, s.args))})"
            for i, s in enumerate(self.steps, len(self.inputs))
        ]
        return "; ".join([*lines, f"return {', '.join(f'v{n}' for n in self.outputs)}"])


def _text(a: Any) -> str:
    return a.name if isinstance(a, _Type) else repr(a)


class _Type:
    """A dtype among the arguments of a step."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def type_argument(name: str) -> Any:
    """Return what stands for a dtype among the arguments of a step."""
    return _Type(name)


def parse(text: str) -> Group:
    """Return the group that a text describes; ValueError where it is none.

    >>> group = weft.jit.codegen.fused_group.parse("v0: float32; v1: float32 = mul(v0, 2.0); return v1")
    >>> group.inputs, group.steps[0].op, str(group)
    ([('float32', False)], 'mul', 'v0: float32; v1: float32 = mul(v0, 2.0); return v1')
    """
    import ast

    group = Group()
    try:
        lines = ast.parse(text).body
        for line in lines[:-1]:
            _read(line, group)
        end = lines[-1]
        assert isinstance(end, ast.Return) and end.value is not None
        given = end.value.elts if isinstance(end.value, ast.Tuple) else [end.value]
        group.outputs = [_value(v, group).number for v in given]
        assert group.outputs
    except (SyntaxError, AssertionError, KeyError, AttributeError, IndexError) as error:
        raise ValueError(f"fused: this text is no group: {text}") from error
    return group


def _read(line: Any, group: Group) -> None:
    import ast

    assert isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    assert line.target.id == f"v{len(group.inputs) + len(group.steps)}"
    kind: Any = line.annotation
    once = isinstance(kind, ast.Subscript)
    if once:
        assert kind.value.id == "once"
        kind = kind.slice
    dtype = kind.id
    assert dtype in KIND_OF
    if line.value is None:
        assert not group.steps
        group.inputs.append((dtype, once))
        return
    call: Any = line.value
    assert isinstance(call, ast.Call) and not call.keywords and not once
    args = tuple(_value(a, group) for a in call.args)
    group.steps.append(Step(ast.unparse(call.func), args, dtype))


def _value(a: Any, group: Group) -> Any:
    import ast

    if isinstance(a, ast.Constant):
        assert a.value is None or isinstance(a.value, (bool, int, float, str))
        return a.value
    if isinstance(a, ast.Tuple):
        return tuple(_value(x, group) for x in a.elts)
    if isinstance(a, ast.UnaryOp):
        assert isinstance(a.op, ast.USub)
        return -_value(a.operand, group)
    assert isinstance(a, ast.Name)
    if a.id in _NUMBERS:
        return _NUMBERS[a.id]
    if a.id in KIND_OF:
        return _Type(a.id)
    assert a.id[0] == "v"
    number = int(a.id[1:])
    assert 0 <= number < len(group.inputs) + len(group.steps)
    return Ref(number)
