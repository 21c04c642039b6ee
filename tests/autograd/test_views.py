"""Views and their bases: one rule for all of them, and for changes of values and of geometry."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from robustness.growth import assert_linear

import weft
from weft import Tensor


def ones(*size: int) -> Tensor:
    return weft.ones(*size, requires_grad=True)


def square() -> Tensor:
    return weft.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


WEIGHTS = [[1.0, 2.0], [3.0, 4.0]]

PARTS: dict[str, Callable[[Tensor], Any]] = {
    "split": lambda b: b.split(2),
    "split of sizes": lambda b: b.split([2, 2]),
    "split_with_sizes": lambda b: b.split_with_sizes([2, 2]),
    "chunk": lambda b: b.chunk(2),
    "tensor_split": lambda b: b.tensor_split(2),
    "hsplit": lambda b: b.hsplit(2),
    "vsplit": lambda b: [v.view(-1) for v in b.view(2, 2).vsplit(2)],
    "unbind": lambda b: b.view(2, 2).unbind(0),
    "slices": lambda b: (b[:2], b[2:]),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_follow_a_change_of_their_base(name: str) -> None:
    x = ones(4)
    b = x * 1
    v = PARTS[name](b)[0]
    b.mul_(10)
    v.sum().backward()
    assert v.tolist() == [10, 10] and x.grad.tolist() == [10, 10, 0, 0]


@pytest.mark.parametrize("name", PARTS)
def test_parts_follow_a_change_of_another_part(name: str) -> None:
    x = ones(4)
    b = x * 1
    first, second = PARTS[name](b)
    first.mul_(x[2:] * 10)
    (first + 2 * second + b[:2]).sum().backward()
    assert x.grad.tolist() == [20, 20, 22, 22]


SCATTERS: dict[str, Callable[[Tensor], Tensor]] = {
    "select_scatter": lambda v: weft.select_scatter(v, v[0], 0, 0),
    "slice_scatter": lambda v: weft.slice_scatter(v, v[:1], 0, 0, 1),
    "diagonal_scatter": lambda v: weft.diagonal_scatter(v, v.diagonal()),
    "as_strided_scatter": lambda v: weft.as_strided_scatter(v, v[0], (2,), (1,)),
    "as_strided": lambda v: v.as_strided((2, 2), (2, 1)),
}
TURNS: dict[str, Callable[[Tensor], Tensor]] = {
    "t_": lambda v: v.t_(),
    "unsqueeze_": lambda v: v.unsqueeze_(0),
    "squeeze_": lambda v: v.unsqueeze_(0).squeeze_(),
    "swapaxes_": lambda v: v.swapaxes_(0, 1),
    "transpose_": lambda v: v.transpose_(0, 1),
    "as_strided_": lambda v: v.as_strided_((4,), (1,)),
}


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("scatter", SCATTERS)
def test_what_was_kept_does_not_follow_a_change_of_geometry(scatter: str, turn: str) -> None:
    x = square()
    v = x * 1
    w = SCATTERS[scatter](v)
    TURNS[turn](v)
    (w * weft.tensor(WEIGHTS)).sum().backward()
    assert x.grad.tolist() == WEIGHTS


@pytest.mark.parametrize("turn", TURNS)
def test_views_change_their_geometry_too(turn: str) -> None:
    x = square()
    b = x * 1
    v, plain = b[:], (x * 1)[:]
    TURNS[turn](v).mul_(3)
    expected = weft.ones(2, 2)
    TURNS[turn](expected[:]).mul_(3)
    (b * weft.tensor(WEIGHTS)).sum().backward()
    assert x.grad.tolist() == (expected * weft.tensor(WEIGHTS)).tolist()
    assert v.shape == TURNS[turn](plain).shape


def test_geometry_that_loses_elements() -> None:
    """A view may show less than before; a base may not, since its views may show the rest."""
    x = square()
    b = x * 1
    b[:].as_strided_((1,), (1,), 3).mul_(3)
    with pytest.raises(RuntimeError, match="would leave out elements"):
        b.as_strided_((1,), (1,), 3)
    b.sum().backward()
    assert x.grad.tolist() == [[1, 1], [1, 3]]


def test_geometry_under_no_grad_keeps_its_history() -> None:
    x = square()
    y = x * 1
    with weft.no_grad():
        y.t_()
    (y * weft.tensor(WEIGHTS)).sum().backward()
    assert x.grad.tolist() == [[1, 3], [2, 4]]


def test_resize_is_noticed_by_what_was_kept() -> None:
    x, c = ones(3), weft.full((3,), 2.0)
    y = x * c
    c.resize_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_as_strided_sees_beyond_its_input() -> None:
    """The gradient of what it shows outside of the view that it was called on reaches the base."""
    x = ones(4)
    b = x * 1
    y = b[:2].as_strided((4,), (1,))
    (y * weft.arange(4.0)).sum().backward()
    assert x.grad.tolist() == [0, 1, 2, 3]


def test_base_with_gaps() -> None:
    """A detached slice is a base of its own, with gaps between its elements."""
    x = weft.arange(8.0)[::2].detach().requires_grad_()
    y = x.as_strided((2, 2), (4, 2))
    (y * weft.tensor(WEIGHTS)).sum().backward()
    assert x.grad.tolist() == [1, 2, 3, 4]
    w = ones(2)
    base = weft.zeros(8)[::2].detach()
    base[1:3].add_(w * 5)
    (base * weft.arange(4.0)).sum().backward()
    assert w.grad.tolist() == [5, 10]


def test_complex_views_follow() -> None:
    x = ones(2)
    z = weft.complex(x * 1, x * 2)
    real, pairs = z.real, weft.view_as_real(z)
    z.mul_(3)
    (real + pairs[:, 1]).sum().backward()
    assert x.grad.tolist() == [9, 9]
    x = ones(2)
    pairs = weft.stack((x, x), -1)
    z = weft.view_as_complex(pairs)
    pairs.mul_(3)
    (z * 2).real.sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_view_of_other_memory_is_no_view_any_more() -> None:
    x = ones(4)
    b = x * 1
    v = b[:2]
    b.data = weft.zeros(4)
    v.mul_(3)
    v.sum().backward()
    assert x.grad.tolist() == [3, 3, 0, 0] and b.tolist() == [0] * 4


@pytest.mark.parametrize("make", [lambda p: p.view(-1), lambda p: p[:], lambda p: p.split(1)[0]])
def test_views_made_under_no_grad(make: Callable[[Tensor], Tensor]) -> None:
    """They say what their base says, and are constants."""
    p = ones(2, 3)
    with weft.no_grad():
        v = make(p)
        assert v.numpy().sum() == v.numel()
    assert v.requires_grad and v.is_leaf and v.grad_fn is None
    with pytest.raises(RuntimeError, match="detach"):
        v.numpy()
    assert not (v * 2).requires_grad
    with weft.no_grad():
        assert not p.detach().requires_grad and not (p * 1)[:].requires_grad


def test_numpy_under_no_grad() -> None:
    p = ones(2)
    with weft.no_grad():
        assert p.numpy().tolist() == [1, 1] and np.asarray(p).tolist() == [1, 1]
        assert (p * 2).numpy().tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="requires grad"):
        p.numpy()


def test_view_made_under_no_grad_of_what_changes_later() -> None:
    x = ones(4)
    h = x * 2
    with weft.no_grad():
        v = h[:2]
    h.mul_(x)
    with pytest.raises(RuntimeError, match="view was created in no_grad mode and its base"):
        v * 2
    with weft.no_grad():
        assert (v * 2).tolist() == [4, 4]
    with pytest.raises(RuntimeError, match="view was created in no_grad mode and its base"):
        v.as_strided((4,), (1,), 0)


@pytest.mark.parametrize("change", [Tensor.sin_, Tensor.zero_, lambda v: v.unsqueeze_(0)])
def test_view_made_under_no_grad_is_not_changed(change: Callable[[Tensor], Tensor]) -> None:
    """The history of its base would not know, also where nothing else has a gradient."""
    x = ones(4)
    h = x * 2
    with weft.no_grad():
        v = h[:2]
    with pytest.raises(
        RuntimeError, match="view was created in no_grad mode and is being modified"
    ):
        change(v)
    assert h._version == 0
    with weft.no_grad():
        change(v)


class Same(weft.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return 2 * g


def test_view_of_a_function_whose_base_changes() -> None:
    x = ones(2)
    b = x * 1
    v = Same.apply(b)
    b.mul_(3)
    with pytest.raises(RuntimeError, match="custom Function"):
        v.sum().backward()


OVERLAPS: dict[str, Callable[[Tensor], Tensor]] = {
    "expand": lambda x: x[:1].expand(4),
    "unfold": lambda x: x.unfold(0, 3, 1),
    "as_strided": lambda x: x.as_strided((3, 3), (1, 1)),
    "interlocked": lambda x: x.as_strided((3, 2), (2, 4)),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_elements_that_share_memory_are_not_written(name: str) -> None:
    x = weft.arange(12.0)
    v = OVERLAPS[name](x)
    mask = weft.ones(v.shape, dtype=weft.bool)
    writes: list[Callable[[], Any]] = [
        lambda: v.add_(1),
        lambda: v.copy_(weft.ones(v.shape)),
        lambda: weft.sin(weft.ones(v.shape), out=v),
        lambda: v.masked_fill_(mask, 1.0),
        lambda: v.__setitem__([0], 7.0),
    ]
    for write in writes:
        with pytest.raises(RuntimeError, match="single memory location"):
            write()
    assert x.tolist() == list(range(12))
    v.fill_(3.0)  # all equal: that they share memory does no harm
    assert v.eq(3).all()


def test_strides_that_interlock_without_meeting_are_written() -> None:
    x = weft.zeros(8)
    x.as_strided((3, 2), (2, 3)).add_(1)
    assert x.tolist() == [1, 0, 1, 1, 1, 1, 0, 1]


def test_filling_shared_memory_with_a_gradient() -> None:
    x, value = ones(4), weft.tensor(2.0, requires_grad=True)
    v = (x * 1)[:1].expand(3)
    with pytest.raises(RuntimeError, match="single memory location"):
        v.fill_(value)
    b = x * 1
    b[:1].expand(3).fill_(5.0)
    b.sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 1]


def test_operands_that_overlap_what_is_written() -> None:
    """PyTorch refuses these; the result is that of operands read before anything is written."""
    x = weft.arange(8.0)
    x[1:].add_(x[:-1])
    assert x.tolist() == [0, 1, 3, 5, 7, 9, 11, 13]
    x = weft.arange(8.0)
    weft.add(x[:-1], 1, out=x[1:])
    assert x.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    x = weft.arange(8.0)
    x.view(2, 4).mul_(x.view(4, 2).t())
    assert x.tolist() == [0, 2, 8, 18, 4, 15, 30, 49]


def test_copies_keep_the_order_of_dimensions() -> None:
    """So that what as_strided shows of them does not depend on gaps in what was copied."""
    q = weft.arange(24.0).view(2, 3, 4).permute(2, 0, 1)
    assert q.clone().stride() == (1, 12, 4) and q[:, :, ::2].clone().stride() == (1, 8, 4)
    assert q.flip(0).stride() == (1, 12, 4)
    assert q.flip(0).tolist() == q.tolist()[::-1]


INDICES: list[Any] = [
    (slice(None), [0]),
    (None, [0]),
    (..., [0]),
    (slice(None), weft.tensor([True, False, True, False])),
    ([0], slice(None)),
    ([0, 1], None, [0, 1]),
]


@pytest.mark.parametrize("key", INDICES, ids=str)
def test_collector_meets_indices_that_are_absent(key: Any) -> None:
    x = weft.rand(3, 4, requires_grad=True)
    y = x[key]
    gc.collect()
    b = x * 1
    b[key] = 1.0
    b[key] += 2.0
    gc.collect()
    (b.sum() + y.sum()).backward()
    gc.collect()
    assert x.grad is not None


def test_collector_among_many_kept_outputs() -> None:
    m, kept = weft.nn.Linear(3, 3), []
    for _ in range(3000):
        kept.append(m(weft.ones(2, 3))[:, [0, 2]])
    gc.collect()
    assert len(kept) == 3000


@pytest.mark.parametrize("link", ["grad", "grad of base"])
def test_long_chain_of_gradients_is_freed(link: str) -> None:
    t = weft.ones(1)
    for _ in range(300_000):
        longer = weft.ones(1)
        longer.grad = t
        t = longer if link == "grad" else longer[:]
    del t, longer
    gc.collect()


def test_hooks_are_added_in_constant_time() -> None:
    def add(count: int) -> None:
        x = ones(2)
        y = x * 1
        for _ in range(count):
            x.register_hook(lambda g: None)
            y.register_hook(lambda g: None)

    assert_linear(add, 300, 30_000)


def test_hooks_come_and_go() -> None:
    x, calls = ones(2), []
    for i in range(100):
        handle = x.register_hook(lambda g, i=i: calls.append(i))
        if i % 3:
            handle.remove()
    (x * 2).sum().backward()
    assert calls == list(range(0, 100, 3))


@pytest.mark.parametrize("part", [lambda b: b[:, 0], lambda b: b.t(), lambda b: b.unbind(0)[1]])
def test_second_derivative_of_a_change_that_keeps_its_result(
    part: Callable[[Tensor], Tensor],
) -> None:
    """The result of tanh_ is kept by the view's node; the second derivative finds its way to the base."""

    def f(x: Tensor) -> Tensor:
        b = x * 2
        part(b).tanh_()
        return b * b

    x = weft.tensor([[0.3, -0.2], [0.5, 0.1]], dtype=weft.float64, requires_grad=True)
    assert weft.autograd.gradcheck(f, (x,)) and weft.autograd.gradgradcheck(f, (x,))
