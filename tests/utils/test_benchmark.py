"""``weft.utils.benchmark``: timers, measurements, tables."""

from __future__ import annotations

import re
import statistics

import pytest

import weft
from weft.utils import benchmark
from weft.utils.benchmark import Compare, Measurement, TaskSpec, Timer, select_unit, trim_sigfig


class Clock:
    """A clock that goes on by itself: ``tick`` seconds for each execution of the code."""

    def __init__(self, tick: float) -> None:
        self.now, self.tick = 0.0, tick

    def __call__(self) -> float:
        self.now += 1e-9
        return self.now

    def work(self) -> None:
        self.now += self.tick


def test_timeit_with_a_known_clock() -> None:
    clock = Clock(0.002)
    measured = Timer("work()", timer=clock, globals={"work": clock.work}).timeit(50)
    assert measured.number_per_run == 50
    assert measured.median == pytest.approx(0.002, rel=1e-4)
    assert len(measured.times) == 1
    assert "1 measurement, 50 runs" in repr(measured)
    assert "2.00 ms" in repr(measured)


def test_blocked_autorange_with_a_known_clock() -> None:
    clock = Clock(1e-5)
    seen: list[tuple[int, float]] = []
    timer = Timer("work()", timer=clock, globals={"work": clock.work})
    measured = timer.blocked_autorange(lambda n, t: seen.append((n, t)), min_run_time=0.3)
    assert sum(measured.raw_times) >= 0.3
    assert len(seen) == len(measured.raw_times)
    assert measured.mean == pytest.approx(1e-5, rel=1e-3)
    assert not measured.has_warnings


def test_adaptive_autorange_ends_when_times_agree_or_time_is_over() -> None:
    clock = Clock(1e-3)
    timer = Timer("work()", timer=clock, globals={"work": clock.work})
    assert sum(timer.adaptive_autorange().raw_times) < 1
    noisy = Clock(1e-3)

    def work() -> None:
        noisy.tick = 5e-3 - noisy.tick + 1e-3
        noisy.work()

    timer = Timer("work()", timer=noisy, globals={"work": work})
    measured = timer.adaptive_autorange(max_run_time=0.5)
    assert sum(measured.raw_times) >= 0.5
    assert measured.has_warnings
    assert "noise of the machine" in repr(measured)


def test_threads_are_set_and_restored() -> None:
    before = weft.get_num_threads()
    seen: list[int] = []
    Timer("seen.append(weft.get_num_threads())", globals={"seen": seen}, num_threads=1).timeit(3)
    assert set(seen) == {1}
    assert weft.get_num_threads() == before
    with pytest.raises(ZeroDivisionError):
        Timer("1 / 0", num_threads=1).timeit(3)
    assert weft.get_num_threads() == before


def test_setup_and_globals() -> None:
    timer = Timer("y = x + 1", setup="x = torch.ones(3)")
    assert timer.timeit(5).median > 0
    with pytest.raises(SyntaxError):
        Timer("x +")


def test_what_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="Python"):
        Timer(language="cpp")
    with pytest.raises(ValueError, match="global_setup"):
        Timer(global_setup="#include")
    with pytest.raises(ValueError, match="stmt"):
        Timer(3)  # type: ignore[arg-type]
    for method in ("repeat", "autorange", "collect_callgrind"):
        with pytest.raises(NotImplementedError):
            getattr(Timer(), method)()
    for name in ("Fuzzer", "FuzzedTensor", "FuzzedParameter", "CallgrindStats"):
        with pytest.raises(NotImplementedError, match=name):
            getattr(benchmark, name)()
    with pytest.raises(AttributeError):
        benchmark.Nothing  # noqa: B018
    with pytest.raises(RuntimeError, match="no times"):
        Measurement(1, [], TaskSpec("f()", "")).median  # noqa: B018


def test_statistics() -> None:
    times = [1.0, 2.0, 3.0, 4.0, 100.0]
    m = Measurement(2, times, TaskSpec("f()", "pass"))
    assert m.times == [t / 2 for t in times]
    assert m.median == statistics.median(times) / 2
    assert m.mean == statistics.fmean(times) / 2
    assert m.iqr == (4.0 - 2.0) / 2
    assert not m.meets_confidence()
    assert Measurement(1, [1.0] * 5, TaskSpec("f()", "")).meets_confidence()
    assert Measurement(1, [1.0] * 50, TaskSpec("f()", "")).significant_figures == 4
    assert Measurement(1, [1.0, 2.0, 3.0, 4.0], TaskSpec("f()", "")).significant_figures == 1


def test_merge() -> None:
    task, other = TaskSpec("f()", ""), TaskSpec("g()", "")
    given = [Measurement(1, [1.0], task), Measurement(1, [9.0], other), Measurement(1, [3.0], task)]
    merged = Measurement.merge(given)
    assert [(m.stmt, m.raw_times) for m in merged] == [("f()", [1.0, 3.0]), ("g()", [9.0])]


def test_units() -> None:
    assert [select_unit(t)[0] for t in (3e-9, 2e-6, 5e-3, 2.0, 300.0)] == [
        "ns",
        "us",
        "ms",
        "s",
        "s",
    ]
    assert [trim_sigfig(123.456, n) for n in (1, 2, 3, 4)] == [100.0, 120.0, 123.0, 123.5]


def measured(value: float, row: str, column: str, threads: int = 1) -> Measurement:
    task = TaskSpec(
        "f()", "", label="times", sub_label=row, description=column, num_threads=threads
    )
    return Measurement(1, [value] * 5, task)


def test_compare() -> None:
    table = Compare([measured(1e-6, "small", "mul"), measured(2e-6, "small", "add")])
    table.extend_results([measured(4e-6, "large", "mul", 2), measured(8e-6, "large", "add", 2)])
    lines = str(table).splitlines()
    assert re.fullmatch(r"\[-+ times -+\]", lines[0])
    assert re.split(r"\s*\|\s*", lines[1].strip(" |")) == ["mul", "add"]
    assert lines[2].startswith("1 threads: --")
    assert re.fullmatch(r"\s*small\s+\|\s+1\.0\s+\|\s+2\.0", lines[3])
    assert lines[4].startswith("2 threads: --")
    assert re.fullmatch(r"\s*large\s+\|\s+4\.0\s+\|\s+8\.0", lines[5])
    assert lines[-1] == "Times are in microseconds (us)."
    table.colorize(rowwise=True)
    assert "\033[92m\033[1m" in str(table)
    with pytest.raises(ValueError, match="expected measurements"):
        table.extend_results([3])  # type: ignore[list-item]


def test_compare_trims_and_marks() -> None:
    task = TaskSpec("f()", "", label="times", sub_label="row", description="column")
    table = Compare([Measurement(1, [1e-6, 2e-6, 3e-6, 4e-6], task)])
    table.trim_significant_figures()
    table.highlight_warnings()
    text = str(table)
    assert "(! 60%)" in text
    assert "high variance" in text
    assert re.search(r"\b(2|3)$", text.splitlines()[3])


def test_compare_prints(capsys: pytest.CaptureFixture[str]) -> None:
    Compare([measured(1e-3, "row", "column")]).print()
    assert "milliseconds" in capsys.readouterr().out
