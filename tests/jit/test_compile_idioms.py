"""What people write around ``weft.compile``: cells in loops, loops over values, attributes, arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jit.compile_calls import runs

import weft
import weft.nn.functional as F
from weft import nn

pytestmark = pytest.mark.filterwarnings("ignore:compile")


def bits(t: Any) -> bytes:
    return np.asarray(t.detach()).tobytes()


# ---- modules that are given what they gave -----------------------------------------------------


def losses_and_gradients(make: Any, sizes: tuple[int, int, int], compiled: bool, all_: bool) -> Any:
    """Train a cell over sequences; return all numbers, and the cell as it is called."""
    weft.manual_seed(0)
    rows, given, kept = sizes
    cell = make(given, kept)
    f = weft.compile(cell) if compiled else cell
    optimizer = weft.optim.SGD(cell.parameters(), lr=0.1)
    found = []
    for _ in range(4):
        state: Any = weft.zeros(rows, kept)
        if make is nn.LSTMCell:
            state = (state, weft.zeros(rows, kept))
        states = []
        for x in weft.randn(5, rows, given):
            state = f(x, state)
            states.append(state[0] if make is nn.LSTMCell else state)
        loss = (weft.stack(states) if all_ else states[-1]).square().sum()
        optimizer.zero_grad()
        loss.backward()
        found += [bits(loss), *[bits(p.grad) for p in cell.parameters()]]
        optimizer.step()
    return found, f


@pytest.mark.parametrize("make", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
@pytest.mark.parametrize("sizes", [(2, 3, 4), (2, 48, 64), (1, 3, 4)])
@pytest.mark.parametrize("all_", [False, True])
def test_a_cell_in_a_loop(make: Any, sizes: Any, all_: bool) -> None:
    """Its derivative ends where its state came in; shares of few rows are joined as in eager."""
    want, _ = losses_and_gradients(make, sizes, False, all_)
    got, f = losses_and_gradients(make, sizes, True, all_)
    assert got == want
    assert runs(f) == 16 and not f.reasons  # two calls with a state that has no history, two with


def test_a_weight_that_several_calls_use() -> None:
    """Gradients add up in the order of an eager call: one by one, not call by call."""
    found = []
    for compiled in (False, True):
        weft.manual_seed(0)
        weight, table = nn.Parameter(weft.randn(40, 40)), nn.Parameter(weft.randn(60, 40))

        def tied(
            x: Any, i: Any, h: Any, weight: Any = weight, table: Any = table
        ) -> tuple[Any, Any]:
            h = F.linear(h + F.embedding(i, table), weight).tanh()
            h = F.linear(h, weight) * h + F.linear(x, weight)
            return F.linear(h, table), h

        f = weft.compile(tied) if compiled else tied
        for _ in range(4):
            weight.grad = table.grad = None
            h, total = weft.randn(2, 40), weft.zeros(())
            for _ in range(4):
                scores, h = f(weft.randn(2, 40), weft.randint(0, 60, (2,)), h.tanh())
                total = total + scores.square().mean() + h.mean()
            total.backward()
            found.append([bits(total), bits(weight.grad), bits(table.grad)])
        if compiled:
            assert runs(f) > 8
    assert found[:4] == found[4:]


def test_a_state_whose_history_was_walked() -> None:
    """It is an error to walk it again, and none to go on without."""
    cell = weft.compile(nn.RNNCell(2, 2))
    for _ in range(4):
        h = cell(weft.ones(1, 2), weft.zeros(1, 2))
        h = cell(weft.ones(1, 2), h)
        h.sum().backward()
        h = cell(weft.ones(1, 2), h)
        with pytest.raises(RuntimeError, match=r"second time|freed"):
            h.sum().backward()
    assert runs(cell) > 4
    assert not cell.reasons


def test_second_derivatives_through_a_loop() -> None:
    """A gradient that has a graph, through a cell that is given what it gave."""
    found = []
    for compiled in (False, True):
        weft.manual_seed(0)
        cell = nn.GRUCell(2, 3)
        f = weft.compile(cell) if compiled else cell
        for _ in range(3):
            x = weft.randn(3, 1, 2, requires_grad=True)
            h = weft.zeros(1, 3)
            for part in x:
                h = f(part, h)
            (g,) = weft.autograd.grad(h.sum(), x, create_graph=True)
            found.append([bits(g), *map(bits, weft.autograd.grad(g.square().sum(), [x]))])
    assert found[:3] == found[3:]


# ---- decisions on values -----------------------------------------------------------------------


def shrunk(x: Any) -> Any:
    while x.max() > 0.1:
        x = x * 0.9
    return x


@pytest.mark.usefixtures("timed_calls")
def test_pieces_that_are_slower_than_eager() -> None:
    """A few calls of each are timed; from then on they are eager, and it is said why."""
    f = weft.compile(shrunk)
    want = shrunk(weft.ones(3)).tolist()
    with pytest.warns(UserWarning, match=r"split by bool\(\) at .*measured to be slower"):
        for _ in range(60):
            assert f(weft.ones(3)).tolist() == want
    assert "measured to be slower" in f.reasons[0]
    assert "measured to be slower" in str(f.report())


@pytest.mark.usefixtures("timed_calls")
def test_pieces_that_are_quicker_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same calls, by a clock that says otherwise."""
    from weft.jit.compile.autotune import Autotuner

    monkeypatch.setattr(
        Autotuner, "note_segments", lambda autotuner, seconds: autotuner._segments.append(0.0)
    )
    f = weft.compile(shrunk)
    for _ in range(60):
        f(weft.ones(3))
    assert not f.reasons
    assert runs(f) > 40


