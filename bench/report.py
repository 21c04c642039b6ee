"""The table: one line as it is measured, then JSON and Markdown for bench/results/."""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.harness import ENGINES, MEANS, NEAR, WRONG, Line, Timing, Worker

BUSY = 0.1  # a line during which other work took more of the machine than this is marked
PEERS = ("torch", "jax", "numpy", *ENGINES, "bare", "python", "plain")


def amount(value: float, unit: str = "s") -> str:
    """A time, a size or a ratio with three digits.

    >>> amount(1.234e-6), amount(2.5e8, "B")
    ('1.23 µs', '250 MB')
    """
    steps = {
        "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
        "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
        "x": ((1.0, "x"),),
    }[unit]
    factor, name = next((step for step in steps if value >= step[0]), steps[-1])
    return f"{three_digits(value / factor)} {name}"


def three_digits(number: float) -> str:
    """A number as short as a table wants it.

    >>> three_digits(0.97531), three_digits(12.345), three_digits(345.6)
    ('0.98', '12.3', '346')
    """
    return (
        f"{number:.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"
    )


def shown(timing: Timing | None, unit: str) -> str:
    """A timing's minimum and the setting that reached it."""
    if timing is None:
        return ""
    setting = f" ({timing.setting})" if timing.setting else ""
    return amount(timing.best, unit) + setting


def wanted(line: Line) -> str:
    """The line's budget, in words."""
    if line.limit is not None:
        return f"< {amount(line.limit, line.unit)}"
    rules = line.budget.items()
    return ", ".join(f">= {value:g}x" + ("" if k == "torch" else f" {k}") for k, value in rules)


def headline(line: Line) -> str:
    """The line as printed while the benchmark runs."""
    threads = f" @{line.threads}" if line.threads else ""
    parts = [f"{line.id + threads:<44}", f"weft {shown_short(line, 'weft'):>8}"]
    for peer in PEERS:
        ratio = line.ratio(peer)
        if ratio is not None:
            parts.append(f"{peer} {shown_short(line, peer):>8} x{three_digits(ratio[0])}")
            if peer in ("torch", "bare"):
                parts[-1] += f" (median x{three_digits(ratio[1])})"
        elif line.best(peer) is not None:
            parts.append(f"{peer} {shown_short(line, peer):>8}")
    if line.status:
        parts.append(f"{wanted(line)} {line.status}".strip())
    if line.skipped:
        parts.append(line.skipped)
    if line.others > BUSY:
        parts.append(f"(busy {line.others:.0%})")
    parts += [
        f"[{label}: {why}]"
        for label, why in line.errors.items()
        if label in ("weft", "bare") or WRONG in why
    ]
    return "  ".join(parts)


def shown_short(line: Line, label: str) -> str:
    """A library's best time on a line, or a dash."""
    timing = line.best(label)
    return "-" if timing is None else amount(timing.best, line.unit)


@dataclass(frozen=True)
class MeanLine:
    """The geometric mean of a group's or a family's ratios."""

    name: str
    peer: str
    count: int
    value: float
    median: float
    budget: float | None

    @property
    def status(self) -> str:
        """PASS, NEAR or MISS against the budget, nothing without one."""
        if self.budget is None:
            return ""
        if self.value >= self.budget:
            return "PASS"
        return "NEAR" if self.value >= self.budget * NEAR else "MISS"

    def __str__(self) -> str:
        head = f"mean of {self.name} ({self.count} lines) against {self.peer}"
        text = f"{head:<52} x{self.value:.2f} (median x{self.median:.2f})"
        return text if self.budget is None else f"{text}  >= {self.budget:.2f}x {self.status}"


def geometric_mean(values: Iterable[float]) -> float:
    """The n-th root of the product.

    >>> geometric_mean([1.0, 4.0])
    2.0
    """
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def means(lines: list[Line]) -> list[MeanLine]:
    """The means that rows ask for: over ``family/group``, or a family's lines with a budget."""
    found = []
    for name, mean in MEANS.items():
        chosen = [
            line
            for line in lines
            if name == f"{line.family}/{line.group}" or (name == line.family and line.budget)
        ]
        ratios = [ratio for line in chosen if (ratio := line.ratio(mean.peer)) is not None]
        if ratios:
            value = geometric_mean(ratio[0] for ratio in ratios)
            median = geometric_mean(ratio[1] for ratio in ratios)
            found.append(MeanLine(name, mean.peer, len(ratios), value, median, mean.budget))
    return found


def machine(workers: Mapping[str, Worker]) -> dict[str, Any]:
    """What the figures were measured on; names and numbers only, no paths."""
    model = platform.processor() or platform.machine()
    memory = 0
    try:
        for text in Path("/proc/cpuinfo").read_text().splitlines():
            if text.startswith("model name"):
                model = text.split(":", 1)[1].strip()
                break
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        pass
    affinity = getattr(os, "sched_getaffinity", None)
    mine = workers.get("weft")
    return {
        "cpu": model,
        "isa": mine.info["isa"] if mine else None,
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "memory": memory,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "libraries": {
            label: f"{worker.library.module} {worker.info['version']}"
            for label, worker in workers.items()
        },
    }


