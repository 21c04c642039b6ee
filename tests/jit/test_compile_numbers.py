"""Numbers that ``item()`` gives: those that only leave the function cut nothing, others decide."""

from __future__ import annotations

import math
from typing import Any

import pytest
from jit.compile_calls import runs

import weft

pytestmark = pytest.mark.filterwarnings("ignore:compile")


def in_a_tuple(x: Any) -> Any:
    return x.sum().item(), x.max().item()


def in_a_dict(x: Any) -> Any:
    return {"sum": x.sum().item(), "y": x + 1, "count": int((x > 3).sum())}


def in_a_dict_in_a_list(x: Any) -> Any:
    return [x * 2, {"a": (float(x.sum()), "b")}, None]


def in_variables(x: Any) -> Any:
    total = x.sum()
    first, last = total.item(), x[-1].item()
    y = weft.tanh(x)
    both = (first, last)
    return both, y.sum(), total.item()


def twice_the_same(x: Any) -> Any:
    a = x.sum().item()
    return a, a, (x * 0).sum().item()


def unused(x: Any) -> Any:
    x.sum().item()
    return x * 2


def before_it_is_changed(x: Any) -> Any:
    total = x * 1
    before = total.sum().item(), total[0].item()
    kept = total[1].item()
    total.mul_(10)
    return before, kept, total[0].item()


def with_gradients(x: Any) -> Any:
    w = x.detach().requires_grad_()
    loss = (w * w).sum()
    loss.backward()
    return loss.item(), w.grad


def overwritten(x: Any) -> Any:
    value = x.sum().item()
    value = x.max()  # type: ignore[assignment]
    return value


LEAVING = [
    in_a_tuple, in_a_dict, in_a_dict_in_a_list, in_variables, twice_the_same, unused,
    before_it_is_changed, with_gradients, overwritten,
]  # fmt: skip


def flat(x: Any) -> Any:
    if isinstance(x, weft.Tensor):
        return x.tolist()
    if isinstance(x, dict):
        return {k: flat(v) for k, v in x.items()}
    return type(x)(flat(v) for v in x) if isinstance(x, (tuple, list)) else (type(x), x)


@pytest.mark.parametrize("f", LEAVING, ids=lambda f: f.__name__)
def test_numbers_that_leave(f: Any) -> None:
    """They are parts of what one program gives."""
    fast = weft.compile(f)
    for i in range(12):
        x = weft.arange(4.0) + i
        assert flat(fast(x)) == flat(f(x))
    assert runs(fast) == 10
    assert not fast.reasons and not fast.specializations[0].is_cut
    whole = weft.compile(f, fullgraph=True)
    assert flat(whole(weft.ones(4))) == flat(f(weft.ones(4)))


def test_numbers_of_tensors_that_change() -> None:
    """A number is the one that was there when it was read."""
    count = weft.zeros((), dtype=weft.int64)

    @weft.compile
    def f(x: Any) -> Any:
        before = count.item()
        count.add_(1)
        return before, count.item(), x + count

    for i in range(8):
        before, after, y = f(weft.zeros(2))
        assert (before, after, y.tolist()) == (i, i + 1, [i + 1.0] * 2)
    assert runs(f) == 6


def test_gradients_beside_numbers() -> None:
    """What is returned beside a number has its history."""
    w = weft.tensor([1.0, 2.0], requires_grad=True)

    @weft.compile
    def f(x: Any) -> Any:
        loss = (w * x).sum()
        return loss, loss.item()

    for i in range(8):
        loss, number = f(weft.full((2,), float(i)))
        w.grad = None
        loss.backward()
        assert number == loss.item() == 3.0 * i
        assert w.grad.tolist() == [i, i]
    assert runs(f) == 6


TABLE = [0, 1, 50, 60, 70, 80, 90, 100]


def by_table(x: Any) -> Any:
    return TABLE[x[0].long()]


def by_function(x: Any) -> Any:
    return math.sqrt(x[0])


def by_absolute_value(x: Any) -> Any:
    return math.fabs(1 - x[0])


def of_another_type(x: Any) -> Any:
    return int(x[0] / 2), x


def in_a_branch(x: Any) -> Any:
    n = x[0].item()
    return 1 if n > 3 else 0


def in_a_formula(x: Any) -> Any:
    n = x[0].item()
    return n, max(n, 3.0)


def through_locals(x: Any) -> Any:
    n = x[0].item()
    return n, locals()["n"] > 3


def in_a_loop(x: Any) -> Any:
    found = []
    for i in range(2):
        found.append(x[i].item() > 3)
    return found