def test_numbers_and_python_between_pieces() -> None:
    """Outcomes of each kind select what follows; gradients are there when Python is called."""
    w = nn.Parameter(weft.ones(2))
    optimizer = weft.optim.Rprop([w])  # its step is no op
    seen = []
    optimizer.register_step_post_hook(lambda *_: seen.append(bits(w.grad)))

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()

    def by_number(x: Any) -> Any:
        n = x.sum().item()
        return x * n if n > 2 else x - n

    f, g = weft.compile(step), weft.compile(by_number)
    for _ in range(6):
        f(weft.ones(2))
        for total in (1.0, 2.0, 1.0, 3.0):
            x = weft.full((2,), total / 2)
            assert weft.equal(g(x), by_number(x))
    assert seen == [bits(weft.ones(2))] * 6
    assert runs(g) > 8


# ---- what is said, and which line --------------------------------------------------------------


def reason(f: Any, *args: Any) -> str:
    """Call a function often, and return why it runs eagerly."""
    compiled = weft.compile(f)
    for _ in range(12):
        compiled(*args)
    (found,) = compiled.reasons
    return str(found)


def test_lines_are_the_users() -> None:
    """Not those of the standard library that the user's line calls."""
    import logging
    import os

    def environment(x: Any) -> Any:
        return x * len(os.environ["HOME"])

    def logs(x: Any) -> Any:
        logging.getLogger("weft.test").error("so")
        return x + 1

    for f in (environment, logs):
        assert f"test_compile_idioms.py:{f.__code__.co_firstlineno + 1}, in {f.__name__}" in reason(
            f, weft.ones(2)
        )


# ---- arguments and attributes ------------------------------------------------------------------


def test_parameters_as_arguments() -> None:
    """They are taken, and told apart from tensors that are none."""
    f = weft.compile(lambda p, x: (x * (2 if isinstance(p, nn.Parameter) else 3) * p).sum())
    p, x = nn.Parameter(weft.ones(3)), weft.ones(3)
    plain = weft.ones(3, requires_grad=True)
    for _ in range(4):
        f(p, x).backward()
        assert f(plain, x).item() == 9
    assert p.grad.tolist() == [8.0] * 3
    assert runs(f) == 4
    assert not f.reasons


def test_reasons_without_a_variant() -> None:
    """What is refused before anything is captured is told in the report too."""

    class Other(weft.Tensor):  # type: ignore[misc]
        pass

    f = weft.compile(lambda x: x + 1)
    f(weft.ones(2).as_subclass(Other))
    assert f.reasons == ["an argument is a Other"]
    assert str(f.report()) == "<lambda>: 0 specialisations\nruns eagerly: an argument is a Other"


