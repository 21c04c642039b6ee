"""Compiled steps and their optimisers: what is changed between calls, or in them, is seen."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from jit.compile_calls import bits, runs, warm

import weft
from weft import nn

torch: Any = weft


@pytest.mark.parametrize("change", ["clear", "pop"])
def test_optimizer_forgets_its_state(change: str) -> None:
    """A state that was taken away begins anew."""

    def run(wrap: Any) -> Any:
        weft.manual_seed(0)
        net = nn.Linear(2, 1)
        op = torch.optim.Adam(net.parameters(), lr=0.1)

        @wrap
        def step(x: Any) -> None:
            op.zero_grad()
            net(x).sum().backward()
            op.step()

        for i in range(10):
            if i == 5:
                op.state.clear() if change == "clear" else op.state.pop(net.weight)
            step(weft.ones(1, 2) * (i - 3))
        return net.weight.tolist(), [int(s["step"]) for s in op.state.values()]

    assert run(weft.compile) == run(lambda f: f)


def test_step_that_was_wrapped() -> None:
    """An optimiser's method that is replaced on the object is called."""
    net, called = nn.Linear(2, 1), []
    op = torch.optim.SGD(net.parameters(), lr=0.1)

    @weft.compile
    def step(x: Any) -> None:
        op.zero_grad()
        net(x).sum().backward()
        op.step()

    warm(step, weft.ones(1, 2))
    plain = op.step
    op.step = lambda: (called.append(1), plain())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm(step, weft.ones(1, 2), times=3)
    assert len(called) == 3


def trained(wrap: Any, make: Any, change: Any = None, calls: int = 12, at: int = 7) -> Any:
    """Return weights after some steps; ``make`` gives networks, optimisers and a step."""
    weft.manual_seed(0)
    nets, optimizers, step = make()
    step = wrap(step)
    for i in range(calls):
        if change is not None and i == at:
            change(nets, optimizers)
        step(weft.ones(1, 2))
    return [p.tolist() for net in nets for p in net.parameters()]


