"""Which calls of ``jit.fuse`` are worth a graph, by the policy that users have: counted."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import weft
from weft import nn
from weft.jit import cost_model, graph_cache


class Scaled(nn.Module):
    """Two layers and a plain attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last, self.scale = nn.Linear(4, 8), nn.Linear(8, 2), 1.0

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        return self.last(self.first(x).relu()) * self.scale


@pytest.fixture
def captures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments of all calls that were captured."""
    made: list[Any] = []
    real = graph_cache.capture

    def counted(func: Any, call: Any) -> Any:
        made.append(call)
        return real(func, call)

    monkeypatch.setattr(graph_cache, "capture", counted)
    return made


def fused() -> tuple[Any, Any]:
    """A module, and the same by graphs."""
    module = Scaled()
    return module, weft.jit.fuse(module)


def test_one_shape_is_captured_at_once(shipped_price: None, captures: list[Any]) -> None:
    module, fast = fused()
    for _ in range(5):
        x = weft.randn(3, 4)
        assert weft.equal(fast(x), module(x)) and len(captures) == 1
    assert [node.op for node in fast.graph] == ["linear_relu", "linear", "mul"]


def test_many_shapes(clock: Any, captures: list[Any]) -> None:
    """40 of them in turn, more than graphs are kept: one is captured, and a warning says why."""
    module, fast = fused()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for n in list(range(1, 41)) * 30:
            x = weft.randn(n, 4)
            assert weft.equal(fast(x), module(x))
    assert len(captures) == 1
    assert [str(w.message) for w in seen] == [
        f"fuse: {cost_model.TOO_MANY}: such calls run as they are written"
    ]
    assert fast.reasons == [cost_model.TOO_MANY]


def test_shapes_in_turn_that_have_taken_long_enough(
    clock: Any, captures: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.seconds = 1e-4
    monkeypatch.setattr(cost_model.CostModel, "note_capture", lambda self, _: None)
    module, fast = fused()
    eagerly = round(cost_model.WORTH * cost_model._STEPS * cost_model._USUAL / clock.seconds)
    for k in range(eagerly + 5):
        for n in (1, 2, 3):
            x = weft.randn(n, 4)
            assert weft.equal(fast(x), module(x))
        assert len(captures) == 1 or k > eagerly - 3
    assert len(captures) == len(fast.graphs) == 3 and not fast.reasons


def test_graphs_that_were_dropped_are_earned_anew(clock: Any, captures: list[Any]) -> None:
    """More shapes than graphs are kept, all of which are worth one: no more than each second call."""
    clock.seconds = 1e6
    module, fast = fused()
    for n in list(range(1, graph_cache.MOST + 5)) * 20:
        x = weft.randn(n, 4)
        assert weft.equal(fast(x), module(x))
    assert len(captures) <= 10 * (graph_cache.MOST + 4) and len(fast.graphs) == graph_cache.MOST
    clock.seconds = 1e-9
    before = len(captures)
    for n in list(range(100, 150)) * 20:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fast(weft.randn(n, 4))
    assert len(captures) == before


def test_a_module_that_changes_before_each_call(clock: Any, captures: list[Any]) -> None:
    """A graph of the changed module has to be earned like that of another shape."""
    module, fast = fused()
    x = weft.randn(3, 4)
    for i in range(200):
        module.scale = float(i)
        assert weft.equal(fast(x), module(x))
    assert len(captures) == 1
    clock.seconds = 1e6
    for _ in range(4):
        assert weft.equal(fast(x), module(x))
    assert len(captures) == 2


def test_an_example_is_captured(clock: Any, captures: list[Any]) -> None:
    fast = weft.jit.fuse(Scaled(), weft.randn(3, 4))
    assert len(captures) == len(fast.graphs) == 1


def test_graphs_that_round_otherwise_are_always_taken(clock: Any, captures: list[Any]) -> None:
    """What ``optimize_for_inference`` gives may not depend on how often it was called."""
    module = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU())
    module(weft.randn(4, 2, 5, 5) + 3)
    fast = weft.jit.optimize_for_inference(weft.jit.script(module.eval()))
    inputs = [weft.randn(n, 2, 5, 5) for n in range(1, 40)]
    first = [fast(x) for x in inputs]
    assert all(weft.equal(fast(x), y) for _ in range(2) for x, y in zip(inputs, first))
