"""Schedules, traces that are ready, activities, and PyTorch's older profiler."""

from __future__ import annotations

import gzip
import json
import os
import pathlib
from typing import Any

import pytest

import weft
from weft.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)


def letters(plan: object, steps: int) -> str:
    """Return the actions of steps, a letter each."""
    of = {"NONE": "-", "WARMUP": "w", "RECORD": "r", "RECORD_AND_SAVE": "s"}
    return "".join(of[plan(i).name] for i in range(steps))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"wait": 1, "warmup": 1, "active": 2}, "-wrs-wrs-wrs"),
        ({"wait": 1, "warmup": 1, "active": 2, "repeat": 1}, "-wrs--------"),
        ({"wait": 0, "warmup": 0, "active": 1}, "ssssssssssss"),
        ({"wait": 0, "warmup": 0, "active": 3, "repeat": 2}, "rrsrrs------"),
        ({"wait": 2, "warmup": 1, "active": 1, "skip_first": 3}, "-----ws--ws-"),
        (
            {"wait": 2, "warmup": 0, "active": 1, "skip_first": 1, "skip_first_wait": 1},
            "-s--s--s--s-",
        ),
    ],
)
def test_schedule(options: dict[str, int], expected: str) -> None:
    assert letters(schedule(**options), 12) == expected


def test_schedule_refuses_nonsense() -> None:
    with pytest.raises(AssertionError, match="active of at least 1"):
        schedule(wait=0, warmup=0, active=0)
    with pytest.raises(AssertionError, match="at least 0"):
        schedule(wait=-1, warmup=0, active=1)
    with pytest.raises(AssertionError, match="counted from 0"):
        schedule(wait=0, warmup=0, active=1)(-1)


def test_steps_are_recorded_as_planned() -> None:
    x = weft.ones(2)
    ready: list[tuple[int, list[str]]] = []

    def on_ready(prof: profile) -> None:
        ready.append((prof.step_num, [e.name for e in prof.events() if e.kind == "op"]))

    ops = ["exp", "sin", "cos", "tanh", "sqrt", "abs", "neg", "log"]
    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=on_ready
    ) as prof:
        for op in ops:
            getattr(x, op)()
            prof.step()
    assert ready == [(4, ["cos", "tanh"]), (8, ["neg", "log"])]
    steps = [e for e in prof.events() if e.name.startswith("ProfilerStep#")]
    assert [e.name for e in steps] == ["ProfilerStep#6", "ProfilerStep#7"]
    assert [c.name for c in steps[0].cpu_children] == ["neg"]
    averages = [(a.key, a.count) for a in prof.key_averages() if a.kind == "range"]
    assert averages == [("ProfilerStep*", 2)]


def test_a_cycle_that_is_cut_short_is_saved_too() -> None:
    ready: list[int] = []
    plan = schedule(wait=0, warmup=0, active=5)
    with profile(schedule=plan, on_trace_ready=lambda p: ready.append(len(p.events()))) as prof:
        for _ in range(2):
            weft.ones(1)
            prof.step()
    assert ready == [5]  # two ops and three steps, the last one of which did nothing


def test_events_of_all_cycles() -> None:
    plan = schedule(wait=0, warmup=0, active=1)
    for accumulate, expected in ((False, 1), (True, 3)):
        with profile(schedule=plan, acc_events=accumulate) as prof:
            for _ in range(3):
                weft.ones(1)
                prof.step()
        ops = [e for e in prof.events() if e.name == "ones"]
        assert len(ops) == (expected if accumulate else 0)
        if accumulate:
            starts = [e.time_range.begin_ns for e in prof.events()]
            assert starts == sorted(starts)
            assert [e.id for e in prof.events()] == list(range(len(prof.events())))


def test_a_wrong_schedule_is_told() -> None:
    def plan(step: int) -> ProfilerAction:
        return ProfilerAction.RECORD if step == 0 else ProfilerAction.NONE

    with profile(schedule=plan) as prof:
        weft.ones(1)
        with pytest.warns(UserWarning, match="RECORD followed by NONE"):
            prof.step()
    assert prof.events()


def test_events_before_there_are_some() -> None:
    with profile() as prof, pytest.raises(AssertionError, match="must be stopped"):
        prof.events()
    assert prof.events() == []
    assert prof.key_averages().table() == ""
    assert prof.verdict() == "nothing was recorded"
    with pytest.raises(AssertionError, match="must be started"):
        profile().events()
    with profile(schedule=schedule(wait=1, warmup=1, active=1)) as early:
        weft.ones(1)
    with pytest.raises(AssertionError, match="did not come to a step that records"):
        early.events()


