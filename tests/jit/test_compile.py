"""`weft.compile`: what is captured, guarded, split, and replayed equals eager."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from jit.compile_calls import runs

import weft
import weft.nn.functional as F
from weft import nn

Step = Callable[..., Any]


@pytest.fixture(autouse=True)
def _no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def same(a: Any, b: Any) -> bool:
    return a.dtype == b.dtype and weft.equal(a, b)


def trained(compiled: bool, make: Callable[[], nn.Module], optimizer: Any, steps: int = 8) -> Any:
    """Losses, parameters and gradients after training steps, compiled or not."""
    weft.manual_seed(0)
    model = make()
    opt = optimizer(model.parameters())

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        return loss

    f = weft.compile(step) if compiled else step
    losses = []
    for i in range(steps):
        if i == 5:
            opt.param_groups[0]["lr"] *= 0.5
        losses.append(f(weft.randn(6, 1, 8, 8), weft.randint(0, 3, (6,))).detach())
    state = [t for p in model.parameters() for t in (p.detach(), p.grad)]
    state += list(model.buffers())
    if compiled:
        assert runs(f) >= 3
    return [*losses, *state]


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Dropout(0.3), nn.Linear(36, 3),
    )  # fmt: skip


OPTIMIZERS = {
    "sgd": lambda p: weft.optim.SGD(p, lr=0.1),
    "momentum": lambda p: weft.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: weft.optim.Adam(p, lr=0.01, amsgrad=True),
    "adamw": lambda p: weft.optim.AdamW(p, lr=0.01),
    "rmsprop": lambda p: weft.optim.RMSprop(p, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_steps_equal_eager(name: str) -> None:
    """Bit for bit, with dropout, batch norm and a rate that is changed in between."""
    eager, compiled = (trained(on, cnn, OPTIMIZERS[name]) for on in (False, True))
    assert all(same(a, b) for a, b in zip(eager, compiled))


def test_a_step_is_one_program() -> None:
    """Forward, backward and update; the rate is read anew."""
    model, x = nn.Linear(3, 1), weft.randn(4, 3)
    opt = weft.optim.Adam(model.parameters())

    @weft.compile(fullgraph=True)
    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        opt.step()
        return loss

    for _ in range(5):
        loss = step(x)
    (facts,) = step.report().specializations
    assert facts["segments"] == 1 and facts["ops"][-1] == "adam_step_" and facts["calls"] >= 2
    assert "lr" in facts["live"]
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    before = model.weight.detach().clone()
    opt.param_groups[0]["lr"] = 0.0
    step(x)
    assert same(model.weight, before)


def test_gradients_flow_through_a_compiled_module() -> None:
    """Its backward is a program too; modes of the module are guarded."""
    weft.manual_seed(0)
    eager = cnn()
    module = copy.deepcopy(eager)
    compiled = weft.compile(module)
    for i in range(6):
        x = weft.randn(6, 1, 8, 8, requires_grad=True)
        results = []
        for net in (eager, compiled):
            weft.manual_seed(i)
            net.zero_grad()
            x.grad = None
            net(x).square().sum().backward()
            results.append([x.grad, *[p.grad for p in net.parameters()], *net.buffers()])
        assert all(same(a, b) for a, b in zip(*results))
    assert runs(compiled) == 4
    eager.eval(), compiled.eval()
    assert not module.training
    with weft.no_grad():
        for _ in range(4):
            assert same(eager(x), compiled(x))
    assert len(compiled.report().specializations) == 2


def test_decisions_on_values() -> None:
    """Each outcome goes its own way, also in loops; never the wrong one."""

    def f(x: Any) -> Any:
        if x.sum() > 0:
            return x * 2
        turns = 0
        while x.abs().max() < 10:
            x = x * 2
            turns += 1
        return x + turns

    compiled = weft.compile(f)
    weft.manual_seed(0)
    for _ in range(60):
        x = weft.randn(3)
        assert same(f(x), compiled(x))
    assert runs(compiled) > 30
    assert any("bool() at" in s for v in compiled.report().specializations for s in v["splits"])
    with pytest.raises(RuntimeError, match=r"split by bool\(\) at .*test_compile.py:\d+"):
        weft.compile(f, fullgraph=True)(weft.ones(3))


def test_decisions_after_changes_are_undone() -> None:
    """What was changed before a new outcome is not changed twice; random draws neither."""
    count, noise = weft.zeros(1), nn.Dropout(0.5)

    def f(x: Any) -> Any:
        count.add_(1)
        y = noise(x)
        if y.sum() > 4:
            return y * 2
        if y.sum() > 2:
            return y - count
        return y + count

    compiled, x = weft.compile(f), weft.ones(8)
    found = []
    for g in (f, compiled):
        weft.manual_seed(0)
        count.zero_()
        found.append([g(x).clone() for _ in range(40)])
        assert count.item() == 40
    assert all(same(a, b) for a, b in zip(*found)) and runs(compiled) > 10


def test_item_is_returned() -> None:
    """A number that only leaves the function splits nothing; others do."""

    @weft.compile(fullgraph=True)
    def f(x: Any) -> float:
        return (x * x).sum().item()

    for _ in range(5):
        x = weft.randn(4)
        assert f(x) == (x * x).sum().item()
    assert runs(f) == 3


def test_numbers_that_differ_each_time_run_eagerly_and_it_is_said() -> None:
    """Right each time, and a warning names the line."""

    def f(x: Any) -> Any:
        return x * x.sum().item()

    compiled = weft.compile(f)
    with pytest.warns(UserWarning, match=r"item\(\) at .*gives another number"):
        for _ in range(15):
            x = weft.randn(3)
            assert same(f(x), compiled(x))


SCALE = 1.0


def test_python_values_are_guarded() -> None:
    """Globals, closures, attributes, arguments, other tensors under the same name."""
    global SCALE
    shift, weight = 0, weft.ones(2)

    class Holder:
        factor = 2

    holder = Holder()

    def f(x: Any, power: int = 1) -> Any:
        return (x**power) * SCALE * weight * holder.factor + shift

    compiled, x = weft.compile(f), weft.randn(2)
    for i in range(48):
        SCALE, shift = float(i // 12), i // 24
        if i % 16 == 0:
            weight = weft.randn(2)
        if i == 40:
            Holder.factor = 3
        if i == 44:
            holder.factor = 5
        assert same(compiled(x, power=1 + i // 30), f(x, power=1 + i // 30))
    assert runs(compiled) > 10


def test_python_that_changes_runs_eagerly_and_it_is_said() -> None:
    """A counter is counted in every call."""
    seen: list[int] = []

    def f(x: Any) -> Any:
        seen.append(1)
        return x + len(seen)

    compiled, x = weft.compile(f), weft.zeros(1)
    with pytest.warns(UserWarning, match="changes the length of 'seen'"):
        for i in range(20):
            assert compiled(x).item() == i + 1


def test_python_chance_is_no_program() -> None:
    """A coin of Python's random is tossed in every call."""
    import random

    def f(x: Any) -> Any:
        return x + 1 if random.random() < 0.5 else x - 1

    compiled, x = weft.compile(f), weft.zeros(1)
    with pytest.warns(UserWarning, match="draws from Python's random"):
        found = {compiled(x).item() for _ in range(60)}
    assert found == {1.0, -1.0}


