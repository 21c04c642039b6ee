"""Who holds memory: planted leaks are named with holder and line, and bytes agree with the allocator's."""

from __future__ import annotations

import gc
import os
import pathlib
import random
import subprocess
import sys
import threading
import types
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import weft
from weft import memory, nn
from weft.debug.memory_report import Report

ROOT = pathlib.Path(weft.__file__).parent.parent
SIZE = 1000  # elements of planted tensors
BLOCK = 4032  # bytes of their blocks
HERE = os.path.relpath(__file__)

REGISTRY: dict[str, Any] = {}


def line_here() -> int:
    return sys._getframe(1).f_lineno


def made(weight: weft.Tensor | None = None) -> weft.Tensor:
    w = weft.ones(SIZE, requires_grad=True) if weight is None else weight
    return w.exp()


MADE_AT = f"{HERE}:{made.__code__.co_firstlineno + 2}"


def named(report: Report, path: str) -> memory.Holder:
    found = [h for h in report.holders if h.path == path]
    assert len(found) == 1, [h.path for h in report.holders]
    return found[0]


def check_sums(report: Report) -> None:
    for rows in (report.by_line(), report.by_module(), report.by_kind()):
        assert sum(r.bytes for r in rows) == report.allocated
    held = sum(h.total for h in report.holders)
    assert held + report.unreached == report.allocated
    assert len({b.address for b in report.blocks}) == len(report.blocks)


# ---- planted leaks ------------------------------------------------------------------------------


def test_list_of_losses() -> None:
    weight = weft.ones(SIZE, requires_grad=True)
    loss_history = []
    before = memory.snapshot()
    bytes_before = weft.memory_allocated()
    for _ in range(5):
        loss_history.append((weight.exp() * 2).sum())
    line = line_here() - 1
    report = memory.report()
    assert report.allocated - bytes_before == weft.memory_allocated() - bytes_before
    (group,) = [g for g in report.groups if g.name == "loss_history[*]"]
    assert len(group.holders) == 5
    assert group.bytes == weft.memory_allocated() - bytes_before
    last = named(report, "loss_history[4]")
    assert last.source == f"{HERE}:{line}"
    assert last.nodes >= 3
    assert last.graph_bytes >= BLOCK
    assert str(group).startswith("loss_history[*]: 5 tensors keep")
    assert f"made at {HERE}:{line}" in str(group)
    growth = report.since(before)
    assert growth.culprit is not None
    assert growth.culprit.name == "loss_history[*]"
    assert growth.bytes == group.bytes
    check_sums(report)


def test_one_loss_says_what_it_keeps() -> None:
    loss = made()
    (group,) = [g for g in memory.report().groups if g.name == "loss"]
    assert str(group).startswith(
        f"loss keeps 2 nodes and 7.9 KB alive, made at {MADE_AT} (in test_one_"
    )
    del loss


def test_hook() -> None:
    weight = weft.ones(3, requires_grad=True)
    big = made()

    def keeps(grad: weft.Tensor, big: weft.Tensor = big) -> None:
        pass

    weight.register_hook(keeps)
    del keeps, big
    holder = named(memory.report(), "weight → hook test_hook.<locals>.keeps → default big")
    assert holder.bytes == BLOCK
    assert holder.source == MADE_AT


def test_hook_of_a_module() -> None:
    def watch(layer: nn.Module) -> None:
        seen: list[weft.Tensor] = []
        layer.register_forward_hook(lambda module, args, output: seen.append(output))

    layer = nn.Linear(2, 2)
    watch(layer)
    layer(weft.ones(1, 2))
    line = line_here() - 1
    (holder,) = [h for h in memory.report().holders if h.path.endswith("→ closure seen[0]")]
    assert holder.path.startswith("layer._forward_hooks[")
    assert (holder.module, holder.source) == ("Linear", f"{HERE}:{line}")


