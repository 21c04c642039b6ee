"""In-place changes: versions, views of views, and what the graph makes of them."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from weft import autograd


def equal(a: weft.Tensor, b: weft.Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()


def leaf(*values: float) -> weft.Tensor:
    return weft.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def grad_of(x: weft.Tensor) -> list[float]:
    assert x.grad is not None
    return x.grad.tolist()


FAILING = {
    "index_put_": lambda y, i, one: y.index_put_((i,), one),
    "index_add_": lambda y, i, one: y.index_add_(0, i, one),
    "index_copy_": lambda y, i, one: y.index_copy_(0, i, one),
    "index_fill_": lambda y, i, one: y.index_fill_(0, i, 5.0),
    "scatter_": lambda y, i, one: y.scatter_(0, i, one),
    "scatter_add_": lambda y, i, one: y.scatter_add_(0, i, one),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_change_that_fails_in_its_middle_counts(name: str) -> None:
    """The last index is out of range, and many elements were written by then: none that was saved is used."""
    n = 200_000
    x = weft.zeros(n, requires_grad=True)
    y = x.exp()
    index = weft.arange(n)
    index[-1] = n
    with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
        FAILING[name](y.detach(), index, weft.full((n,), 5.0))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_versions() -> None:
    x = weft.ones(3)
    assert x._version == 0
    x.add_(1)
    x[0] = 5
    x.zero_()
    assert x._version == 3
    v = x[1:]
    assert v._version == 3
    v.mul_(2)
    assert x._version == 4 and x.detach()._version == 4
    x.data.add_(1)
    assert x._version == 4
    assert x.tolist() == [1, 1, 1]


def test_in_place_takes_its_place_in_the_graph() -> None:
    x = leaf()
    y = x * 2
    before = y.grad_fn
    y.mul_(3)
    assert y.grad_fn != before and y.grad_fn.name() == "MulBackward0"
    y.exp_()
    y.sum().backward()
    expected = (x.detach() * 6).exp() * 6
    assert x.grad is not None and x.grad.tolist() == pytest.approx(expected.tolist())


def test_in_place_of_a_value_that_nobody_kept() -> None:
    x = leaf()
    y = x * 2
    z = y + 1  # keeps nothing
    y.add_(10)
    (y * z).sum().backward()
    # (2x + 10)(2x + 1)
    assert grad_of(x) == [8 * v + 22 for v in (1, 2, 3)]


def test_in_place_with_its_own_old_value_kept() -> None:
    x = leaf()
    y = x * 1
    y.mul_(y)
    y.sum().backward()
    assert grad_of(x) == [2, 4, 6]


def test_in_place_gives_history_to_a_plain_tensor() -> None:
    x = leaf()
    out = weft.zeros(3)
    out.add_(x * 2)
    assert out.requires_grad and not out.is_leaf
    out.sum().backward()
    assert grad_of(x) == [2, 2, 2]


def test_in_place_that_forgets() -> None:
    x = leaf()
    y = x * 2
    y.zero_()
    y.add_(1)
    y.sum().backward()
    assert grad_of(x) == [0, 0, 0]
    y = x * 2
    y.copy_(weft.ones(3))
    y.fill_(2.0)
    (y * x).sum().backward()
    assert grad_of(x) == [2, 2, 2]


def test_random_in_place_cuts_the_gradient() -> None:
    x = leaf()
    y = x * 2
    y.uniform_()
    y.sum().backward()
    assert grad_of(x) == [0, 0, 0]


def test_in_place_under_no_grad() -> None:
    x = leaf()
    with weft.no_grad():
        x.add_(1)
        x[0] = 7
    assert x.tolist() == [7, 3, 4] and x.is_leaf and x.requires_grad and x._version == 2
    y = x * 2
    with weft.no_grad():
        y.mul_(10)  # the graph does not know
    y.sum().backward()
    assert grad_of(x) == [2, 2, 2]


def test_an_optimizer_step_keeps_views_and_graph_right() -> None:
    w = weft.ones(2, 2, requires_grad=True)
    t = w.t()
    (t * 3).sum().backward()
    with weft.no_grad():
        assert w.grad is not None
        w.sub_(w.grad)
    (w.t() * w.t()).sum().backward()
    assert grad_of(w) == [[3 - 4.0] * 2] * 2


def test_view_and_in_place() -> None:
    x = weft.ones(2, 3, requires_grad=True)
    y = x * 1
    y[0].mul_(5)
    y[:, 1].mul_(2)
    assert y.grad_fn.name() == "CopySlices"
    y.sum().backward()
    assert grad_of(x) == [[5, 10, 5], [1, 2, 1]]


def test_views_of_views_and_in_place() -> None:
    x = weft.ones(4, 4, requires_grad=True)
    y = x * 1
    v = y[1:3].t()[2:]
    v.mul_(3)
    assert v._base is y
    y.sum().backward()
    expected = weft.ones(4, 4)
    expected[1:3, 2:] = 3
    assert x.grad is not None and equal(x.grad, expected)


def test_a_view_sees_a_later_change_of_its_base() -> None:
    x = leaf()
    y = x * 1
    v = y[1:]
    y.mul_(x)
    assert v.tolist() == [4, 9]
    v.sum().backward()
    assert grad_of(x) == [0, 4, 6]


def test_a_view_sees_a_later_change_of_another_view() -> None:
    x = leaf()
    y = x * 1
    a, b = y[:2], y[1:]
    a.mul_(10)
    b.sum().backward()
    assert grad_of(x) == [0, 10, 1]


def test_in_place_change_of_a_view_by_another_graph() -> None:
    x, w = leaf(), leaf(5.0)
    base = weft.zeros(4)
    base[:3] = x * 2
    base[3:].add_(w * w)
    (base * base).sum().backward()
    assert grad_of(x) == [8, 16, 24] and grad_of(w) == [4 * 125]


def test_assignment_by_index() -> None:
    x, v = leaf(), leaf(7.0)
    y = x * 1
    y[1] = v[0] * 2
    (y * y).sum().backward()
    assert grad_of(x) == [2, 0, 6] and grad_of(v) == [56]


def test_second_order_through_views_and_in_place() -> None:
    def f(x: weft.Tensor) -> weft.Tensor:
        y = x * x
        y[:2].mul_(x[1:])
        return y.exp_()

    x = weft.tensor([0.3, -0.2, 0.5], dtype=weft.float64, requires_grad=True)
    assert autograd.gradcheck(f, (x,)) and autograd.gradgradcheck(f, (x,))


def test_views_of_leaves() -> None:
    x = leaf()
    with pytest.raises(RuntimeError, match="view of a leaf"):
        x[0].add_(1)
    with weft.no_grad():
        x[0].add_(1)
    assert x.tolist() == [2, 2, 3]


def test_one_of_several_views_is_changed_in_place() -> None:
    """It is a view like any other, and so are the other parts."""
    x = weft.ones(2, 3, requires_grad=True)
    y = x * 1
    a, b = y.unbind(0)
    a.mul_(2)
    assert y.tolist() == [[2.0] * 3, [1.0] * 3]
    (y * y + b).sum().backward()
    assert grad_of(x) == [[8.0] * 3, [4.0] * 3]


def test_expanded_tensors_are_not_written() -> None:
    x = weft.ones(1, 3).expand(4, 3)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.add_(1)


def test_out_does_not_take_part() -> None:
    x, out = leaf(), weft.empty(3)
    with pytest.raises(RuntimeError, match="out="):
        weft.mul(x, 2, out=out)
    with weft.no_grad():
        weft.mul(x, 2, out=out)
    assert out.tolist() == [2, 4, 6] and not out.requires_grad


def test_a_changed_index_is_noticed() -> None:
    """Backward of x[i] says so if i was changed after the forward call."""
    x, i = weft.arange(4.0).requires_grad_(), weft.tensor([0, 1])
    y = x[i]
    i.add_(1)
    with pytest.raises(RuntimeError, match=r"a tensor of 'indices' of index.*changed in place at"):
        y.sum().backward()


@pytest.mark.parametrize("name", ["add", "addcmul"])
def test_an_expanded_tensor_is_no_out(name: str) -> None:
    """Its elements share one place."""
    x, ones = weft.zeros(1).expand(3), weft.ones(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        getattr(weft, name)(ones, *[ones] * (1 + (name == "addcmul")), out=x)


@pytest.mark.parametrize("name", ["sum", "prod"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32"])
def test_totals_of_narrow_types(name: str, dtype: str) -> None:
    """An integer total is made in int64 and cast to the narrower type asked for."""
    values = np.full((5, 7), 3).astype(dtype)
    got = getattr(weft.full((5, 7), 3), name)(1, dtype=getattr(weft, dtype))
    want = getattr(np, name)(values.astype(np.int64), 1).astype(dtype)
    np.testing.assert_array_equal(got.numpy(), want)
    assert got.numpy().dtype == want.dtype


@pytest.mark.parametrize("name", ["selu", "celu"])
def test_functions_that_are_no_methods(name: str) -> None:
    """They change their argument, and gradients pass."""
    x = leaf(-1.0, 0.0, 2.0)
    want = getattr(weft, name)(x)
    got = x.clone()
    assert getattr(weft, name + "_")(got) is got and equal(got, want)
    (g,) = autograd.grad(got.sum(), x)
    assert equal(g, autograd.grad(want.sum(), x)[0])


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("first", [0, 1, 5])
def test_long_tensors_are_filled_to_their_ends(dtype: str, first: int) -> None:
    """Five megabytes from any element on, and none beyond."""
    x = weft.ones(5_000_003 // np.dtype(dtype).itemsize, dtype=getattr(weft, dtype))
    x[first:-3].fill_(7)
    want = np.full(len(x), 7, dtype)
    want[:first] = want[-3:] = 1
    np.testing.assert_array_equal(x.numpy(), want)


def test_view_that_was_made_without_gradients() -> None:
    """Of a tensor that has one: a change with a gradient cannot be recorded, as in PyTorch."""
    x = weft.ones(4, requires_grad=True)
    h = x * 2
    with weft.no_grad():
        view = h[2:]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        view.add_(h.sum())
    h.sum().backward()
    assert x.grad.tolist() == [2.0] * 4
