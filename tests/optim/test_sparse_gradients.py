"""Steps by sparse gradients: only rows in use move, and they move as the formulas say."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import weft
from weft import optim
from weft.nn import functional as F

BATCHES = [[1, 1], [0, 3], [3, 1], [2, 2], [1, 0]]


def loss(w: weft.Tensor, batch: list[int], sparse: bool = True) -> weft.Tensor:
    """A loss of some rows of a table."""
    return (F.embedding(weft.tensor(batch), w, sparse=sparse) ** 2).sum()


def table() -> weft.Tensor:
    """A small table to begin with."""
    return (weft.arange(10.0, dtype=weft.float64).reshape(5, 2) / 3 + 1).requires_grad_()


def train(w: weft.Tensor, optimizer: Any, batches: Any = BATCHES, sparse: bool = True) -> Any:
    """The table after a step for each batch."""
    for batch in batches:
        optimizer.zero_grad()
        loss(w, batch, sparse).backward()
        assert w.grad.is_sparse == sparse
        optimizer.step()
    return w.detach().numpy()


@pytest.mark.parametrize("options", [{}, {"betas": (0.5, 0.8), "maximize": True}, {"eps": 0.1}])
def test_sparse_adam(options: Any) -> None:
    """Moments and rows move where the gradient has rows, and nowhere else."""
    w, lr = table(), 0.1
    p = w.detach().numpy().copy()
    m, v = np.zeros_like(p), np.zeros_like(p)
    b1, b2 = options.get("betas", (0.9, 0.999))
    eps, sign = options.get("eps", 1e-8), -1 if options.get("maximize") else 1
    optimizer = optim.SparseAdam([w], lr=lr, **options)
    for t, batch in enumerate(BATCHES, 1):
        for row in set(batch):
            g = sign * 2 * p[row] * batch.count(row)
            m[row] = b1 * m[row] + (1 - b1) * g
            v[row] = b2 * v[row] + (1 - b2) * g * g
            size = lr * np.sqrt(1 - b2**t) / (1 - b1**t)
            p[row] -= size * m[row] / (np.sqrt(v[row]) + eps)
        train(w, optimizer, [batch])
    assert np.allclose(w.detach().numpy(), p)
    state = optimizer.state[w]
    assert list(state) == ["step", "exp_avg", "exp_avg_sq"] and state["step"] == len(BATCHES)
    assert np.allclose(state["exp_avg"].numpy(), m) and np.allclose(state["exp_avg_sq"].numpy(), v)
    assert np.array_equal(p[4], table()[4].detach().numpy())


def test_sparse_adam_goes_on() -> None:
    """From its state dict; a gradient without entries only counts."""
    w = table()
    optimizer = optim.SparseAdam([w], lr=0.1)
    train(w, optimizer, BATCHES[:2])
    again = w.detach().clone().requires_grad_()
    other = optim.SparseAdam([again], lr=0.5)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert np.array_equal(
        train(w, optimizer, BATCHES[2:]), train(again, other, BATCHES[2:], sparse=True)
    )
    w.grad = weft.zeros_like(w.grad)
    before = w.detach().clone()
    optimizer.step()
    assert optimizer.state[w]["step"] == len(BATCHES) + 1 and weft.equal(w.detach(), before)


@pytest.mark.parametrize(
    "name, options",
    [
        ("SGD", {}),
        ("SGD", {"maximize": True}),
        ("SGD", {"momentum": 0.9, "dampening": 0.1}),
        ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("SGD", {"weight_decay": 0.1}),
        ("Adagrad", {}),
        ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
        ("Adagrad", {"eps": 0.1}),
    ],
)
def test_as_by_dense_gradients(name: str, options: Any) -> None:
    """These give what they give with the dense gradient."""
    results = []
    for sparse in (False, True):
        w = table()
        results.append(train(w, getattr(optim, name)([w], lr=0.1, **options), sparse=sparse))
    assert np.allclose(*results)


def test_buffers_do_not_grow() -> None:
    """The momentum of sparse gradients has each row once."""
    w = table()
    optimizer = optim.SGD([w], lr=0.01, momentum=0.9)
    train(w, optimizer, BATCHES * 5)
    assert optimizer.state[w]["momentum_buffer"]._nnz() == 4


DENSE = "Adadelta Adafactor Adam AdamW Adamax ASGD NAdam RAdam RMSprop Rprop".split()


@pytest.mark.parametrize("name", DENSE)
def test_others_refuse(name: str) -> None:
    """They say so, and leave the table alone."""
    w = table()
    loss(w, [1]).backward()
    with pytest.raises(RuntimeError, match="does not support sparse gradients"):
        getattr(optim, name)([w], lr=0.1).step()
    assert weft.equal(w, table())


def test_refused_options() -> None:
    w = table()
    loss(w, [1]).backward()
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse"):
        optim.Adagrad([w], weight_decay=0.1).step()
    with pytest.raises(ValueError, match=r"Sparse params at indices .0."):
        optim.SparseAdam([weft.ones(2).to_sparse().requires_grad_()])


def test_lbfgs_takes_them() -> None:
    results = []
    for sparse in (False, True):
        w = table()
        optimizer = optim.LBFGS([w], lr=0.1)

        def closure(w: Any = w, optimizer: Any = optimizer, sparse: bool = sparse) -> weft.Tensor:
            optimizer.zero_grad()
            value = loss(w, [1, 2], sparse)
            value.backward()
            return value

        optimizer.step(closure)
        results.append(w.detach().numpy())
    assert np.allclose(*results)