def agree(make: Any, change: Any = None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert trained(weft.compile, make, change) == trained(lambda f: f, make, change)


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_two_optimizers_of_the_same_weights(kind: Any) -> None:
    def make() -> Any:
        net = nn.Linear(2, 1)
        ops = [kind(net.parameters(), lr=0.1), kind(net.parameters(), lr=0.001)]

        def step(x: Any) -> None:
            net.zero_grad()
            net(x).square().sum().backward()
            for op in ops:
                op.step()

        return [net], ops, step

    agree(make)
    agree(make, lambda nets, ops: ops[1].param_groups[0].update(lr=0.01))


@pytest.mark.parametrize("restore", [False, True])
def test_rates_that_the_step_sets(restore: bool) -> None:
    def make() -> Any:
        net = nn.Linear(2, 1)
        op = torch.optim.SGD(net.parameters(), lr=0.1)

        def step(x: Any) -> None:
            op.zero_grad()
            net(x).square().sum().backward()
            op.param_groups[0]["lr"] = 0.1
            op.step()
            op.param_groups[0]["lr"] = 0.001
            op.step()
            if restore:
                op.param_groups[0]["lr"] = 0.1

        return [net], [op], step

    agree(make)


@pytest.mark.parametrize("before", [0.0, 0.9])
def test_momentum_that_begins_or_ends(before: float) -> None:
    def make() -> Any:
        net = nn.Linear(2, 1)
        op = torch.optim.SGD(net.parameters(), lr=0.01, momentum=before)

        def step(x: Any) -> None:
            op.zero_grad()
            net(x).square().sum().backward()
            op.step()

        return [net], [op], step

    agree(make, lambda nets, ops: ops[0].param_groups[0].update(momentum=0.9 - before))


def _clear(nets: Any, ops: Any) -> None:
    ops[1].state.clear()


def _nesterov(nets: Any, ops: Any) -> None:
    ops[1].param_groups[0]["nesterov"] = True


def _more(nets: Any, ops: Any) -> None:
    ops[0].add_param_group({"params": nets[2].parameters()})


@pytest.mark.parametrize("change", [_clear, _nesterov, _more])
def test_an_optimizer_in_python_beside_another(change: Any) -> None:
    """What Python runs in each call says nothing about the optimiser beside it."""

    def make() -> Any:
        nets = [nn.Linear(2, 1) for _ in range(3)]
        ops = [
            torch.optim.RMSprop(nets[0].parameters(), lr=0.01),
            torch.optim.SGD(nets[1].parameters(), lr=0.01, momentum=0.9),
        ]

        def step(x: Any) -> None:
            for op in ops:
                op.zero_grad()
            sum(net(x).square() for net in nets).sum().backward()
            for op in ops:
                op.step()

        return nets, ops, step

    agree(make, change)


def test_an_optimizer_of_the_users_own() -> None:
    class Scaled(torch.optim.SGD):  # type: ignore[misc]
        k = 1.0

        def step(self, closure: Any = None) -> Any:
            for group in self.param_groups:
                for p in group["params"]:
                    p.grad.mul_(self.k)
            return super().step(closure)

    def make() -> Any:
        net = nn.Linear(2, 1)
        op = Scaled(net.parameters(), lr=0.01)

        def step(x: Any) -> None:
            op.zero_grad()
            net(x).square().sum().backward()
            op.step()

        return [net], [op], step

    agree(make, lambda nets, ops: setattr(ops[0], "k", 3.0))


def test_a_step_of_a_class_with_super() -> None:
    """Code that names its class through ``super()`` is compiled as any other."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 1)

        def forward(self, x: Any) -> Any:
            return self.layer(x)

    class Trainer:
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()
            self.optimizer = torch.optim.Adam(self.net.parameters())

        def step(self, x: Any) -> Any:
            self.optimizer.zero_grad()
            scale = 1 if self.net.__class__ is Net else 2
            loss = self.net(x).square().sum() * scale
            loss.backward()
            self.optimizer.step()
            return loss

    fast = weft.compile(Trainer().step, fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warm(fast, weft.ones(1, 2), times=8)
    assert any(v.ready for v in fast.specializations)


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_that_a_scheduler_changes(nesterov: bool) -> None:
    """It is read anew in each call, as the rate is; only none at all is another program."""

    def run(wrap: Any) -> Any:
        weft.manual_seed(0)
        net, found = nn.Linear(2, 1), []
        op = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=nesterov)
        cycle = torch.optim.lr_scheduler.OneCycleLR(op, 0.5, total_steps=40)

        def step(x: Any) -> None:
            op.zero_grad()
            net(x).square().sum().backward()
            op.step()

        step = wrap(step)
        for i in range(30):
            step(weft.ones(1, 2) * 0.1 * (i % 3))
            cycle.step()
            if i in (20, 21, 22):
                op.param_groups[0]["momentum"] = 0 if not nesterov else 1
            found.append((net.weight.tolist(), op.param_groups[0]["momentum"]))
        return found, [s["momentum_buffer"].tolist() for s in op.state.values()], step

    *eager, _ = run(lambda f: f)
    *fast, step = run(weft.compile)
    assert fast == eager
    assert not step.reasons
    assert runs(step) >= 24


def test_closure_of_an_optimizer() -> None:
    """One that only sets gradients does not depend on what the optimiser keeps."""

    def run(wrap: Any) -> Any:
        weft.manual_seed(0)
        net = nn.Linear(3, 1)
        x, y = weft.randn(8, 3), weft.randn(8, 1)
        op = torch.optim.LBFGS(net.parameters(), max_iter=5)

        def closure() -> Any:
            op.zero_grad()
            loss = (net(x) - y).square().mean()
            loss.backward()
            return loss

        closure = wrap(closure)
        return [(op.step(closure).item(), net.weight.tolist()) for _ in range(4)], closure

    eager, _ = run(lambda f: f)
    fast, closure = run(weft.compile)
    assert fast == eager
    assert not closure.reasons
    assert runs(closure) >= 8


def test_options_that_the_function_looks_at() -> None:
    """An optimiser that makes no step is watched where the function asks for what it keeps."""
    net = nn.Linear(1, 1)
    op = torch.optim.SGD(net.parameters(), lr=1.0)
    rate = weft.compile(lambda x: x * op.param_groups[0]["lr"])
    known = weft.compile(lambda x: x * len(op.state))
    for i in range(8):
        op.param_groups[0]["lr"] = float(i // 3)
        if i == 5:
            op.state[net.weight] = {"momentum_buffer": None}
        assert rate(weft.ones(1)).item() == i // 3
        assert known(weft.ones(1)).item() == (i >= 5)


def test_a_step_of_which_other_ops_do_a_part() -> None:
    """Gradients that lie transposed are applied by plain ops, which hold the rate that they were given."""

    def world() -> tuple[Any, Any, Any]:
        weft.manual_seed(0)
        p, lin = nn.Parameter(weft.randn(3, 4)), nn.Linear(4, 4)
        opt = weft.optim.SGD([p, *lin.parameters()], lr=0.1)

        def f(x: Any) -> None:
            for loss in (lambda: lin(x).tanh().mean(), lambda: (x @ p.t()).tanh().mean()):
                opt.zero_grad()
                loss().backward()
                opt.step()

        return f, opt, [p, *lin.parameters()]

    (eager, *ours), (f, *theirs) = world(), world()
    fast = weft.compile(f)
    for call in range(12):
        x = weft.randn(3, 4)
        eager(x)
        fast(x)
        assert all(weft.equal(a, b) for a, b in zip(ours[1], theirs[1])), call
        if call in (4, 8):
            for opt in (ours[0], theirs[0]):
                opt.param_groups[0]["lr"] *= 0.5
    assert runs(fast) > 0


def test_steps_by_hand() -> None:
    """``p.data -= rate * p.grad``, as tutorials write it, stays one program."""

    def make(compiled: bool) -> tuple[Any, Any]:
        weft.manual_seed(3)
        model = nn.Linear(3, 2)

        def step(x: Any) -> Any:
            model.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            for p in model.parameters():
                p.data -= 0.1 * p.grad.data
            return loss

        return model, weft.compile(step) if compiled else step

    (plain, step), (model, fast) = make(False), make(True)
    for turn in range(6):
        weft.manual_seed(turn)
        x = weft.randn(4, 3)
        assert bits(step(x)) == bits(fast(x))
        assert bits(list(plain.parameters())) == bits(list(model.parameters()))
    assert runs(fast) == 4, fast.reasons
