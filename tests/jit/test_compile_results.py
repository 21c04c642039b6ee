"""Several results that have gradients: each goes back by itself, as it does after an eager call."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import pytest
from jit.compile_calls import bits, runs

import weft
import weft.nn.functional as F
from weft import nn
from weft.autograd import grad

CALLS = 7  # two are captured, the others replayed
pytestmark = pytest.mark.usefixtures("quiet")


def outcome(use: Any, f: Any, args: Any) -> Any:
    """What a program gives, or how it fails."""
    try:
        return bits(use(f, *args))
    except RuntimeError as e:
        return str(e).partition(":")[0]


def check(make: Any, use: Any, args: Any, least: int = CALLS - 2) -> list[Any]:
    """Compare ``use`` of a function and of the same one compiled; both are made anew, and are equal.

    Args:
        make: makes the function, and the tensors whose gradients are looked at.
        use: what is done with it.
        args: makes arguments.
        least: how many calls must be replayed.
    """
    weft.manual_seed(5)
    eager, own = make()
    weft.manual_seed(5)
    other, others = make()
    compiled = weft.compile(other)
    found = []
    for turn in range(CALLS):
        weft.manual_seed(turn)
        want = outcome(use, eager, args())
        weft.manual_seed(turn)
        got = outcome(use, compiled, args())
        assert want == got, turn
        if not isinstance(want, str):  # else eager has reached some leaves by then
            assert bits([t.grad for t in own]) == bits([t.grad for t in others]), turn
        found.append(want)
        for t in [*own, *others]:
            t.grad = None
    assert runs(compiled) >= least, compiled.reasons
    return found


def losses() -> Any:
    """Two losses of a pair of networks that have nothing in common."""
    one, two = nn.Linear(4, 3), nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
    return lambda x: (one(x).square().mean(), two(x).sigmoid().mean()), [
        *one.parameters(), *two.parameters(),
    ]  # fmt: skip


def heads() -> Any:
    """A policy and a value, of one trunk."""
    trunk, policy, value = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 1)

    def f(x: Any) -> Any:
        h = trunk(x).tanh()
        return policy(h).log_softmax(-1), value(h)

    return f, [*trunk.parameters(), *policy.parameters(), *value.parameters()]


def batch() -> Any:
    return (weft.randn(6, 4),)


# ---- one after the other -------------------------------------------------------------------------


def test_losses_that_have_nothing_in_common() -> None:
    """Each has its own graph."""

    def use(f: Any, x: Any) -> Any:
        a, b = f(x)
        a.backward()
        b.backward()
        return [a, b]

    check(losses, use, batch)
    check(losses, lambda f, x: [t.backward() for t in reversed(f(x))], batch)


def test_each_loss_can_be_walked_once() -> None:
    """A second time it is freed, as in eager."""

    def use(f: Any, x: Any) -> Any:
        a, b = f(x)
        a.backward()
        b.backward(retain_graph=True)
        b.backward()
        return a.backward()

    assert set(check(losses, use, batch)) == {"Trying to backward through the graph a second time"}


def test_a_trunk_is_freed_by_the_first() -> None:
    """Unless the graph is retained."""

    def use(f: Any, x: Any, retain: bool) -> Any:
        a, b = f(x)
        a.sum().backward(retain_graph=retain)
        b.sum().backward()

    for retain in (True, False):
        found = check(heads, lambda f, x, r=retain: use(f, x, r), batch)
        assert (found[-1] is None) == retain


def test_a_shared_part_that_keeps_nothing() -> None:
    """Sums and views keep nothing: they can be walked again."""

    def make() -> Any:
        p, q = nn.Parameter(weft.randn(4)), nn.Parameter(weft.randn(4))

        def f(x: Any) -> Any:
            h = (x + p).view(2, 12)
            return h.sum(), (h.view(6, 4) * q).sum()

        return f, [p, q]

    def use(f: Any, x: Any) -> Any:
        a, b = f(x)
        b.backward()
        a.backward()
        a.backward()

    assert check(make, use, batch)[-1] is None


def test_what_keeps_nothing_is_walked_again() -> None:
    """One result too."""

    def make() -> Any:
        p = nn.Parameter(weft.randn(4))
        return lambda x: x + p, [p]

    def use(f: Any, x: Any) -> Any:
        y = f(x)
        y.sum().backward()
        y.sum().backward()
        return grad(y.sum(), y)

    check(make, use, batch)


def test_gradients_of_some_leaves() -> None:
    """What is not on the way to them is not freed."""

    def use(f: Any, x: Any) -> Any:
        a, b = f(x)
        head, trunk = use.leaves(f)
        first = grad(a.sum(), head)
        second = grad(b.sum(), trunk)
        return [first, second]

    use.leaves = lambda f: (f.head, f.trunk)  # type: ignore[attr-defined]

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.one, self.two = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 1)
            self.head, self.trunk = list(self.one.parameters()), list(self.body.parameters())

        def forward(self, x: Any) -> Any:
            h = self.body(x).relu()
            return self.one(h), self.two(h)

    def make() -> Any:
        net = Net()
        return net, list(net.parameters())

    assert isinstance(check(make, use, batch)[-1], list)


def test_two_towers_of_one_loss() -> None:
    """A sum keeps nothing: each tower is walked by itself."""

    class Towers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(4, 3), nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            return self.one(x).square().sum() + self.two(x).tanh().sum()

    def make() -> Any:
        net = Towers()
        return net, list(net.parameters())

    def use(f: Any, x: Any) -> Any:
        loss = f(x)
        first = grad(loss, list(f.one.parameters()))
        second = grad(loss, list(f.two.parameters()))
        return [first, second, grad(loss, list(f.one.parameters()))]

    assert "second time" in check(make, use, batch)[-1]


# ---- weights that change in between ----------------------------------------------------------------


@pytest.mark.parametrize("of_the_other", [True, False])
def test_a_step_between_two_losses(of_the_other: bool) -> None:
    """What the second loss does not need may change; what it needs may not."""

    def make() -> Any:
        f, params = losses()
        steps.append(weft.optim.SGD(params[:2] if of_the_other else params[2:], lr=0.1))
        return f, params

    def use(f: Any, x: Any) -> Any:
        a, b = f(x)
        (a if of_the_other else b).backward(retain_graph=True)
        steps[isinstance(f, weft.jit.compile.function.CompiledFunction)].step()
        b.backward()
        return [a, b]

    steps: list[Any] = []
    found = check(make, use, batch)
    assert isinstance(found[-1], list) == of_the_other


def test_a_gan_whose_losses_come_from_one_call() -> None:
    """The discriminator learns before the generator's loss goes back."""

    class Gan(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.g, self.d = nn.Linear(4, 4), nn.Linear(4, 1)

        def forward(self, x: Any) -> Any:
            fake = self.g(x)
            d = F.softplus(self.d(fake.detach())).mean() + F.softplus(-self.d(x)).mean()
            return F.mse_loss(fake, x), d

    def make() -> Any:
        net = Gan()
        net.steps = [weft.optim.Adam(m.parameters()) for m in (net.g, net.d)]
        return net, list(net.parameters())

    def use(f: Any, x: Any) -> Any:
        g_loss, d_loss = f(x)
        d_loss.backward()
        f.steps[1].step()
        g_loss.backward()
        f.steps[0].step()
        return [g_loss, d_loss, *[p.detach().clone() for p in f.parameters()]]

    assert isinstance(check(make, use, batch, CALLS - 3)[-1], list)  # the first steps make state


def test_a_weight_that_the_wanted_gradient_does_not_need() -> None:
    """The gradient of a weight needs the input, not the weight."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(weft.randn(4, 4))

        def forward(self, x: Any) -> Any:
            return x @ self.w

    def make() -> Any:
        net = Net()
        return net, [net.w]

    def use(f: Any, x: Any, wanted: str) -> Any:
        x.requires_grad_()
        y = f(x).sum()
        with weft.no_grad():
            f.w.mul_(2)
        return grad(y, f.w if wanted == "w" else x)

    assert isinstance(check(make, lambda f, x: use(f, x, "w"), batch)[-1], list)
    assert "modified by an inplace" in check(make, lambda f, x: use(f, x, "x"), batch)[-1]


# ---- memory and second derivatives -------------------------------------------------------------------


def test_what_is_freed_gives_its_memory_back() -> None:
    """A result that was walked keeps nothing, while the other keeps what it needs."""
    p = nn.Parameter(weft.ones(1))

    def f(x: Any, y: Any) -> Any:
        return (x * p).exp().sum(), (y * p).exp().sum()

    compiled = weft.compile(f)
    for _ in range(4):
        for t in compiled(weft.ones(1 << 16), weft.ones(1 << 17)):
            t.backward()
    gc.collect()
    before = weft.memory_allocated()
    a, b = compiled(weft.ones(1 << 16), weft.ones(1 << 17))
    both = weft.memory_allocated() - before
    b.backward()
    left = weft.memory_allocated() - before
    a.backward()
    assert left <= both * 0.8  # the arguments stay
    assert weft.memory_allocated() - before <= both * 0.05


def test_second_derivatives_of_what_is_left() -> None:
    """One loss is walked and freed, the other has a gradient with a graph."""

    def use(f: Any, x: Any) -> Any:
        x.requires_grad_()
        a, b = f(x)
        a.backward()
        (g,) = grad(b, x, create_graph=True)
        g.square().sum().backward()
        return [g, x.grad, b.backward()]

    check(losses, use, batch)

    def again(f: Any, x: Any) -> Any:
        x.requires_grad_()
        a, b = f(x)
        a.backward()
        grad(b, x, create_graph=True)
        a.backward()

    assert set(check(losses, again, batch)) == {
        "Trying to backward through the graph a second time"
    }


def test_results_whose_graphs_are_used_up() -> None:
    """Of several shapes: they cannot go back, together or alone."""

    def make() -> Any:
        p = nn.Parameter(weft.randn(4))

        def f(x: Any) -> Any:
            h = (x * p).sigmoid()
            h.sum().backward()
            return h, h.t(), h[:, :2]

        return f, [p]

    def use(f: Any, x: Any) -> Any:
        sum(t.sum() for t in f(x)).backward()

    assert set(check(make, use, batch)) == {"Trying to backward through the graph a second time"}


# ---- many results ------------------------------------------------------------------------------------


class Pyramid(nn.Module):
    """Feature maps of several sizes, from the finest to the coarsest and back."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(c, c + 1, 3, padding=1) for c in range(2, 5)])
        self.up = nn.ModuleList([nn.Conv2d(c + 1, c, 1) for c in range(4, 1, -1)])

    def forward(self, x: Any) -> Any:
        levels = []
        for layer in self.down:
            x = F.max_pool2d(layer(x).relu(), 2)
            levels.append(x)
        back = []
        for layer, h in zip(self.up, [*levels[-2::-1], None]):
            x = F.interpolate(layer(x), scale_factor=2)
            x = x if h is None else x + h
            back.append(x)
        return {"levels": levels, "back": back}


def pyramid() -> Any:
    net = Pyramid()
    return net, list(net.parameters())


def states() -> Any:
    """All states of a cell."""
    cell = nn.GRUCell(4, 5)

    def f(x: Any) -> Any:
        h, found = weft.zeros(1, 5), []
        for row in x:
            h = cell(row.unsqueeze(0), h)
            found.append(h)
        return found

    return f, list(cell.parameters())


def boxes() -> Any:
    """Parts of one map, beside what else is made of it."""
    head = nn.Linear(4, 10)

    def f(x: Any) -> Any:
        h = head(x)
        place, size, score, classes = h.split([2, 2, 1, 5], 1)
        return [place.sigmoid(), size.exp(), score, classes.log_softmax(1), h.square().mean()]

    return f, list(head.parameters())


def flat(x: Any) -> list[Any]:
    if isinstance(x, weft.Tensor):
        return [x]
    return [t for v in (x.values() if isinstance(x, dict) else x) for t in flat(v)]


def image() -> Any:
    return (weft.randn(2, 2, 16, 16),)


MANY = [(pyramid, image), (states, batch), (boxes, batch)]


@pytest.mark.parametrize(("make", "args"), MANY)
def test_gradients_of_some_of_many_results(make: Any, args: Any) -> None:
    """Whichever they are."""
    choices = [(0,), (0, 1, 2, 3, 4), (1, 3), (0, 4), (2, 3, 4), (4,), (1, 3)]
    turns = iter([chosen for chosen in choices for _ in range(2)])

    def use(f: Any, x: Any) -> Any:
        x.requires_grad_()
        made = flat(f(x))
        sum((made[i] * (i + 0.5)).sin().sum() for i in next(turns)).backward()
        return [made, x.grad]

    check(make, use, args)


@pytest.mark.parametrize(("make", "args"), MANY)
def test_many_results_one_after_the_other(make: Any, args: Any) -> None:
    """With the graph retained, and each by itself until one is freed."""

    def use(f: Any, x: Any, retain: bool) -> Any:
        for t in flat(f(x)):
            t.sum().backward(retain_graph=retain)

    for retain in (True, False):
        check(make, lambda f, x, r=retain: use(f, x, r), args)


def test_second_derivatives_of_many_results() -> None:
    """Of some of them."""

    def use(f: Any, x: Any) -> Any:
        x.requires_grad_()
        made = f(x)
        (g,) = grad(made[1].sum() + made[3].square().sum(), x, create_graph=True)
        g.square().sum().backward()
        return [g, x.grad]

    check(boxes, use, batch)


@pytest.mark.parametrize("count", [16, 17])
def test_how_many_results(count: int) -> None:
    """Beyond that calls are eager."""
    fast = weft.compile(lambda x: [x * i for i in range(count)])
    for _ in range(4):
        x = weft.ones(2, requires_grad=True)
        sum(t.sum() for t in fast(x)[3:5]).backward()
        assert x.grad.tolist() == [7.0, 7.0]
    assert runs(fast) == (2 if count == 16 else 0)


OPS: dict[str, Any] = {
    "std_mean": lambda x: weft.std_mean(x, 1),
    "max": lambda x: [x.max(1).values, x.exp().max(1).values],
    "unbind": lambda x: x.tanh().unbind(0),
    "topk": lambda x: [x.topk(2).values, x.sort(1).values],
    "split": lambda x: x.exp().split(1, 1),
    "index": lambda x: [x[PLACES], x.index_select(1, PLACES), x.gather(1, (x > 0).long())],
    "cumsum": lambda x: [x.cumsum(0), x.logcumsumexp(1)],
    "norms": lambda x: [F.layer_norm(x, (4,)), F.batch_norm(x, None, None, training=True)],
    "matmul": lambda x: [x @ x.t(), weft.einsum("ij,kj->ik", x, x), x @ weft.ones(4)],
    "lstm": lambda x: [*LSTM(x)[1], LSTM(x)[0]],
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x).unbind(0),
}
LSTM, PLACES = nn.LSTM(4, 3), weft.tensor([0, 0, 2])