@pytest.mark.parametrize("name", ["every", "limit"])
@pytest.mark.parametrize("number", [0, -1, 1.5, "2", None])
def test_wrong_numbers_are_named(name: str, number: Any) -> None:
    with pytest.raises(ValueError, match=f"profile: {name} must be an int of at least 1"):
        profile(**{name: number})


def test_activities() -> None:
    assert supported_activities() == {ProfilerActivity.CPU}
    both = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"), both:
        weft.ones(1)
    assert len(both.events()) == 1
    with pytest.raises(TypeError, match="must be ProfilerActivity, got 'cpu'"):
        profile(activities=["cpu"])  # type: ignore[list-item]
    with pytest.raises(AssertionError, match="No valid profiler activities"):
        profile(activities=[])
    alone = profile(activities=[ProfilerActivity.CUDA])
    with pytest.warns(UserWarning), pytest.raises(AssertionError, match="No activities specified"):
        alone.start()


def test_what_is_not_there_says_so() -> None:
    with pytest.raises(NotImplementedError, match="experimental_config"):
        profile(experimental_config=object())
    with profile() as prof:
        weft.ones(1)
    with pytest.raises(NotImplementedError, match="export_memory_timeline"):
        prof.export_memory_timeline("x.html")
    with pytest.raises(NotImplementedError, match="toggle_collection_dynamic"):
        prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
    with pytest.raises(NotImplementedError, match="overload"):
        prof.key_averages(group_by_overload_name=True)
    with pytest.raises(ValueError, match="group_by must be"):
        prof.key_averages(group_by="colour")  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="with_stack"):
        prof.export_stacks("x.txt")
    with pytest.raises(NotImplementedError):
        weft.profiler.ExecutionTraceObserver()


@pytest.mark.parametrize("gzipped", [False, True])
def test_tensorboard_handler(tmp_path: pathlib.Path, gzipped: bool) -> None:
    folder = tmp_path / "runs"
    handler = tensorboard_trace_handler(str(folder), "me", use_gzip=gzipped)
    plan = schedule(wait=0, warmup=0, active=1, repeat=2)
    with profile(schedule=plan, on_trace_ready=handler) as prof:
        for _ in range(4):
            weft.ones(1)
            prof.step()
    files = sorted(os.listdir(folder))
    assert len(files) == 2
    for file in files:
        assert file.startswith("me.")
        assert file.endswith(".pt.trace.json" + (".gz" if gzipped else ""))
        with (gzip.open if gzipped else open)(folder / file, "rt") as f:
            assert any(e["name"] == "ones" for e in json.load(f)["traceEvents"])


def test_custom_trace_id() -> None:
    with profile(custom_trace_id_callback=lambda: "run 7") as prof:
        weft.ones(1)
    assert prof.get_trace_id() == "run 7"
    with profile() as prof:
        weft.ones(1)
    assert prof.get_trace_id() not in (None, "", "run 7")


class TestOlder:
    """weft.autograd.profiler"""

    def test_profile(self) -> None:
        with weft.autograd.profiler.profile(record_shapes=True, profile_memory=True) as prof:
            with weft.autograd.profiler.record_function("range"):
                weft.ones(2) + 1
        assert prof is not None
        assert [e.name for e in prof.function_events] == ["range", "ones", "add"]
        assert "CPU Mem" in prof.key_averages().table(sort_by="cpu_time_total")
        assert prof.total_average().count == 3
        assert prof.self_cpu_time_total > 0
        assert "range" in repr(prof)

    def test_disabled(self) -> None:
        with weft.autograd.profiler.profile(enabled=False) as prof:
            weft.ones(2)
        assert prof is None

    def test_once(self) -> None:
        prof = weft.autograd.profiler.profile()
        assert repr(prof) == "<unfinished profile>"
        with pytest.raises(RuntimeError, match="didn't finish"):
            prof.key_averages()
        with prof:
            pass
        with pytest.raises(RuntimeError, match="not reentrant"):
            prof.__enter__()

    def test_refused(self) -> None:
        with pytest.raises(NotImplementedError, match="no device"):
            weft.autograd.profiler.emit_nvtx()
        with pytest.raises(NotImplementedError):
            weft.autograd.profiler.emit_itt()
        with pytest.raises(NotImplementedError):
            weft.autograd.profiler.load_nvprof("x")
        with pytest.raises(NotImplementedError, match="no device"):
            weft.autograd.profiler.profile(use_cuda=True)
        with pytest.raises(NotImplementedError, match="use_cpu"):
            weft.autograd.profiler.profile(use_cpu=False)
