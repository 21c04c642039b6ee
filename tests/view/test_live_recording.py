"""What the live view sees of a step, and that the program does not notice."""

from __future__ import annotations

import copy
import doctest
import gc
import importlib
import json
import pickle
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft import _C, nn
from weft.optim import optimizer as optimizers
from weft.view.live.recorder import StepRecorder
from weft.view.live.state import Live, graph_of

F = nn.functional
ROOT = Path(weft.__file__).parent


def recorded(f: Any, names: dict[int, str] | None = None) -> StepRecorder:
    recorder = StepRecorder(names or {})
    recorder.begin()
    try:
        f()
    finally:
        recorder.end()
    assert recorder.failed is None, recorder.failed
    return recorder


def texts(recorder: StepRecorder) -> list[tuple[str, int, str]]:
    return [(o.op, o.phase, o.module) for o in recorder.ops]


def show_all(view: Any) -> Any:
    """Lets a view show every step, as if a page were open that cannot have enough."""
    view.live.asked, view.refreshes = float("inf"), 1e9
    return view


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A view that every step is shown of."""
    monkeypatch.setattr("weft.view.live.watching.SHARE", 1e9)
    made = show_all(weft.view.watch(open_browser=False))
    yield made
    made.close()
    assert made not in optimizers._watchers and _C._watching_recorder() is None


def small() -> tuple[nn.Module, Any, Any]:
    weft.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    return net, weft.randn(4, 8), weft.tensor([0, 1, 2, 0])


# ---- the recorder ------------------------------------------------------------------------------


def test_ops_with_module_line_and_phase() -> None:
    net, x, y = small()
    optimizer = weft.optim.SGD(net.parameters(), lr=0.1)

    def step() -> None:
        F.cross_entropy(net(x), y).backward()

    recorder = recorded(step, {id(p): n for n, p in net.named_parameters()})
    forward = [(o.op, o.module) for o in recorder.ops if o.phase == 0]
    assert forward == [
        ("linear_tanh", "Sequential.0"), ("linear", "Sequential.2"), ("cross_entropy_rows", ""),
    ]  # fmt: skip
    assert recorder.ops[0].outs == [((4, 16), "float32")]
    assert recorder.ops[0].bytes == 4 * 16 * 4
    assert [name for _, _, name in recorder.ops[0].reads] == ["", "0.weight", "0.bias"]
    assert recorder.ops[1].reads[0][0] == 0 and recorder.ops[0].reads[0][0] < -1
    backward = [o for o in recorder.ops if o.phase == 1]
    assert {o.module for o in backward} == {"", "Sequential.0", "Sequential.2"}
    for o in backward:  # each stands under the line and the module of the op that it differentiates
        if o.of >= 0:
            assert (o.module, o.line) == (recorder.ops[o.of].module, recorder.ops[o.of].line)
    assert all(Path(__file__).name in o.line for o in recorder.ops)
    assert len(recorder.live) == len(recorder.nanoseconds) == len(recorder.ops)
    del optimizer


def test_loss_is_what_backward_began_with() -> None:
    net, x, y = small()
    loss: list[float] = []

    def step() -> None:
        value = F.cross_entropy(net(x), y)
        value.backward()
        loss.append(value.item())

    assert recorded(step).loss == pytest.approx(loss[0])


def test_summary_against_numpy() -> None:
    """Random tensors of every dtype and layout; the oracle is NumPy over the same elements."""
    r = np.random.default_rng(3)
    names = "float32 float64 float16 bfloat16 int64 int8 uint8 bool complex64".split()
    for k in range(300):
        dtype = names[k % len(names)]
        shape = tuple(r.integers(1, 7, r.integers(0, 4)))
        x = weft.from_numpy(np.asarray(r.normal(0, 3, shape))).to(getattr(weft, dtype))
        if len(shape) > 1 and k % 2:
            x = x.transpose(0, 1)[..., ::2]
        if k % 5 == 0 and x.is_floating_point() and x.numel() > 2:
            x = x.contiguous()
            x.view(-1)[0], x.view(-1)[1] = float("nan"), float("-inf")
        a = (x.float() if dtype == "bfloat16" else x).numpy().astype(np.complex128).reshape(-1)
        a = np.abs(a) if dtype == "complex64" else a.real
        good = a[np.isfinite(a)]
        looked, bad, zeros, low, high, mean, std, counts = _C._summary(x, 10_000, 8)
        assert (looked, bad, zeros) == (a.size, a.size - good.size, int((good == 0).sum()))
        assert sum(counts) == good.size
        if good.size:
            np.testing.assert_allclose([low, high], [good.min(), good.max()], rtol=1e-6)
            np.testing.assert_allclose([mean, std], [good.mean(), good.std()], rtol=1e-5, atol=1e-6)
        if good.size and good.max() - good.min() > 1e-6:
            np.testing.assert_allclose(np.cumsum(counts)[-1], np.histogram(good, 8)[0].sum())


def test_summary_of_nothing_of_a_sample_and_of_constants() -> None:
    assert _C._summary(weft.zeros(0), 10, 4)[:3] == (0, 0, 0)
    looked, _, _, low, high, *_ = _C._summary(weft.arange(1e6), 100, 4)
    assert looked == 100 and low == 0 and high >= 980_000
    assert _C._summary(weft.full((5,), 2.0), 10, 4)[7] == [5, 0, 0, 0]
    assert _C._summary(weft.tensor([1e308, -1e308], dtype=weft.float64), 10, 4)[1] == 0
    assert _C._summary(weft.eye(3).to_sparse(), 10, 4) is None


class Tree(nn.Module):
    """Recursion, a loop, a dict, None, in place, a branch on a value."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(4, 4)
        self.inner: Any = None

    def forward(self, state: dict[str, Any], depth: int) -> dict[str, Any]:
        h = state["h"]
        for _ in range(2):
            h = self.cell(h).relu()
        if float(h.detach().sum()) < -1e9:
            h = h * 2
        out: dict[str, Any] = {"h": h, "nothing": None, "list": [h.detach().clone().add_(1)]}
        return self(out, depth - 1) if depth else out


