"""One line on what the time went into."""

from __future__ import annotations

from collections import defaultdict

from .events import EventList, FunctionEvent
from .peak import peak_flops

__all__ = ["Shares", "shares", "verdict"]

# Parts that are worth saying: of the worst place and of the loader, and of what is outside of weft.
_LEAST, _LEAST_OUTSIDE = 0.01, 0.10


class Shares:
    """Parts of the time of a recording, in nanoseconds."""

    def __init__(self) -> None:
        """Make parts of nothing."""
        self.whole = 1
        self.loading = self.outside = 0.0
        self.groups: defaultdict[tuple[str, str], float] = defaultdict(float)  # (place, phase)
        self.flops: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.steps = False

    def worst(self) -> tuple[str, str] | None:
        """Return the place and the phase that took longest."""
        return max(self.groups, key=lambda k: self.groups[k]) if self.groups else None


def shares(events: EventList) -> Shares:
    """Return where the time since the first event went: by module (or op) and phase, loading, Python.

    What ops on other threads did is in the groups, and not in what is outside of weft.
    """
    found = Shares()
    first = min(e.time_range.begin_ns for e in events) if events else 0
    found.whole = max(events.ended - events.began - first, 1)
    busy: defaultdict[int, float] = defaultdict(float)
    loading: defaultdict[int, float] = defaultdict(float)
    for e in events:
        found.steps |= e.name.startswith(("ProfilerStep#", "Optimizer."))
        if e.phase == "loading":
            if e.kind == "range" and (e.cpu_parent is None or e.cpu_parent.phase != "loading"):
                loading[e.thread] += _length(e)
            continue
        if e.kind == "range":
            continue
        if not _inside_work(e):
            busy[e.thread] += e.weight * _length(e)
        group = place_of(e), e.phase
        found.groups[group] += e.weight * e.self_ns
        found.flops[group] += e.weight * e.own_flops
    main = max({*busy, *loading}, key=lambda t: busy[t] + loading[t], default=0)
    found.loading = loading[main]
    found.outside = max(found.whole - busy[main] - loading[main], 0)
    return found


def place_of(e: FunctionEvent) -> str:
    """Return what a verdict calls the place of an event: the module below the model, else the op."""
    below = e.module.partition(".")[2]
    if below.replace(".", "").isdigit():  # of a Sequential
        below = e.module
    if e.phase == "optimizer" and not e.module:
        return "the optimizer"
    return below or e.module or e.name.removesuffix("Backward0")


def verdict(events: EventList) -> str:
    """Return in one line what the time of a recording went into.

    >>> from weft.profiler.events import EventList
    >>> from weft.profiler.verdict import verdict
    >>> verdict(EventList())
    'nothing was recorded'
    """
    if not events:
        return "nothing was recorded"
    found = shares(events)
    whole, what = found.whole, "step" if found.steps else "time"
    parts: list[tuple[float, str]] = []
    if worst := found.worst():
        part = found.groups[worst] / whole
        text = f"{part:.0%} of the {what} is in {_name(worst)}{_speed(found, worst)}"
        parts.append((part, text))
    for part, least, text in (
        (found.loading / whole, _LEAST, "the loader waits {:.0%}"),
        (found.outside / whole, _LEAST_OUTSIDE, "Python and other libraries take {:.0%}"),
    ):
        if part >= least:
            parts.append((part, text.format(part)))
    parts.sort(key=lambda p: -p[0])
    lines = [text for part, text in parts if part >= _LEAST or part is parts[0][0]]
    if events.dropped:
        lines.append(f"{events.dropped:,} later events were not recorded")
    return "; ".join(lines) or "nothing took any time"


def _name(group: tuple[str, str]) -> str:
    place, phase = group
    if phase == "compiled":
        return f"compiled {place}"
    return f"{place} backward" if phase == "backward" else place


def _speed(found: Shares, group: tuple[str, str]) -> str:
    """Return the share of the machine's peak that a group reaches, as text."""
    if not found.flops[group]:
        return ""
    rate = found.flops[group] / (found.groups[group] / 1e9)
    return f" at {rate / peak_flops():.0%} of peak"


def _length(e: FunctionEvent) -> int:
    return e.time_range.end_ns - e.time_range.begin_ns


def _inside_work(e: FunctionEvent) -> bool:
    """Whether an event lies in an op, a node or a program, whose time counts it already."""
    above = e.cpu_parent
    while above is not None:
        if above.kind != "range":
            return True
        above = above.cpu_parent
    return False
