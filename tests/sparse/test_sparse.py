"""Sparse tensors against their dense twins: values, gradients twice, odd shapes, and refusals."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import call, lift, resolve
from samples import ROWS, S

import weft
from weft.autograd import gradcheck, gradgradcheck
from weft.nn import functional as F

INDICES = [[0, 1, 1, 0], [2, 0, 2, 2]]  # (0, 2) is there twice


def coo(values: Any, size: Any = (2, 3), indices: Any = INDICES, **options: Any) -> weft.Tensor:
    """A sparse tensor, by default with an index that is there twice."""
    return weft.sparse_coo_tensor(indices, values, size, **options)


def doubles(*shape: int) -> weft.Tensor:
    """Random values that want a gradient."""
    return weft.randn(*shape, dtype=weft.float64).requires_grad_()


@pytest.fixture(autouse=True)
def seed() -> None:
    """The same numbers in every test."""
    weft.manual_seed(0)


def same(a: Any, b: Any) -> bool:
    """Whether two results are equal, sparse or not."""
    if isinstance(a, weft.Tensor) and isinstance(b, weft.Tensor):
        a, b = a.to_dense().detach(), b.to_dense().detach()
        return (
            a.shape == b.shape and a.dtype == b.dtype and weft.allclose(a, b, 1e-5, equal_nan=True)
        )
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b) or a != a


# ---- what they are -----------------------------------------------------------------------------


def test_facts() -> None:
    x = coo([1.0, 2.0, 3.0, 4.0])
    assert x.is_sparse and x.layout is weft.sparse_coo and not x.is_coalesced()
    assert weft.ones(1).layout is weft.strided and not weft.ones(1).is_sparse
    assert x.shape == (2, 3) and x.size(1) == 3 and x.dim() == 2 and x.numel() == 6
    assert x.dtype == weft.float32 and len(x) == 2 and x.device == weft.device("cpu")
    assert (x.sparse_dim(), x.dense_dim(), x._nnz()) == (2, 0, 4)
    assert (weft.ones(2, 3).sparse_dim(), weft.ones(2, 3).dense_dim()) == (0, 2)
    assert x._indices().tolist() == INDICES and x._values().tolist() == [1, 2, 3, 4]
    assert x.stride() == (0, 0) and not x.is_contiguous() and x.is_leaf


def test_coalescing() -> None:
    x = coo([1.0, 2.0, 3.0, 4.0])
    y = x.coalesce()
    assert y.is_coalesced() and y.coalesce() is y and not x.is_coalesced()
    assert y.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and y.values().tolist() == [5, 2, 3]
    for read in (x.values, x.indices):
        with pytest.raises(RuntimeError, match=r"on an uncoalesced tensor, please call .coalesce"):
            read()
    truth = coo([True, False, False, False]).coalesce()
    assert truth.values().tolist() == [True, False, False]
    many = weft.randint(0, 50, (2, 3000))
    values = weft.randn(3000, 2, dtype=weft.float64)
    z = weft.sparse_coo_tensor(many, values, (50, 50, 2))
    expected = np.zeros((50, 50, 2))
    np.add.at(expected, tuple(many.numpy()), values.numpy())
    assert np.allclose(z.coalesce().to_dense().numpy(), expected)
    assert np.allclose(z.to_dense().numpy(), expected)


def test_making() -> None:
    assert weft.sparse_coo_tensor([[1, 4]], [1, 2]).shape == (5,)
    assert weft.sparse_coo_tensor([[1]], [[1.0, 2.0]]).shape == (2, 2)
    assert weft.sparse_coo_tensor(size=(2, 3)).to_dense().tolist() == [[0, 0, 0]] * 2
    assert weft.sparse_coo_tensor((2, 3))._nnz() == 0
    assert weft.sparse_coo_tensor([[], []], [], (2, 3)).is_sparse
    assert weft.sparse_coo_tensor([[], []], []).shape == (0, 0)
    assert coo([1, 2, 3, 4], dtype=weft.float64).dtype == weft.float64
    assert coo([1.0, 2.0, 3.0, 4.0], requires_grad=True).requires_grad
    narrow = weft.tensor([[1]], dtype=weft.int32)
    assert weft.sparse_coo_tensor(narrow, [1.0])._indices().dtype == weft.int64
    ordered = weft.sparse_coo_tensor([[0, 1]], [1.0, 2.0], is_coalesced=True)
    assert ordered.values().tolist() == [1, 2]


@pytest.mark.parametrize(
    "indices, values, size, options, match",
    [
        ([[0, 5]], [1.0, 2.0], (3,), {}, "index 5 of entry 1 is out of range for dimension 0.*3"),
        ([[0, -1]], [1.0, 2.0], (3,), {}, "index -1 of entry 1 is out of range"),
        ([[0, 1]], [1.0], (3,), {}, "same nnz, but got nnz from indices: 2.*values: 1"),
        ([[0, 1]], [1.0, 2.0], (3, 3), {}, "len.size. = 2, sparse_dim = 1, dense_dim = 0"),
        ([[0]], [[1.0, 2.0]], (1, 3), {}, r"expected \[1, 3\], got \[1, 2\]"),
        ([0, 1], [1.0, 2.0], (3,), {}, r"matrix .*got shape \[2\]"),
        ([[0.5]], [1.0], (3,), {}, "must be integers, got float32"),
        ([[1, 1]], [1.0, 2.0], (3,), {"is_coalesced": True}, "is_coalesced=True, but"),
        ([[1, 0]], [1.0, 2.0], (3,), {"is_coalesced": True}, "is_coalesced=True, but"),
        ([[0]], [1], (3,), {"requires_grad": True}, "floating point"),
        ([[]], [], (-1,), {}, "negative size"),
    ],
)
def test_wrong_entries(indices: Any, values: Any, size: Any, options: Any, match: str) -> None:
    with pytest.raises(RuntimeError, match=match):
        weft.sparse_coo_tensor(indices, values, size, **options)


def test_wrong_arguments() -> None:
    x, dense = coo([1.0, 2.0, 3.0, 4.0]), weft.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"coalesce: expected a tensor of layout torch.sparse"):
        dense.coalesce()
    for name in ("indices", "values", "_indices", "_values", "_nnz", "is_coalesced"):
        with pytest.raises(RuntimeError, match=f"{name}: expected a tensor of layout torch.sparse"):
            getattr(dense, name)()
    for dim in (-1, 0, 3):
        with pytest.raises(RuntimeError, match="to_sparse: sparse_dim must be"):
            dense.to_sparse(dim)
    for options in ({"layout": weft.strided}, {"blocksize": 2}, {"dense_dim": 1}):
        with pytest.raises(NotImplementedError, match=f"to_sparse: {next(iter(options))}="):
            dense.to_sparse(**options)
    with pytest.raises(NotImplementedError, match="masked_grad=False"):
        x.to_dense(masked_grad=False)
    with pytest.raises(RuntimeError, match=r"sparse.sum: expected.*got torch.strided"):
        weft.sparse.sum(dense)
    with pytest.raises(RuntimeError, match=r"mask must be sparse"):
        dense.sparse_mask(dense)
    with pytest.raises(RuntimeError, match="sparse_mask: operands have incompatible sizes"):
        weft.ones(2, 2).sparse_mask(x)
    with pytest.raises(NotImplementedError, match=r"layout=torch.sparse_coo"):
        weft.zeros(2, layout=weft.sparse_coo)


SHAPES = [((2, 3), 2), ((2, 3), 1), ((), 0), ((0,), 1), ((3, 0, 2), 3), ((3, 0, 2), 1)]
SHAPES += [((2, 3, 2), 2), ((4,), 1), ((1, 1), 1)]


@pytest.mark.parametrize("shape, sparse", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "bool", "int8", "complex64", "bfloat16"])
def test_there_and_back(shape: Any, sparse: int, dtype: str) -> None:
    x = (weft.randn(shape) * (weft.rand(shape) > 0.5)).to(getattr(weft, dtype))
    y = x.to_sparse(sparse)
    assert y.sparse_dim() == sparse and y.is_coalesced() and y.dtype == x.dtype
    assert y.to_dense().dtype == x.dtype and weft.equal(y.to_dense(), x)
    assert weft.equal(y.to_dense(weft.complex64), x.to(weft.complex64))
    assert x.to_dense() is x and y.to_sparse() is y
    both = weft.cat([y._values(), y._values()])
    twice = weft.sparse_coo_tensor(weft.cat([y._indices()] * 2, 1), both, shape)
    assert same(twice.coalesce(), twice.to_dense())
    assert same(twice, x if dtype == "bool" else x + x)


# ---- ops ---------------------------------------------------------------------------------------

ONE: dict[str, Callable[[Any], Any]] = {
    "to_dense": lambda x: x.to_dense(),
    "coalesce": lambda x: x.coalesce() if x.is_sparse else x,
    "neg": lambda x: -x,
    "scaled": lambda x: 3 * x / 2,
    "by a tensor": lambda x: x * weft.tensor(3.0, dtype=weft.float64),
    "sin": lambda x: x.sin(),
    "pow": lambda x: x**3,
    "clone": lambda x: x.clone(),
    "cast": lambda x: x.to(weft.complex128),
    "t": lambda x: x.t(),
    "transpose": lambda x: x.transpose(-1, 0),
    "permute": lambda x: x.permute(1, 0),
    "T": lambda x: x.T,
    "sum": lambda x: x.sum(),
    "sum of a dim": lambda x: x.square().sum(0),
    "sum of -1": lambda x: x.sum(-1),
    "sum of all dims": lambda x: x.sum([0, 1]),
    "norm": lambda x: x.norm(),
    "x + x": lambda x: x + x.sin(),
    "x - x": lambda x: weft.sub(x, x * x, alpha=2),
    "x * x": lambda x: x * x,
    "changed": lambda x: x.clone().mul_(3).add_(x, alpha=2).neg_(),
}
SQUARE = [[0, 1, 1, 0], [2, 0, 1, 2]]


@pytest.mark.parametrize("name", ONE)
def test_one_tensor(name: str) -> None:
    """Values against the dense twin; gradients of the values, twice."""
    f, values = ONE[name], doubles(4)
    with weft.no_grad():
        x = coo(values, (3, 3), SQUARE)
        assert same(f(x), f(x.to_dense())) and same(f(x.coalesce()), f(x.to_dense()))

    def through(values: weft.Tensor) -> weft.Tensor:
        return f(coo(values, (3, 3), SQUARE)).to_dense()

    assert gradcheck(through, (values,)) and gradgradcheck(through, (values,))


TWO: dict[str, Callable[[Any, Any], Any]] = {
    "dense + sparse": lambda x, d: d + x,
    "dense - sparse": lambda x, d: d - x,
    "sparse - dense": lambda x, d: x - d,
    "alpha": lambda x, d: weft.add(d, x, alpha=3),
    "in place": lambda x, d: d.clone().add_(x, alpha=2),
    "in a view": lambda x, d: d.clone().t().sub_(x.t()),
    "sparse * dense": lambda x, d: x * d,
    "dense * sparse": lambda x, d: d * x,
    "sparse * sparse": lambda x, d: x * (d.tril().to_sparse() if x.is_sparse else d.tril()),
    "sparse + sparse": lambda x, d: x + (d.to_sparse() if x.is_sparse else d),
    "mm": lambda x, d: weft.sparse.mm(x, d),
    "mm the other way": lambda x, d: weft.mm(d, x),
    "mv": lambda x, d: x @ d[0],
    "addmm": lambda x, d: weft.sparse.addmm(d, x, d, beta=0.5, alpha=2),
    "addmm_": lambda x, d: d.clone().addmm_(x, d),
}


@pytest.mark.parametrize("name", TWO)
def test_two_tensors(name: str) -> None:
    f, values, d = TWO[name], doubles(4), doubles(3, 3)
    with weft.no_grad():
        x = coo(values, (3, 3), SQUARE)
        assert same(f(x, d), f(x.to_dense(), d)) and same(f(x.coalesce(), d), f(x.to_dense(), d))

    def through(values: weft.Tensor, d: weft.Tensor) -> weft.Tensor:
        return f(coo(values, (3, 3), SQUARE), d).to_dense()

    assert gradcheck(through, (values, d)) and gradgradcheck(through, (values, d))


@pytest.mark.parametrize("dim", [None, 0, 1, 2, -1, (0, 2), (1, 2), (0, 1, 2)])
def test_sums_of_dense_dimensions(dim: Any) -> None:
    values = doubles(3, 2, 2)

    def through(values: weft.Tensor) -> weft.Tensor:
        x = weft.sparse_coo_tensor([[1, 0, 1]], values, (2, 2, 2))
        return weft.sparse.sum(x, dim).to_dense()

    x = weft.sparse_coo_tensor([[1, 0, 1]], values.detach(), (2, 2, 2)).to_dense()
    assert same(through(values), x.sum() if dim is None else x.sum(dim))
    assert gradcheck(through, (values,)) and gradgradcheck(through, (values,))


def test_masks() -> None:
    mask = coo([0.0, 0.0, 0.0, 0.0])
    d, values = doubles(2, 3), doubles(3)
    assert d.sparse_mask(mask)._indices().tolist() == INDICES
    assert gradcheck(lambda d: d.sparse_mask(mask).coalesce().values(), (d,))
    other = [[0, 1, 0], [1, 2, 2]]

    def through(values: weft.Tensor) -> weft.Tensor:
        return coo(values, indices=other).sparse_mask(mask)._values() * 1

    assert through(values).tolist() == [values[2], 0, values[1], values[2]]
    (d.sparse_mask(mask.coalesce()).to_dense() * 2).sum().backward()
    assert d.grad.tolist() == [[0, 0, 2], [2, 0, 2]]


def test_the_gradient_of_a_sparse_leaf_is_sparse() -> None:
    x = coo([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    b = weft.randn(3, 2, requires_grad=True)
    weft.sparse.mm(x, b).square().sum().backward()
    assert x.grad.is_sparse and not b.grad.is_sparse
    d = x.detach().to_dense().requires_grad_()
    (d @ b.detach()).square().sum().backward()
    assert same(x.grad, d.grad * (d != 0))
    x.to_dense().sum().backward()
    assert same(x.grad, (d.grad + 1) * (d != 0))


def test_numbers_of_two_kinds() -> None:
    x = coo([1, 2, 3, 4])
    assert (x * 1.5).dtype == weft.float32 and (x + x.double()).dtype == weft.float64
    assert (weft.ones(2, 3, dtype=weft.int64) + x).dtype == weft.int64
    half = weft.add(weft.ones(2, 3), x, alpha=0.5)
    assert same(half, weft.tensor([[1.0, 1.0, 3.5], [2.0, 1.0, 2.5]]))
    assert same(weft.add(x.float() * 0, x, alpha=0.5), half - 1)
    large = coo([100, 2, 3, 100], dtype=weft.int8)
    truth = coo([True, True, False, True])
    for f in (lambda x: x.sum(), lambda x: x.float(), lambda x: x * 1.5, lambda x: x.sum(1)):
        assert same(f(large), f(large.to_dense())) and same(f(truth), f(truth.to_dense()))
    assert same(coo([0.6, 1.0, 1.0, 0.6]).long(), weft.tensor([[0, 0, 1], [1, 0, 1]]))
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type int64"):
        x.mul_(1.5)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type int64"):
        weft.ones(2, 3, dtype=weft.int64).add_(x.float())
    with pytest.raises(RuntimeError, match="alpha must not be a floating point"):
        weft.add(x, x, alpha=0.5)
    with pytest.raises(RuntimeError, match="same dtype, got int64 and float32"):
        x @ weft.ones(3, 2)
    with pytest.raises(RuntimeError, match="bool"):
        x.bool() - x.bool()


def test_in_place() -> None:
    x = coo([1.0, 2.0, 3.0, 4.0])
    shares, version = x.detach(), x._version
    assert x.mul_(2) is x and x._version == version + 1
    assert shares.to_dense().tolist() == [[0, 0, 10], [4, 0, 6]]
    x.copy_(weft.eye(3)[:2].to_sparse())
    assert x.to_dense().tolist() == [[1, 0, 0], [0, 1, 0]]
    assert x.zero_()._nnz() == 0 and x.sparse_dim() == 2 and weft.zeros_like(x)._nnz() == 0
    leaf = coo([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.mul_(2)
    with weft.no_grad():
        leaf.mul_(2)
    y = leaf * 1
    y.mul_(3)
    y.to_dense().sum().backward()
    assert leaf.grad.to_dense().tolist() == [[0, 0, 3], [3, 0, 3]]
    kept = leaf * 1
    product = kept * kept.sin()
    kept.mul_(2)  # what was computed from it before stays as it was
    product.to_dense().sum().backward()
    with pytest.raises(RuntimeError, match="doesn't match"):
        x.copy_(weft.eye(2).to_sparse())


# ---- everything else refuses them --------------------------------------------------------------


def variants(x: weft.Tensor) -> list[weft.Tensor]:
    """The tensor in sparse layouts: coalesced, with equal indices, with dense dimensions, by rows."""
    if not x.dim() or x.dtype == weft.bool:
        return [x.to_sparse()]
    y = x.to_sparse()
    part = y.values() * 0.25 if x.is_floating_point() else y.values() - 1
    parts = weft.cat([part, y.values() - part])
    twice = weft.sparse_coo_tensor(weft.cat([y.indices()] * 2, 1), parts, x.shape)
    return [y, twice, x.to_sparse(1), *([x.to_sparse_csr()] if x.dim() == 2 else [])]


@pytest.mark.parametrize("name", ROWS)
def test_right_or_refused(name: str) -> None:
    """Any op with a sparse argument gives what it gives with a dense one, or says that it can't."""
    row, op = ROWS[name], resolve(weft, name)
    if not row.values or row.stat is not None:
        return
    for sample in row.samples()[:4]:
        for place, arg in enumerate(lift(weft, sample).args):
            for kind in range(4 if isinstance(arg, weft.Tensor) else 0):
                given, twin = lift(weft, sample), lift(weft, sample)
                made = variants(given.args[place])
                if kind >= len(made):
                    continue
                args = [*given.args[:place], made[kind], *given.args[place + 1 :]]
                try:
                    got = call(op, row, S(*args, **given.kwargs))
                except (NotImplementedError, RuntimeError, TypeError) as e:
                    assert "sparse" in str(e) or not isinstance(e, NotImplementedError), str(e)
                    continue
                expected = call(op, row, twin)
                if row.canon and isinstance(got, tuple):
                    got, expected = ([row.canon(t) for t in r] for r in (got, expected))
                assert same(got, expected), (name, sample, kind)