def test_gradients_are_accumulated() -> None:
    """As eager does: onto what is there, or anew."""
    p = nn.Parameter(weft.ones(3))
    f = weft.compile(lambda x: (p * x).sum().backward())
    x = weft.randn(3)
    for _ in range(2):
        p.grad = None
        for _ in range(6):
            f(x)
        assert weft.allclose(p.grad, 6 * x)
    assert runs(f) > 4


def test_old_gradients_are_not_overwritten() -> None:
    """Who kept a gradient or a result still has it after the next call."""
    p = nn.Parameter(weft.ones(3))

    def f(x: Any) -> Any:
        p.grad = None
        loss = (p * x).sum()
        loss.backward()
        return loss

    compiled, kept = weft.compile(f), []
    for i in range(6):
        loss = compiled(weft.full((3,), float(i)))
        kept.append((loss, p.grad))
    for i, (loss, grad) in enumerate(kept):
        assert loss.item() == 3 * i and grad.tolist() == [float(i)] * 3


def test_structures_and_inplace() -> None:
    """Dicts, lists and named results; inputs that are changed; views of inputs."""

    def f(batch: dict[str, Any], more: list[Any]) -> Any:
        batch["x"].mul_(2)
        top = batch["x"].max(0)
        return {"sum": batch["x"] + more[0], "same": batch["x"], "top": top, "view": more[0].t()}

    compiled = weft.compile(f)
    for _ in range(5):
        x, y = weft.randn(2, 2), weft.randn(2, 2)
        mine, theirs = x.clone(), x.clone()
        want, got = f({"x": mine}, [y]), compiled({"x": theirs}, [y])
        assert same(mine, theirs) and got["same"] is theirs and same(want["sum"], got["sum"])
        assert same(want["top"].values, got["top"].values)
        got["view"][0, 0] = 7
        assert y[0, 0] == 7
    assert runs(compiled) == 3


