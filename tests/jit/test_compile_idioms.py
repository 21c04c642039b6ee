"""What people write around ``weft.compile``: cells in loops, loops over values, attributes, arguments."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import weft
import weft.nn.functional as F
from weft import nn


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="compile: ")
        yield


def runs(f: Any) -> int:
    """How often calls were made from what was captured."""
    return sum(v["calls"] for v in f.report().variants)


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
        with pytest.raises(RuntimeError, match="second time|freed"):
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
