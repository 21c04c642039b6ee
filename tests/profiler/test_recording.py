"""What the recorder records: ops, nodes, lines, modules, memory, threads, and its limits."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from collections.abc import Callable

import pytest

import weft
from weft import _C, nn
from weft.profiler import profile, record_function


def names(prof: profile) -> list[str]:
    return [e.name for e in prof.events()]


def test_ops_in_the_order_in_which_they_began() -> None:
    x = weft.ones(3, 3)
    with profile() as prof:
        y = x @ x
        y.relu_()
        y.exp()
    assert names(prof) == ["matmul", "relu_", "exp"]
    assert all(
        e.kind == "op" and e.phase == "forward" and e.cpu_parent is None for e in prof.events()
    )
    starts = [e.time_range.start for e in prof.events()]
    assert starts == sorted(starts)
    assert all(
        a.time_range.end <= b.time_range.start for a, b in zip(prof.events(), prof.events()[1:])
    )


def test_nothing_is_recorded_before_after_and_between() -> None:
    x = weft.ones(2)
    x + 1
    prof = profile()
    assert not _C._is_recording()
    prof.start()
    assert _C._is_recording()
    x * 2
    prof.stop()
    assert not _C._is_recording()
    x - 1
    assert names(prof) == ["mul"]
    prof.start()  # anew
    x / 2
    prof.stop()
    assert names(prof) == ["div"]


def test_ops_declared_while_it_records_are_recorded() -> None:
    with profile() as prof:
        weft.fft.fft(weft.ones(4))  # loaded on first use
        weft.special.erf(weft.ones(2))
    assert "erf" in names(prof)


def test_composed_ops_are_the_parents_of_their_parts() -> None:
    x = weft.rand(4, 4)
    with profile() as prof:
        weft.special.logit(weft.std(x), 1e-6)
    for e in prof.events():
        for child in e.cpu_children:
            assert child.cpu_parent is e
            assert e.time_range.start <= child.time_range.start
            assert child.time_range.end <= e.time_range.end


def test_lines_and_modules_forward_and_backward() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(4, 8)
            self.second = nn.Linear(8, 2)

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            return self.second(self.first(x).tanh())

    net, x = Net(), weft.rand(3, 4)
    with profile() as prof:
        net(x).sum().backward()
    events = prof.events()
    linear = [e for e in events if e.kind == "op" and e.name == "linear"]
    assert [e.module for e in linear] == ["Net.first", "Net.second"]
    tanh = next(e for e in events if e.name == "tanh")
    assert tanh.module == "Net"
    assert tanh.file == __file__
    assert tanh.function == "forward"
    nodes = [e for e in events if e.kind == "node"]
    modules = {e.name: e.module for e in nodes}
    assert modules["TanhBackward0"] == "Net"
    assert [e.module for e in nodes if e.name == "LinearBackward0"] == ["Net.second", "Net.first"]
    back = next(e for e in nodes if e.name == "TanhBackward0")
    assert back.line == tanh.line
    # What a node's derivative runs belongs to the line and module of the call forward.
    inside = [e for n in nodes if n.name == "LinearBackward0" for e in n.cpu_children]
    assert inside
    assert {e.module for e in inside} == {"Net.first", "Net.second"}
    assert all(e.phase == "backward" for e in inside)
    walk = next(e for e in events if e.name == "backward")
    assert walk.kind == "range"
    assert all(e.cpu_parent is walk for e in nodes)


def test_sequence_numbers_connect_calls_with_nodes() -> None:
    x = weft.rand(3, requires_grad=True)
    with profile() as prof:
        (x.exp() * 2).sum().backward()
    calls = {
        e.sequence_nr: e.name for e in prof.events() if e.kind == "op" and e.phase == "forward"
    }
    found = [(calls.get(e.sequence_nr), e.name) for e in prof.events() if e.kind == "node"]
    assert ("exp", "ExpBackward0") in found
    assert ("mul", "MulBackward0") in found
    assert ("sum", "SumBackward0") in found


def test_shapes_and_types() -> None:
    x, y = weft.ones(2, 3), weft.ones(3, dtype=weft.int64)
    with profile(record_shapes=True) as prof:
        x * y
        weft.cat([x, x], 0)
        weft.ones(())
    mul, cat, *_ = prof.events()
    assert mul.input_shapes == [[2, 3], [3]]
    assert mul.input_dtypes == ["float32", "int64"]
    assert cat.input_shapes[0] == [[2, 3], [2, 3]]
    with profile() as prof:
        x * y
    assert prof.events()[0].input_shapes == []


def test_stacks() -> None:
    def inner() -> None:
        weft.ones(2)

    with profile(with_stack=True) as prof:
        inner()
    stack = prof.events()[0].stack
    assert "inner" in stack[0]
    assert "test_stacks" in stack[1]


def test_memory_of_each_op() -> None:
    x = weft.ones(1 << 16)
    with profile(profile_memory=True) as prof:
        y = x + 1
        with record_function("both"):
            z = y * 2
            del z
    add, both, mul = prof.events()
    assert add.cpu_memory_usage >= 1 << 18
    assert mul.allocated >= 1 << 18
    assert both.allocated == mul.allocated
    assert both.cpu_memory_usage == 0
    blocks = prof.memory_events
    assert sum(b[2] for b in blocks) == sum(e.self_cpu_memory_usage for e in prof.events())
    assert all(b[3] >= 0 for b in blocks)
    assert {b[5] for b in blocks} <= {0, 1, 2}


def test_blocks_of_memory_follow_the_allocator() -> None:
    weft.ones(10)
    before = weft.memory_allocated()
    with profile(profile_memory=True) as prof:
        kept = [weft.ones(n) for n in (10, 1000, 100_000, 3_000_000)]
        del kept[1], kept[2]
    live = before
    for _, _, size, after, _, _ in prof.memory_events:
        live += size
        assert live == after
    assert live == weft.memory_allocated()


def test_exceptions_end_events() -> None:
    x = weft.ones(2, 3)
    with profile() as prof, pytest.raises(RuntimeError), record_function("outer"):
        x @ x
    outer, product = prof.events()
    assert outer.failed
    assert product.failed
    assert product.cpu_parent is outer
    with profile() as prof:
        x + 1
        with pytest.raises(ZeroDivisionError), record_function("mine"):
            x + 1
            1 / 0  # noqa: B018
        x * 2
    assert [(e.name, e.failed) for e in prof.events()] == [
        ("add", False), ("mine", True), ("add", False), ("mul", False),
    ]  # fmt: skip
    assert prof.events()[3].cpu_parent is None


def test_a_profile_ends_when_an_exception_leaves_it() -> None:
    prof = profile()
    with pytest.raises(KeyError), prof:
        weft.ones(1)
        raise KeyError
    assert not _C._is_recording()
    assert names(prof) == ["ones"]


def test_ranges_that_end_out_of_order() -> None:
    x = weft.ones(2)
    with profile() as prof:
        first, second = record_function("first"), record_function("second")
        first.__enter__()
        second.__enter__()
        first.__exit__()
        x + 1  # in second, which is still open
        second.__exit__()
        x * 2
    first_, second_, add, mul = prof.events()
    assert second_.cpu_parent is first_
    assert add.cpu_parent is second_
    assert mul.cpu_parent is None


def test_decorator_and_recursion() -> None:
    @record_function("down")
    def down(n: int) -> None:
        if n:
            down(n - 1)

    with profile() as prof:
        down(3)
    assert names(prof) == ["down"] * 4
    assert [e.cpu_parent.id if e.cpu_parent else -1 for e in prof.events()] == [-1, 0, 1, 2]
    assert down.__name__ == "down"
    down(1)  # nothing is recorded, nothing happens


def test_args_of_a_range_are_kept() -> None:
    with profile() as prof, record_function("load", "file=7"):
        pass
    assert prof.events()[0].args == "file=7"
    with pytest.raises(TypeError, match="expected a name"):
        record_function(3)  # type: ignore[arg-type]


def test_ranges_that_are_open_at_the_end_are_unfinished() -> None:
    prof = profile()
    prof.start()
    range_ = record_function("open")
    range_.__enter__()
    weft.ones(2)
    prof.stop()
    range_.__exit__()
    event = prof.events()[0]
    assert event.unfinished
    assert not prof.events()[1].unfinished
    assert event.time_range.end >= prof.events()[1].time_range.end


def test_a_range_that_was_open_before_is_not_there() -> None:
    with record_function("before"), profile() as prof:
        weft.ones(2)
    assert names(prof) == ["ones"]


def test_limit() -> None:
    x = weft.ones(2)
    with (
        pytest.warns(UserWarning, match="limit of 10 events was reached, 15 later"),
        profile(limit=10) as prof,
    ):
        for _ in range(25):
            x + 1
    assert len(prof.events()) == 10
    assert "15 later events are not in here" in prof.key_averages().table()
    assert "15 later events were not recorded" in prof.verdict()
    with pytest.raises(ValueError, match="limit"):
        profile(limit=0)


def test_sampling_counts_what_it_left_out() -> None:
    x = weft.ones(64, 64, requires_grad=True)
    with profile(every=5) as prof:
        for _ in range(100):
            x.detach() @ x.detach()
    found = {a.key: a.count for a in prof.key_averages()}
    assert sum(found.values()) == 300
    assert len(prof.events()) == 60
    assert "One op of 5 was recorded" in prof.key_averages().table()
    assert "One op of 5 was recorded" in prof.report()
    with pytest.raises(ValueError, match="every"):
        profile(every=0)


def test_sampling_leaves_whole_trees_out() -> None:
    x = weft.rand(8, 8, requires_grad=True)
    with profile() as all_:
        (x @ x).tanh().sum().backward()
    with profile(every=3) as some:
        for _ in range(3):
            (x @ x).tanh().sum().backward()
    trees = [_tree(e) for e in all_.events() if _is_root(e)]
    for e in some.events():
        if _is_root(e):
            assert _tree(e) in trees


def _is_root(e: weft.profiler.FunctionEvent) -> bool:
    return e.kind != "range" and (e.cpu_parent is None or e.cpu_parent.kind == "range")


def _tree(e: weft.profiler.FunctionEvent) -> tuple[object, ...]:
    return (e.name, *map(_tree, e.cpu_children))


def test_several_profiles_at_once() -> None:
    x = weft.ones(2)
    with profile() as outer:
        x + 1
        with profile(every=2) as inner:
            x * 2
            x * 3
        x - 1
    assert names(outer) == ["add", "mul", "mul", "sub"]
    assert names(inner) == ["mul"]
    recordings = [_C.Recording() for _ in range(5)]
    for r in recordings[:4]:
        r.start()
    with pytest.raises(RuntimeError, match="at most 4"):
        recordings[4].start()
    for r in recordings:
        r.stop()
    assert not _C._is_recording()


def test_a_recording_that_is_forgotten_ends() -> None:
    recording = _C.Recording()
    recording.start()
    del recording
    gc.collect()
    assert not _C._is_recording()


class Finalised:
    """In a cycle, so that the garbage collector ends it: then `act` runs."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act, self.me = act, self

    def __del__(self) -> None:
        self.act()


