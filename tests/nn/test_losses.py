"""Losses with loops of their own, against NumPy in double."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import weft
from weft.nn import functional as F

RNG = np.random.default_rng(11)
REDUCTIONS = ("none", "mean", "sum")


def reduced(x: np.ndarray, reduction: str) -> np.ndarray:
    """Of all samples."""
    return x if reduction == "none" else x.mean() if reduction == "mean" else x.sum()


def log_softmax(x: np.ndarray) -> np.ndarray:
    """Along the last dimension."""
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def ctc(logs: np.ndarray, labels: list[int], blank: int) -> float:
    """Minus the log probability of labels; probabilities of states, frame by frame."""
    symbols = [blank, *(s for y in labels for s in (y, blank))]
    p = np.zeros(len(symbols))
    for t, frame in enumerate(np.exp(logs)):
        before, p = p, np.zeros(len(symbols))
        for s, symbol in enumerate(symbols):
            if t == 0:
                p[s] = frame[symbol] if s < 2 else 0
                continue
            p[s] = before[s] + (before[s - 1] if s else 0)
            if s > 1 and symbol not in (blank, symbols[s - 2]):
                p[s] += before[s - 2]
            p[s] *= frame[symbol]
    if not len(logs):
        return 0.0 if not labels else math.inf
    total = p[-1] + (p[-2] if len(p) > 1 else 0)
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("seed", range(12))
def test_ctc_by_numpy(seed: int) -> None:
    """Any lengths, blanks, repeated labels, labels in rows or one after the other."""
    rng = np.random.default_rng(seed)
    frames, batch, classes = rng.integers(1, 24), rng.integers(1, 5), rng.integers(2, 9)
    blank = int(rng.integers(classes))
    logs = log_softmax(rng.normal(size=(frames, batch, classes)) * 2)
    lengths = rng.integers(1, frames + 1, batch)
    counts = rng.integers(0, 9, batch)
    choices = [c for c in range(classes) if c != blank]
    labels = [[int(c) for c in rng.choice(choices, n)] for n in counts]
    want = np.array([ctc(logs[:n, i], labels[i], blank) for i, n in enumerate(lengths)])
    rows = np.full((batch, max(counts, default=0)), blank)
    for i, row in enumerate(labels):
        rows[i, : len(row)] = row
    flat = np.array([c for row in labels for c in row], dtype=np.int64)
    for dtype, targets, zero in itertools.product(
        (weft.float64, weft.float32), (rows, flat), (True, False)
    ):
        x, y = weft.tensor(logs, dtype=dtype), weft.tensor(targets, dtype=weft.int64)
        args = x, y, weft.tensor(lengths), weft.tensor(counts), blank
        expected = np.where(np.isinf(want), 0, want) if zero else want
        tolerance = 1e-9 if dtype == weft.float64 else 2e-4
        got = F.ctc_loss(*args, reduction="none", zero_infinity=zero)
        np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance, atol=1e-5)
        got = F.ctc_loss(*args, zero_infinity=zero).item()
        assert got == pytest.approx(
            (expected / np.maximum(counts, 1)).mean(), rel=tolerance, abs=1e-5
        )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_ctc_derivatives(reduction: str) -> None:
    """Of first and second order behind a log_softmax, against finite differences."""
    scores = weft.tensor(RNG.normal(size=(6, 3, 4)), requires_grad=True)
    y, frames, counts = [[1, 1, 2], [3, 0, 0], [2, 3, 1]], [6, 4, 2], [3, 1, 3]

    def loss(x: weft.Tensor) -> weft.Tensor:
        logs = x.log_softmax(2)
        return F.ctc_loss(
            logs, weft.tensor(y), frames, counts, reduction=reduction, zero_infinity=True
        )

    assert weft.autograd.gradcheck(loss, (scores,))
    assert weft.autograd.gradgradcheck(loss, (scores,))
    (plain,) = weft.autograd.grad(loss(scores).sum(), scores)
    (recorded,) = weft.autograd.grad(loss(scores).sum(), scores, create_graph=True)
    assert weft.allclose(plain, recorded, atol=1e-12)
    assert not plain[4:, 1].any() and not plain[:, 2].any()  # after its last frame; impossible


def test_ctc_without_frames() -> None:
    """Nothing to align: a loss of 0 for no labels, and derivatives of both orders without elements."""
    x = weft.zeros(0, 2, 3, requires_grad=True)
    y = F.ctc_loss(x, weft.zeros(2, 0, dtype=weft.int64), [0, 0], [0, 0], reduction="none")
    (g,) = weft.autograd.grad(y.sum(), x, create_graph=True)
    assert y.tolist() == [0, 0] and g.shape == x.shape


def test_ctc_of_the_impossible_and_the_wrong() -> None:
    """Too few frames: infinite; wrong lengths and labels: errors that say so."""
    x = weft.zeros(3, 1, 4).log_softmax(2).requires_grad_()
    loss = F.ctc_loss(x, weft.tensor([[1, 1]]), [2], [2], reduction="sum")
    loss.backward()
    assert loss.item() == math.inf and x.grad[:2].isnan().all() and not x.grad[2].any()
    wrong = [
        ([[1, 2]], [4], [2], "input_lengths to have value at most 3"),
        ([[1, 2]], [3], [3], "size at least 3"),
        ([[1, 2]], [3], [-1], "at least 0"),
        ([1, 2], [3], [1], "size 1 at dimension 0"),
        ([[1, 9]], [3], [2], "label 9"),
        ([[1, 2]], [3, 3], [2], "input_lengths must be of size batch_size 1"),
    ]
    for y, frames, counts, rule in wrong:
        with pytest.raises((RuntimeError, IndexError), match=rule):
            F.ctc_loss(x, weft.tensor(y), frames, counts)
    with pytest.raises(RuntimeError, match="blank"):
        F.ctc_loss(x, weft.tensor([[1]]), [3], [1], blank=4)
    alone = F.ctc_loss(x[:, 0], weft.tensor([1]), weft.tensor(3), weft.tensor(1), reduction="none")
    assert alone.shape == ()


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("p", [1, 2])
def test_multi_margin_by_numpy(p: int, reduction: str) -> None:
    """Sizes around those of vectors, weights, both powers, and derivatives of both orders."""
    for classes in (1, 5, 16, 37):
        x, w = RNG.normal(size=(7, classes)), RNG.uniform(0.5, 2, classes)
        y = RNG.integers(0, classes, 7)
        z = np.maximum(0, 0.7 - x[np.arange(7), y][:, None] + x) ** p * w[y][:, None]
        z[np.arange(7), y] = 0
        want = reduced(z.sum(1) / classes, reduction)
        xt, yt, wt = weft.tensor(x, requires_grad=True), weft.tensor(y), weft.tensor(w)

        def loss(v: weft.Tensor, y: weft.Tensor = yt, w: weft.Tensor = wt) -> weft.Tensor:
            return F.multi_margin_loss(v, y, p, 0.7, w, reduction=reduction)

        np.testing.assert_allclose(loss(xt).detach().numpy(), want, rtol=1e-12)
        np.testing.assert_allclose(loss(xt.float()).detach().numpy(), want, rtol=1e-5, atol=1e-6)
        assert weft.autograd.gradcheck(loss, (xt,)) and weft.autograd.gradgradcheck(loss, (xt,))
    with pytest.raises(IndexError, match="Target 37"):
        F.multi_margin_loss(weft.zeros(1, 37), weft.tensor([37]))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_multilabel_margin_by_numpy(reduction: str) -> None:
    """Targets up to the first -1, some named twice."""
    for classes in (1, 6, 19):
        x, y = RNG.normal(size=(5, classes)), RNG.integers(-1, classes, (5, classes))
        want = []
        for row, labels in zip(x, y):
            chosen = list(itertools.takewhile(lambda v: v >= 0, labels))
            others = [i for i in range(classes) if i not in chosen]
            want.append(sum(max(0, 1 - row[j] + row[i]) for j in chosen for i in others) / classes)
        xt, yt = weft.tensor(x, requires_grad=True), weft.tensor(y)

        def loss(v: weft.Tensor, y: weft.Tensor = yt) -> weft.Tensor:
            return F.multilabel_margin_loss(v, y, reduction=reduction)

        np.testing.assert_allclose(loss(xt).detach().numpy(), reduced(np.array(want), reduction))
        assert weft.autograd.gradcheck(loss, (xt,)) and weft.autograd.gradgradcheck(loss, (xt,))
    with pytest.raises(IndexError, match="Target 9"):
        F.multilabel_margin_loss(weft.zeros(1, 3), weft.tensor([[9, -1, -1]]))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(4,), (5, 4), (2, 4, 3, 2)])
def test_nll_by_numpy(shape: tuple[int, ...], reduction: str) -> None:
    """Any shape, weights, a class that is ignored, and derivatives of both orders."""
    d = 0 if len(shape) == 1 else 1
    x, w = RNG.normal(size=shape), RNG.uniform(0.5, 2, 4)
    y = RNG.integers(0, 4, [n for i, n in enumerate(shape) if i != d])
    for weight, ignored in ((None, -100), (w, 1)):
        share = np.where(y == ignored, 0.0, 1.0 if weight is None else w[y])
        one = -np.take_along_axis(x, np.expand_dims(y, d), d).squeeze(d) * share
        want = one.sum() / share.sum() if reduction == "mean" else reduced(one, reduction)
        if reduction == "mean" and not share.sum():
            continue
        given = None if weight is None else weft.tensor(weight)
        xt, yt = weft.tensor(x, requires_grad=True), weft.tensor(y)

        def loss(
            v: weft.Tensor, y: weft.Tensor = yt, w: weft.Tensor | None = given, i: int = ignored
        ) -> weft.Tensor:
            return F.nll_loss(v, y, w, ignore_index=i, reduction=reduction)

        np.testing.assert_allclose(loss(xt).detach().numpy(), want, rtol=1e-12)
        assert weft.autograd.gradcheck(loss, (xt,)) and weft.autograd.gradgradcheck(loss, (xt,))
    with pytest.raises(IndexError, match="Target 4 is out of bounds"):
        F.nll_loss(weft.tensor(x), weft.full_like(weft.tensor(y), 4))
