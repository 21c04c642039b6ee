"""Tensors of integers with their grid."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import weft


def test_per_tensor() -> None:
    """The nearest integers, cut off at the ends of the type; halves go to the even one."""
    x = weft.tensor([-9.0, -0.25, 0.0, 0.25, 0.75, 99.0])
    q = weft.quantize_per_tensor(x, 0.5, 4, weft.quint8)
    assert q.int_repr().tolist() == [0, 4, 4, 4, 6, 202]
    assert weft.quantize_per_tensor(x * 10, 0.5, 4, weft.quint8).int_repr()[-1] == 255
    assert q.dequantize().tolist() == [-2.0, 0.0, 0.0, 0.0, 1.0, 99.0]
    assert (q.q_scale(), q.q_zero_point(), q.dtype) == (0.5, 4, weft.quint8)
    assert q.qscheme() is weft.per_tensor_affine and q.is_quantized
    assert weft.quantize_per_tensor(x, 1.0, 0, weft.qint32).int_repr().dtype == weft.int32
    assert weft.equal(weft.dequantize([q])[0], q.dequantize())


def test_per_channel() -> None:
    """Each channel on its own grid."""
    x = weft.randn(3, 4, 2)
    scales, zeros = weft.tensor([0.1, 0.2, 0.5, 1.0]), weft.tensor([0, 1, -1, 3])
    q = weft.quantize_per_channel(x, scales, zeros, 1, weft.qint8)
    shape = (1, 4, 1)
    want = np.clip(
        np.rint(x.numpy() * (1 / scales.numpy().reshape(shape))) + zeros.numpy().reshape(shape),
        -128,
        127,
    )
    assert np.array_equal(q.int_repr().numpy(), want)
    assert weft.equal(q.q_per_channel_scales(), scales) and q.q_per_channel_axis() == 1
    assert (q.dequantize() - x).abs().max() <= 0.5001
    with pytest.raises(RuntimeError, match="q_scale: expected one scale"):
        q.q_scale()
    with pytest.raises(NotImplementedError, match="reshape: tensors with a scale per channel"):
        q.reshape(-1)


def test_shapes_and_copies() -> None:
    """Other shapes of the same elements; copies; text."""
    q = weft.quantize_per_tensor(weft.arange(6.0).reshape(2, 3), 1.0, 1, weft.quint8)
    assert q.view(3, 2).shape == (3, 2) and q.flatten().shape == (6,) and q[1].shape == (3,)
    assert q.permute(1, 0).dequantize().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert (q.dim(), q.numel(), len(q), q.size(1)) == (2, 6, 2, 3)
    assert copy.deepcopy(q).dtype is weft.quint8
    assert pickle.loads(pickle.dumps(weft.qint8)) is weft.qint8
    assert pickle.loads(pickle.dumps(weft.per_channel_symmetric)) is weft.per_channel_symmetric
    assert "dtype=torch.quint8, quantization_scheme=torch.per_tensor_affine" in repr(q)
    assert "scale=1.0, zero_point=1)" in repr(q)


def test_refused() -> None:
    """Ops do not take the integers for numbers; arguments are checked."""
    x = weft.ones(2, 2)
    q = weft.quantize_per_tensor(x, 1.0, 0, weft.qint8)
    with pytest.raises(TypeError):
        weft.relu(q)
    with pytest.raises(TypeError):
        weft.zeros(2, dtype=weft.qint8)
    with pytest.raises(RuntimeError, match="scale must be positive, got 0"):
        weft.quantize_per_tensor(x, 0.0, 0, weft.qint8)
    with pytest.raises(RuntimeError, match="zero_point 300 is not between 0 and 255"):
        weft.quantize_per_tensor(x, 1.0, 300, weft.quint8)
    with pytest.raises(RuntimeError, match="dtype must be qint8"):
        weft.quantize_per_tensor(x, 1.0, 0, weft.int8)
    with pytest.raises(RuntimeError, match=r"expected a tensor of float32, got torch.float64"):
        weft.quantize_per_tensor(x.double(), 1.0, 0, weft.qint8)
    with pytest.raises(RuntimeError, match=r"scales must have shape \[2\]"):
        weft.quantize_per_channel(x, weft.ones(3), weft.zeros(3), 0, weft.qint8)