@pytest.mark.parametrize("name", OPS)
def test_ways_back_from_some_results(name: str, monkeypatch: Any) -> None:
    """They are those of eager, for each choice."""
    monkeypatch.setattr(weft.jit.compile.backward, "_FEW", 1)

    def make() -> Any:
        return lambda x: [*OPS[name](x * 1), x * 2], list(LSTM.parameters())

    turns = iter(range(2 * CALLS))

    def use(f: Any, x: Any) -> Any:
        turn, found = next(turns) // 2, []
        x.requires_grad_()
        made = f(x)
        for choice in range(1, 8):
            x.grad = None
            some = [t for i, t in enumerate(made) if choice * (turn + 1) >> i % 3 & 1]
            if some:
                sum((t.square() * 0.7).sum() for t in some).backward(retain_graph=True)
            found.append(x.grad)
        return found

    check(make, use, batch)


def test_numbers_that_ways_back_read() -> None:
    """Each way has made its own tensor of a number: none of them is let go of with another's."""

    def make() -> Any:
        def f(x: Any) -> Any:
            a, b = x.chunk(2, 0)
            return a, b, weft.where(a > 0, a, a * 0.1), a.masked_fill(a > 1, 0.0)

        return f, []

    def use(f: Any, x: Any) -> Any:
        x.requires_grad_()
        _, b, w, m = f(x)
        m.sum().backward()
        (b.sum() + w.sum()).backward()
        return x.grad

    check(make, use, batch)


