"""Tables, averages, verdicts: their values and their form."""

from __future__ import annotations

import re
import time

import pytest

import weft
from weft import nn
from weft.profiler import EventList, FunctionEvent, profile, record_function
from weft.profiler.events import Interval
from weft.profiler.peak import peak_flops
from weft.profiler.verdict import shares, verdict


def event(
    number: int,
    name: str,
    begin: int,
    end: int,
    parent: FunctionEvent | None = None,
    **more: object,
) -> FunctionEvent:
    """Return an event from ``begin`` to ``end`` microseconds."""
    e = FunctionEvent(number, name, "op", 1, Interval(begin * 1000, end * 1000))
    e.phase = "forward"
    for key, value in more.items():
        setattr(e, key, value)
    if parent is not None:
        parent.append_cpu_child(e)
    return e


def sample() -> EventList:
    """Return ten milliseconds of a step, known to the microsecond."""
    load = event(0, "enumerate(DataLoader)#x", 0, 1000, kind="range", phase="loading")
    conv = event(1, "convolve", 1000, 4000, module="Net.conv1", own_flops=3_000_000)
    relu = event(2, "relu", 4000, 4500, module="Net.conv1")
    walk = event(3, "backward", 4500, 9500, kind="range", phase="backward")
    node = event(
        4,
        "ConvolutionBackward0",
        4500,
        9000,
        walk,
        kind="node",
        phase="backward",
        module="Net.conv1",
    )
    part = event(
        5,
        "convolve_weight",
        5000,
        8000,
        node,
        phase="backward",
        module="Net.conv1",
        own_flops=6_000_000,
    )
    step = event(6, "Optimizer.step#SGD.step", 9500, 10000, kind="range", phase="optimizer")
    update = event(7, "sgd", 9600, 9900, step, phase="optimizer")
    events = [load, conv, relu, walk, node, part, step, update]
    for e in reversed(events):
        e.settle()
    return EventList(events, began=0, ended=10_000_000)


def test_self_times() -> None:
    events = sample()
    assert [e.self_cpu_time_total for e in events] == [1000, 3000, 500, 500, 1500, 3000, 200, 300]
    assert events.self_cpu_time_total == 10_000
    assert [e.flops for e in events] == [0, 3_000_000, 0, 6_000_000, 6_000_000, 6_000_000, 0, 0]


def test_averages_by_op_module_and_line() -> None:
    events = sample()
    by_op = {a.key: a for a in events.key_averages()}
    assert by_op["convolve"].cpu_time == 3000
    by_module = {(a.key, a.phase): a for a in events.key_averages(group_by="module")}
    back = by_module["Net.conv1", "backward"]
    assert back.self_cpu_time_total == 4500
    assert back.cpu_time_total == 4500  # the op in the node is not counted twice
    assert back.own_flops == 6_000_000
    assert by_module["Net.conv1", "forward"].count == 2
    assert by_module["(no module)", "loading"].self_cpu_time_total == 1000
    events[1].file, events[1].line = "net.py", 12
    by_line = {a.key: a for a in events.key_averages(group_by="line")}
    assert by_line["net.py:12"].cpu_time_total == 3000


def test_total_average() -> None:
    total = sample().total_average()
    assert total.count == 8
    assert total.self_cpu_time_total == 10_000


def test_verdict_of_known_times() -> None:
    found = shares(sample())
    assert found.whole == 10_000_000
    assert found.loading == 1_000_000
    assert found.groups["conv1", "backward"] == 4_500_000
    assert found.outside == 10_000_000 - 1_000_000 - 3_000_000 - 500_000 - 4_500_000 - 300_000
    line = verdict(sample())
    rate = 6_000_000 / 4.5e-3 / peak_flops()
    assert (
        line == f"45% of the step is in conv1 backward at {rate:.0%} of peak; the loader waits 10%"
    )


def test_verdict_of_a_slow_loader() -> None:
    class Slow(weft.utils.data.Dataset):  # type: ignore[type-arg]
        def __len__(self) -> int:
            return 4

        def __getitem__(self, i: int) -> weft.Tensor:
            time.sleep(0.01)
            return weft.ones(4)

    model = nn.Linear(4, 4)
    with profile() as prof:
        for x in weft.utils.data.DataLoader(Slow(), batch_size=2):
            model(x)
    assert re.match(r"the loader waits (\d\d|100)%", prof.verdict())
    assert shares(prof.events()).loading >= 0.04e9


def test_verdict_of_a_slow_program() -> None:
    with profile() as prof:
        weft.ones(2) + 1
        time.sleep(0.05)
    assert re.match(r"Python and other libraries take (9\d|100)%", prof.verdict())