def test_fullgraph_raises_at_the_first_call() -> None:
    """Also where it is an op that no program can hold."""
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        return x[x > 0]

    compiled = weft.compile(f, fullgraph=True)
    with pytest.raises(RuntimeError, match=r"not one program: .*masked_select at .*, in f"):
        compiled(weft.ones(2))
    assert len(calls) == 1


class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.k = 2.0
        self.w = nn.Parameter(weft.ones(2))
        self.register_buffer("b", weft.ones(2))

    def forward(self, x: Any) -> Any:
        return x * self.k * self.w + self.b


def test_attributes_of_a_compiled_module_are_the_modules() -> None:
    """Plain ones, parameters, buffers, parts, and their deletion."""
    module, x = Scale(), weft.ones(2)
    compiled = weft.compile(module)
    for change, want in (
        (lambda: None, 3.0),
        (lambda: setattr(compiled, "k", 5.0), 6.0),
        (lambda: setattr(compiled, "w", nn.Parameter(weft.full((2,), 2.0))), 11.0),
        (lambda: setattr(compiled, "b", weft.zeros(2)), 10.0),
    ):
        change()
        assert (
            [compiled(x).tolist() for _ in range(4)] == [module(x).tolist()] * 4 == [[want] * 2] * 4
        )
    assert module.k == 5.0
    assert list(module.state_dict()) == ["w", "b"]
    compiled.part = nn.Linear(1, 1)
    assert list(compiled.state_dict()) == [
        "_orig_mod.w", "_orig_mod.b", "_orig_mod.part.weight", "_orig_mod.part.bias",
    ]  # fmt: skip
    del compiled.part
    assert not hasattr(module, "part")
    module.eval()
    assert not compiled.training
    compiled.training = True
    assert module.training


# ---- messages ----------------------------------------------------------------------------------


def test_numbers_that_are_returned() -> None:
    """It is said what to do instead."""

    def f(x: Any) -> Any:
        total = x.sum()
        return {"loss": round(total.item(), 3), "y": x + 1}

    compiled = weft.compile(f)
    for i in range(30):
        compiled(weft.full((2,), float(i)))
    (why,) = compiled.reasons
    assert "gives another number in each call: return the tensor" in why
    assert "or compare the tensor itself" in why


def test_what_a_call_leaves_behind() -> None:
    """It is a slot, and not what happened to differ as well; what can be none is named."""

    class Norm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mean = weft.zeros(2)

        def forward(self, x: Any) -> Any:
            if self.training:
                self.mean = 0.9 * self.mean + 0.1 * x
            return x - self.mean

    norm, eager = Norm(), Norm()
    compiled: Any = weft.compile(norm)
    for i in range(24):
        norm.train(i % 4 != 3), eager.train(i % 4 != 3)
        assert bits(compiled(weft.ones(2) * i)) == bits(eager(weft.ones(2) * i))
        assert bits(norm.mean) == bits(eager.mean)
    assert not compiled.reasons and sum(d.replays for d in compiled.compiled.any_size) > 12
    seen: list[Any] = []
    assert "changes the length of" in reason(lambda x: seen.append(x) or x * 2, weft.ones(2))


def test_ops_that_are_declared_in_python() -> None:
    """A program holds them, also those that were declared after the first one was built."""
    f = weft.compile(lambda x: weft.fft.fft(x).abs())
    for _ in range(6):
        x = weft.randn(8, requires_grad=True)
        y = x.detach().requires_grad_()
        f(x).sum().backward()
        weft.fft.fft(y).abs().sum().backward()
        assert bits(x.grad) == bits(y.grad)
    assert runs(f) == 4
    assert "shapes follow from values" in reason(lambda x: x.nonzero(), weft.ones(4))


def test_forked_calls_are_part_of_the_program() -> None:
    """While a call is captured they run at once."""
    f = weft.compile(lambda x: weft.jit.wait(weft.jit.fork(weft.sin, x)) + 1)
    x = weft.ones(3)
    assert [bits(f(x)) for _ in range(6)] == [bits(x.sin() + 1)] * 6
    assert runs(f) == 4