def test_closure() -> None:
    def make() -> Any:
        kept = made()
        return lambda: kept

    callback = make()
    holder = named(memory.report(), "callback → closure kept")
    assert (holder.bytes, holder.source) == (BLOCK, MADE_AT)
    del callback
    assert holder.scope.startswith("in test_closure(), ")


def test_cycle() -> None:
    class Cyclic:
        pass

    gc.collect()
    gc.disable()
    try:
        a = Cyclic()
        a.self, a.buffer = a, made()  # type: ignore[attr-defined]
        del a
        report = memory.report()
        holder = named(report, "(Cyclic).buffer")
        assert "cycle" in holder.scope
        assert (holder.bytes, holder.source) == (BLOCK, MADE_AT)
        del report
    finally:
        gc.enable()
        gc.collect()
    assert not [h for h in memory.report().holders if h.path.startswith("(Cyclic)")]


def test_cache_on_a_module() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.cache: dict[str, weft.Tensor] = {}

    net = Net()
    net.cache["last"] = made()
    report = memory.report()
    assert named(report, "net.cache['last']").source == MADE_AT
    weight = named(report, "net.layer.weight")
    assert (weight.kind, weight.module) == ("parameter", "Net.layer")


def test_dict_of_a_module_of_python() -> None:
    REGISTRY["big"] = made()
    try:
        holder = named(memory.report(), f"{__name__}.REGISTRY['big']")
        assert holder.source == MADE_AT
    finally:
        REGISTRY.clear()


def test_traceback_of_an_exception() -> None:
    def fails() -> None:
        activation = made()
        raise ValueError(len(activation))

    error: BaseException
    try:
        fails()
    except ValueError as caught:
        error = caught
    holder = named(memory.report(), "error.__traceback__.tb_next → local activation")
    assert (holder.bytes, holder.source) == (BLOCK, MADE_AT)
    del error


def test_frame_of_a_generator() -> None:
    def batches() -> Any:
        batch = made()
        yield
        yield batch

    loader = batches()
    next(loader)
    assert named(memory.report(), "loader → local batch").source == MADE_AT
    loader.close()
    assert not [h for h in memory.report().holders if "local batch" in h.path]


def test_generator_that_only_a_loop_holds() -> None:
    def batches() -> Any:
        batch = made()
        yield
        yield batch

    for _ in batches():
        paths = [h.path for h in memory.report().holders]
        assert any(p.startswith("(generator test_gen") and p.endswith("local batch") for p in paths)
        break


def test_lines_without_a_graph_while_tracking() -> None:
    with memory.track():
        plain = weft.zeros(SIZE)
        line = line_here() - 1
        holder = named(memory.report(), "plain")
    assert holder.source == f"{HERE}:{line}"
    del plain


# ---- objects that mislead -----------------------------------------------------------------------


def test_no_code_of_objects_runs() -> None:
    def refuse(*args: Any) -> Any:
        raise AssertionError("the report runs code of what it looks at")

    methods = ("__getattribute__", "__getattr__", "__eq__", "__repr__", "__len__", "__bool__")
    hostile = type("Hostile", (), dict.fromkeys(methods, refuse) | {"__class__": property(refuse)})
    row = type("Row", (list,), dict.fromkeys((*methods, "__iter__"), refuse))
    table = type("Table", (dict,), dict.fromkeys((*methods, "__iter__", "items"), refuse))
    key = type("Key", (str,), {"__repr__": refuse})
    ndarray = type("ndarray", (), {})
    odd = [hostile(), row([made()]), table(x=made()), {key("k"): made()}, ndarray()]
    object.__setattr__(odd[0], "held", made())
    paths = {h.path: h.bytes for h in memory.report().holders if h.path.startswith("odd")}
    wanted = ["odd[0].held", "odd[1][0]", "odd[2]['x']", "odd[3][<Key>]"]
    assert paths == dict.fromkeys(wanted, BLOCK)
    odd.clear()


def test_private_slots() -> None:
    class Holding:
        __slots__ = ("__held",)

        def __init__(self) -> None:
            self.__held = made()

    holding = Holding()
    assert named(memory.report(), "holding.__held").bytes == BLOCK
    del holding