def test_verdict_names_the_module() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.small, self.large = nn.Linear(256, 8), nn.Linear(256, 2048)

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            return self.small(x).sum() + self.large(x).sum()

    net, x = Net(), weft.rand(256, 256)
    with profile(with_flops=True) as prof:
        for _ in range(5):
            net(x).backward()
    assert re.search(r"\d+% of the time is in large( backward)? at \d+% of peak", prof.verdict())


def test_verdict_of_optimizers_and_compiled_programs() -> None:
    step = event(0, "Optimizer.step#SGD.step", 0, 900, kind="range", phase="optimizer")
    update = event(1, "sgd", 0, 800, step, phase="optimizer")
    product = event(2, "matmul", 900, 1000, kind="instruction", phase="compiled", module="Net.head")
    for e in (product, update, step):
        e.settle()
    assert verdict(EventList([step, update], ended=900_000)).startswith(
        "89% of the step is in the optimizer;"
    )
    assert verdict(EventList([product], ended=1_000_000)) == "100% of the time is in compiled head"


def torch_table() -> str:
    x = weft.ones(20, 30)
    with profile(record_shapes=True, profile_memory=True, with_flops=True) as prof:
        with record_function("range"):
            y = x @ x.t()
        y + 1
    return prof.key_averages(group_by_input_shape=True).table(sort_by="self_cpu_time_total")


def test_the_form_of_tables() -> None:
    lines = torch_table().splitlines()
    assert lines[0] == lines[2] == lines[-2]
    assert set(lines[0]) == {"-", " "}
    heads = re.split(r"\s{2,}", lines[1].strip())
    assert heads == [
        "Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "CPU Mem",
        "Self CPU Mem", "# of Calls", "Input Shapes", "Total KFLOPs",
    ]  # fmt: skip
    assert re.fullmatch(r"Self CPU time total: [\d.]+[mu]?s", lines[-1])
    assert len({len(line) for line in lines[:-1]}) == 1
    row = next(line for line in lines if "matmul" in line)
    assert "[[20, 30], [30, 20]]" in row
    assert re.search(r"24\.000\s*$", row)
    assert "1.75 KB" in row or "1.56 KB" in row


def test_the_sum_of_averages_is_that_of_the_events() -> None:
    events = sample()
    one, two = events.total_average(), events.key_averages().total_average()
    assert one.count == two.count == len(events) > 0
    assert one.self_cpu_time_total == pytest.approx(two.self_cpu_time_total)
    assert one.cpu_time_total == pytest.approx(two.cpu_time_total)
    assert (one.allocated, one.own_flops) == (two.allocated, two.own_flops)


def test_options_of_tables() -> None:
    events = sample()
    averages = events.key_averages()
    text = averages.table(
        sort_by="cpu_time_total", row_limit=2, header="title", max_name_column_width=10
    )
    lines = text.splitlines()
    assert lines[1] == "title"
    assert len(lines) == 3 + 3 + 2 + 2
    assert lines[6].strip().startswith("backward")
    assert "Convolu..." in averages.table(max_name_column_width=10)
    assert "10.000ms" in averages.table(time_unit="ms")
    assert "top-level" in events.table(top_level_events_only=True)
    assert "ConvolutionBackward0" not in events.table(top_level_events_only=True)
    for everything in (-1, -2):
        assert len(averages.table(row_limit=everything).splitlines()) == 3 + 8 + 2
    assert len(averages.table(row_limit=0).splitlines()) == 3 + 2
    with pytest.raises(ValueError, match="sort_by"):
        averages.table(sort_by="colour")
    with pytest.raises(NotImplementedError, match="no device"):
        averages.table(sort_by="cuda_time_total")
    with pytest.raises(ValueError, match="time_unit"):
        averages.table(time_unit="h")


def test_groups_of_stacks() -> None:
    def one() -> None:
        weft.ones(2)

    def other() -> None:
        weft.ones(2)

    with profile(with_stack=True) as prof:
        one(), one(), other()
    found = prof.key_averages(group_by_stack_n=1)
    assert sorted(a.count for a in found) == [1, 2]
    assert "Source Location" in found.table()
    assert len(prof.key_averages()) == 1


def test_report() -> None:
    model, x = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)), weft.rand(32, 64)
    with profile(with_flops=True) as prof:
        model(x).sum().backward()
    modules = prof.report("module")
    assert re.search(r"Sequential\.0 +backward .*%\s*$", modules, re.M)
    assert "FLOP/s" in modules
    lines = prof.report("line", row_limit=1).splitlines()
    assert len(lines) == 6
    assert lines[-1].endswith("more")
    assert "LinearBackward0" in prof.report("op", -1)
