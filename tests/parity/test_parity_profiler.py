"""Schedules, tables and averages beside PyTorch's, for the same programs."""

from __future__ import annotations

import random
import re
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.profiler
import torch.utils.benchmark
import torch.utils.flop_counter

import weft


@pytest.mark.parametrize("seed", range(40))
def test_schedules(seed: int) -> None:
    r = random.Random(seed)
    options = {
        "wait": r.randint(0, 3), "warmup": r.randint(1, 3), "active": r.randint(1, 4), "repeat": r.randint(0, 3),
        "skip_first": r.randint(0, 4), "skip_first_wait": r.randint(0, 1),
    }  # fmt: skip
    mine, theirs = weft.profiler.schedule(**options), torch.profiler.schedule(**options)
    assert [mine(i).name for i in range(40)] == [theirs(i).name for i in range(40)]


def recorded(library: ModuleType, **options: Any) -> Any:
    """Return the profile of a small program."""
    x = library.ones(20, 30)
    with library.profiler.profile(
        activities=[library.profiler.ProfilerActivity.CPU], **options
    ) as prof:
        for _ in range(3):
            with library.profiler.record_function("range"):
                library.mm(x, x.t())
            x.mul(x)
    return prof


def heads(table: str) -> list[str]:
    return re.split(r"\s{2,}", table.splitlines()[1].strip())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"record_shapes": True},
        {"profile_memory": True},
        {"record_shapes": True, "with_flops": True},
    ],
)
def test_tables_have_the_same_columns(options: dict[str, bool]) -> None:
    shapes = bool(options.get("record_shapes"))
    tables = [
        recorded(library, **options)
        .key_averages(group_by_input_shape=shapes)
        .table(sort_by="self_cpu_time_total", row_limit=5)
        for library in (weft, torch)
    ]
    assert heads(tables[0]) == heads(tables[1])
    mine, theirs = (
        next(line for line in t.splitlines() if "range" in line).split() for t in tables
    )
    assert [re.sub(r"[\d.]+[mu]?", "#", cell) for cell in mine[:3]] == [
        re.sub(r"[\d.]+[mu]?", "#", c) for c in theirs[:3]
    ]
    assert tables[0].splitlines()[-1].startswith("Self CPU time total: ")
    assert tables[1].splitlines()[-1].startswith("Self CPU time total: ")


def test_calls_shapes_and_operations() -> None:
    options = {"record_shapes": True, "with_flops": True}
    mine, theirs = (recorded(library, **options) for library in (weft, torch))
    for op in ("mm", "mul"):
        a = next(a for a in mine.key_averages(group_by_input_shape=True) if a.key == op)
        b = next(
            b for b in theirs.key_averages(group_by_input_shape=True) if b.key == f"aten::{op}"
        )
        assert a.count == b.count == 3
        assert a.input_shapes[:2] == b.input_shapes[:2]
        assert a.flops == b.flops
    for prof in (mine, theirs):
        a = next(a for a in prof.key_averages() if a.key == "range")
        assert (a.count, a.is_user_annotation) == (3, True)


def test_flop_counters() -> None:
    def program(library: ModuleType) -> int:
        net = library.nn.Sequential(
            library.nn.Conv2d(3, 8, 3, stride=2, padding=1), library.nn.ReLU(), library.nn.Flatten(),
            library.nn.Linear(8 * 64, 10),
        )  # fmt: skip
        x = library.ones(2, 3, 16, 16)
        counter = library.utils.flop_counter.FlopCounterMode(display=False)
        with counter:
            net(x).sum().backward()
        return int(counter.get_total_flops())

    assert program(weft) == program(torch)


def test_measurements() -> None:
    for times in ([1.0, 2.0, 3.0], [5e-6] * 9, [1e-3, 1.1e-3, 1.2e-3, 5e-3]):
        made = []
        for library in (weft, torch):
            b = library.utils.benchmark
            task = b.TaskSpec("f()", "pass", label="l", sub_label="s", description="d")
            made.append(b.Measurement(2, times, task))
        mine, theirs = made
        assert mine.median == pytest.approx(theirs.median)
        assert mine.mean == pytest.approx(theirs.mean)
        assert mine.iqr == pytest.approx(theirs.iqr)
        assert mine.times == theirs.times
        assert (mine.title, mine.as_row_name) == (theirs.title, theirs.as_row_name)


def test_tables_of_measurements() -> None:
    texts = []
    for library in (weft, torch):
        b = library.utils.benchmark
        rows = [
            b.Measurement(
                1,
                [value * 1e-6] * 5,
                b.TaskSpec("f()", "pass", label="sums", sub_label=row, description=c),
            )
            for row, c, value in (
                ("small", "mul", 1.5),
                ("small", "add", 2.5),
                ("large one", "mul", 40.0),
            )
        ]
        texts.append(str(b.Compare(rows)))
    mine, theirs = ([line.rstrip() for line in t.strip().splitlines()] for t in texts)
    assert [re.sub("-+", "-", line) for line in mine] == [
        re.sub("-+", "-", line) for line in theirs
    ]