def test_other_threads() -> None:
    ready, over = threading.Event(), threading.Event()

    def work() -> None:
        mine = made()
        ready.set()
        over.wait(60)
        del mine

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(60)
    try:
        report = memory.report()
    finally:
        over.set()
        thread.join()
    assert named(report, "mine").scope.startswith("in work(), ")
    assert weft.memory_allocated() < report.allocated  # the report left no copy in that frame


def test_compiled_programs_are_not_lost() -> None:
    function = weft.compile(lambda x: (x.exp() + 1).sum())
    for _ in range(3):
        function(weft.ones(SIZE))
    check_sums(memory.report())


# ---- what a report leaves behind ----------------------------------------------------------------


def test_a_report_keeps_nothing_alive() -> None:
    x = weft.zeros(SIZE)
    before = weft.memory_allocated()
    report = memory.report()
    assert named(report, "x").bytes == BLOCK
    del x
    assert weft.memory_allocated() == before - BLOCK


def test_a_report_does_not_unpack_what_hooks_packed() -> None:
    calls: list[int] = []

    def unpack(packed: weft.Tensor) -> weft.Tensor:
        calls.append(1)
        return packed

    with weft.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), unpack):
        y = made()
    report = memory.report()
    assert not calls
    check_sums(report)
    assert [h for h in report.holders if h.path.startswith("y → graph") and h.bytes == BLOCK]
    del y


def test_storages_are_counted_once() -> None:
    base = weft.zeros(SIZE)
    views = [base[i:] for i in range(10)]
    array = base.numpy()
    report = memory.report()
    held = [h for h in report.holders if h.path == "base" or h.path.startswith("views[")]
    assert sum(h.bytes for h in held) == BLOCK
    check_sums(report)
    del base, views, held, report
    report = memory.report()
    assert [h.bytes for h in report.holders if h.path.startswith("array")] == [BLOCK]
    del array


def test_memory_of_numpy_is_not_the_allocators() -> None:
    array = np.zeros(SIZE, dtype=np.float32)
    before = memory.report().foreign
    x = weft.from_numpy(array)
    report = memory.report()
    assert report.foreign - before == array.nbytes
    assert named(report, "x").bytes == 0
    check_sums(report)
    del x


def test_optimizer_and_gradients() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2))
    optimizer = weft.optim.Adam(model.parameters())
    model(weft.ones(3, 8)).sum().backward()
    optimizer.step()
    report = memory.report()
    assert named(report, "model[0].weight.grad").kind == "gradient"
    state = named(report, "optimizer.state[model[1].bias]['exp_avg']")
    assert state.kind == "optimizer state"
    groups = {str(g).partition(" keep")[0] for g in report.groups}
    assert {"model: 4 parameters", "model: 4 gradients", "optimizer: 12 optimizer states"} <= groups
    check_sums(report)


# ---- the peak -----------------------------------------------------------------------------------


def step(model: nn.Module, x: weft.Tensor) -> None:
    model(x).pow(2).sum().backward()


def test_peak() -> None:
    model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 64))
    x = weft.rand(128, 64)
    start = weft.memory_allocated()
    weft.reset_peak_memory_stats()
    with memory.track() as tracked:
        step(model, x)
    peak = tracked.peak
    assert peak.bytes == weft.max_memory_allocated() > start
    for rows in (peak.by_line(), peak.by_module(), peak.by_op()):
        assert sum(r.bytes for r in rows) == peak.bytes
    assert {r.name: r.bytes for r in peak.by_module()}["(before tracking)"] <= start
    assert "Sequential.0" in {r.name for r in peak.by_module()}
    line = step.__code__.co_firstlineno + 1
    lines = [r.name for r in peak.by_line() if r.name != "(before tracking)"]
    assert lines[0] == f"{HERE}:{line}"
    assert f"{HERE}:{line}" in peak.during