def test_recursion_loops_dicts_and_none() -> None:
    model = Tree()
    recorder = recorded(lambda: model({"h": weft.ones(2, 4)}, 3)["h"].sum().backward())
    assert sum(o.op.startswith("linear") for o in recorder.ops if o.phase == 0) == 8
    assert "add_" in [o.op for o in recorder.ops]
    graph = json.loads(json.dumps(graph_of(recorder.shown(1))))
    assert len(graph["rows"]) == len(recorder.ops)
    assert all(made < i for i, row in enumerate(graph["rows"]) for made, _, _ in row[4])


def test_quantised_models() -> None:
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)).eval()
    int8 = weft.ao.quantization.quantize_dynamic(net, {nn.Linear}, dtype=weft.qint8)
    with weft.no_grad():
        recorder = recorded(lambda: int8(weft.randn(3, 8)))
    assert recorder.ops and recorder.ops[-1].outs[0][0] == (3, 2)


def test_a_derivative_that_the_program_wrote() -> None:
    class Cube(weft.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

    x = weft.ones(3, requires_grad=True)

    def step() -> None:
        Cube.apply(x.exp()).sum().backward()

    ops = recorded(step).ops
    own = [o for o in ops if ", in backward" in o.line]
    assert len(own) == 3 and all(o.phase == 1 and o.of == -1 for o in own)


def test_nothing_is_kept_alive() -> None:
    """Memory after a step that was recorded is what it is after one that was not."""
    net, x, y = small()

    def step() -> Any:
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        return weakref.ref(loss)

    step()
    gc.collect()
    before = _C._memory_stats()["live"]
    recorder = StepRecorder({})
    recorder.begin()
    dead = step()
    recorder.end()
    assert dead() is None
    gc.collect()
    assert _C._memory_stats()["live"] <= before
    assert recorder.ops


def test_a_failing_recorder_does_not_fail_the_program() -> None:
    def look(*_: Any) -> None:
        raise ValueError("a fault of the view")

    recorder = StepRecorder({}, look)
    recorder.begin()
    x = weft.ones(2).exp().sum()
    recorder.end()
    assert x.item() == pytest.approx(2 * np.e)
    assert isinstance(recorder.failed, ValueError) and len(recorder.ops) == 1


def test_traces_and_captures_inside_a_step() -> None:
    """A program that traces, compiles or asks whether it is traced does as it would."""
    x = weft.ones(3)
    seen: list[Any] = []

    def step() -> None:
        seen.append(weft.jit.trace(lambda t: t.exp() + 1, (x,))(x))
        seen.append(weft.jit.is_tracing())
        seen.append(weft.compiler.is_compiling())
        seen.append([n.label for n in weft.view.graph(lambda t: t * 2, x)])

    step()
    recorded(step)
    assert weft.equal(seen[0], seen[4]) and seen[1:4] == seen[5:8]


# ---- the view ----------------------------------------------------------------------------------


def test_steps_curves_and_layers(page: Any) -> None:
    net, x, y = small()
    optimizer = weft.optim.SGD(net.parameters(), lr=0.5)
    norms, losses = [], []
    for _ in range(6):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        norms.append(float(sum((p.grad**2).sum() for p in net.parameters()) ** 0.5))
        losses.append(loss.item())
        optimizer.step()
    points = {p[0]: p for p in page.live.points}
    assert len(points) >= 4
    for step, point in points.items():
        assert point[1] == pytest.approx(losses[step - 1])
        assert point[2] == pytest.approx(norms[step - 1], rel=1e-5)
    rows = {row[0]: row for row in page.live.layers}
    weight = net[0].weight
    name = next(n for n in rows if n.endswith("0.weight"))
    assert rows[name][2] == pytest.approx(float(weight.detach().norm()), rel=1e-5)
    moved = 0.5 * float(weight.grad.norm()) / float(weight.detach().norm())
    assert rows[name][4] == pytest.approx(moved, rel=1e-4)


def test_a_model_without_optimiser() -> None:
    net, x, _ = small()
    with weft.view.watch(net, open_browser=False, refreshes=30) as view, weft.no_grad():
        view._last -= 2  # seconds that the page has waited
        view._poll({})
        for _ in range(5):
            show_all(view)
            net(x)
        assert view.live.status["step"] == 4
        assert {o.module for o in view.live.shown[1].ops} <= {
            "Sequential.0",
            "Sequential.1",
            "Sequential.2",
        }
        assert view.live.shown[1].ops
        for copied in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            assert weft.equal(copied(x), net(x))
        assert view.live.status["step"] == 6  # calls of copies are no steps
    assert not net._forward_pre_hooks


def test_an_abandoned_generator_is_no_failure() -> None:
    def watched() -> Iterator[Any]:
        with weft.view.watch(open_browser=False) as view:
            yield view

    program = watched()
    view = next(program)
    program.close()
    assert view.live.status["state"] == "ended"


def test_nothing_happens_while_no_page_is_open() -> None:
    net, x, y = small()
    optimizer = weft.optim.SGD(net.parameters(), lr=0.5)
    with weft.view.watch(net, open_browser=False) as view:
        for _ in range(5):
            F.cross_entropy(net(x), y).backward()
            assert _C._watching_recorder() is None
            optimizer.step()
        assert view.live.shown is None and not view.live.points
        assert view.live.status["step"] == 5


def test_an_error_in_a_shown_step_leaves_nothing_behind() -> None:
    net, _x, y = small()
    optimizer = weft.optim.SGD(net.parameters(), lr=0.5)
    with (
        pytest.raises(RuntimeError, match=r"shape|size"),
        weft.view.watch(net, open_browser=False) as view,
    ):
        view.live.asked = float("inf")
        for width in (8, 8, 7):
            F.cross_entropy(net(weft.randn(4, width)), y).backward()
            optimizer.step()
    assert _C._watching_recorder() is None and not _C._compiled_runs_eagerly()
    assert view.live.status["state"] == "failed" and "RuntimeError" in view.live.status["reason"]


def test_other_threads_are_left_alone(page: Any) -> None:
    net, x, y = small()
    optimizer = weft.optim.SGD(net.parameters(), lr=0.5)
    done = threading.Event()

    def other() -> None:
        own = nn.Linear(8, 3)
        rival = weft.optim.SGD(own.parameters(), lr=0.1)
        while not done.is_set():
            F.cross_entropy(own(x), y).backward()
            rival.step()

    F.cross_entropy(net(x), y).backward()
    optimizer.step()
    thread = threading.Thread(target=other)
    thread.start()
    for _ in range(20):
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    done.set()
    thread.join()
    assert page.live.status["step"] == 21
    assert {o.op for o in page.live.shown[1].ops if o.phase == 0} == {
        "linear_tanh", "linear", "cross_entropy_rows"
    }  # fmt: skip


def test_large_steps_are_shown_less_often() -> None:
    page = weft.view.watch(open_browser=False, refreshes=30)
    page.live.asked = float("inf")
    net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(300)])
    optimizer = weft.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        net(weft.ones(1, 4)).sum().backward()
        optimizer.step()
    page.close()
    assert page.live.status["every"] > 5 * page.live.status["price"] > 0