def test_refusals_name_op_and_layout() -> None:
    x, d = coo([1.0, 2.0, 3.0, 4.0]), weft.ones(2, 3)
    for name, refused in {
        "cos": lambda: x.cos(),
        "fill": lambda: x.fill_(1),
        "select": lambda: x[0],
        "view_at": lambda: x[0, 1:],
        "add": lambda: x + 1,
        "add: .*dense second": lambda: x.add_(d),
        "mul": lambda: d.mul_(x),
        "div": lambda: d / x,
        "pow": lambda: x**-1,
        "linalg_vector_norm": lambda: weft.linalg.vector_norm(x, -1),
        "sum": lambda: x.sum(0, keepdim=True),
        "cat": lambda: weft.cat([d, x]),
        "linear": lambda: F.linear(d, x),
        "resize_": lambda: x.resize_(3, 2),
        "in-place view": lambda: x.t_(),
        "zeros: .*out=": lambda: weft.zeros(2, 3, out=x),
        "add: .*out=": lambda: weft.add(x, x, out=d),
        "needs elements in memory": lambda: memoryview(x),
        "needs elements": lambda: x.tolist(),
        "elements": lambda: x.data_ptr(),
        "memory": lambda: x.__dlpack__(),
        "this": lambda: weft.tensor(3).to_sparse().item(),
    }.items():
        with pytest.raises(NotImplementedError, match=f"{name}.*sparse layout"):
            refused()
    with pytest.raises(TypeError, match=r"use tensor.to_dense\(\) first"):
        x.numpy()
    with pytest.raises(RuntimeError, match="sparse and dense dimensions cannot change places"):
        d.to_sparse(1).t()
    with pytest.raises(RuntimeError, match="nbytes: not defined"):
        x.nbytes  # noqa: B018
    with pytest.raises(RuntimeError, match=r"set_data: a tensor of layout torch.strided"):
        d.data = x
    with pytest.raises(RuntimeError, match="sum: dim 0 appears multiple times"):
        x.sum([0, 0])
    with pytest.raises(RuntimeError, match=r"addmm: .*same dtype"):
        weft.addmm(weft.ones(2, 2).double(), x, weft.ones(3, 2))
    with pytest.raises(RuntimeError, match="addmm: an input of shape"):
        weft.addmm(weft.ones(3, 2, 2), x, weft.ones(3, 2))
    nan = weft.full((2, 2), float("nan"))
    assert weft.addmm(nan, x, weft.ones(3, 2), beta=0).tolist() == [[5, 5], [5, 5]]
    for traced in (lambda d: d + x, lambda d: d.to_sparse().to_dense()):
        with pytest.raises(NotImplementedError, match=r"trace: .*sparse"):
            weft.jit.trace(traced, (d,))