@pytest.mark.parametrize("shape", [(1,), (1, 1), (4, 1), (1, 4)])
def test_gradients_with_strides_of_their_own(shape: Any) -> None:
    """Along a single element any stride is contiguous."""
    one = weft.ones(())
    grads = [one.expand(shape), weft.ones(8).as_strided(shape, [1 if n > 1 else 7 for n in shape])]

    def use(f: Any, x: Any, g: Any) -> Any:
        x.requires_grad_()
        f(x).backward(g)
        return x.grad

    for g in grads:
        check(
            lambda: (lambda x: x.tanh() * 2, []),
            lambda f, x, g=g: use(f, x, g),
            lambda: (weft.randn(shape),),
        )


def test_leaves_that_a_call_makes() -> None:
    """Beside results with a history they are given as they are, by eager calls."""
    net = nn.Linear(2, 2)

    def f(x: Any) -> Any:
        y = net(x)
        return y, y.detach().clone().requires_grad_(), weft.zeros(2, requires_grad=True)

    fast = weft.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(6):
            y, start, bias = fast(weft.ones(1, 2))
            (y.sum() + (start * 2 + bias).sum()).backward()
            assert start.grad.tolist() == [[2, 2]] and bias.grad.tolist() == [1, 1]
    assert fast.reasons == ["it returns a tensor that it made and that is a leaf"]
