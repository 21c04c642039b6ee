"""``retain_grad``: gradients of tensors that are no leaves."""

from __future__ import annotations

import pytest

import weft


def leaf(*values: float) -> weft.Tensor:
    return weft.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def test_grads_of_tensors_that_are_no_leaves() -> None:
    x = leaf()
    y = x * 2
    kept = x * 3
    kept.retain_grad()
    assert kept.retains_grad and not y.retains_grad
    (y * kept).sum().backward()
    with pytest.warns(
        UserWarning, match=r"not a leaf(?s:.*)retain_grad(?s:.*)test_retain_grad\.py:24"
    ):
        assert y.grad is None
    assert kept.grad is not None and kept.grad.tolist() == [2, 4, 6]
    x.retain_grad()  # of a leaf: nothing to do
    with pytest.raises(RuntimeError, match="retain_grad"):
        weft.ones(1).retain_grad()


def test_retained_grads_add_up() -> None:
    x = leaf()
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert y.grad is not None and y.grad.tolist() == [2, 2, 2]


def test_retained_grads_follow_changes_in_place() -> None:
    x = leaf()
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y * y).sum().backward()
    assert y.grad is not None and y.grad.tolist() == [12, 24, 36]  # of the new value
    base = x * 1
    base.retain_grad()
    base[1:].mul_(5)  # through a view
    base.sum().backward()
    assert base.grad is not None and base.grad.tolist() == [1, 1, 1]


def test_retained_grads_see_what_hooks_made_of_them() -> None:
    x = leaf()
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert y.grad is not None and y.grad.tolist() == [10, 10, 10]


def test_retained_grads_have_memory_of_their_own() -> None:
    x = leaf()
    y = x * 2
    z = y + 1
    y.retain_grad()
    z.retain_grad()
    z.sum().backward()
    assert y.grad is not None and z.grad is not None
    y.grad.zero_()
    assert z.grad.tolist() == [1, 1, 1]


def test_a_tensor_that_retained_its_grad_may_go_before_backward() -> None:
    x = leaf()
    y = x * 2
    y.retain_grad()
    z = y + 1
    del y
    z.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2, 2]