# ---- gradients ---------------------------------------------------------------------------------


def rows(weight: weft.Tensor, *index: int) -> weft.Tensor:
    """Rows of a table whose gradient is sparse."""
    return F.embedding(weft.tensor(index), weight, sparse=True)


def test_gradients_add_up() -> None:
    """Sparse and sparse, sparse and dense, between branches and in leaves, in any order."""
    w = weft.ones(3, 2, requires_grad=True)
    sparse, dense = [lambda: rows(w, 1, 1).sum()], [lambda: w.sum()]
    for parts in (sparse * 2, sparse + dense, dense + sparse, sparse + dense + sparse):
        twin = weft.tensor([0.0, 0.0, 0.0])
        for part in parts:
            twin += weft.tensor([0.0, 2.0, 0.0]) if part in sparse else 1.0
        w.grad = None
        sum(part() for part in parts).backward()
        assert w.grad.is_sparse == (dense[0] not in parts)
        assert w.grad.to_dense()[:, 0].tolist() == twin.tolist()
        w.grad = None
        for part in parts:
            part().backward()
        assert w.grad.is_sparse == (dense[0] not in parts)
        assert w.grad.to_dense()[:, 0].tolist() == twin.tolist()
    w.grad = None
    rows(w, 1).sum().backward(create_graph=True)
    rows(w, 2).sum().backward(create_graph=True)
    assert w.grad.to_dense()[:, 0].tolist() == [0, 1, 1]


