"""LLVM's text, written by arithmetic: values with operators, a function that collects their steps."""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["KINDS", "Lanes", "Writer", "rounded"]

KINDS = {"f32": "float", "f64": "double", "i32": "i32", "i64": "i64", "i1": "i1"}
WIDTH = {"f32": 32, "f64": 64, "i32": 32, "i64": 64, "i1": 1}
BITS = {"f32": "i32", "f64": "i64"}
_FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_WHOLE = {"+": "add", "-": "sub", "*": "mul"}
_TRUTH = {"+": "or", "*": "and"}  # as C++ adds and multiplies bool
_ORDER = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


def rounded(kind: str, x: float) -> float:
    """Return a number as an element of that kind holds it.

    >>> weft.jit.codegen.llvm_ir.rounded("f32", 0.1)
    0.10000000149011612
    """
    if kind != "f32":
        return float(x)
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")


def _literal(kind: str, x: Any) -> str:
    """Return a constant as LLVM writes it."""
    if kind == "i1":
        return "true" if x else "false"
    if kind[0] == "i":
        return str(
            (int(x) + (1 << (WIDTH[kind] - 1))) % (1 << WIDTH[kind]) - (1 << (WIDTH[kind] - 1))
        )
    return f"0x{struct.unpack('<Q', struct.pack('<d', rounded(kind, x)))[0]:016X}"


class Lanes:
    """A vector of one kind of elements, as a name in the text. Numbers beside it become its kind."""

    __slots__ = ("kind", "name", "to")

    def __init__(self, to: Writer, kind: str, name: str) -> None:
        """Stand for a name in the text of ``to``."""
        self.to, self.kind, self.name = to, kind, name

    def like(self, x: Any) -> Lanes:
        """Return a number as a vector of this kind."""
        return x if isinstance(x, Lanes) else self.to.constant(self.kind, x)

    @property
    def type(self) -> str:
        """The type as LLVM writes it."""
        return self.to.type(self.kind)

    def _binary(self, op: str, a: Any, b: Any) -> Lanes:
        a, b = self.like(a), self.like(b)
        table = _TRUTH if self.kind == "i1" else _WHOLE if self.kind[0] == "i" else _FLOAT
        return self.to.step(self.kind, f"{table[op]} {self.type} {a.name}, {b.name}")

    def __add__(self, o: Any) -> Lanes:
        return self._binary("+", self, o)

    def __radd__(self, o: Any) -> Lanes:
        return self._binary("+", o, self)

    def __sub__(self, o: Any) -> Lanes:
        return self._binary("-", self, o)

    def __rsub__(self, o: Any) -> Lanes:
        return self._binary("-", o, self)

    def __mul__(self, o: Any) -> Lanes:
        return self._binary("*", self, o)

    def __rmul__(self, o: Any) -> Lanes:
        return self._binary("*", o, self)

    def __truediv__(self, o: Any) -> Lanes:
        return self._binary("/", self, o)

    def __rtruediv__(self, o: Any) -> Lanes:
        return self._binary("/", o, self)

    def __neg__(self) -> Lanes:
        if self.kind[0] == "i":
            return self._binary("-", 0, self)
        return self.to.step(self.kind, f"fneg {self.type} {self.name}")

    def _compare(self, op: str, o: Any) -> Lanes:
        o = self.like(o)
        if self.kind == "i1":
            how = f"icmp {'u' if op not in '==!=' else ''}{_ORDER[op]}"
        elif self.kind[0] == "i":
            how = f"icmp {'s' if op not in '==!=' else ''}{_ORDER[op]}"
        else:
            how = f"fcmp {'u' if op == '!=' else 'o'}{_ORDER[op]}"
        return self.to.step("i1", f"{how} {self.type} {self.name}, {o.name}")

    def __lt__(self, o: Any) -> Lanes:
        return self._compare("<", o)

    def __le__(self, o: Any) -> Lanes:
        return self._compare("<=", o)

    def __gt__(self, o: Any) -> Lanes:
        return self._compare(">", o)

    def __ge__(self, o: Any) -> Lanes:
        return self._compare(">=", o)

    def equals(self, o: Any) -> Lanes:
        """Return where both are equal."""
        return self._compare("==", o)

    def differs(self, o: Any) -> Lanes:
        """Return where they differ, or one is NaN."""
        return self._compare("!=", o)

    def _bitwise(self, op: str, o: Any) -> Lanes:
        return self.to.step(self.kind, f"{op} {self.type} {self.name}, {self.like(o).name}")

    def __and__(self, o: Any) -> Lanes:
        return self._bitwise("and", o)

    def __or__(self, o: Any) -> Lanes:
        return self._bitwise("or", o)

    def __xor__(self, o: Any) -> Lanes:
        return self._bitwise("xor", o)

    def __invert__(self) -> Lanes:
        return self._bitwise("xor", True if self.kind == "i1" else -1)

    def __lshift__(self, n: int) -> Lanes:
        return self._bitwise("shl", n)

    def __rshift__(self, n: int) -> Lanes:
        return self._bitwise("lshr", n)  # without the sign

    @property
    def bits(self) -> Lanes:
        """The bits of floats as whole numbers."""
        kind = BITS[self.kind]
        return self.to.step(kind, f"bitcast {self.type} {self.name} to {self.to.type(kind)}")

    def as_float(self) -> Lanes:
        """Return whole numbers as the floats that have their bits."""
        kind = "f32" if self.kind == "i32" else "f64"
        return self.to.step(kind, f"bitcast {self.type} {self.name} to {self.to.type(kind)}")