def test_a_million_ops_cost_bounded_memory(page: Any) -> None:
    """Ops beyond the first 25,000 of a step are counted, not kept; the curves go on."""
    resource = pytest.importorskip("resource")
    x = weft.zeros(1, requires_grad=True)
    optimizer = weft.optim.SGD([x], lr=0.1)

    def step(n: int) -> None:
        with weft.no_grad():
            y = weft.zeros(1)
            for _ in range(n):
                y.add_(1)
        (x * y).sum().backward()
        optimizer.step()

    step(1)
    page.live.asked = float("inf")
    step(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step(300_000)
    page._end_recording()
    assert len(page.live.shown[1].ops) == 25_000 and page.live.shown[1].left_out > 250_000
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 64 << 20
    assert page.live.points[-1][0] == 3


def test_live_bytes_are_those_of_the_allocator() -> None:
    recorder = recorded(lambda: [weft.zeros(1 << 20) + 1 for _ in range(2)])
    tops = [b - a for a, b in zip(recorder.live, recorder.live[1:])]
    assert (1 << 22) in tops


# ---- the rest --------------------------------------------------------------------------------------


def test_two_views_take_turns(page: Any) -> None:
    net, x, y = small()
    optimizer = weft.optim.SGD(net.parameters(), lr=0.5)
    with show_all(weft.view.watch(net, open_browser=False)) as other:
        for _ in range(8):
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        shown = len(page.live.points), len(other.live.points)
        assert sum(shown) <= 8 and max(shown) >= 3
    assert _C._watching_recorder() is None or page._recorder is not None


def test_a_step_inside_of_a_trace_is_none(page: Any) -> None:
    """What ends a step while a function is traced or captured leaves the graph as it is."""

    def f(t: Any) -> Any:
        t = t.exp()
        page.step()
        return t + 1

    x = weft.ones(3)
    traced = weft.jit.trace(f, (x,))
    assert [n.op for n in traced.graph] == ["exp", "add"] and weft.equal(traced(x), x.exp() + 1)
    assert page.live.status["step"] == 0


def test_a_fork_has_no_page(page: Any) -> None:
    """Workers that are forked in a shown step record nothing and do not hold the port."""
    import os

    net, x, y = small()
    optimizer = weft.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(2):
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    assert _C._watching_recorder() is not None
    ops = len(page._recorder.ops)
    pid = os.fork()
    if pid == 0:
        ok = _C._watching_recorder() is None and page.server.socket.fileno() == -1
        ok = ok and page not in optimizers._watchers
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert _C._watching_recorder() is not None and len(page._recorder.ops) == ops


def test_arguments() -> None:
    with pytest.raises(TypeError, match="takes a Module or nothing, not function"):
        weft.view.watch(lambda: 1, open_browser=False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="refreshes"):
        weft.view.watch(refreshes=0, open_browser=False)


def test_very_many_points_are_thinned() -> None:
    live = Live()
    for i in range(10_000):
        live.add_point([i, 1.0, None, None, None])
    assert 1000 < len(live.points) <= 4000 and live.points[-1][0] >= 9990 and live.dropped > 0
    answer = json.loads(live.poll({"points": 3, "dropped": 0}))
    assert answer["first"] == 0 and len(answer["points"]) == len(live.points)


def test_compiled_functions_are_shown_pass_by_pass() -> None:
    from weft.view.live.compiled import compiled_functions

    def watched_one(x: Any) -> Any:
        return x.exp() + x.exp() * 1

    f = weft.compile(watched_one)
    for _ in range(6):
        f(weft.ones(8))
    found = next(c for c in compiled_functions() if c["name"] == "watched_one")
    passes = found["graphs"][0]["passes"]
    assert passes[0]["name"] == "as captured" and passes[0]["text"].count("exp") == 2
    last = [p["text"] for p in passes if p["text"]][-1]
    assert passes[-1]["ops"] < passes[0]["ops"] and last.count("exp(") <= 1


def test_the_program_of_the_docs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It trains, with a view of its modules; one epoch is enough to see that."""
    import re

    page = (ROOT.parent / "docs" / "live_view.md").read_text()
    code = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
    made: list[Any] = []
    real = weft.view.watch

    def watch(*args: Any, **kwargs: Any) -> Any:
        made.append(show_all(real(*args, open_browser=False, **kwargs)))
        return made[-1]

    monkeypatch.setattr(weft.view, "watch", watch, raising=False)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code.replace("range(20)", "range(1)"), "digits_live.py", "exec"), names)
    assert made[0].live.status["step"] == 29 and made[0].live.status["state"] == "ended"
    assert {o.module for o in made[0].live.shown[1].ops} >= {
        "Net.stem",
        "Net.layer2.1.conv2",
        "Net.head",
    }


FILES = sorted(f"weft.view.live.{p.stem}" for p in (ROOT / "view" / "live").glob("[a-z]*.py"))


@pytest.mark.parametrize("name", ["weft.view.live", *FILES])
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All examples of a file."""
    module = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(
        verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    out: list[str] = []
    for test in doctest.DocTestFinder().find(module, globs={"weft": weft}):
        runner.run(test, out=out.append)
    assert runner.failures == 0, "".join(out)
