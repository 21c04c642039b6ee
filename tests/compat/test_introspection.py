"""Questions about tensors and settings, and small functions that are no ops."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest

import weft


def test_names_of_types() -> None:
    assert weft.typename(weft.ones(1)) == "torch.FloatTensor" == weft.ones(1).type()
    assert weft.typename(weft.ones(1, dtype=weft.int64)) == "torch.LongTensor"
    assert weft.typename(3) == "int" and weft.typename(int) == "int"
    assert weft.typename(weft.nn.Linear(1, 1)) == "weft.nn.linear.Linear"


def test_facts() -> None:
    x = weft.ones(2, 3)
    assert weft.is_signed(x) and not weft.ones(1, dtype=weft.bool).is_signed()
    assert weft.is_same_size(x, weft.zeros(2, 3)) and not x.is_same_size(weft.zeros(3, 2))
    assert x.is_cpu and not (x.is_mps or x.is_xpu or x.is_xla or x.is_nested or x.is_mkldnn)
    assert not weft.is_conj(x) and not weft.is_neg(x) and not weft.is_distributed(x)
    assert not weft.is_inference(x) and weft.get_device(x) == -1
    with weft.inference_mode():
        assert weft.is_inference(weft.ones(1))
    assert x.t().dim_order() == (1, 0) and x.dim_order() == (0, 1)
    assert x.const_data_ptr() == x.data_ptr()
    assert (weft.pi, weft.e, weft.inf) == (math.pi, math.e, math.inf) and weft.nan != weft.nan
    assert x[:, weft.newaxis].shape == (2, 1, 3)
    assert weft.from_dlpack(x).shape == (2, 3) and "dltensor" in repr(weft.to_dlpack(x))


def test_settings() -> None:
    assert not weft.is_anomaly_enabled() and not weft.is_anomaly_check_nan_enabled()
    with warnings.catch_warnings(), weft.autograd.set_detect_anomaly(True, check_nan=False):
        assert weft.is_anomaly_enabled() and not weft.is_anomaly_check_nan_enabled()
    with warnings.catch_warnings():
        weft.set_warn_always(True)
        assert weft.is_warn_always_enabled()
        weft.set_warn_always(False)
    with pytest.raises(TypeError, match="expected a bool"):
        weft.set_warn_always(1)  # type: ignore[arg-type]


def test_tiny_numbers_can_count_as_zero() -> None:
    x = weft.full((70_000,), 1e-310, dtype=weft.float64)
    assert (x * 1.0).sum().item() > 0
    can = weft.set_flush_denormal(True)
    try:
        assert not can or not (x * 1.0).any()
    finally:
        weft.set_flush_denormal(False)
    assert (x * 1.0).all()


def test_numbers_of_compilers_are_numbers() -> None:
    assert weft.sym_int(-2.7) == -2 and weft.sym_float(2) == 2.0
    assert weft.sym_max(1, 2.0) == 2.0 and weft.sym_min(1, 2) == 1 and weft.sym_sqrt(4) == 2
    assert weft.sym_not(0) and weft.sym_ite(False, 1, 2) == 2 and weft.sym_sum([1, 2]) == 3


@pytest.mark.parametrize("wrap", [False, True])
def test_fill_diagonal(wrap: bool) -> None:
    import numpy as np

    for shape in ((3, 3), (7, 3), (2, 5), (4, 3), (5, 3), (3, 3, 3)):
        twin = np.zeros(shape)
        np.fill_diagonal(twin, 2.0, wrap=wrap)
        assert weft.zeros(shape).fill_diagonal_(2, wrap).tolist() == twin.tolist()
    for wrong in (weft.ones(3), weft.ones(2, 2, 3)):
        with pytest.raises(RuntimeError, match="fill_diagonal_"):
            wrong.fill_diagonal_(1)


def test_methods() -> None:
    x = weft.arange(3.0)
    assert x.map2_(x.clone(), x.clone(), lambda a, b, c: a + b * c).tolist() == [0, 2, 6]
    with pytest.raises(RuntimeError, match="requires grad"):
        weft.ones(1, requires_grad=True).map2_(x, x, lambda a, b, c: a)
    with pytest.raises(TypeError, match="map2_: expected"):
        x.map2_(weft.arange(3), x, lambda a, b, c: a)
    assert x.new(2, 3).shape == (2, 3) and weft.arange(2).new([1.7]).tolist() == [1]
    assert weft.tensor([-1.0, 0.2]).hardshrink(0.1).tolist() == weft.tensor([-1.0, 0.2]).tolist()
    y = weft.ones(2, requires_grad=True) * 2
    assert not weft.detach_(y).requires_grad
    assert weft.as_strided_(weft.arange(4), (2,), (2,), 1).tolist() == [1, 3]


class Named(weft.Tensor):
    """A subclass of tensors."""


def test_subclasses() -> None:
    x = weft.ones(2, requires_grad=True)
    y = (x * 3).as_subclass(Named)
    assert type(y) is Named and y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]
    z = weft.arange(2)
    z.as_subclass(Named).fill_(7)
    assert z.tolist() == [7, 7], "the same memory"
    with pytest.raises(TypeError, match="expected a subclass of Tensor"):
        x.as_subclass(int)


def test_random_numbers_put_back() -> None:
    state = weft.get_rng_state()
    with weft.random.fork_rng():
        drawn = weft.rand(3)
    assert weft.equal(state, weft.get_rng_state())
    assert weft.equal(drawn, weft.rand(3))
    with weft.random.fork_rng(enabled=False):
        weft.rand(1)
    with pytest.raises(ValueError, match="kept"), weft.random.fork_rng():
        raise ValueError("kept")
    with pytest.raises(RuntimeError, match="only the device 'cpu'"), weft.random.fork_rng([0]):
        pass


def test_functions_by_another_name() -> None:
    assert weft.functional.einsum is weft.einsum and weft.functional.norm is weft.norm


def test_parts_that_are_not_there_yet_are_no_attributes(monkeypatch: Any) -> None:
    monkeypatch.setattr(weft, "_LAZY", [*weft._LAZY, "nowhere"])
    assert not hasattr(weft, "nowhere")