class Writer:
    """The text of one function ``void (char** p, long n)``; it says each step once."""

    def __init__(self, lanes: int, isa: str) -> None:
        """Start empty; ``isa``: the instruction set that eager's loops run with here."""
        self.lanes, self.fma, self.avx512 = lanes, isa != "base", isa == "avx512"
        self.head: list[str] = []  # before the loop
        self.body: list[str] = []
        self.declared: set[str] = set()
        self.block = "loop"  # the one that is being written
        self._known: dict[str, Lanes] = {}
        self._count = 0

    def type(self, kind: str) -> str:
        """Return the type of a vector."""
        return f"<{self.lanes} x {KINDS[kind]}>"

    def fresh(self, prefix: str = "v") -> str:
        """Return a name that is not used yet."""
        self._count += 1
        return f"{prefix}{self._count}"

    def step(self, kind: str, text: str) -> Lanes:
        """Return the value of an instruction."""
        if text not in self._known:
            name = f"%{self.fresh()}"
            self.body.append(f"  {name} = {text}")
            self._known[text] = Lanes(self, kind, name)
        return self._known[text]

    def constant(self, kind: str, x: Any) -> Lanes:
        """Return a vector of one number."""
        return Lanes(self, kind, f"splat ({KINDS[kind]} {_literal(kind, x)})")

    def call(self, name: str, *args: Lanes) -> Lanes:
        """Return what one of LLVM's functions, overloaded by the type, gives for vectors of one kind."""
        kind = args[0].kind
        full = f"llvm.{name}.v{self.lanes}{kind}"
        given = ", ".join(f"{a.type} {a.name}" for a in args)
        self.declared.add(f"declare {args[0].type} @{full}({', '.join(a.type for a in args)})")
        return self.step(kind, f"call {args[0].type} @{full}({given})")

    def select(self, c: Lanes, a: Any, b: Any) -> Lanes:
        """Return a where c holds, else b."""
        one = a if isinstance(a, Lanes) else b
        a, b = one.like(a), one.like(b)
        return self.step(a.kind, f"select {c.type} {c.name}, {a.type} {a.name}, {b.type} {b.name}")

    def convert(self, x: Lanes, kind: str) -> Lanes:
        """Return elements as another kind, as ``csrc/loops/convert.h`` does."""
        if x.kind == kind:
            return x
        if kind == "i1":
            return x.differs(0)
        pair = x.kind[0] + kind[0]
        if x.kind == "i1":
            how = "uitofp" if kind[0] == "f" else "zext"
        elif pair == "ff":
            how = "fpext" if kind == "f64" else "fptrunc"
        elif pair == "ii":
            how = "sext" if kind == "i64" else "trunc"
        else:
            how = "sitofp" if pair == "if" else "fptosi"
        y = self.step(kind, f"{how} {x.type} {x.name} to {self.type(kind)}")
        if how != "fptosi":
            return y
        low = -(1 << (WIDTH[kind] - 1))
        return self.select((x >= low) & (x < -low), y, low)

    def halves(self, f: Callable[..., str], kind: str, *args: Lanes) -> Lanes:
        """Return what an instruction for 512 bits gives for each half of vectors of twice as many."""
        half = self.lanes // 2
        parts = []
        for first in (0, half):
            mask = ", ".join(f"i32 {k}" for k in range(first, first + half))
            names = [
                self.step(
                    a.kind,
                    f"shufflevector {a.type} {a.name}, {a.type} poison, <{half} x i32> <{mask}>",
                ).name
                for a in args
            ]
            parts.append(self.step(kind, f(*names)).name)
        mask = ", ".join(f"i32 {k}" for k in range(self.lanes))
        t = f"<{half} x {KINDS[kind]}>"
        return self.step(
            kind, f"shufflevector {t} {parts[0]}, {t} {parts[1]}, <{self.lanes} x i32> <{mask}>"
        )

    def repair(self, y: Lanes, far: Lanes, args: list[Lanes], slow: Callable[..., str]) -> Lanes:
        """Return ``y``, or where ``far`` holds what ``slow`` computes of single long doubles.

        ``slow`` gets names of long doubles and a function that takes an instruction and gives the
        name of its result.
        """
        n, bits = self.lanes, f"i{self.lanes}"
        mask = self.step("i1", f"bitcast {far.type} {far.name} to {bits}").name
        any_far = self.step("i1", f"icmp ne {bits} {mask}, 0").name
        enter, done = self.fresh("far"), self.fresh("near")
        k, acc, more = (f"%{self.fresh()}" for _ in range(3))
        before = self.block
        element = KINDS[y.kind]
        lines = [f"  br i1 {any_far}, label %{enter}, label %{done}", f"{enter}:"]
        next_k, next_acc = f"%{self.fresh()}", f"%{self.fresh()}"
        lines.append(f"  {k} = phi i32 [ 0, %{before} ], [ {next_k}, %{enter} ]")
        lines.append(f"  {acc} = phi {y.type} [ {y.name}, %{before} ], [ {next_acc}, %{enter} ]")

        def instruction(text: str) -> str:
            name = f"%{self.fresh()}"
            lines.append(f"  {name} = {text}")
            return name

        wide = []
        for a in args:
            one = instruction(f"extractelement {a.type} {a.name}, i32 {k}")
            wide.append(instruction(f"fpext {element} {one} to x86_fp80"))
        long = slow(*wide, instruction)
        short = instruction(f"fptrunc x86_fp80 {long} to {element}")
        was = instruction(f"extractelement {y.type} {acc}, i32 {k}")
        there = instruction(f"extractelement {far.type} {far.name}, i32 {k}")
        now = instruction(f"select i1 {there}, {element} {short}, {element} {was}")
        lines.append(f"  {next_acc} = insertelement {y.type} {acc}, {element} {now}, i32 {k}")
        lines.append(f"  {next_k} = add i32 {k}, 1")
        lines.append(f"  {more} = icmp ult i32 {next_k}, {n}")
        lines.append(f"  br i1 {more}, label %{enter}, label %{done}")
        lines.append(f"{done}:")
        self.body += lines
        self.block = done
        made = f"%{self.fresh()}"
        self.body.append(
            f"  {made} = phi {y.type} [ {y.name}, %{before} ], [ {next_acc}, %{enter} ]"
        )
        return Lanes(self, y.kind, made)

    def text(self, name: str) -> str:
        """Return the whole of the function."""
        lines = [*sorted(self.declared), f"define void @{name}(ptr %p, i64 %n) {{", "entry:"]
        lines += self.head
        lines += [
            f"  %last = sub i64 %n, {self.lanes}",
            "  br label %loop",
            "loop:",
            f"  %i = phi i64 [ 0, %entry ], [ %next, %{self.block} ]",
            *self.body,
            f"  %after = add i64 %i, {self.lanes}",
            "  %more = icmp slt i64 %after, %n",
            "  %early = icmp slt i64 %after, %last",
            "  %next = select i1 %early, i64 %after, i64 %last",  # the last vector ends at the end
            "  br i1 %more, label %loop, label %done",
            "done:",
            "  ret void",
            "}",
        ]
        return "\n".join(lines)


def stored(kind: str) -> str:
    """Return the type of elements in memory: bool is a byte."""
    return "i8" if kind == "i1" else KINDS[kind]
