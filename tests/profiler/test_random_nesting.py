"""Random programs of ranges, ops and backward passes, against a reconstruction made of times alone."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

import weft
from weft.profiler import FunctionEvent, profile, record_function


class Program:
    """A random program that writes down by itself what it does, in the order in which it does it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.said: list[
            tuple[int, str]
        ] = []  # depth and name of ranges and of ops outside of nodes
        self.x = weft.rand(4, 4, requires_grad=True)

    def run(self, depth: int = 0) -> None:
        for _ in range(self.random.randint(1, 4)):
            choice = self.random.random()
            if choice < 0.35 and depth < 6:
                self.range(depth)
            elif choice < 0.5:
                self.failing(depth)
            elif choice < 0.6:
                self.backward(depth)
            else:
                self.op(depth)

    def range(self, depth: int) -> None:
        name = f"range {len(self.said)}"
        self.said.append((depth, name))
        with record_function(name):
            self.run(depth + 1)

    def op(self, depth: int) -> None:
        name = self.random.choice(["exp", "tanh", "sin", "relu"])
        self.said.append((depth, name))
        getattr(self.x, name)()

    def failing(self, depth: int) -> None:
        self.said.append((depth, "matmul"))
        with pytest.raises(RuntimeError):
            weft.matmul(self.x, self.other)

    other = weft.ones(3, 5)

    def backward(self, depth: int) -> None:
        self.said += [(depth, name) for name in ("tanh", "sum", "ones_like", "backward")]
        self.x.tanh().sum().backward()


def reconstructed(events: list[FunctionEvent]) -> list[int]:
    """Return the parent of each event, found from times alone: the shortest event around it."""
    parents = []
    for e in events:
        around = [
            o for o in events
            if o is not e and o.thread == e.thread
            and o.time_range.begin_ns <= e.time_range.begin_ns and e.time_range.end_ns <= o.time_range.end_ns
            and not (o.time_range.begin_ns == e.time_range.begin_ns and o.id > e.id)
        ]  # fmt: skip
        if around:
            parents.append(max(around, key=lambda o: (o.time_range.begin_ns, o.id)).id)
        else:
            parents.append(-1)
    return parents


def depth_of(e: FunctionEvent) -> int:
    depth = 0
    while e.cpu_parent is not None:
        e, depth = e.cpu_parent, depth + 1
    return depth


@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed: int) -> None:
    program = Program(seed)
    began = time.perf_counter_ns()
    with profile(record_shapes=bool(seed % 2), with_stack=seed % 3 == 0) as prof:
        for _ in range(3):
            program.run()
    took = time.perf_counter_ns() - began
    events = prof.events()
    # What the program says that it did is what was recorded, at the same depth.
    outside = [e for e in events if e.phase != "backward" or e.name == "backward"]
    assert [(depth_of(e), e.name) for e in outside] == program.said
    # Parents are those that times alone give.
    assert [e.cpu_parent.id if e.cpu_parent else -1 for e in events] == reconstructed(list(events))
    # A total is the sum of all self times below it.
    below: dict[int, int] = {}
    for e in reversed(events):
        below[e.id] = e.self_ns + sum(below[c.id] for c in e.cpu_children)
        assert below[e.id] == e.time_range.end_ns - e.time_range.begin_ns
        assert e.self_ns >= 0
    roots = sum(below[e.id] for e in events if e.cpu_parent is None)
    assert roots <= took
    # Averages keep all calls and all times.
    averages = prof.key_averages()
    assert sum(a.count for a in averages) == len(events)
    assert sum(a.self_cpu_time_total for a in averages) == pytest.approx(roots / 1e3)
    for group_by in ("module", "line"):
        grouped = prof.key_averages(group_by=group_by)  # type: ignore[arg-type]
        assert sum(a.self_cpu_time_total for a in grouped) == pytest.approx(roots / 1e3)
    failed = [e for e in events if e.failed]
    assert len(failed) == sum(name == "matmul" for _, name in program.said)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_sampled(seed: int) -> None:
    """Ranges are all there; of the ops in them one of so many, in the tree where they belong."""
    program = Program(seed + 100)
    with profile(every=3) as prof:
        for _ in range(4):
            program.run()
    ranges = [e.name for e in prof.events() if e.kind == "range"]
    said = [name for _, name in program.said if name.startswith("range") or name == "backward"]
    assert ranges == said
    for e in prof.events():
        parent: Any = e.cpu_parent
        assert parent is None or parent.time_range.begin_ns <= e.time_range.begin_ns