def test_shapes_are_variants_of_which_few_are_kept() -> None:
    """A thousand sizes: right each time, and memory stays bounded."""
    f = weft.compile(lambda x: x.relu().sum())
    for n in range(1, 300):
        x = weft.randn(n)
        assert same(f(x), x.relu().sum())
    assert len(f.report().specializations) <= 64


def test_exceptions_leave_as_from_eager() -> None:
    """While it is captured, and when it is replayed."""
    table = weft.randn(4, 2)
    f = weft.compile(lambda i: table[i].sum())
    for _ in range(4):
        f(weft.tensor([0, 3]))
    for _ in range(2):
        with pytest.raises(IndexError, match="4"):
            f(weft.tensor([0, 4]))
    assert same(f(weft.tensor([1, 2])), table[1:3].sum())


def test_another_memory_is_noticed() -> None:
    """A parameter whose data were replaced, a loaded state, a module that was moved to double."""
    model, x = nn.Linear(2, 1), weft.randn(3, 2)
    f = weft.compile(lambda x: model(x) * 2)
    for change in (
        lambda: setattr(model.weight, "data", weft.randn(1, 2)),
        lambda: model.load_state_dict(nn.Linear(2, 1).state_dict()),
        lambda: setattr(model, "bias", nn.Parameter(weft.zeros(1))),
    ):
        for _ in range(4):
            assert same(f(x), model(x) * 2)
        change()
    model.double()
    for _ in range(4):
        assert same(f(x.double()), model(x.double()) * 2)


def test_copies_and_threads() -> None:
    """A copy has its own parameters; calls from threads are right."""
    import threading

    compiled = weft.compile(nn.Linear(3, 3))
    x = weft.randn(2, 3)
    for _ in range(4):
        compiled(x)
    other = copy.deepcopy(compiled)
    with weft.no_grad():
        other.weight.zero_()
        assert same(other(x), other.bias.expand(2, 3)) and not same(compiled(x), other(x))
        want, wrong = compiled(x), []

        def work() -> None:
            for _ in range(50):
                if not same(compiled(x), want):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong


def test_second_derivatives_inside() -> None:
    """They are ops as others are."""
    x = weft.randn(3, requires_grad=True)

    @weft.compile
    def inside(x: Any) -> Any:
        (g,) = weft.autograd.grad((x**3).sum(), x, create_graph=True)
        return weft.autograd.grad(g.sum(), x)[0]

    for _ in range(5):
        assert weft.allclose(inside(x), 6 * x)
    assert runs(inside) == 3


def test_show_prints_every_program(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a compiled module: forward and backward, before and after each pass."""
    model = weft.compile(nn.Linear(2, 2))
    weft.jit.show(model)
    assert "no graph yet" in capsys.readouterr().out
    for _ in range(4):
        model(weft.ones(3, 2)).sum().backward()
    weft.jit.show(model)
    text = capsys.readouterr().out
    assert text.count("remove_dead") == 2 and "linear(%x0" in text and "matrix_product" in text


def test_hooks_on_gradients_are_called_every_time() -> None:
    """Those that were there, and those that come later."""
    p, calls = nn.Parameter(weft.ones(3)), []

    def f(x: Any) -> Any:
        p.grad = None
        (p * x).sum().backward()
        return p.grad

    compiled, x = weft.compile(f), weft.randn(3)
    for _ in range(5):
        compiled(x)
    p.register_hook(lambda g: calls.append(1) or g * 2)  # type: ignore[func-returns-value]
    with pytest.warns(UserWarning, match="a hook on gradients"):
        for _ in range(10):
            assert same(compiled(x), 2 * x)
    assert len(calls) == 10


def test_frozen_parameters_get_no_gradient() -> None:
    """Whether a tensor wants one is guarded, both ways."""
    model, x = nn.Linear(2, 2), weft.randn(3, 2)
    compiled = weft.compile(model)
    for wanted in (True, False, True):
        model.bias.requires_grad_(wanted)
        for _ in range(4):
            model.zero_grad()
            compiled(x).sum().backward()
            assert (model.bias.grad is not None) is wanted and model.weight.grad is not None


def test_shapes_that_follow_from_values_run_eagerly_and_it_is_said() -> None:
    """The op is named; with fullgraph=True too."""

    def f(x: Any) -> Any:
        return x[x > 0].sum()

    compiled = weft.compile(f)
    with pytest.warns(UserWarning, match="runs eagerly: a program cannot hold"):
        for _ in range(5):
            x = weft.randn(6)
            assert same(compiled(x), f(x))