@pytest.mark.parametrize("act", ["record", "start", "stop"])
@pytest.mark.parametrize("read", ["events", "origins", "frames", "memory"])
def test_finalisers_do_not_change_what_is_being_read(act: str, read: str) -> None:
    """Reading makes many objects; the garbage that is collected for that may record, start and stop."""
    recording = _C.Recording(shapes=True, stacks=True, memory=True)
    recording.start()
    x = weft.ones(3)
    for i in range(2000):
        exec(compile(f"x.add({i})", f"file {i}", "exec"), {"x": x})
    ran: list[str] = []
    over = False

    def finalise() -> None:
        if over:
            return
        ran.append(act)
        if act != "record":
            getattr(recording, act)()
        for i in range(300):
            _C.OpenRange(f"{len(ran)} {i}" * 5).close()
        if len(ran) < 20:
            Finalised(finalise)

    before = gc.get_threshold()
    try:
        gc.collect()
        gc.set_threshold(40, 2, 2)
        Finalised(finalise)
        found = recording.events() if read == "events" else getattr(recording, read)
        during = len(ran)
        assert len(found) >= 2000 and not during and gc.isenabled()
        gc.collect()
        assert ran
    finally:
        over = True
        gc.set_threshold(*before)
        recording.stop()


def test_threads_have_numbers_and_trees_of_their_own() -> None:
    ready = threading.Barrier(4)

    def work(k: int) -> None:
        ready.wait()
        for _ in range(30):
            with record_function(f"thread {k}"):
                (weft.ones(200, 200) * k).sum()

    with profile() as prof:
        workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
    events = prof.events()
    assert len(events) == 4 * 30 * 4
    by_name: dict[str, set[int]] = {}
    for e in events:
        if e.kind == "range":
            by_name.setdefault(e.name, set()).add(e.thread)
            assert [c.name for c in e.cpu_children] == ["ones", "mul", "sum"]
            assert {c.thread for c in e.cpu_children} == {e.thread}
    assert all(len(threads) == 1 for threads in by_name.values())
    assert len(set.union(*by_name.values())) == 4


