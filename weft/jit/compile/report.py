"""What ``weft.compile`` made of a function, as text."""

from __future__ import annotations

from weft.jit.guards import by_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .function import CompiledFunction
    from .segments import Segment
    from .specialization import CallSpecialization

__all__ = ["Report"]


class Report:
    """What was captured of a function, its guards, and what is not compiled and why.

    >>> f = weft.compile(lambda x: (x * 2).sum())
    >>> for _ in range(4):
    ...     loss = f(weft.ones(3))
    >>> print(f.report())  # doctest: +ELLIPSIS
    <lambda>: 1 specialisation
    (float32[3])
      captured in 2 calls, replayed in 2
      one program of 2 ops: mul, sum
      improved to 1 ops: fused
      memory inside: 0 bytes
      time: ... ms for calls that were captured, ... ms to build what runs now
      guards: ...
        FunctionIs (1): the code or defaults of <lambda> are the same...
    """

    def __init__(self, function: CompiledFunction) -> None:
        """Look at a compiled function as it is now."""
        self.name = function.name
        self.specializations = [facts(v) for v in function.specializations]
        self.any_size = [d.facts() for d in function.any_size]
        self.problem = function._problem
        shown = {v["eager"] for v in self.specializations} | {
            v["pending"] for v in self.specializations
        }
        self.eager = [reason for reason in function.reasons if reason not in shown]

    def __str__(self) -> str:
        """Return it as text."""
        many = "" if len(self.specializations) == 1 else "s"
        lines = [f"{self.name}: {len(self.specializations)} specialisation{many}"]
        lines += [f"runs eagerly: {reason}" for reason in self.eager]
        for facts in self.specializations:
            lines.append(facts["inputs"])
            lines += [f"  {line}" for line in _lines(facts)]
        for facts in self.any_size:
            lines.append("for any sizes")
            lines += [f"  {line}" for line in _any_size_lines(facts)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from weft.view.html import text_html

        title, _, rest = str(self).partition("\n")
        return text_html(title, rest)


def facts(v: CallSpecialization) -> dict[str, Any]:
    """Return what is known of a specialisation: inputs, calls, splits, ops, memory, guards."""
    segments = list(v.root.walk()) if v.root is not None else []
    shown = [f"{x.kind}" for x in v.inputs]
    plain = [repr(a[0]) for a in v.arguments if not isinstance(a, int)]
    programs = [p[0] for p in v.programs()]
    calls = v.calls + (v.replay.calls if v.replay is not None else 0)
    return {
        "inputs": f"({', '.join([*shown, *plain])})",
        "captures": v.captures,
        "calls": calls,
        "eager": v.problem,
        "pending": "" if calls or v.problem else v.trouble or "one more call like the last",
        "ops": [n.op for p in segments for n in p.nodes],
        "program": [op for p in segments for op in p.improved],
        "segments": len(segments),
        "alone": list(dict.fromkeys(pair for p in segments for pair in p.alone)),
        "splits": list(dict.fromkeys(_split(p) for p in segments if not p.ends)),
        "backward": any(p.derivative is not None for p in segments),
        "live": sorted({number.key for p in segments for number in p.live}),
        "bytes": sum(p.arena_bytes for p in programs),
        "concurrent": sum(p.concurrent_ops for p in programs),
        "seconds": dict(v.seconds),
        "guards": by_kind(v.guards()) if v.state is not None else {},
    }


def _any_size_lines(facts: dict[str, Any]) -> list[str]:
    lines = [f"captured in {facts['captures']} calls, replayed in {facts['replays']}"]
    if facts["slots"]:
        lines.append(f"read before and set after each call: {', '.join(facts['slots'])}")
    if not facts["programs"]:
        return [*lines, f"no program: {facts['pending'] or 'one more call like the last'}"]
    kind = "one program" if facts["programs"] == 1 else f"{facts['programs']} programs"
    lines.append(f"{kind} of {len(facts['calls'])} calls: {_named(facts['calls'])}")
    return [*lines, *[f"decided by sizes: {text}" for text in facts["decisions"][:5]]]


def _split(segment: Segment) -> str:
    if segment.read is not None:
        return f"{segment.read.what} at {segment.read.line}"
    assert segment.outside is not None
    return f"{segment.outside.name} at {segment.outside.line}"


def _named(ops: list[str]) -> str:
    return ", ".join(ops[:8]) + (", ..." if len(ops) > 8 else "")


def _lines(facts: dict[str, Any]) -> list[str]:
    lines = [f"captured in {facts['captures']} calls, replayed in {facts['calls']}"]
    if facts["eager"]:
        return [*lines, f"runs eagerly: {facts['eager']}"]
    if facts["pending"]:
        lines.append(f"not yet a program: {facts['pending']}")
    if facts["ops"]:
        ops = facts["ops"]
        kind = "one program" if facts["segments"] == 1 else f"{facts['segments']} programs"
        lines.append(f"{kind} of {len(ops)} ops: {_named(ops)}")
    if facts["program"]:
        lines.append(f"improved to {len(facts['program'])} ops: {_named(facts['program'])}")
    lines += [f"not fused: {op}: {why}" for op, why in facts["alone"][:5]]
    lines += [f"split by {split}" for split in facts["splits"]]
    if facts["backward"]:
        lines.append("gradients of the results: one more program")
    if facts["live"]:
        lines.append(f"read anew in each call: {', '.join(facts['live'])}")
    if facts["concurrent"]:
        lines.append(f"at the same time as another: {facts['concurrent']} ops")
    lines.append(f"memory inside: {facts['bytes']:,} bytes")
    captured, built = (facts["seconds"][k] * 1e3 for k in ("captured", "built"))
    lines.append(
        f"time: {captured:.1f} ms for calls that were captured, "
        f"{built:.1f} ms to build what runs now"
    )
    lines.append(f"guards: {sum(map(len, facts['guards'].values()))}")
    for kind, texts in facts["guards"].items():
        more = f"; and {len(texts) - 3} more" if len(texts) > 3 else ""
        lines.append(f"  {kind} ({len(texts)}): {'; '.join(texts[:3])}{more}")
    return lines