def test_two_gradients_share_no_memory() -> None:
    a, b = (weft.ones(3, 2, requires_grad=True) for _ in range(2))
    (rows(a, 1) + rows(b, 2)).sum().backward()
    a.grad._values().mul_(5)
    assert b.grad._values().tolist() == [[1, 1]]


def test_gradients_of_higher_order() -> None:
    w = doubles(3, 2)
    (g,) = weft.autograd.grad(rows(w, 1, 1).pow(3).sum(), w, create_graph=True)
    assert g.is_sparse and g.requires_grad
    g.to_dense().sum().backward()
    assert same(w.grad, weft.tensor([[0.0], [12.0], [0.0]]).double() * w)
    assert gradcheck(lambda w: rows(w, 0, 2, 2).sin(), (w,), masked=True)


def test_hooks_and_kept_gradients() -> None:
    seen: list[Any] = []
    w = weft.ones(3, 2, requires_grad=True)
    w.register_hook(lambda g: seen.append(g.is_sparse) or g * 2)
    w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad._nnz()))
    y = w * 3
    y.retain_grad()
    rows(y, 1, 1).sum().backward()
    assert seen == [True, 2] and y.grad.is_sparse
    assert y.grad.to_dense()[:, 0].tolist() == [0, 2, 0]
    assert w.grad.to_dense()[:, 0].tolist() == [0, 12, 0]
    with pytest.raises(NotImplementedError, match="SoftmaxBackward0 of a sparse gradient"):
        rows(w.softmax(1), 1).sum().backward()
    with (
        pytest.warns(UserWarning, match="Anomaly Detection"),
        weft.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match="nan values"),
    ):
        (rows(w, 1) * float("nan")).sum().backward()