def test_it_stops_while_another_thread_computes() -> None:
    stop = threading.Event()
    failures: list[BaseException] = []

    def work() -> None:
        x = weft.rand(300, 300, requires_grad=True)
        try:
            while not stop.is_set():
                (x @ x).tanh().sum().backward()
                x.grad = None
        except BaseException as e:
            failures.append(e)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(40):
            with profile(record_shapes=True, profile_memory=True, with_stack=True) as prof:
                weft.rand(200, 200) @ weft.rand(200, 200)
            for e in prof.events():
                assert e.time_range.begin_ns <= e.time_range.end_ns
                assert e.self_ns >= 0
    finally:
        stop.set()
        worker.join()
    assert not failures
    assert not _C._is_recording()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_records_nothing() -> None:
    x = weft.ones(2)
    with profile() as prof:
        x + 1
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:  # no pytest in here
            try:
                recorded = _C._is_recording()
                x * 2
                os.write(writer, b"1" if recorded else b"0")
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        x - 1
    assert os.read(reader, 1) == b"0"
    os.close(reader), os.close(writer)
    assert names(prof) == ["add", "sub"]


def test_optimizers_and_loaders_are_ranges() -> None:
    data = weft.utils.data.TensorDataset(weft.rand(8, 4), weft.rand(8, 2))
    model = nn.Linear(4, 2)
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
    with profile() as prof:
        for x, y in weft.utils.data.DataLoader(data, batch_size=4):
            loss = ((model(x) - y) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    counts = {a.key: a.count for a in prof.key_averages() if a.kind == "range"}
    assert counts["Optimizer.step#SGD.step"] == 2
    loads = [n for key, n in counts.items() if key.startswith("enumerate(DataLoader)#")]
    assert loads == [3]  # the last one finds the end
    phases = {e.phase for e in prof.events()}
    assert phases == {"forward", "backward", "optimizer", "loading"}
    steps = [e for e in prof.events() if e.name.startswith("Optimizer.step")]
    assert all(e.cpu_children for e in steps)


def test_optimizer_hooks_still_run_while_it_records() -> None:
    p = weft.ones(2, requires_grad=True)
    p.grad = weft.ones(2)
    optimizer = weft.optim.SGD([p], lr=1.0)
    seen: list[str] = []
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    with profile():
        optimizer.step()
    assert seen == ["before", "after"]
    assert p.tolist() == [0.0, 0.0]