def by_a_cell(x: Any) -> Any:
    n = x[0].item()
    return n, (lambda: n > 3)()


def where_an_error_leads(x: Any) -> Any:
    n = 0
    try:
        n = x[0].item()
        raise ValueError
    except ValueError:
        return x if n > 3 else -x


def where_an_error_may_lead(x: Any) -> Any:
    try:
        n = x[0].item()
        return n, [1, 2, 3].index(7)
    except ValueError:
        return n > 3


def as_a_key(x: Any) -> Any:
    return {x[0].item(): 1}


DECIDING = [
    by_table, by_function, by_absolute_value, of_another_type, in_a_branch, in_a_formula,
    through_locals, in_a_loop, by_a_cell, where_an_error_leads, where_an_error_may_lead, as_a_key,
]  # fmt: skip


@pytest.mark.parametrize("f", DECIDING, ids=lambda f: f.__name__)
def test_numbers_that_decide(f: Any) -> None:
    """What is made of a number is not the number, even if it was the same while captured."""
    fast = weft.compile(f)
    for i in (0, 0, 0, 1, 1, 1, 4, 5, 6, 0, 1, 4, 7, 2):
        x = weft.arange(4.0) + i
        assert flat(fast(x)) == flat(f(x))


def stored(x: Any) -> Any:
    y = weft.zeros(4)
    y[x[0].long() % 4] = 1
    return y


HOLDING = {
    "an index": lambda x: x[x[0].long() % 4],
    "an index among others": lambda x: x.view(2, 2)[:, x[0].long() % 2],
    "a mask": lambda x: x[(x > 2).any()],
    "stored": stored,
    "a size": lambda x: weft.zeros(x[0].long() + 1),
    "a size in a list": lambda x: weft.ones([2, x[0].long() + 1]),
    "an end": lambda x: weft.arange(x[0]),
    "a factor": lambda x: weft.add(x, x, alpha=x[0]),
    "a shift": lambda x: x.roll(x[0].long()),
    "a count": lambda x: x.topk(x[0].long() % 3 + 1).values,
    "bins": lambda x: weft.histc(x, bins=x[0].long() + 1),
    "places of a cut": lambda x: x.tensor_split(x[:2].long()),
    "its text": lambda x: str(x),
    "its text, formatted": lambda x: f"{x}",
}


@pytest.mark.parametrize("name", HOLDING)
def test_tensors_that_stand_for_numbers(name: str) -> None:
    """What is done with the number in a tensor is done with that of each call."""
    f: Any = HOLDING[name]
    fast = weft.compile(f)
    for i in (0, 0, 0, 1, 1, 1, 4, 5, 6, 0, 1, 4, 7, 2):
        x = weft.arange(4.0) + i
        assert flat(fast(x)) == flat(f(x))


def _recursive(x: Any, n: int = 1) -> Any:
    return _capture(x) if n else x.sum().item()


def _capture(x: Any) -> Any:
    """Decide by a number, under the name of the compiler's own function."""
    found = _recursive(x, 0)
    return found if found > 0 else 0.0


def test_a_number_that_a_recursive_call_returns_decides() -> None:
    """It does not escape to the caller of the compiled function, whoever called it."""
    f = weft.compile(_recursive)
    given = [weft.ones(2) * (1 if i % 3 else -1) for i in range(2, 14)]
    assert [f(x) for x in given] == [_recursive(x) for x in given]


def test_indices_that_differ() -> None:
    """It is said what to write instead, and that compiles."""
    x = weft.arange(100.0)
    fast = weft.compile(lambda i: x[i])
    instead = weft.compile(lambda i: x[i.view(1)])
    for i in range(20):
        assert fast(weft.tensor(i)).item() == instead(weft.tensor(i)).item() == i
    assert "a tensor as an index at" in fast.reasons[0]
    assert "x[i.view(1)]" in fast.reasons[0]
    assert runs(instead) == 18
    with pytest.warns(weft.jit.TracerWarning, match="a tensor as an index"):
        weft.jit.trace(lambda i: x[i], (weft.tensor(1),))


@pytest.mark.filterwarnings("ignore::weft.jit.TracerWarning")
def test_indices_in_fused_modules() -> None:
    """Calls with a tensor for an index run as they are written, and say so."""

    class Choice(weft.nn.Module):
        def forward(self, x: Any, i: Any) -> Any:
            return x[i] * 2

    x = weft.arange(5.0)
    script = weft.jit.script(Choice().eval())
    for f in (weft.jit.fuse(Choice().eval()), weft.jit.optimize_for_inference(script)):
        assert [f(x, weft.tensor(i)).item() for i in range(4)] == [0, 2, 4, 6]