def test_gradients_are_cut_down_and_cleared() -> None:
    w, d = weft.ones(3, 2, requires_grad=True), weft.ones(2, requires_grad=True)
    (rows(w, 1, 1) * 3).sum().add((d * 4).sum()).backward()
    norm = (2 * 6.0**2 + 2 * 4.0**2) ** 0.5
    assert weft.nn.utils.clip_grad_norm_([w, d], 1.0).item() == pytest.approx(norm)
    assert w.grad.is_sparse and w.grad.to_dense()[1, 0].item() == pytest.approx(6 / norm)
    with pytest.raises(NotImplementedError, match=r"clamp.*sparse layout"):
        weft.nn.utils.clip_grad_value_([w], 1.0)
    weft.optim.SGD([w]).zero_grad(set_to_none=False)
    assert w.grad.is_sparse and w.grad._nnz() == 0


@pytest.mark.parametrize("padding", [None, 0, -1])
@pytest.mark.parametrize("mode", ["rows", "scaled", "sum", "mean", "weighted"])
def test_embeddings(mode: str, padding: int | None) -> None:
    """The sparse gradient is the dense one, without entries for the padding."""
    index, grads = weft.tensor([[1, 1, 3], [0, 2, 3]]), []
    start = weft.randn(4, 2, dtype=weft.float64)
    for sparse in (False, True):
        w, per = start.clone().requires_grad_(), doubles(2, 3)
        if mode in ("rows", "scaled"):
            scaled = mode == "scaled"
            y = F.embedding(index, w, padding, scale_grad_by_freq=scaled, sparse=sparse)
        else:
            options = {"per_sample_weights": per.detach() * 0 + 2} if mode == "weighted" else {}
            kind = "sum" if options else mode
            y = F.embedding_bag(index, w, None, None, 2.0, False, kind, sparse, **options,
                                padding_idx=padding)  # fmt: skip
        y.sin().sum().backward()
        grads.append((y, w.grad))
    assert same(grads[0], grads[1]) and grads[1][1].is_sparse and not grads[0][1].is_sparse
    skipped = 0 if padding is None else int((index == padding % 4).sum())
    assert grads[1][1]._nnz() == 6 - skipped


