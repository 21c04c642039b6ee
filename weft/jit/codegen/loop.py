"""The loop of a group in LLVM's text."""

from __future__ import annotations

from ... import _C
from .fused_group import KIND_OF, REDUCTIONS, Ref
from .llvm_ir import KINDS, Lanes, Writer, stored
from .pointwise_ops import ROWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .fused_group import Group, Step

__all__ = ["Loop", "missing", "write"]

VECTOR_BITS = _C._vector_bits()
NAME = "NAME"  # stands for the name of the function
_CONDITIONS = {"where": 0, "masked_fill": 1}


class Loop:
    """The text of a function, and how many elements it takes at a time."""

    def __init__(self, text: str, lanes: int) -> None:
        """Keep both."""
        self.text, self.lanes = text, lanes


def missing(op: str, args: tuple[Any, ...], dtypes: list[str], dtype: str, isa: str) -> str:
    """Return why an op cannot be part of a loop, or nothing: ``dtypes`` are those of its operands.

    >>> from weft.jit.codegen.loop import missing
    >>> missing("exp", (), ["float32"], "float32", "avx2")
    ''
    >>> missing("exp", (), ["float16"], "float16", "avx2")
    'float16 is not compiled'
    """
    for name in (*dtypes, dtype):
        if name not in KIND_OF:
            return f"{name} is not compiled"
    if op == "cast":
        return ""
    derivative = op == "pointwise_gradient"
    name = args[0] if derivative else op
    row = ROWS.get(name)
    if row is None:
        return f"{name} has no row in jit/codegen/pointwise_ops.py"
    if derivative and (args[1] >= len(row.back) or row.back[args[1]] is None):
        return f"the derivative of {name} has no row in jit/codegen/pointwise_ops.py"
    if isa == "base" and row.needs_fma:
        return f"{name} needs fused multiply-add to be exact"
    if isa == "base" and row.needs_x86:
        return f"{name} of far angles needs long double"
    if row.rule == "compare" and not derivative and _compared(dtypes) is None:
        return f"{name} compares {' and '.join(dtypes)}"
    kind = KIND_OF[_compared(dtypes) if row.rule == "compare" and not derivative else dtype]
    return "" if kind in row.kinds else f"{name} of {dtype} is not compiled"


def _compared(dtypes: list[str]) -> Any:
    """Return the dtype in which tensors are compared, if that is clear."""
    return dtypes[0] if dtypes and len(set(dtypes)) == 1 else None


class _Emitter:
    def __init__(self, group: Group, isa: str) -> None:
        self.group, self.isa = group, isa
        used = [KIND_OF[d] for d, _ in group.inputs] + [KIND_OF[s.dtype] for s in group.steps]
        wide = all(k in ("f64", "i64", "i1") for k in used)
        self.to = Writer(VECTOR_BITS[isa] // (64 if wide else 32), isa)
        self.values: list[Any] = []

    def pointers(self) -> list[str]:
        """Read where the operands begin; return their names."""
        made = self.group.outputs[:-1] if self.group.reduces else self.group.outputs
        count = len(made) + self.group.reduces + len(self.group.inputs)
        for k in range(count):
            self.to.head.append(f"  %a{k} = getelementptr ptr, ptr %p, i64 {k}")
            self.to.head.append(f"  %p{k} = load ptr, ptr %a{k}")
        return [f"%p{k}" for k in range(count)]

    def load(self, pointer: str, kind: str, once: bool) -> Lanes:
        to, memory = self.to, stored(kind)
        size = 1 if kind == "i1" else int(kind[1:]) // 8
        if once:
            name, one, first = to.fresh("s"), to.fresh("s"), to.fresh("s")
            t = f"<{to.lanes} x {memory}>"
            to.head.append(f"  %{one} = load {memory}, ptr {pointer}, align {size}")
            to.head.append(f"  %{first} = insertelement {t} poison, {memory} %{one}, i32 0")
            to.head.append(
                f"  %{name} = shufflevector {t} %{first}, {t} poison, <{to.lanes} x i32> zeroinitializer"
            )
            if kind == "i1":
                to.head.append(f"  %{name}b = icmp ne {t} %{name}, zeroinitializer")
                name += "b"
            return Lanes(to, kind, f"%{name}")
        place = to.step("i64", f"getelementptr {memory}, ptr {pointer}, i64 %i").name
        v = to.step(kind, f"load <{to.lanes} x {memory}>, ptr {place}, align {size}")
        if kind != "i1":
            return v
        return to.step(kind, f"icmp ne <{to.lanes} x i8> {v.name}, zeroinitializer")

    def store(self, pointer: str, v: Lanes) -> None:
        to, memory = self.to, stored(v.kind)
        name, size = v.name, 1
        if v.kind == "i1":
            name = to.step("i1", f"zext {v.type} {v.name} to <{to.lanes} x i8>").name
        else:
            size = int(v.kind[1:]) // 8
        place = to.step("i64", f"getelementptr {memory}, ptr {pointer}, i64 %i").name
        to.body.append(f"  store <{to.lanes} x {memory}> {name}, ptr {place}, align {size}")

    def operand(self, a: Any, kind: str) -> Lanes:
        if isinstance(a, Ref):
            return self.to.convert(self.values[a.number], kind)
        return self.to.constant(kind, a)

    def step(self, s: Step) -> Lanes:
        kind = KIND_OF[s.dtype]
        if s.op == "expand":
            return self.to.constant(kind, s.args[0])
        if s.op == "cast":
            return self.operand(s.args[0], kind)
        if s.op == "pointwise_gradient":
            return self.gradient(s, kind)
        row = ROWS[s.op]
        inner = kind
        if row.rule == "truth":
            inner = "i1"
        elif row.rule == "compare":
            inner = KIND_OF[
                _compared([self.group.dtype(a.number) for a in s.args if isinstance(a, Ref)])
            ]
        condition = _CONDITIONS.get(s.op)
        operands = [
            self.operand(a, "i1" if k == condition else inner) for k, a in enumerate(s.args)
        ]
        return row.emit(*operands)

    def gradient(self, s: Step, kind: str) -> Lanes:
        name, which, *given = s.args
        row = ROWS[name]
        emit = row.back[which]
        count = emit.__code__.co_argcount
        g = self.operand(given[0], kind)
        rest = [g if a is None else self.operand(a, kind) for a in given[1:count]]
        rest += [g] * (count - 1 - len(rest))
        return emit(g, *rest)

    def write(self) -> Loop:
        group, pointers = self.group, self.pointers()
        made = group.outputs[:-1] if group.reduces else list(group.outputs)
        first = len(made) + group.reduces
        for (dtype, once), pointer in zip(group.inputs, pointers[first:]):
            self.values.append(self.load(pointer, KIND_OF[dtype], once))
        for s in group.steps:
            if s.op not in REDUCTIONS:
                self.values.append(self.step(s))
        if group.reduces:
            made.append(group.steps[-1].args[0].number)
        for number, pointer in zip(made, pointers):
            self.store(pointer, self.values[number])
        return Loop(self.to.text(NAME), self.to.lanes)


def write(group: Group, isa: str) -> Loop:
    """Return the loop of a group, for the instruction set that eager's loops run with.

    >>> from weft.jit.codegen.fused_group import parse
    >>> loop = weft.jit.codegen.loop.write(parse("v0: float32; v1: float32 = neg(v0); return v1"), "avx2")
    >>> loop.lanes, "fneg <8 x float>" in loop.text
    (8, True)
    """
    return _Emitter(group, isa).write()


assert set(KIND_OF.values()) == set(KINDS)