@pytest.mark.parametrize("seed", range(20))
def test_peak_of_random_programs(seed: int) -> None:
    draw = random.Random(seed)
    held = [weft.zeros(draw.randint(1, 5000)) for _ in range(5)]
    weft.reset_peak_memory_stats()
    start = weft.memory_allocated()
    with memory.track() as tracked:
        for _ in range(60):
            if held and draw.random() < 0.5:
                del held[draw.randrange(len(held))]
            else:
                held.append(weft.zeros(draw.randint(1, 5000)))
    peak = tracked.peak
    assert peak.bytes == weft.max_memory_allocated() >= start
    assert sum(r.bytes for r in peak.by_op()) == peak.bytes


def test_too_small_a_limit_is_an_error() -> None:
    with memory.track(limit=3) as tracked:
        _ = [weft.ones(100) for _ in range(10)]
    with pytest.raises(RuntimeError, match="larger limit"):
        _ = tracked.peak


def test_picture(tmp_path: pathlib.Path) -> None:
    x = weft.rand(128, 64)
    model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 64))
    with memory.track() as tracked:
        step(model, x)
    text = tracked.picture(tmp_path / "memory.svg")
    tree = ElementTree.fromstring((tmp_path / "memory.svg").read_text())
    assert len([e for e in tree.iter() if e.tag.endswith("polygon")]) >= 3
    assert "Sequential.0" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    with pytest.raises(ValueError, match="by must be"):
        tracked.picture(by="tensor")  # type: ignore[arg-type]


def test_names_are_escaped() -> None:
    held = {"<script>": weft.zeros(SIZE)}
    report = memory.report()
    html = report._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<script>" in str(report)
    del held


# ---- growth -------------------------------------------------------------------------------------


def test_growth_names_the_culprit() -> None:
    model = nn.Linear(16, 16)
    optimizer = weft.optim.Adam(model.parameters())
    leaking = []
    watch = memory.watch_growth()
    for _ in range(6):
        loss = model(weft.ones(4, 16)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        leaking.append(loss)
        watch.step()
    growth = watch.growth()
    assert growth.culprit is not None
    assert growth.culprit.name == "leaking[*]"
    assert growth.steps == 4
    assert growth.bytes == watch.sizes[-1] - watch.sizes[1] > 0
    assert "culprit: leaking[*] grew by" in str(growth)


def test_nothing_grows() -> None:
    model = nn.Linear(16, 16)
    watch = memory.watch_growth()
    for _ in range(5):
        model(weft.ones(4, 16)).sum().backward()
        watch.step()
    growth = watch.growth()
    assert growth.bytes == 0
    assert "did not grow" in str(growth)
    assert "culprit" not in str(growth)


def test_growth_needs_steps() -> None:
    watch = memory.watch_growth()
    with pytest.raises(RuntimeError, match="call step"):
        watch.growth()
    with pytest.raises(ValueError, match="warmup"):
        memory.watch_growth(-1)


# ---- the command --------------------------------------------------------------------------------

PROGRAM = """
import sys
import torch

weight = torch.ones(1000, requires_grad=True)
history = []
for _ in range(int(sys.argv[1])):
    history.append(weight.exp().sum())
print("done", sys.argv[1:])
"""


def run(*args: str, folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "weft", "memory", *args], cwd=folder, capture_output=True, text=True,
        timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_command(tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    done = run("--rows", "5", "--picture", "m.svg", "train.py", "4", "--rows", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done ['4', '--rows']\n"
    assert "history[*]: 4 tensors keep" in done.stderr
    assert "made at train.py:8" in done.stderr
    assert "peak: " in done.stderr
    ElementTree.parse(tmp_path / "m.svg")
    assert run(folder=tmp_path).returncode == 2
    failed = run("train.py", "x", folder=tmp_path)
    assert failed.returncode == 1
    assert "ValueError" in failed.stderr


def test_the_module_is_weft_memory() -> None:
    assert isinstance(memory, types.ModuleType)
    assert weft.memory is weft.debug.memory
    for name in memory.__all__:
        assert getattr(memory, name).__doc__
