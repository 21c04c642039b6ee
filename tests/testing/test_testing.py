"""``weft.testing``: what passes, what fails and what the message says."""

from __future__ import annotations

import pytest

import weft
from weft.testing import assert_close, make_tensor


def test_the_message_says_how_many_how_far_and_where() -> None:
    """Elements that differ are counted; the greatest differences have a place."""
    a = weft.zeros(10, 10)
    e = a.clone()
    e[3, 4], e[5, 6] = 2.0, -0.5
    with pytest.raises(AssertionError) as error:
        assert_close({"net": [a]}, {"net": [e]})
    assert str(error.value) == (
        "Tensor-likes are not close!\n\nMismatched elements: 2 / 100 (2.0%)\n"
        "Greatest absolute difference: 2.0 at index (3, 4) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 1.0 at index (3, 4) (up to 1.3e-06 allowed)\n\n"
        "The failure occurred for item ['net'][0]"
    )


def test_booleans_are_no_numbers() -> None:
    """True is not 1, unless types do not matter."""
    with pytest.raises(AssertionError, match="types do not match"):
        assert_close(True, 1)
    assert_close(True, 1, check_dtype=False)


def test_arguments_are_checked() -> None:
    """Tolerances come in pairs and are not negative; types must be known."""
    with pytest.raises(ValueError, match="atol is missing"):
        assert_close(1.0, 1.0, rtol=1e-3)
    with pytest.raises(ValueError, match="rtol >= 0, got -1"):
        assert_close(1.0, 1.0, rtol=-1, atol=0)
    with pytest.raises(TypeError, match="Tensor and float cannot be compared"):
        assert_close(weft.tensor(1.0), 1.0)


def test_nothing_is_recorded() -> None:
    """Tensors with gradients are compared as they are, and keep their graph."""
    x = weft.ones(2, requires_grad=True)
    y = x * 2
    assert_close(y, weft.full((2,), 2.0))
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("name", ["complex64", "complex128", "float32"])
def test_make_tensor(name: str) -> None:
    """Values are within bounds, without zero where asked; seeds repeat them."""
    dtype = getattr(weft, name)
    weft.manual_seed(3)
    x = make_tensor((100, 3), dtype=dtype, device="cpu", low=-2, high=1, exclude_zero=True)
    parts = weft.view_as_real(x) if dtype.is_complex else x
    assert parts.min() >= -2 and parts.max() < 1 and parts.std() > 0.5 and bool((x != 0).all())
    weft.manual_seed(3)
    again = make_tensor([100, 3], dtype=dtype, device="cpu", low=-2, high=1, exclude_zero=True)
    assert_close(again, x, rtol=0, atol=0)


def test_make_tensor_at_the_limits() -> None:
    """Whole ranges of types do not overflow; one value makes a constant."""
    x = make_tensor(1000, dtype=weft.float32, device="cpu", low=-1e300, high=1e300)
    assert bool(x.isfinite().all()) and x.max() > 1e38 > -1e38 > x.min()
    y = make_tensor(1000, dtype=weft.int64, device="cpu", low=-(2**63), high=2**63)
    assert y.max() > 2**60 and y.min() < -(2**60)
    assert make_tensor(3, dtype=weft.float32, device="cpu", low=2, high=2).tolist() == [2.0] * 3
    assert make_tensor(dtype=weft.float32, device="cpu").shape == ()