def test_show_says_how_many_calls_are_missing(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a function that runs eagerly it says only why."""
    f = weft.compile(lambda x: x * 2)
    for left in ("3 more times", "2 more times", "1 more time "):
        weft.jit.show(f)
        assert f"no graph yet: call it {left}" in capsys.readouterr().out
        f(weft.ones(2))
    f(weft.ones(2))
    weft.jit.show(f)
    assert "mul" in capsys.readouterr().out
    g = weft.compile(lambda x: x[x > 0])
    for _ in range(6):
        g(weft.ones(2))
    weft.jit.show(g)
    shown = capsys.readouterr().out
    assert shown.startswith("runs as it is written: a program cannot hold masked_select")
    assert "no graph" not in shown


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"dynamic": "x"}, TypeError, "dynamic must be a bool or None, not 'x'"),
        ({"fullgraph": "yes"}, TypeError, "fullgraph must be a bool, not 'yes'"),
        ({"disable": 1}, TypeError, "disable must be a bool, not 1"),
        (
            {"options": {"zzz": 1}},
            NotImplementedError,
            "no option 'zzz'; known are epilogue_fusion",
        ),
        ({"options": [1]}, TypeError, "options must be a dict or None"),
    ],
)
def test_arguments_of_compile(given: Any, error: Any, message: str) -> None:
    """What PyTorch would not know is named."""
    with pytest.raises(error, match=message):
        weft.compile(lambda x: x, **given)
    for good in ({"dynamic": True}, {"options": {"max_autotune": True}}, {"mode": "default"}):
        assert weft.compile(lambda x: x, **good)(1) == 1


# ---- the table in docs/notes/compile.md --------------------------------------------------------


class World:
    """What the functions below see."""

    def __init__(self) -> None:
        self.model = nn.Linear(3, 1)
        self.optimizer = weft.optim.SGD(self.model.parameters(), lr=0.1)
        self.scheduler = weft.optim.lr_scheduler.StepLR(self.optimizer, 3)
        self.scaler = weft.amp.GradScaler("cpu")
        self.lbfgs = weft.optim.LBFGS(self.model.parameters())
        self.count, self.counts = 0, weft.zeros(())
        self.mean = weft.zeros(3)
        self.seen: list[Any] = []

    def learn(self, x: Any) -> Any:
        self.optimizer.zero_grad()
        loss = self.model(x).square().sum()
        loss.backward()
        self.optimizer.step()
        return loss


def with_scaler(w: World, x: Any) -> None:
    w.optimizer.zero_grad()
    w.scaler.scale(w.model(x).sum()).backward()
    w.scaler.step(w.optimizer)
    w.scaler.update()


def with_scheduler(w: World, x: Any) -> Any:
    loss = w.learn(x)
    w.scheduler.step()
    return loss


def with_lbfgs(w: World, x: Any) -> Any:
    def closure() -> Any:
        w.lbfgs.zero_grad()
        loss = w.model(x).square().sum()
        loss.backward()
        return loss

    return w.lbfgs.step(closure)


def counting(w: World, x: Any) -> Any:
    w.count += 1
    return x + 1


def growing(w: World, x: Any) -> Any:
    w.seen.append(x.sum())
    return x + 1


def counting_in_place(w: World, x: Any) -> Any:
    w.counts.add_(1)
    w.mean.mul_(0.9).add_(x)
    return w.mean / w.counts


def replacing(w: World, x: Any) -> Any:
    w.mean = w.mean * 0.9 + x
    return w.mean + 0


def hooked(w: World, x: Any) -> Any:
    y = x * 2
    y.register_hook(lambda g: g * 2)
    y.sum().backward()
    return y.detach()


def keeping(w: World, x: Any) -> Any:
    y = x * 2
    y.retain_grad()
    return y


class Result:
    def __init__(self, y: Any) -> None:
        self.y = y


class Twice(weft.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def walked(w: World, x: Any) -> Any:
    y = Twice.apply(x).sum()
    y.backward()
    return y.detach()


def leaf(i: int) -> Any:
    return weft.full((3,), 1.0 + i, requires_grad=True)


def plain(i: int) -> Any:
    return weft.full((3,), 1.0 + i)


def with_history(i: int) -> Any:
    return leaf(i) * 2


def with_quiet_view(w: Any, x: Any) -> Any:
    h = x * 2
    with weft.no_grad():
        return h, h[0]


EAGER = [
    ("x[mask]", plain, lambda w, x: x[x > 0]),
    ("unique", plain, lambda w, x: x.unique()),
    ("numpy", plain, lambda w, x: weft.from_numpy(x.numpy() * 2)),
    ("tolist", plain, lambda w, x: x * len(x.tolist())),
    ("item in a function inside", plain, lambda w, x: (x.sum().item(), x + 1)),
    ("item in a formula", plain, lambda w, x: x * x.sum().item()),
    ("a tensor as an index", plain, lambda w, x: weft.arange(99.0)[x[0].long()]),
    ("a leaf that is made", leaf, lambda w, x: (x * 2, weft.zeros(2, requires_grad=True))),
    ("a list that grows", plain, growing),
    ("GradScaler", plain, with_scaler),
    ("scheduler", plain, with_scheduler),
    ("LBFGS", plain, with_lbfgs),
    ("in place, given", with_history, lambda w, x: x.add_(1) * 2),
    ("an object", plain, lambda w, x: Result(x + 1)),
    ("seventeen results", leaf, lambda w, x: [x * i for i in range(17)]),
    ("a view without gradient", leaf, with_quiet_view),
    ("retain_grad", leaf, keeping),
    ("a hook", leaf, hooked),
    ("a Function", leaf, lambda w, x: Twice.apply(x)),
    ("sparse", plain, lambda w, x: x.to_sparse().to_dense()),
]
COMPILED = [
    ("where", plain, lambda w, x: weft.where(x > 0, x, 0.0).masked_fill(x > 2, 0.0)),
    ("a tensor compared", plain, lambda w, x: x + 1 if x.sum() < 12 else x - 1),
    ("an index with a dimension", plain, lambda w, x: weft.arange(99.0)[x[:1].long()]),
    ("counted in place", plain, counting_in_place),
    ("a counter", plain, counting),
    ("another tensor", plain, replacing),
    ("a step", plain, lambda w, x: w.learn(x)),
    ("in place, made", with_history, lambda w, x: (x * 2).add_(1)),
    ("views", leaf, lambda w, x: (x.view(-1), *(x * 2)[:2].unbind(0))),
    ("sixteen results", leaf, lambda w, x: [x * i for i in range(16)]),
    ("a dict", leaf, lambda w, x: {"y": x + 1, "z": (x * 2, 3)}),
    ("a Function, walked", leaf, walked),
]


@pytest.mark.parametrize(("name", "make", "f"), EAGER, ids=[row[0] for row in EAGER])
def test_what_runs_eagerly(name: str, make: Any, f: Any) -> None:
    """With a reason."""
    world = World()
    compiled = weft.compile(lambda x: f(world, x))
    for i in range(30):
        compiled(make(i))
    assert runs(compiled) == 0
    assert compiled.reasons


@pytest.mark.parametrize(("name", "make", "f"), COMPILED, ids=[row[0] for row in COMPILED])
def test_what_to_write_instead(name: str, make: Any, f: Any) -> None:
    """It is compiled."""
    world = World()
    compiled = weft.compile(lambda x: f(world, x))
    for i in range(30):
        compiled(make(i))
    assert runs(compiled) > 20
    assert not compiled.reasons


def test_schedulers_outside_and_other_arguments() -> None:
    """A rate that changes is read anew; a number that is another one each time runs eagerly."""
    world = World()
    step = weft.compile(lambda x: world.learn(x))
    for i in range(9):
        step(plain(i))
        world.scheduler.step()
    assert runs(step) == 7
    scaled = weft.compile(lambda x, a: x * a)
    for i in range(60):
        scaled(weft.ones(2), float(i))
    assert runs(scaled) == 0
    alone = weft.compile(lambda x: x.sum().item())
    assert [alone(plain(i)) for i in range(30)] == [3.0 + 3 * i for i in range(30)]
    assert runs(alone) == 28
    twice = weft.compile(lambda a, b: a + b)
    x = weft.ones(2)
    for _ in range(12):
        twice(x, x.detach())
    assert twice.reasons == ["two of its inputs are the same memory"]
