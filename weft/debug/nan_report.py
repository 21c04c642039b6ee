"""``Birth``: where the first NaN or infinity of a step was made, as numbers and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import weft

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from weft import Tensor

__all__ = ["Birth", "Link", "Range", "look_at", "peak_of", "slice_at"]

SHOWN = 6  # numbers of a slice
LONGEST = 12  # links of a chain


class Range(NamedTuple):
    """What is to know of a tensor: its finite values lie in ``[low, high]``."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    low: float | None
    high: float | None
    nans: int
    infinities: int

    def __str__(self) -> str:
        text = f"{self.name}: {self.dtype} {list(self.shape)}"
        if self.low is not None:
            text += f" in [{self.low:.6g}, {self.high:.6g}]"
        if self.nans:
            text += f", {self.nans} NaN"
        if self.infinities:
            text += f", {self.infinities} infinite"
        return text


class Link(NamedTuple):
    """A step on the way to an overflow: an op, where it was called, and its largest magnitude."""

    op: str
    line: str
    module: str
    largest: float

    def __str__(self) -> str:
        return f"{self.largest:.4g} {self.op} at {self.line}" + _within(self.module)


class Birth:
    """Where the first NaN or infinity of a step was made.

    Attributes:
        op: the op whose inputs were finite and whose output, or gradient, is not.
        phase: "forward" or "backward"; "input" where the value came from outside of the graph.
        line: the line of the program that called the op, also for a gradient.
        module: the path of the module in which it was called, "" outside of modules.
        output: what the op gave; for a backward op, the gradient that it gave.
        inputs: what the op was given, a range each.
        index: where the first NaN or infinity stands in the output.
        values: what the inputs hold there, and the output, as texts by name.
        chain: for an overflow, the maxima that grew to it, the oldest first.
        became: the op and line that made NaN of an infinity later, if that is what happened.
        reached: what it reached: the loss, or names of gradients.
        note: what else is to be known, or "".
    """

    def __init__(
        self, op: str, phase: str, line: str, module: str, output: Range, inputs: list[Range]
    ) -> None:
        self.op, self.phase, self.line, self.module = op, phase, line, module
        self.output, self.inputs = output, inputs
        self.index: tuple[int, ...] = ()
        self.values: list[tuple[str, str]] = []
        self.chain: list[Link] = []
        self.became = ""
        self.reached: list[str] = []
        self.note = ""

    def __repr__(self) -> str:
        return f"<Birth: {self.phase} of {self.op} at {self.line}>"

    def __str__(self) -> str:
        kind = "NaN" if self.output.nans else "infinity"
        where = f"at {self.line}{_within(self.module)}"
        if self.phase == "input":
            lines = [f"The first {kind} came in from outside of the step, into {self.op} {where}"]
        else:
            of = "backward of " if self.phase == "backward" else ""
            lines = [f"The first {kind} was made by {of}{self.op} {where}"]
        lines += [f"  {given}" for given in self.inputs]
        lines.append(f"  {self.output}")
        if self.values:
            at = f" at {list(self.index)}" if self.index else ""
            lines.append(f"  there{at}: " + "; ".join(f"{k} = {v}" for k, v in self.values))
        if len(self.chain) > 1:
            lines.append("  the largest magnitudes on the way:")
            lines += [f"    {link}" for link in self.chain]
        if self.became:
            lines.append(f"  it became NaN in {self.became}")
        if self.reached:
            more = f" and {len(self.reached) - 3} more" if len(self.reached) > 3 else ""
            lines.append(f"  it reached {', '.join(self.reached[:3])}{more}")
        if self.note:
            lines.append(f"  {self.note}")
        return "\n".join(lines)


def _within(module: str) -> str:
    return f", in module {module}" if module else ""


def _values(t: Tensor) -> Any:
    t = t.detach()
    if t.layout is not weft.strided:
        t = t.to_dense()
    return t.abs().double() if t.is_complex() else t.double()


def look_at(name: str, t: Tensor) -> Range:
    """Return the range of a tensor.

    >>> from weft.debug.nan_report import look_at
    >>> print(look_at("x", weft.tensor([1.0, float("nan"), 3.0])))
    x: float32 [3] in [1, 3], 1 NaN
    """
    low = high = None
    values = _values(t)
    nans, infinite = int(values.isnan().sum()), int(values.isinf().sum())
    finite = values[values.isfinite()] if nans or infinite else values.reshape(-1)
    if finite.numel():
        low, high = float(finite.min()), float(finite.max())
    return Range(name, tuple(t.shape), str(t.dtype)[6:].split(".")[-1], low, high, nans, infinite)


def peak_of(t: Tensor) -> float:
    """Return the largest magnitude in a tensor: infinity if it holds one, NaN if nothing else."""
    values = _values(t).abs().reshape(-1)
    values = values[~values.isnan()]
    return float(values.max()) if values.numel() else float("nan" if t.numel() else 0)


def slice_at(
    output: Tensor, named: Iterable[tuple[str, Tensor]], name: str
) -> tuple[tuple[int, ...], list[tuple[str, str]]]:
    """Return where the first NaN or infinity of ``output`` stands, and what the inputs hold there.

    An input that broadcasts to the output gives one number; another gives the part that shares the
    leading indices with it.
    """
    values = _values(output)
    bad = (~values.isfinite()).reshape(-1).long().argmax()
    index: list[int] = []
    rest = int(bad)
    for n in reversed(output.shape):
        index.insert(0, rest % n)
        rest //= n
    place = tuple(index)
    found = [(k, _part(t, output, place)) for k, t in named]
    found.append((name, f"{float(values[place] if place else values):.6g}"))
    return place, found


def _part(t: Tensor, output: Tensor, place: tuple[int, ...]) -> str:
    values, shape = _values(t), tuple(t.shape)
    trailing = tuple(output.shape)[output.dim() - len(shape) :] if len(shape) else ()
    if len(shape) <= output.dim() and all(a in (b, 1) for a, b in zip(shape, trailing)):
        own = place[output.dim() - len(shape) :] if shape else ()
        values = values[tuple(0 if n == 1 else i for n, i in zip(shape, own))] if own else values
        return f"{float(values):.6g}"
    for i, n, m in zip(place, shape, output.shape):
        if n != m or values.dim() <= 1:
            break
        values = values[i]
    flat = values.reshape(-1)
    some = ", ".join(f"{float(v):.6g}" for v in flat[:SHOWN])
    return f"[{some}{', …' if flat.numel() > SHOWN else ''}]"
