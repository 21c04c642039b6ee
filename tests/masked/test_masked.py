"""``weft.masked`` against NumPy's masked arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft import masked
from weft.autograd import gradcheck, gradgradcheck

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4))
MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, True, True]])


def both(name: str, *args: Any, **kwargs: Any) -> tuple[np.ndarray, Any]:
    """weft's result, and the masked array to compute the other from."""
    f = getattr(masked, name)
    result = f(weft.tensor(X), *args, mask=weft.tensor(MASK), **kwargs)
    return result.numpy(), np.ma.array(X, mask=~MASK)


@pytest.mark.parametrize("dim", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions(dim: Any, keepdim: bool) -> None:
    for name, twin in (
        ("sum", "sum"), ("prod", "prod"), ("mean", "mean"), ("amax", "max"), ("amin", "min"),
    ):  # fmt: skip
        got, x = both(name, dim, keepdim=keepdim)
        expected = getattr(x, twin)(axis=dim, keepdims=keepdim)
        assert got.shape == np.shape(expected) and np.allclose(got, expected), name
    for ddof in (0, 1):
        got, x = both("var", dim, correction=ddof, keepdim=keepdim)
        assert np.allclose(got, x.var(axis=dim, ddof=ddof, keepdims=keepdim))
        got, _ = both("std", dim, unbiased=bool(ddof), keepdim=keepdim)
        assert np.allclose(got, x.std(axis=dim, ddof=ddof, keepdims=keepdim))


def test_norms_and_logs() -> None:
    got, x = both("norm", 2, 1)
    assert np.allclose(got, np.sqrt((x * x).sum(1)))
    got, _ = both("norm", float("-inf"), 1)
    assert np.allclose(got, abs(x).min(1))
    got, _ = both("logsumexp", 1)
    assert np.allclose(got, np.log(np.exp(x).sum(1)))
    a, b = weft.zeros(2), weft.ones(2)
    got = masked.logaddexp(a, b, input_mask=weft.tensor([True, False])).numpy()
    assert np.allclose(got, [np.log(1 + np.e), 1])


def test_places_and_medians() -> None:
    got, x = both("argmax", 1, dtype=weft.float64)
    assert got.tolist() == x.argmax(1).tolist() and got.dtype == np.float64
    got, _ = both("argmin", 1)
    assert got.tolist() == x.argmin(1).tolist()
    got, _ = both("median", 1)
    expected = [sorted(row.compressed())[(row.count() - 1) // 2] for row in x]
    assert np.allclose(got, expected)


def test_along_a_dimension() -> None:
    filled = np.where(MASK, X, 0)
    assert np.allclose(both("cumsum", 1)[0], filled.cumsum(1))
    assert np.allclose(both("cumprod", 1)[0], np.where(MASK, X, 1).cumprod(1))
    powers = np.where(MASK, np.exp(X), 0)
    soft = powers / powers.sum(1, keepdims=True)
    assert np.allclose(both("softmax", 1)[0], soft)
    assert np.allclose(np.exp(both("log_softmax", 1)[0]), soft)
    powers = np.where(MASK, np.exp(-X), 0)
    assert np.allclose(both("softmin", 1)[0], powers / powers.sum(1, keepdims=True))
    lengths = np.sqrt((filled**2).sum(1, keepdims=True))
    assert np.allclose(both("normalize", 2, 1)[0], filled / lengths)


def test_nothing_chosen() -> None:
    x, none = weft.ones(2), weft.tensor([False, False])
    assert masked.sum(x, mask=none).item() == 0 and masked.prod(x, mask=none).item() == 1
    assert masked.amax(x, mask=none).item() == float("-inf")
    assert masked.amin(weft.tensor([3]), mask=weft.tensor([False])).item() == 2**63 - 1
    assert masked.mean(x, mask=none).isnan().item()


def test_without_a_mask_and_by_dtype() -> None:
    x = weft.tensor([1, 2, 3], dtype=weft.int32)
    assert masked.sum(x).dtype == weft.int64 and masked.sum(x, dtype=weft.float32).item() == 6.0
    assert masked.mean(x).item() == 2.0 and masked.var(x, 0).item() == 1.0
    assert masked.sum(weft.tensor(3.0)).item() == 3.0


def test_masks_broadcast() -> None:
    x = weft.ones(2, 3)
    assert masked.sum(x, 1, mask=weft.tensor([True, False, True])).tolist() == [2, 2]
    assert masked.sum(x, 1, mask=weft.tensor([[True], [False]])).tolist() == [3, 0]
    assert masked.sum(x, 1, mask=weft.tensor([1, 0, 1])).tolist() == [2, 2]
    with pytest.raises(IndexError, match="at most 1 dimensions"):
        masked.sum(weft.ones(3), mask=weft.ones(2, 3, dtype=weft.bool))
    with pytest.raises(RuntimeError, match="expand"):
        masked.sum(x, mask=weft.ones(4, dtype=weft.bool))
    with pytest.raises(ValueError, match="not both"):
        masked.var(x, unbiased=True, correction=0)


@pytest.mark.parametrize("name", "sum prod mean var std logsumexp norm".split())
def test_gradients_stay_where_the_mask_is(name: str) -> None:
    f, m = getattr(masked, name), weft.tensor(MASK)

    def g(x: weft.Tensor) -> weft.Tensor:
        return f(x, dim=1, mask=m)

    x = weft.tensor(X, requires_grad=True)
    g(x).sum().backward()
    assert not x.grad[~m].any() and x.grad[m].all()
    assert gradcheck(g, x) and gradgradcheck(g, x)
