"""Results that are views of each other, of what stays inside, or of what the call was given."""

from __future__ import annotations

from typing import Any

import pytest
from jit.compile_calls import bits, runs

import weft
from weft import nn
from weft.autograd import grad

CALLS = 6  # two are captured, the others replayed
pytestmark = pytest.mark.usefixtures("quiet")


def check(f: Any, use: Any, compiles: bool = True) -> Any:
    """Compare what ``use`` makes of a function and of the same one compiled; return the last outcome."""
    fast = weft.compile(f)
    want: Any = None
    for turn in range(CALLS):
        found = []
        for g in (f, fast):
            weft.manual_seed(turn)
            x = weft.randn(4, 6, requires_grad=True)
            try:
                found.append([bits(use(g, x)), bits(x.grad), bits(x)])
            except RuntimeError as e:
                found.append(str(e).partition(":")[0])
        want, got = found
        assert want == got, turn
    assert (runs(fast) == CALLS - 2) == compiles, fast.reasons
    return want


def total(*tensors: Any) -> Any:
    """A number that depends on all of them, on each in another way."""
    return sum((t * (i + 1.5)).sin().sum() for i, t in enumerate(tensors))


# ---- what programs do ------------------------------------------------------------------------------


def test_mean_and_variance_of_an_encoder() -> None:
    """Two halves of one layer's output."""

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(6, 8)

        def forward(self, x: Any) -> Any:
            mean, logvar = self.body(x).chunk(2, -1)
            return mean, logvar

    net = Encoder()

    def use(f: Any, x: Any) -> Any:
        net.zero_grad()
        mean, logvar = f(x)
        z = mean + weft.randn_like(mean) * (logvar * 0.5).exp()
        loss = z.square().mean() - 0.5 * (1 + logvar - mean.square() - logvar.exp()).mean()
        loss.backward()
        return [mean, logvar, loss, [p.grad for p in net.parameters()]]

    check(net, use)


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM])
def test_a_sequence_and_its_last_step(kind: Any) -> None:
    """All states, and a view of the last."""
    layer = kind(6, 5)

    def f(x: Any) -> Any:
        out = layer(x)[0]
        return out, out[-1]

    def use(f: Any, x: Any) -> Any:
        layer.zero_grad()
        total(*f(x)).backward()
        return [p.grad for p in layer.parameters()]

    check(f, use)


CASES: dict[str, Any] = {
    "halves": lambda x: x.tanh().chunk(2, 1),
    "slices": lambda x: (lambda h: (h[:, :2], h[:, 2:]))(x.sin()),
    "overlapping": lambda x: (lambda h: (h[:, :4], h[:, 2:]))(x.sin()),
    "with its base": lambda x: (lambda h: (h, h[:, -1]))(x.sin()),
    "before its base": lambda x: (lambda h: (h.t(), h))(x.cos()),
    "a view of a view": lambda x: (lambda h: (h.view(2, 12)[0], h.t()[1]))(x.cos()),
    "of what its op keeps": lambda x: (lambda h: (h[:, :2], h))(x.tanh()),
    "twice": lambda x: (lambda h: (h, h))(x.sin()),
    "of an input": lambda x: x.view(-1),
    "of an input, and more": lambda x: (x.t(), x[0], x * 2),
    "detached": lambda x: (lambda h: (h, h.detach()))(x.sin()),
    "one of several": lambda x: x.tanh().unbind(0)[1],
    "kept by its op": lambda x: (lambda h: (h.view(-1), h[1] * h[2]))(x.exp()),
    "changed inside": lambda x: (lambda h: (h[0].mul_(3), h))(x * 1),
}


def each(f: Any, x: Any) -> Any:
    return list(dict.fromkeys(t for t in _flat(f(x)) if t.requires_grad))


def _flat(made: Any) -> Any:
    return [made] if isinstance(made, weft.Tensor) else list(made)


def walk_all(f: Any, x: Any) -> Any:
    made = each(f, x)
    total(*made).backward()
    return made


def walk_first(f: Any, x: Any) -> Any:
    total(*each(f, x)[:1]).backward()


def walk_last(f: Any, x: Any) -> Any:
    total(*each(f, x)[-1:]).backward()


def walk_one_by_one(f: Any, x: Any) -> Any:
    for t in each(f, x):
        t.sum().backward()


def change_first(f: Any, x: Any) -> Any:
    made = each(f, x)
    made[0].mul_(2)
    total(*made).backward()
    return made


