"""memory_format=: the order of dimensions in memory, and that nothing but strides depends on it."""

from __future__ import annotations

import pytest

import weft

LAST = {4: weft.channels_last, 5: weft.channels_last_3d}
STRIDES = {(2, 3, 4, 5): (60, 1, 15, 3), (2, 3, 4, 5, 6): (360, 1, 90, 18, 3)}


@pytest.fixture(params=STRIDES, ids=str)
def x(request: pytest.FixtureRequest) -> weft.Tensor:
    """Distinct numbers, in order."""
    shape = request.param
    return weft.arange(weft.empty(shape).numel(), dtype=weft.float32).reshape(shape)


def test_copies_have_the_order_asked_for(x: weft.Tensor) -> None:
    last, want = LAST[x.dim()], STRIDES[tuple(x.shape)]
    for y in (
        x.to(memory_format=last),
        x.to(weft.float64, memory_format=last),
        x.float(memory_format=last),
        x.double(memory_format=last),
        x.clone(memory_format=last),
        x.contiguous(memory_format=last),
        x.cpu(memory_format=last),
    ):
        assert y.stride() == want and y.tolist() == x.tolist()
        assert y.is_contiguous(memory_format=last) and not y.is_contiguous()
        assert y.clone().stride() == want  # preserved
        assert y.clone(memory_format=weft.contiguous_format).stride() == x.stride()
        assert y.to(memory_format=last) is y and y.contiguous(memory_format=last) is y
        assert y.contiguous().tolist() == x.tolist()


def test_new_tensors_have_the_order_asked_for(x: weft.Tensor) -> None:
    last, want = LAST[x.dim()], STRIDES[tuple(x.shape)]
    assert weft.empty(x.shape, memory_format=last).stride() == want
    assert weft.full_like(x, 2, memory_format=last).stride() == want
    for name in ("empty_like", "ones_like", "rand_like", "randn_like", "zeros_like"):
        made = getattr(weft, name)(x, memory_format=last, requires_grad=True)
        assert made.stride() == want and made.is_leaf and made.requires_grad
        assert getattr(weft, name)(made).stride() == want  # preserved
    assert weft.ones(2).resize_(x.shape, memory_format=last).stride() == want
    like = weft.empty(x.shape, memory_format=last)
    assert weft.ones(2).resize_as_(like, memory_format=weft.preserve_format).stride() == want
    assert weft.ones(2).resize_as_(like).stride() == x.stride()


def test_gradients_pass_through(x: weft.Tensor) -> None:
    x = x.double().requires_grad_()
    y = (x * x).to(memory_format=LAST[x.dim()])
    (y * 2).sum().backward()
    assert x.grad is not None and x.grad.tolist() == (4 * x).tolist()


def test_a_shape_that_has_no_channels() -> None:
    x = weft.ones(2, 3)
    assert not x.is_contiguous(memory_format=weft.channels_last)
    for f in (x.clone, x.contiguous, x.to):
        with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last"):
            f(memory_format=weft.channels_last)
    with pytest.raises(TypeError, match="memory_format"):
        x.clone(memory_format="channels_last")
