"""``weft.ops.aten``: ops by PyTorch's inner names."""

from __future__ import annotations

import pytest

import weft
from weft.autograd import gradcheck

aten = weft.ops.aten


def test_public_ops_and_their_overloads() -> None:
    x = weft.arange(3.0)
    assert aten.add.Tensor(x, x).tolist() == [0, 2, 4] and aten.sin.default(x)[0] == 0
    assert aten.relu(x).tolist() == [0, 1, 2] and aten.add.__name__ == "add"
    assert "default" in aten.mm.overloads()
    with pytest.raises(AttributeError, match="no op 'nowhere'"):
        _ = aten.nowhere
    with pytest.raises(AttributeError, match="no overload 'other'"):
        _ = aten.add.other


def test_slices() -> None:
    x = weft.arange(12).reshape(3, 4)
    assert aten.slice(x, 1, 1, None, 2).tolist() == x[:, 1::2].tolist()
    assert aten.slice(x, -1, -2).tolist() == x[:, -2:].tolist()
    assert aten.slice.Tensor(x).tolist() == x.tolist()
    for dim in (2, -3, 2**31 - 1):
        with pytest.raises(IndexError, match="slice: Dimension out of range"):
            aten.slice(x, dim)


def test_softmax() -> None:
    x = weft.randn(2, 3, dtype=weft.float64, requires_grad=True)
    y, g = x.softmax(1), weft.randn(2, 3, dtype=weft.float64)
    (expected,) = weft.autograd.grad(y, x, g)
    found = weft._softmax_backward_data(g, y.detach(), 1, weft.float64)
    assert weft.allclose(found, expected)
    rows = weft.tensor([[float("-inf")] * 2, [0.0, float("-inf")]])
    assert aten._safe_softmax.default(rows, -1).tolist() == [[0, 0], [1, 0]]
    assert gradcheck(lambda x: aten._safe_softmax(x, 1), x)


def test_batch_norm() -> None:
    x, w, b = weft.randn(4, 2), weft.rand(2), weft.rand(2)
    mean, var = weft.zeros(2), weft.ones(2)
    out, used, _, kept = weft._batch_norm_with_update(x, w, b, mean, var, 0.5, 1e-5)
    expected = weft.nn.functional.batch_norm(x, None, None, w, b, True)
    assert weft.allclose(out, expected, 1e-4, 1e-5) and weft.allclose(used, x.mean(0), 1e-4, 1e-5)
    assert weft.allclose(mean, x.mean(0) / 2, 1e-4, 1e-5) and kept.numel() == 0
    assert weft.allclose(
        weft._native_batch_norm_legit(x, w, b, True, 0.5, 1e-5)[0], expected, 1e-4, 1e-5
    )
    evaluated = weft._native_batch_norm_legit(x, w, b, mean, var, False, 0.5, 1e-5)[0]
    assert weft.allclose(evaluated, weft.nn.functional.batch_norm(x, mean, var, w, b), 1e-4, 1e-5)


def test_pooling_backward() -> None:
    x = weft.randn(1, 2, 4, 4, dtype=weft.float64, requires_grad=True)
    y, at = weft.nn.functional.max_pool2d(x, 2, return_indices=True)
    g = weft.randn(*y.shape, dtype=weft.float64)
    (expected,) = weft.autograd.grad(y, x, g)
    found = aten.max_pool2d_with_indices_backward(g, x, [2, 2], [2, 2], [0, 0], [1, 1], False, at)
    assert weft.equal(found, expected) and found.requires_grad


def test_masked_indices() -> None:
    x = weft.randn(3, 4, dtype=weft.float64, requires_grad=True)
    at, mask = [weft.tensor([0, 2, 7]), None], weft.tensor([[True], [False], [False]])
    found = weft._unsafe_masked_index(x, mask, at, 5.0)
    assert weft.equal(found[0], x[0]) and (found[1:] == 5).all()
    values = weft.ones(3, 4, dtype=weft.float64)
    added = weft._unsafe_masked_index_put_accumulate(x, mask, at, values)
    assert weft.allclose(added[0], x[0] + 1) and weft.equal(added[1:], x[1:])
    assert gradcheck(lambda x: weft._unsafe_masked_index(x, mask, at, 0.0), x)


def test_chunks() -> None:
    a, b = weft.arange(6.0).reshape(3, 2), weft.arange(2.0).reshape(1, 2)
    found = weft._chunk_cat([a, b], 0, 2)
    assert found.tolist() == [[0, 1, 2, 3, 0, 1], [4, 5, 0, 0, 0, 0]]
    for tensors, dim, count, match in (
        ([], 0, 1, "non-empty input"),
        ([a], 0, 0, "positive num_chunks"),
        ([a, b.long()], 0, 2, "same dtype"),
        ([a], 2, 2, "dim=2"),
        ([a, b], 1, 2, "same sizes"),
        ([weft.empty(0)], 0, 2, "non-empty tensors"),
    ):
        with pytest.raises(RuntimeError, match=match):
            weft._chunk_cat(tensors, dim, count)


def test_smoothed_images() -> None:
    x = weft.randn(1, 1, 6, 6)
    smooth = weft.nn.functional.interpolate(x, (3, 2), mode="bilinear", antialias=True)
    assert weft.equal(weft._upsample_bilinear2d_aa(x, [3, 2], False), smooth)
    assert weft._upsample_bilinear2d_aa(x, None, False, scale_factors=[0.5, 2]).shape[2:] == (3, 12)
    with pytest.raises(RuntimeError, match="output_size or scale_factors"):
        weft._upsample_bilinear2d_aa(x, None, False)


def test_segments() -> None:
    x = weft.arange(4.0)
    assert aten._segment_reduce(x, "max", lengths=weft.tensor([1, 3])).tolist() == [0, 3]
    with pytest.raises(NotImplementedError, match="indices="):
        weft.segment_reduce(x, "sum", indices=weft.tensor([0, 0, 1, 1]))
    cut = weft.segment_reduce(x, "sum", lengths=weft.tensor([1, 1]), unsafe=True)
    assert cut.tolist() == [0, 1]