def change_last(f: Any, x: Any) -> Any:
    made = each(f, x)
    made[-1].mul_(made[-1].detach() + 1)
    total(*made).backward()
    return made


def change_both(f: Any, x: Any) -> Any:
    made = each(f, x)
    made[0].mul_(2)
    made[-1].add_(x.sum())
    total(*reversed(made)).backward()
    return made


def change_unseen(f: Any, x: Any) -> Any:
    made = each(f, x)
    with weft.no_grad():
        made[0].mul_(2)
    total(*made).backward()
    return made


def change_detached(f: Any, x: Any) -> Any:
    made = _flat(f(x))
    made[-1].detach().mul_(2)
    total(*[t for t in made if t.requires_grad]).backward()
    return made


def second_order(f: Any, x: Any) -> Any:
    (g,) = grad(total(*each(f, x)), x, create_graph=True)
    g.square().sum().backward()
    return g


def second_after_a_change(f: Any, x: Any) -> Any:
    made = each(f, x)
    made[0].mul_(2)
    (g,) = grad(total(*made), x, create_graph=True)
    g.square().sum().backward()
    return g


def facts(f: Any, x: Any) -> Any:
    made = _flat(f(x))
    return [[t.stride() for t in made], [t is made[0] for t in made]]


USES = [
    walk_all, walk_first, walk_last, walk_one_by_one, change_first, change_last, change_both,
    change_unseen, change_detached, second_order, second_after_a_change, facts,
]  # fmt: skip


PAIRS = [(name, use) for name in CASES for use in USES]
RECOMPUTED = ("kept by its op", "of what its op keeps", "halves", "one of several")
for name in RECOMPUTED:  # the call is recomputed, and is right
    PAIRS.remove((name, second_after_a_change))


@pytest.mark.parametrize(("name", "use"), PAIRS)
def test_views_as_results(name: str, use: Any) -> None:
    """Values, gradients, errors, and changes in place that are seen through other results."""
    check(CASES[name], use)


def test_inputs_that_are_views() -> None:
    """A view of an input that is one has the same base."""

    def use(f: Any, x: Any) -> Any:
        h = x * 2
        made = f(h[1:])
        h.mul_(3)
        made.add_(1)
        total(made, h).backward()
        return [made, h, made._base is h]

    assert check(lambda x: x.t(), use)[0][-1]


def test_views_of_weights() -> None:
    """A leaf is not changed through a view of it."""
    w = nn.Parameter(weft.randn(3, 4))
    fast = weft.compile(lambda x: (w.t(), x * 2))
    for _ in range(5):
        w.grad = None
        view, _ = fast(weft.ones(1))
        with pytest.raises(RuntimeError, match="leaf Variable"):
            view.mul_(2)
        view.sum().backward()
        assert w.grad.tolist() == [[1.0] * 4] * 3
    assert runs(fast) == 3


def test_views_that_come_from_another_piece() -> None:
    """A decision between a tensor and its views."""

    def f(x: Any) -> Any:
        h = x.sin()
        if h.sum() > 1000:
            return h, h
        return h[:, :3], h[:, 3:]

    fast = weft.compile(f)
    for turn in range(CALLS):
        found = []
        for g in (f, fast):
            weft.manual_seed(turn)
            x = weft.randn(4, 6, requires_grad=True)
            found.append([bits(change_first(g, x)), bits(x.grad)])
        assert found[0] == found[1]
    assert runs(fast) > 0


def test_what_stays_eager() -> None:
    """A view that was made with gradients off; ``data``, whose changes the tape is not told of."""

    def quiet(x: Any) -> Any:
        h = x.sin()
        with weft.no_grad():
            return h, h[0]

    check(quiet, walk_all, compiles=False)
    check(quiet, change_last, compiles=False)

    def look(x: Any) -> Any:
        y = x.sum()
        with weft.no_grad():
            return y, x[1:]

    def change_given(f: Any, x: Any) -> Any:
        h = x * 2
        made = f(h)
        h.mul_(3)
        total(*made).backward()
        return made

    check(look, walk_all, compiles=False)
    check(look, change_given, compiles=False)

    def change_data(f: Any, x: Any) -> Any:
        h, data = f(x)
        data.mul_(2)
        h.sum().backward()
        return [h, data]

    check(lambda x: (lambda h: (h, h.data))(x.exp()), change_data, compiles=False)
    check(lambda x: (lambda h: (h, h[0].data))(x.exp()), change_data, compiles=False)
