"""Sparse matrices by rows and by columns: made, read, converted, multiplied, differentiated."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck

DENSE = [[0.0, 2.0, 0.0], [1.0, 0.0, 3.0], [0.0, 0.0, 0.0]]


def csr() -> weft.Tensor:
    """A matrix by rows."""
    return weft.tensor(DENSE, dtype=weft.float64).to_sparse_csr()


def test_facts() -> None:
    x = csr()
    assert x.layout is weft.sparse_csr and x.is_sparse_csr and not x.is_sparse
    assert x.crow_indices().tolist() == [0, 1, 3, 3] and x.col_indices().tolist() == [1, 0, 2]
    assert x.values().tolist() == [2, 1, 3] and x._nnz() == 3
    assert x.sparse_dim() == 2 and x.dense_dim() == 0 and x.shape == (3, 3)
    y = x.to_sparse_csc()
    assert y.layout is weft.sparse_csc and not y.is_sparse_csr
    assert y.ccol_indices().tolist() == [0, 1, 2, 3] and y.row_indices().tolist() == [1, 0, 1]
    assert y.values().tolist() == [1, 2, 3]
    for z in (x, y, x.to_sparse(), y.to_sparse_csr(), x.t().t()):
        assert z.to_dense().tolist() == DENSE


def test_made_of_parts() -> None:
    x = weft.sparse_csr_tensor([0, 1, 3], [2, 0, 1], [3.0, 4.0, 5.0])
    assert x.shape == (2, 3) and x.to_dense().tolist() == [[0, 0, 3], [4, 5, 0]]
    x = weft.sparse_csc_tensor([0, 1, 3], [2, 0, 1], [3, 4, 5], dtype=weft.float64)
    assert x.shape == (3, 2) and x.to_dense().tolist() == [[0, 4], [0, 5], [3, 0]]
    assert weft.sparse_csr_tensor([0, 0, 0], [], [], (2, 4)).to_dense().shape == (2, 4)
    hybrid = weft.sparse_csr_tensor([0, 1], [1], [[1.0, 2.0]], (1, 2, 2))
    assert hybrid.to_dense().tolist() == [[[0, 0], [1, 2]]] and hybrid.dense_dim() == 1
    wanted = weft.sparse_csr_tensor([0, 1], [0], [1.0], requires_grad=True)
    assert wanted.requires_grad and wanted.is_leaf


@pytest.mark.parametrize(
    "parts, match",
    [
        (([0, 1], [0], [1.0], (2, 2)), "one element more than there are rows"),
        (([0, 2], [0], [1.0], (1, 2)), "must rise from 0 to the number of entries, 1"),
        (([0, 2, 1], [0], [1.0], (2, 2)), "must rise from 0"),
        (([1, 1], [0], [1.0], (1, 2)), "must rise from 0"),
        (([0, 2], [1, 0], [1.0, 2.0], (1, 2)), "col_indices must rise within each row"),
        (([0, 2], [1, 1], [1.0, 2.0], (1, 2)), "must rise within"),
        (([0, 1], [5], [1.0], (1, 2)), "index 5 of entry 0 is out of range"),
        (([0, 1], [0], [1.0, 2.0], (1, 2)), "must be as many"),
        (([0, 1], [0], [1.0], (1,)), "one element more"),
    ],
)
def test_wrong_parts(parts: Any, match: str) -> None:
    with pytest.raises(RuntimeError, match=match):
        weft.sparse_csr_tensor(*parts)


def test_what_is_not_there() -> None:
    with pytest.raises(NotImplementedError, match="batches of matrices"):
        weft.sparse_csr_tensor([[0, 1]], [[0]], [[1.0]], (1, 1, 1))
    with pytest.raises(NotImplementedError, match=r"layout=torch.sparse_coo"):
        weft.sparse_compressed_tensor([0, 1], [0], [1.0], layout=weft.sparse_coo)
    with pytest.raises(NotImplementedError, match="compresses matrices"):
        weft.ones(3).to_sparse_csr()
    with pytest.raises(RuntimeError, match=r"crow_indices: expected.*sparse_csr, got.*strided"):
        weft.ones(2, 2).crow_indices()
    with pytest.raises(RuntimeError, match=r"indices: expected.*sparse_coo, got torch.sparse_csr"):
        csr().indices()
    with pytest.raises(NotImplementedError, match=r"clamp.*sparse layout"):
        csr().clamp(0)


def test_ops_keep_the_layout() -> None:
    x = csr()
    for y in (x * 2, -x, x + x, x * x, x.sin(), x.abs(), x.clone(), x.detach(), x.float(), x / 2):
        assert y.layout is weft.sparse_csr
    assert (x + x).to_dense().tolist() == (2 * weft.tensor(DENSE)).tolist()
    assert x.t().layout is weft.sparse_csc and x.t().t().layout is weft.sparse_csr
    assert x.sum().item() == 6
    x.mul_(3)
    assert x.values().tolist() == [6, 3, 9] and x.layout is weft.sparse_csr


def test_products() -> None:
    x, d = csr(), weft.randn(3, 4, dtype=weft.float64)
    dense = x.to_dense()
    assert weft.allclose(x @ d, dense @ d)
    assert weft.allclose(x @ d[:, 0], dense @ d[:, 0])
    assert weft.allclose(d.t() @ x, d.t() @ dense)
    assert weft.allclose(weft.sparse.mm(x.to_sparse_csc(), d), dense @ d)
    assert weft.allclose(weft.sparse.addmm(d, x, d, beta=2), 2 * d + dense @ d)
    for y in (x @ x, x @ x.to_sparse()):
        assert y.layout is weft.sparse_csr and weft.allclose(y.to_dense(), dense @ dense)
    z = x.to_sparse() @ x.to_sparse()
    assert z.is_sparse and z.is_coalesced() and weft.allclose(z.to_dense(), dense @ dense)


def test_products_joined_otherwise() -> None:
    x, d = csr(), weft.randn(3, 2, dtype=weft.float64)
    terms = x.to_dense().unsqueeze(2) * d
    there = x.to_dense() != 0
    for reduce in ("mean", "amax", "amin"):
        got = weft.sparse.mm(x, d, reduce)
        for i, row in enumerate(terms):
            part = row[there[i]]
            expected = weft.zeros(2) if not len(part) else getattr(part, reduce)(0)
            assert weft.allclose(got[i], expected.double())
    with pytest.raises(ValueError, match="reduce must be"):
        weft.sparse.mm(x, d, "prod")
    with pytest.raises(RuntimeError, match=r"layout torch.sparse_csr"):
        weft.sparse.mm(x.to_sparse(), d, "mean")


def test_gradients_are_sparse_in_the_same_layout() -> None:
    x = csr().requires_grad_()
    d = weft.randn(3, 2, dtype=weft.float64, requires_grad=True)
    (x @ d).sum().backward()
    assert x.grad.layout is weft.sparse_csr
    expected = weft.ones(3, 2, dtype=weft.float64) @ d.detach().t()
    assert weft.allclose(x.grad.values(), expected[x.to_dense().detach() != 0])
    assert weft.allclose(d.grad, x.detach().to_dense().t() @ weft.ones(3, 2, dtype=weft.float64))


@pytest.mark.parametrize(
    "name", ["mm", "two", "mean", "amax", "sampled", "csc", "softmax", "log_softmax"]
)
def test_gradients_of_values(name: str) -> None:
    d = weft.randn(3, 3, dtype=weft.float64, requires_grad=True)

    def f(values: weft.Tensor, d: weft.Tensor) -> weft.Tensor:
        x = weft.sparse_csr_tensor([0, 1, 3, 3], [1, 0, 2], values, (3, 3))
        found = {
            "mm": lambda: x @ d,
            "two": lambda: x @ x,
            "mean": lambda: weft.sparse.mm(x, d, "mean"),
            "amax": lambda: weft.sparse.mm(x, d, "amax"),
            "sampled": lambda: weft.sparse.sampled_addmm(x, d, d.t(), beta=0.5, alpha=2),
            "csc": lambda: x.t().values(),
            "softmax": lambda: weft.sparse.softmax(x.to_sparse(), 1),
            "log_softmax": lambda: weft.sparse.log_softmax(x.to_sparse(), 0),
        }[name]()
        return found.to_dense()

    v = weft.randn(3, dtype=weft.float64, requires_grad=True)
    assert gradcheck(f, (v, d)) and gradgradcheck(f, (v, d))


def test_sampled_product() -> None:
    x, a, b = csr(), weft.randn(3, 2, dtype=weft.float64), weft.randn(2, 3, dtype=weft.float64)
    got = weft.sparse.sampled_addmm(x, a, b, beta=0.5, alpha=2)
    dense = x.to_dense()
    assert got.layout is weft.sparse_csr
    assert weft.allclose(got.to_dense(), (0.5 * dense + 2 * a @ b) * (dense != 0))
    for wrong, match in (
        ((dense, a, b), "layout torch.sparse_csr"),
        ((x, a, a), "do not fit"),
        ((x, a.float(), b), "one dtype"),
    ):
        with pytest.raises(RuntimeError, match=match):
            weft.sparse.sampled_addmm(*wrong)


def test_softmax_counts_what_is_not_there_as_minus_infinity() -> None:
    x = weft.tensor(DENSE).to_sparse()
    for dim in (0, 1, -1):
        filled = weft.tensor(DENSE).masked_fill(weft.tensor(DENSE) == 0, float("-inf"))
        expected = filled.softmax(dim).nan_to_num(0.0)
        assert weft.allclose(weft.sparse.softmax(x, dim).to_dense(), expected)
        logs = weft.sparse.log_softmax(x, dim)
        assert weft.allclose(logs.values().exp(), expected[expected != 0])
    hybrid = weft.sparse_coo_tensor([[0, 2]], weft.randn(2, 3), (4, 3))
    assert weft.allclose(
        weft.sparse.softmax(hybrid, 1).coalesce().values(), hybrid._values().softmax(1)
    )
    with pytest.raises(RuntimeError, match=r"layout torch.sparse_coo"):
        weft.sparse.softmax(weft.ones(2), 0)


def test_diagonals() -> None:
    rows = weft.arange(1.0, 7.0).reshape(2, 3)
    x = weft.sparse.spdiags(rows, weft.tensor([0, -1]), (3, 3))
    assert x.to_dense().tolist() == [[1, 0, 0], [4, 2, 0], [0, 5, 3]]
    y = weft.sparse.spdiags(rows[0], weft.tensor(1), (2, 3), layout=weft.sparse_csr)
    assert y.layout is weft.sparse_csr and y.to_dense().tolist() == [[0, 2, 0], [0, 0, 3]]
    with pytest.raises(ValueError, match="different offsets"):
        weft.sparse.spdiags(rows, weft.tensor([1, 1]), (3, 3))


def test_copies_and_text() -> None:
    for x in (csr(), csr().to_sparse_csc(), csr().requires_grad_()):
        for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            assert y.layout is x.layout and y.requires_grad == x.requires_grad
            assert y.to_dense().tolist() == DENSE
    lines = str(csr()).splitlines()
    assert lines[0] == "tensor(crow_indices=tensor([0, 1, 3, 3]),"
    assert lines[1].strip() == "col_indices=tensor([1, 0, 2]),"
    assert "layout=torch.sparse_csr" in lines[-1]
    assert "ccol_indices=" in str(csr().t())
    with pytest.raises(TypeError, match=r"save.*to_sparse_coo"):
        weft.save({"x": csr()}, "never.weft")
