"""Edges that once broke: ragged lists, memory shown to others, numbers that do not fit, changed views."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.nn import functional as F


@pytest.mark.parametrize("data", [[1, [2, 3]], [1.5, 2.5, [1, 2, 3]], [[1, 2], [3, [4]]], [1, []]])
def test_ragged_lists_are_refused(data: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        weft.tensor(data)


@pytest.mark.parametrize("export", [weft.Tensor.numpy, memoryview, np.from_dlpack])
def test_memory_that_others_see_stays(export: Callable[[weft.Tensor], Any]) -> None:
    x = weft.ones(1000)
    shown = export(x)
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(2_000_000)
    x.data = weft.zeros(3)
    weft.empty_cache()
    kept = [weft.full((1000,), 7.0) for _ in range(5)]
    assert np.asarray(shown)[:3].tolist() == [1, 1, 1] and len(kept) == 5
    del shown
    x.resize_(2_000_000)


def test_a_capsule_keeps_its_shape() -> None:
    x = weft.ones(4, 5)
    capsule = x.__dlpack__()
    x.data = weft.zeros(3)
    assert weft._C._from_dlpack(capsule).tolist() == [[1] * 5] * 4


def test_read_only_memory_is_not_exported_by_dlpack() -> None:
    a = np.ones(3, np.float32)
    a.flags.writeable = False
    with pytest.raises(BufferError, match="read-only"):
        weft.from_dlpack(weft.from_numpy(a))


def test_extended_precision_is_refused() -> None:
    with pytest.raises(TypeError):
        weft.from_numpy(np.array([1 + 2j], dtype=np.clongdouble))


@pytest.mark.parametrize("dtype", [weft.uint8, weft.int8, weft.int64])
def test_means_of_large_windows_of_small_integers(dtype: weft.dtype) -> None:
    assert F.avg_pool2d(weft.zeros(1, 1, 32, 32, dtype=dtype), 16).tolist() == [[[[0, 0], [0, 0]]]]


def test_windows_that_do_not_fit_in_memory() -> None:
    x = weft.zeros(2, 1, 40_000_000, dtype=weft.float64)
    with pytest.raises((MemoryError, RuntimeError)):
        F.conv1d(x, weft.zeros(1, 1, 20_000_000, dtype=weft.float64))


@pytest.mark.parametrize("name", ["modified_bessel_k0", "scaled_modified_bessel_k1"])
def test_bessel_functions_end(name: str) -> None:
    x = weft.tensor([float("nan"), float("inf"), -1.0])
    assert np.isnan(getattr(weft.special, name)(x).numpy()).tolist() == [True, False, True]


def test_several_changes_through_views() -> None:
    x = weft.ones(3, requires_grad=True)
    y = x * 1
    y[0] += 1
    y[1] += 1
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1, 1, 1]
    x.grad = None
    z = weft.zeros(3)
    for i in range(3):
        z[i] += x[i] * 2
    z.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2, 2]


def test_a_pack_hook_must_not_change_its_tensor() -> None:
    x = weft.ones(2, requires_grad=True)
    hooks = weft.autograd.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t)
    with hooks, pytest.raises(RuntimeError, match="pack hook"):
        x.exp()


def test_arange_counts_large_integers() -> None:
    assert weft.arange(2**62, 2**62 + 3).tolist() == [2**62, 2**62 + 1, 2**62 + 2]
    assert len(weft.arange(2**53 + 1, 2**53 + 4)) == 3
    assert weft.arange(5, 0, -2).tolist() == [5, 3, 1]


@pytest.mark.parametrize(
    "f",
    [
        lambda: weft.tensor([300], dtype=weft.uint8),
        lambda: weft.full((2,), 300, dtype=weft.uint8),
        lambda: weft.zeros(2, dtype=weft.int8).fill_(300),
        lambda: weft.full((2,), 1e40),
        lambda: weft.ones(1, dtype=weft.uint8).clamp(-5, 300),
        lambda: weft.ones(1, dtype=weft.uint8).masked_fill(weft.tensor([True]), 300),
        lambda: weft.full((1,), float("inf"), dtype=weft.int32),
    ],
)
def test_numbers_that_do_not_fit_are_refused(f: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match="without overflow"):
        f()


def test_numbers_that_fit_are_taken() -> None:
    assert weft.full((1,), -1, dtype=weft.uint8).item() == 255
    assert weft.full((1,), 3.7, dtype=weft.int32).item() == 3
    assert weft.ones(1).fill_(float("inf")).item() == float("inf")
    assert weft.full((1,), 2**63 - 1).item() == 2**63 - 1


def test_no_values_have_no_truth() -> None:
    with pytest.raises(RuntimeError, match="no values"):
        bool(weft.zeros(0))


def test_a_cycle_through_a_long_graph_is_freed() -> None:
    def tie() -> None:
        x = weft.ones(10, requires_grad=True)
        y = x
        for _ in range(25_000):
            y = y * 1
        x.register_hook(lambda g: y)

    gc.collect()
    before = weft.memory_allocated()
    tie()
    gc.collect()
    assert weft.memory_allocated() == before
