"""Modules that learn their shapes from the first batch, and tensors without a shape."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import weft
from weft import nn


def test_lazy_linear() -> None:
    """The first batch decides; afterwards it is an ordinary layer without hooks."""
    m = nn.LazyLinear(3)
    assert repr(m) == "LazyLinear(in_features=0, out_features=3, bias=True)"
    assert m.has_uninitialized_params() and repr(m.weight) == "<UninitializedParameter>"
    weight = m.weight
    assert m(weft.ones(5, 2)).shape == (5, 3)
    assert type(m) is nn.Linear and m.in_features == 2 and m.weight is weight
    assert type(m.weight) is nn.Parameter and m.weight.shape == (3, 2)
    assert m.weight.abs().max() <= 1 / 2**0.5 and m.weight.abs().max() > 0
    assert m(weft.ones(1, 2)).shape == (1, 3) and not m._hooked


def test_uninitialized() -> None:
    """No shape, no elements, and messages that say what to do."""
    p = nn.UninitializedParameter()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        p.shape  # noqa: B018
    for do in (lambda: p + 1, lambda: p.numel(), lambda: p.sum(), lambda: len(p)):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            do()
    assert p.dtype == weft.float32 and p.requires_grad and isinstance(p, nn.Parameter)
    assert nn.parameter.is_lazy(copy.deepcopy(p)) and nn.parameter.is_lazy(
        pickle.loads(pickle.dumps(p))
    )
    b = nn.UninitializedBuffer()
    b.materialize((2,))
    assert type(b) is weft.Tensor and b.shape == (2,) and not b.requires_grad


def test_convert_copy_and_save_before_the_first_batch() -> None:
    """A lazy module can be converted, copied, saved and loaded before it knows its shapes."""
    m = nn.Sequential(nn.LazyLinear(3)).double()
    other = copy.deepcopy(m)
    assert m(weft.ones(1, 2, dtype=weft.float64)).dtype == weft.float64
    assert other[0].has_uninitialized_params()
    loaded = nn.Sequential(nn.LazyLinear(3))
    loaded.load_state_dict(m.state_dict())
    assert loaded[0].weight.shape == (3, 2)
    assert (loaded[0].weight == m[0].weight.float()).all()
    assert loaded(weft.ones(1, 2)).shape == (1, 3) and type(loaded[0]) is nn.Linear
    assert loaded[0].in_features == 2
    fresh = nn.LazyLinear(3)
    assert repr(fresh.load_state_dict(nn.LazyLinear(3).state_dict())).startswith("<All keys")
    with pytest.raises(RuntimeError, match="uninitialized parameter"):
        nn.Linear(4, 3).load_state_dict(nn.LazyLinear(3).state_dict())


def test_own_lazy_module() -> None:
    """The mixin serves modules of one's own."""

    class Shift(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.b = nn.UninitializedParameter()

        def initialize_parameters(self, x: Any, *, scale: float) -> None:
            if self.has_uninitialized_params():
                self.b.materialize(x.shape[1:])
                nn.init.ones_(self.b)

        def forward(self, x: Any, *, scale: float) -> Any:
            return x * scale + self.b

    m = Shift()
    assert m(weft.ones(2, 3), scale=2.0).tolist() == [[3, 3, 3], [3, 3, 3]]
    assert type(m) is Shift and not m.has_uninitialized_params()

    class Forgetful(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.b = nn.UninitializedParameter()

        def initialize_parameters(self, x: Any) -> None:
            pass

    with pytest.raises(RuntimeError, match="has not been fully initialized"):
        Forgetful()(weft.ones(1))
