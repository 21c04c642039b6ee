"""``FlopCounterMode``: floating-point operations by module and op, while a program runs."""

from __future__ import annotations

from collections import defaultdict

import weft
from weft import _C
from weft.profiler.flops import FORMULAS
from weft.profiler.recording import events_of
from weft.profiler.table import format_flops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["FlopCounterMode", "register_flop_formula"]

# By PyTorch's rule adding and scaling count for nothing, unless a mapping says so.
_FREE = ("add", "sub", "mul", "div", "outer", "dot", "vdot", "row_dots")
flop_registry: dict[str, Callable[..., int]] = {}


def _name(op: Any) -> str:
    """Return the name of an op that is given by itself or by its name."""
    if isinstance(op, str):
        return op.removeprefix("aten::").partition(".")[0]
    name = getattr(op, "__name__", None)
    if name is None:
        raise ValueError(f"FlopCounterMode: expected an op or its name, got {op!r}")
    return str(name)


def register_flop_formula(targets: Any) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return a decorator of the function that counts the operations of these ops from now on.

    Args:
        targets: an op, its name, or a list of them. The function gets the shape of each argument
            (None for what is no tensor) and ``out_shape=``.

    >>> from weft.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula
    >>> @register_flop_formula("exp")
    ... def exp_flops(input_shape, *args, out_shape=None):
    ...     return 4 * input_shape[0]
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = weft.ones(3).exp()
    >>> counter.get_total_flops(), flop_registry.pop("exp") is exp_flops
    (12, True)
    """
    names = [_name(t) for t in (targets if isinstance(targets, (list, tuple)) else [targets])]

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        flop_registry.update(dict.fromkeys(names, formula))
        return formula

    return register


class FlopCounterMode:
    """Counts floating-point operations while it is entered, forward and backward.

    Args:
        mods: not used any more: modules are always known.
        depth: how deep the table goes below the model.
        display: print the table at the end.
        custom_mapping: functions that count the operations of some ops, by op or name, as
            :func:`register_flop_formula` takes them.

    >>> from weft.utils.flop_counter import FlopCounterMode
    >>> model = weft.nn.Linear(4, 2)
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = model(weft.ones(3, 4))
    >>> counter.get_total_flops()
    48
    >>> counter.get_flop_counts()["Global"]
    {'linear': 48}
    """

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True,
        custom_mapping: dict[Any, Callable[..., int]] | None = None,
    ) -> None:  # fmt: skip
        """Count nothing yet."""
        if mods is not None:
            import warnings

            warnings.warn(
                "mods argument is not needed anymore, you can stop passing it", stacklevel=2
            )
        self.depth, self.display = depth, display
        self.formulas = {
            **flop_registry,
            **{_name(k): f for k, f in (custom_mapping or {}).items()},
        }
        self._recording: Any = None
        self.flop_counts: dict[str, dict[str, int]] = {"Global": {}}

    def __enter__(self) -> FlopCounterMode:
        """Begin to count, from zero."""
        self._recording = _C.Recording(shapes=True)
        self._recording.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Count no more, and print the table if that was asked for."""
        self._recording.stop()
        self.flop_counts = self._count()
        self._recording = None
        if self.display:
            print(self.get_table(self.depth))

    def get_total_flops(self) -> int:
        """Return all operations so far."""
        return sum(self.get_flop_counts()["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """Return operations by module, then by op; ``"Global"`` has all of them."""
        return self._count() if self._recording is not None else self.flop_counts

    def _count(self) -> dict[str, dict[str, int]]:
        recording = self._recording
        if recording.dropped:
            raise RuntimeError(
                "FlopCounterMode: more than 1,000,000 events, count fewer steps at a time"
            )
        found: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        found["Global"] = defaultdict(int)
        events = events_of(recording, shapes=False, flops=True, stacks=False, every=1)
        counted = [False] * len(events)
        custom = self._custom(recording) if self.formulas else {}
        for e in events:
            above = e.cpu_parent
            if above is not None and counted[above.id]:
                counted[e.id] = True  # a custom formula counts the whole op
                continue
            flops = 0 if e.name.removesuffix("_") in _FREE else e.own_flops
            if e.id in custom:
                flops, counted[e.id] = custom[e.id], True
            if not flops:
                continue
            path = e.module.split(".") if e.module else []
            for depth in range(len(path) + 1):
                found[".".join(path[:depth]) or "Global"][e.name] += flops
        return {module: dict(ops) for module, ops in found.items()}

    def _custom(self, recording: Any) -> dict[int, int]:
        """Return the operations of the events whose op has a formula of the user's."""

        def shape(s: Any) -> Any:
            if s is None:
                return None
            return [shape(x) for x in s] if isinstance(s, list) else weft.Size(s[1:])

        found = {}
        for number, row in enumerate(recording.events()):
            formula = self.formulas.get(row[1])
            if formula is None or row[12] is None:
                continue
            given, made = row[12]
            results = [shape(s) for s in made]
            out = results[0] if len(results) == 1 else results
            found[number] = int(formula(*[shape(s) for s in given], out_shape=out))
        return found

    def get_table(self, depth: int | None = None) -> str:
        """Return operations by module and op as a table.

        Args:
            depth: of modules; None: that of the counter.
        """
        depth = self.depth if depth is None else depth
        counts = self.get_flop_counts()
        total = max(sum(counts["Global"].values()), 1)
        rows = []
        for module in sorted(counts, key=lambda m: (m != "Global", m)):
            level = 0 if module == "Global" else module.count(".") + 1
            if level > depth:
                continue
            ops = counts[module]
            rows.append((" " * level + module, sum(ops.values())))
            rows += [(" " * (level + 1) + f"- {op}", n) for op, n in ops.items()]
        cells = [(name, f"{format_flops(n).strip()}", f"{n / total:.2%}") for name, n in rows]
        titles = ("Module", "FLOP", "% Total")
        widths = [max(len(r[k]) for r in [titles, *cells]) for k in range(3)]
        lines = [f"{titles[0]:<{widths[0]}}  {titles[1]:>{widths[1]}}  {titles[2]:>{widths[2]}}"]
        lines.append("  ".join("-" * w for w in widths))
        lines += [f"{n:<{widths[0]}}  {f:>{widths[1]}}  {p:>{widths[2]}}" for n, f, p in cells]
        return "\n".join(lines)


def known_ops() -> list[str]:
    """Return the names of the ops that have a formula."""
    return sorted({*FORMULAS, *flop_registry} - set(_FREE))
