"""Sparse tensors of weft and PyTorch: values, indices, gradients and text."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import weft

LIBS = (weft, torch)
warnings.filterwarnings("ignore", "Sparse")


def facts(x: Any) -> Any:
    """What a result is, in NumPy."""
    if isinstance(x, (weft.Tensor, torch.Tensor)):
        if x.is_sparse:
            x = x.coalesce()
            return tuple(x.shape), str(x.dtype), facts(x._indices()), facts(x._values())
        return str(x.dtype), x.detach().numpy()
    return x


def agree(a: Any, b: Any) -> None:
    """Asserts that two results are equal."""
    if isinstance(a, tuple):
        assert isinstance(b, tuple) and len(a) == len(b)
        for x, y in zip(a, b):
            agree(x, y)
    elif isinstance(a, np.ndarray):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-6)
    else:
        assert a == b


def plain(lib: Any, values: Any = (3.0, 4.0, 5.0, 1.0), **options: Any) -> Any:
    """A matrix with an index that is there twice."""
    if not isinstance(values, lib.Tensor):
        values = lib.tensor(list(values), dtype=options.pop("dtype", lib.float64))
    return lib.sparse_coo_tensor([[0, 1, 1, 0], [2, 0, 2, 2]], values, (2, 3), **options)


def hybrid(lib: Any) -> Any:
    """One with a dense dimension."""
    return lib.sparse_coo_tensor([[0, 1, 1]], lib.arange(6.0).reshape(3, 2), (2, 2))


def dense(lib: Any) -> Any:
    """A dense matrix of the same shape."""
    return lib.arange(6, dtype=lib.float64).reshape(2, 3)


CALLS: dict[str, Callable[[Any], Any]] = {
    "coalesce": lambda lib: plain(lib).coalesce(),
    "to_dense": lambda lib: plain(lib).to_dense(),
    "to_sparse": lambda lib: dense(lib).to_sparse(),
    "to_sparse 1": lambda lib: dense(lib).to_sparse(1),
    "to_sparse of a number": lambda lib: lib.tensor(3.0).to_sparse(),
    "facts": lambda lib: (plain(lib)._nnz(), plain(lib).sparse_dim(), hybrid(lib).dense_dim()),
    "size": lambda lib: lib.sparse_coo_tensor([[1, 4]], [[1.0], [2.0]]),
    "add": lambda lib: plain(lib) + plain(lib).coalesce(),
    "add to dense": lambda lib: lib.add(dense(lib), plain(lib), alpha=2),
    "add_": lambda lib: dense(lib).add_(plain(lib), alpha=-0.5),
    "sub": lambda lib: plain(lib) - plain(lib),
    "mul": lambda lib: plain(lib) * plain(lib),
    "mul dense": lambda lib: plain(lib).coalesce() * dense(lib),
    "mul number": lambda lib: plain(lib) * 3,
    "div": lambda lib: plain(lib) / 2,
    "neg": lambda lib: -plain(lib),
    "sqrt": lambda lib: plain(lib).coalesce().sqrt(),
    "pow": lambda lib: plain(lib).coalesce() ** 2,
    "mm": lambda lib: lib.sparse.mm(plain(lib), dense(lib).t()),
    "mv": lambda lib: plain(lib) @ dense(lib)[0],
    "addmm": lambda lib: lib.sparse.addmm(
        lib.ones(2, 2, dtype=lib.float64), plain(lib), dense(lib).t(), beta=2, alpha=3
    ),
    "sum": lambda lib: lib.sparse.sum(plain(lib)),
    "sum 0": lambda lib: lib.sparse.sum(plain(lib), 0),
    "sum of all": lambda lib: lib.sparse.sum(plain(lib), [0, 1]),
    "hybrid sum 0": lambda lib: lib.sparse.sum(hybrid(lib), 0),
    "hybrid sum 1": lambda lib: lib.sparse.sum(hybrid(lib), 1),
    "t": lambda lib: plain(lib).t(),
    "mask": lambda lib: dense(lib).sparse_mask(plain(lib).coalesce()),
    "float": lambda lib: plain(lib).float(),
    "zero_": lambda lib: plain(lib).zero_(),
    "zeros_like": lambda lib: lib.zeros_like(plain(lib)),
    "norm": lambda lib: plain(lib).norm(),
    "flags": lambda lib: (
        plain(lib).is_coalesced(),
        dense(lib).to_sparse().is_coalesced(),
        (plain(lib).coalesce() + plain(lib).coalesce()).is_coalesced(),
        (plain(lib).coalesce() * 2).is_coalesced(),
        plain(lib).coalesce().t().is_coalesced(),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_values(name: str) -> None:
    agree(facts(CALLS[name](weft)), facts(CALLS[name](torch)))


GRADIENTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "to_dense": lambda lib, v, d: plain(lib, v).to_dense(),
    "coalesce": lambda lib, v, d: plain(lib, v).coalesce().values(),
    "mm": lambda lib, v, d: lib.sparse.mm(plain(lib, v), d.t()),
    "add": lambda lib, v, d: d + plain(lib, v),
    "sum": lambda lib, v, d: lib.sparse.sum(plain(lib, v)),
    "to_sparse": lambda lib, v, d: d.to_sparse().to_dense(),
    "mask": lambda lib, v, d: d.sparse_mask(plain(lib, v.detach()).coalesce()).to_dense(),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    found = []
    for lib in LIBS:
        v = lib.tensor([3.0, 4.0, 5.0, 1.0], dtype=lib.float64, requires_grad=True)
        d = dense(lib).requires_grad_()
        (GRADIENTS[name](lib, v, d) ** 2).sum().backward()
        found.append([None if x.grad is None else facts(x.grad) for x in (v, d)])
    for a, b in zip(*found):
        agree(a, b)


@pytest.mark.parametrize("mode", ["rows", "sum", "mean"])
@pytest.mark.parametrize("padding", [None, 0])
def test_embeddings(mode: str, padding: int | None) -> None:
    """As many entries after one walk; after two, which weft only puts side by side, the same sums."""
    found = []
    for lib in LIBS:
        w = lib.arange(8, dtype=lib.float64).reshape(4, 2).requires_grad_()
        index, f = lib.tensor([[1, 1], [0, 3]]), lib.nn.functional
        entries = []
        for _ in range(2):
            if mode == "rows":
                y = f.embedding(index, w, padding, sparse=True)
            else:
                y = f.embedding_bag(index, w, mode=mode, sparse=True, padding_idx=padding)
            (y**2).sum().backward()
            entries.append(w.grad._nnz())
        found.append((entries[0], facts(w.grad), facts(y)))
    agree(*found)


@pytest.mark.parametrize("name", ["SparseAdam", "Adagrad", "SGD"])
def test_steps(name: str) -> None:
    found = []
    for lib in LIBS:
        w = lib.arange(8, dtype=lib.float64).reshape(4, 2).requires_grad_()
        optimizer = getattr(lib.optim, name)([w], lr=0.1)
        for batch in ([1, 1], [0, 3], [1, 2], [1, 3]):
            optimizer.zero_grad(set_to_none=False)
            rows = lib.nn.functional.embedding(lib.tensor(batch), w, sparse=True)
            (rows**2).sum().backward()
            optimizer.step()
        found.append(facts(w))
    agree(*found)


TEXTS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda lib: plain(lib, dtype=lib.float32),
    "double": lambda lib: plain(lib).requires_grad_(),
    "hybrid": hybrid,
    "empty": lambda lib: lib.sparse_coo_tensor(size=(2, 3)),
    "whole": lambda lib: lib.eye(3, dtype=lib.int64).to_sparse(),
    "int": lambda lib: lib.eye(3, dtype=lib.int32).to_sparse(),
    "bool": lambda lib: lib.eye(3, dtype=lib.bool).to_sparse(),
    "number": lambda lib: lib.tensor(3.0).to_sparse(),
    "long": lambda lib: lib.arange(2000.0).to_sparse(),
    "leaf": lambda lib: lib.eye(2).to_sparse().requires_grad_(),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    assert repr(TEXTS[name](weft)) == repr(TEXTS[name](torch))