class Others:
    """How much of the machine other work took while we measured; much of it spoils the figures."""

    def __init__(self, workers: Mapping[str, Worker]) -> None:
        self.workers = workers
        self.before = self._busy_total_ours()

    def share(self) -> float:
        """The share of all cores' time since the start that wasn't idle and wasn't ours."""
        after = self._busy_total_ours()
        busy, total, ours = (b - a for a, b in zip(self.before, after))
        return max(0.0, busy - ours) / total if total > 0 else 0.0

    def _busy_total_ours(self) -> tuple[float, float, float]:
        tick = os.sysconf("SC_CLK_TCK")
        used = os.times()
        ours = used.user + used.system + used.children_user + used.children_system
        try:
            cpu = [int(n) / tick for n in Path("/proc/stat").read_text().split()[1:9]]
            for worker in self.workers.values():
                if worker.process is not None:
                    stat = Path(f"/proc/{worker.process.pid}/stat").read_text()
                    fields = stat.rsplit(")", 1)[1].split()
                    ours += sum(map(int, fields[11:15])) / tick  # with children that it waited for
        except OSError:
            return 0.0, 0.0, 0.0
        idle = cpu[3] + cpu[4]
        return sum(cpu) - idle, sum(cpu), ours


def as_json(lines: list[Line], about: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that was measured: per line and library each setting's minimum and median."""
    rows = []
    for line in lines:
        settings = {
            label: [
                {
                    "mode": t.mode,
                    "threads": t.threads,
                    "min": t.best,
                    "median": t.median,
                    "samples": len(t.samples),
                }
                for t in timings
                if t.samples
            ]
            for label, timings in line.timings.items()
        }
        ratios = {peer: ratio for peer in PEERS if (ratio := line.ratio(peer)) is not None}
        row: dict[str, Any] = {"id": line.id, "threads": line.threads, "unit": line.unit}
        row |= {"settings": settings, "ratios": ratios, "budget": dict(line.budget)}
        row |= {"limit": line.limit, "status": line.status}
        row |= {"errors": dict(line.errors), "skipped": line.skipped, "others": line.others}
        rows.append(row)
    averages = [{**vars(mean), "status": mean.status} for mean in means(lines)]
    return {"about": dict(about), "means": averages, "lines": rows}


def as_markdown(lines: list[Line], about: Mapping[str, Any]) -> str:
    """The table for people: budgets first, then every line."""
    used = ", ".join(f"{label}: {version}" for label, version in about["libraries"].items())
    counts = tally(lines)
    text = [
        "# weft against its peers",
        "",
        f"{about['cpu']}, {about['cores']} cores, {about['memory'] / 2**30:.0f} GiB, "
        f"{about['system']}, Python {about['python']}; {used}; {about['date']}, "
        f"{about['others']:.0%} of the machine busy with other work; {about['command']}.",
        "",
        "Times are minima over interleaved rounds. A ratio is the peer's best setting over weft at"
        " the line's threads, from minima (from medians); above 1, weft is faster.",
        "",
        ", ".join(f"{count} {status}" for status, count in counts.items()) + ".",
        "",
        "| mean of | lines | peer | ratio (medians) | wanted | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for mean in means(lines):
        goal = "" if mean.budget is None else f">= {mean.budget:.2f}x"
        text.append(
            f"| {mean.name} | {mean.count} | {mean.peer} | {mean.value:.2f} ({mean.median:.2f}) "
            f"| {goal} | {mean.status} |"
        )
    for family in dict.fromkeys(line.family for line in lines):
        chosen = [line for line in lines if line.family == family]
        text += ["", f"## {family}", "", *_family(family, chosen)]
    return "\n".join(text) + "\n"


def _family(family: str, lines: list[Line]) -> list[str]:
    peers = [peer for peer in PEERS if any(line.best(peer) for line in lines)]
    heads = ["row", "threads", "weft"]
    for peer in peers:
        heads += [peer, f"{peer} / weft"]
    rows = ["| " + " | ".join([*heads, "wanted", ""]) + " |", "| --- " * (len(heads) + 2) + "|"]
    for line in lines:
        cells = [line.id.removeprefix(f"{family}/"), str(line.threads or "")]
        cells.append(shown_short(line, "weft") + _failure(line, "weft"))
        for peer in peers:
            ratio = line.ratio(peer)
            cells.append(shown(line.best(peer), line.unit) + _failure(line, peer))
            cells.append(f"{three_digits(ratio[0])} ({three_digits(ratio[1])})" if ratio else "")
        busy = f" (busy {line.others:.0%})" if line.others > BUSY else ""
        cells += [wanted(line), (line.skipped or line.status) + busy]
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def _failure(line: Line, label: str) -> str:
    why = line.errors.get(label)
    return "" if why is None else " " + why.replace("|", "/")[:80]


def tally(lines: list[Line]) -> dict[str, int]:
    """How many lines and means ended how, the unbudgeted ones left out."""
    ends = [line.status for line in lines] + [mean.status for mean in means(lines)]
    return {s: ends.count(s) for s in ("PASS", "NEAR", "MISS", "n/a", "skip") if s in ends}


def save(target: Path, lines: list[Line], about: Mapping[str, Any]) -> None:
    """Write ``target`` (JSON) and the same name in Markdown beside it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(as_json(lines, about), indent=1) + "\n")
    target.with_suffix(".md").write_text(as_markdown(lines, about))