def test_embedding_layers() -> None:
    table = weft.nn.Embedding(4, 2, sparse=True, padding_idx=0)
    bags = weft.nn.EmbeddingBag(4, 2, sparse=True)
    for layer in (table, bags):
        layer(weft.tensor([[1, 0]])).sum().backward()
        assert layer.weight.grad.is_sparse
        layer.double()
        assert layer.weight.grad is None or layer.weight.grad.dtype == weft.float64
    w = weft.ones(2, 2, requires_grad=True)
    with pytest.raises(ValueError, match="max mode does not support sparse"):
        F.embedding_bag(weft.tensor([[1]]), w, mode="max", sparse=True)
    with pytest.raises(IndexError, match="embedding"):
        F.embedding(weft.tensor([2]), w, sparse=True)


# ---- copies, files, text -----------------------------------------------------------------------


def test_copies_and_files(tmp_path: Path) -> None:
    x = coo([1.0, 2.0, 3.0, 4.0]).requires_grad_()
    weft.save({"x": x, "y": [x.detach().coalesce()]}, tmp_path / "x.weft")
    loaded = weft.load(tmp_path / "x.weft")
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), loaded["x"], x.clone().detach()):
        assert same(x, y) and y._indices().tolist() == INDICES and not y.is_coalesced()
        y.detach().zero_()
        assert x._nnz() == 4
    assert loaded["x"].requires_grad and loaded["y"][0].is_coalesced()
    assert copy.copy(x)._values().data_ptr() == x._values().data_ptr()
    w = weft.nn.Parameter(weft.ones(3, 2))
    rows(w, 1).sum().backward()
    assert copy.deepcopy(w).grad.is_sparse
    with pytest.raises(TypeError, match="sparse"):
        weft.save(weft.nn.Parameter(x.detach()), tmp_path / "p.weft")


