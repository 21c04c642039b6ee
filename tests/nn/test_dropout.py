"""Dropout: one native pass against its reference implementation, and everything that has to do with the draw."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import nn
from weft.nn import functional as F
from weft.nn.functional.dropout import plain_dropout

DTYPES = [weft.float32, weft.float64, weft.float16, weft.bfloat16]


def layouts(dtype: weft.dtype) -> list[Any]:
    """Inputs that lie in memory in all kinds of ways."""
    x = weft.randn(12, 30, 40).to(dtype)
    return [
        x, x[0, 0, 0], x[0, :3], x.transpose(0, 2), x[:, 1:-1:2], x[:, :, 0], x[:1].expand(5, 30, 40),
        x[0, 0, :1].expand(7, 9), x.permute(1, 0, 2)[3:], x[None].to(memory_format=weft.channels_last),
    ]  # fmt: skip


def same_draw(f: Any, *args: Any) -> Any:
    """What f gives from here, and the state it leaves: both are drawn from the same one."""
    weft.manual_seed(3)
    return f(*args), weft.get_rng_state()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.875, 1.0])
def test_twin(dtype: weft.dtype, p: float) -> None:
    """The same elements are kept, also in the gradient and in its gradient, and lie as they did."""
    tol = 1e-6 if dtype in (weft.float32, weft.float64) else 1e-2
    for x in layouts(dtype):
        results = []
        for f in (F.dropout, lambda x, p: plain_dropout(x, p, False)):
            leaf = x.detach().requires_grad_()
            y, state = same_draw(f, leaf, p)
            g = weft.linspace(-1, 2, x.numel()).to(dtype).reshape(x.shape).requires_grad_()
            (back,) = weft.autograd.grad(y, leaf, g, create_graph=True)
            again = weft.autograd.grad(back, g, leaf.detach(), retain_graph=True)[0]
            results.append((y, state, back, again))
        (y, state, *rest), (want, *_) = results
        assert y.dtype == dtype and y.shape == x.shape and y.stride() == want.stride()
        assert weft.equal(state, results[1][1])
        assert weft.allclose(y, want, rtol=tol) and weft.equal(y == 0, want == 0)
        for a, b in zip(rest, results[1][2:]):
            assert weft.allclose(a, b, rtol=tol)
        assert weft.equal(rest[1], y)  # dropout is linear


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_place(dtype: weft.dtype) -> None:
    """The input is overwritten with what it would give; gradients pass, also through views."""
    for x in layouts(dtype):
        want = same_draw(F.dropout, x, 0.3)[0]
        if 0 in x.stride() and x.numel() > 1:
            with pytest.raises(RuntimeError, match=r"dropout: .*single memory"):
                F.dropout(x, 0.3, inplace=True)
            continue
        dense = x.numel() == x.untyped_storage().nbytes() // x.itemsize  # else drawn in order
        leaf = (x if dense else x.contiguous()).clone().requires_grad_()
        changed = leaf * 1
        y = same_draw(F.dropout, changed, 0.3, True, True)[0]
        assert y is changed and weft.equal(y, want)
        (g,) = weft.autograd.grad(y.sum(), leaf)
        assert weft.allclose(g * x, want, rtol=1e-2)
        same_draw(F.dropout, x, 0.3, True, True)
        assert weft.equal(x, want)
    base = weft.ones(4, 6, dtype=dtype, requires_grad=True)
    whole = base * 2
    F.dropout(whole[:, 1:3], 0.5, inplace=True)
    (g,) = weft.autograd.grad(whole.sum(), base)
    assert weft.equal(g, whole.detach())
    with pytest.raises(RuntimeError, match=r"dropout: .*leaf"):
        F.dropout(base, 0.5, inplace=True)


def test_derivatives() -> None:
    """Against differences, of both orders."""

    def drawn(x: weft.Tensor) -> weft.Tensor:
        return same_draw(F.dropout, x, 0.4)[0]

    for x in (weft.randn(3, 4), weft.randn(4, 3).t(), weft.randn(3, 1).expand(3, 4)):
        leaf = x.double().detach().requires_grad_()
        assert weft.autograd.gradcheck(drawn, leaf) and weft.autograd.gradgradcheck(drawn, leaf)


@pytest.mark.parametrize("p", [1e-3, 0.2, 0.5, 0.9])
def test_statistics(p: float) -> None:
    """As many are dropped as should be, at places that know nothing of each other."""
    n = 200_000
    x = weft.ones(n, requires_grad=True)
    y, z = F.dropout(x, p), F.dropout(x, p)
    (g,) = weft.autograd.grad(y.sum(), x)
    assert weft.equal(g, y)
    dropped, other = (y == 0).double(), (z == 0).double()
    spread = 5 * (p * (1 - p) / n) ** 0.5
    assert abs(dropped.mean() - p) < spread and abs(y.mean() - 1) < spread / (1 - p)
    assert y.unique().tolist() == pytest.approx([0, 1 / (1 - p)])
    for a, b in ((dropped, other), (dropped[1:], dropped[:-1]), (dropped[128:], dropped[:-128])):
        both = p * p
        assert abs((a * b).mean() - both) < 5 * (both * (1 - both) / n) ** 0.5


def test_edges() -> None:
    """Nothing is dropped, everything is, there is nothing; what is not finite is seen."""
    x = weft.randn(5)
    state = weft.get_rng_state()
    assert F.dropout(x, 0.0) is x and F.dropout(x, 0.5, False) is x
    assert nn.Dropout(0.5).eval()(x) is x
    empty = weft.empty(0, 3, requires_grad=True)
    assert F.dropout(empty).shape == (0, 3)
    assert weft.equal(weft.get_rng_state(), state)
    leaf = x.clone().requires_grad_()
    y = F.dropout(leaf, 1.0)
    y.sum().backward()
    assert not y.any() and not leaf.grad.any()
    for p in (1e-18, 1 - 1e-16):
        y = F.dropout(weft.ones(1000), p)
        assert y.unique().tolist() == [1.0 if p < 0.5 else 0.0]
    assert F.dropout(weft.full((64,), float("nan"))).isnan().all()
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="between 0 and 1"):
            F.dropout(x, bad)
    with pytest.raises(NotImplementedError, match="complex64"):
        F.dropout(x.to(weft.complex64))
    with pytest.raises(RuntimeError, match="can't be cast"):
        F.dropout(weft.ones(3, dtype=weft.int64))


def test_what_is_kept() -> None:
    """One byte for each element, and nothing where no derivative will ask."""
    x = weft.randn(40, 50)
    drop = weft._C._op_function("dropout")
    leaf = x.clone().requires_grad_()
    assert drop(x, 0.5)[1].numel() == 0
    with weft.no_grad():
        assert drop(leaf, 0.5)[1].numel() == 0
    packed: list[Any] = []
    with weft.autograd.graph.saved_tensors_hooks(
        lambda t: packed.append(t) or len(packed) - 1, lambda i: packed[i].clone()
    ):
        y = F.dropout(leaf.t(), 0.5)
    assert [(t.dtype, tuple(t.shape)) for t in packed] == [(weft.bool, (50, 40))]
    (g,) = weft.autograd.grad(y, leaf, weft.ones(50, 40))
    assert weft.equal(g.t(), packed[0] * 2.0)


def test_the_draw_is_the_default_generators() -> None:
    """A state that is put back gives the same again, whatever the number of threads."""
    x = weft.ones(300_000)
    state = weft.get_rng_state()
    first, second = F.dropout(x, 0.3), F.dropout(x, 0.3)
    assert not weft.equal(first, second)
    weft.set_rng_state(state)
    threads = weft.get_num_threads()
    try:
        for n in (1, 2, 3):
            weft.set_num_threads(n)
            weft.set_rng_state(state)
            assert weft.equal(F.dropout(x, 0.3), first) and weft.equal(F.dropout(x, 0.3), second)
    finally:
        weft.set_num_threads(threads)
    weft.set_rng_state(state)
    leaf = x.clone().requires_grad_()
    assert weft.equal(F.dropout(leaf, 0.3), first)  # a tape does not change the draw


@pytest.mark.parametrize("inplace", [False, True])
def test_trace(inplace: bool) -> None:
    """A graph draws anew, and has a gradient even if the traced call had none."""
    m = nn.Dropout(0.5, inplace)
    for example in (weft.ones(50), weft.ones(50, requires_grad=True)):
        f = weft.jit.trace(lambda x: m(x * 2) + 1, (example,))
        x = weft.randn(50, requires_grad=True)
        got = same_draw(f, x)[0]
        want = same_draw(lambda x: m(x * 2) + 1, x)[0]
        assert weft.equal(got, want) and not weft.equal(f(x), got)
        (g,) = weft.autograd.grad(got.sum(), x)
        assert weft.equal(g, (got != 1) * 4.0)

    def step(x: weft.Tensor) -> weft.Tensor:
        y = m(x * 2)
        return weft.autograd.grad((y * y).sum(), x)[0]

    f = weft.jit.trace(step, (weft.ones(50, requires_grad=True),))
    x = weft.randn(50, requires_grad=True)
    assert weft.equal(same_draw(f, x)[0], same_draw(step, x)[0])