def test_damaged_files(tmp_path: Path) -> None:
    decoder = weft.serialization.structure.Decoder
    tensors = [weft.tensor([[0, 7]]), weft.ones(2)]
    for payload in ([[3], 0, 1, False, False], [[8], 1, 0, False, False], [[8], 0, 1, 1, False],
                    [[8], 0, 9, False, False], [[-8], 0, 1, False, False], [[8], 0, 1],
                    [[2**62, 2**62], 0, 1, False, False]):  # fmt: skip
        with pytest.raises(weft.serialization.FileError):
            decoder(tensors, "x", 100).decode({"sparse": payload})
    assert decoder(tensors, "x", 100).decode({"sparse": [[8], 0, 1, True, False]})._nnz() == 2


def test_text() -> None:
    x = coo([1.0, 2.0, 3.0, 4.0], dtype=weft.float64).requires_grad_()
    lines = repr(x).splitlines()
    assert lines[0] == "tensor(indices=tensor([[0, 1, 1, 0],"
    assert lines[1] == " " * 23 + "[2, 0, 2, 2]]),"
    assert lines[2] == " " * 7 + "values=tensor([1., 2., 3., 4.]),"
    assert lines[3].endswith("nnz=4, dtype=torch.float64, layout=torch.sparse_coo,")
    assert lines[4] == "       requires_grad=True)"
    empty = repr(weft.sparse_coo_tensor(size=(2, 3)))
    assert "indices=tensor([], size=(2, 0)),\n" in empty and "values=tensor([], size=(0,))" in empty


def test_nothing_is_left_behind() -> None:
    w = weft.ones(3, 2, requires_grad=True)

    def work() -> None:
        x = coo([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        (x.coalesce() * x + x).t().to_dense().sum().backward()
        x.detach().mul_(2)
        rows(w, 1).sum().backward(create_graph=True)
        w.grad = None

    work()
    gc.collect()
    before = weft._C._memory_stats()
    for _ in range(20):
        work()
    gc.collect()
    after = weft._C._memory_stats()
    assert {k: after[k] for k in ("live", "tensors", "nodes")} == {
        k: before[k] for k in ("live", "tensors", "nodes")
    }
