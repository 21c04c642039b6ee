"""``func``, ``masked`` and compressed matrices in weft and PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
import torch.masked

import weft

LIBS = (weft, torch)
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 2))
warnings.filterwarnings("ignore", "Sparse")


def arrays(x: Any) -> Any:
    """A result with its tensors as arrays."""
    if isinstance(x, (tuple, list)):
        return [arrays(v) for v in x]
    if isinstance(x, dict):
        return {k: arrays(v) for k, v in x.items()}
    return x.detach().numpy()


def same(a: Any, b: Any) -> None:
    """Fails unless two results are the same."""
    assert type(a) is type(b)
    if isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for k in a:
            same(a[k], b[k])
    else:
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, 1e-9, 1e-9)


FUNC: dict[str, Any] = {
    "grad": lambda f, L, a, b: f.grad(lambda a, b: (a @ b).sin().sum(), argnums=(0, 1))(a, b),
    "aux": lambda f, L, a, b: f.grad_and_value(lambda a: ((a**2).sum(), a * 2), has_aux=True)(a),
    "dict": lambda f, L, a, b: f.grad(lambda p: (p["a"] @ p["b"]).sum())({"a": a, "b": b}),
    "jacrev": lambda f, L, a, b: f.jacrev(lambda a, b: (a @ b, a.cos()), argnums=(0, 1))(a, b),
    "jacfwd": lambda f, L, a, b: f.jacfwd(lambda a, b: {"y": a @ b}, argnums=1)(a, b),
    "hessian": lambda f, L, a, b: f.hessian(lambda a: (a.sin() ** 2).sum())(a[0]),
    "vjp": lambda f, L, a, b: f.vjp(lambda a, b: a @ b, a, b)[1](L.ones(3, 2, dtype=L.float64)),
    "jvp": lambda f, L, a, b: f.jvp(lambda a, b: (a @ b, a * a), (a, b), (a.cos(), b.sin())),
    "vmap": lambda f, L, a, b: f.vmap(L.dot, in_dims=(None, 1))(a[0], b),
    "vmap out": lambda f, L, a, b: f.vmap(lambda x: (x, x.sum()), in_dims=1, out_dims=(1, 0))(a),
    "vmap grad": lambda f, L, a, b: f.vmap(f.grad(lambda x: (x**3).sum()))(a),
    "vmap vjp": lambda f, L, a, b: f.vmap(f.vjp(lambda x: x @ b, a)[1])(
        L.ones(2, 3, 2, dtype=L.float64)
    ),
    "grad vmap": lambda f, L, a, b: f.grad(lambda a: f.vmap(lambda x: x.prod())(a).sum())(a),
    "linearize": lambda f, L, a, b: f.linearize(lambda a: a.sin() @ b, a)[1](a),
}


@pytest.mark.parametrize("name", FUNC)
def test_func(name: str) -> None:
    found = [arrays(FUNC[name](L.func, L, L.tensor(A), L.tensor(B))) for L in LIBS]
    same(*found)


MASKED: dict[str, Any] = {
    **{n: ((1,), {}) for n in "sum prod mean amax amin var std logsumexp softmax".split()},
    **{n: ((0,), {}) for n in "cumsum cumprod log_softmax softmin median argmax argmin".split()},
    "norm": ((3, 1), {"keepdim": True}),
    "normalize": ((2, 1), {}),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked(name: str) -> None:
    args, kwargs = MASKED[name]
    mask = RNG.random(A.shape) < 0.6
    mask[0] = True
    found = [
        arrays(getattr(L.masked, name)(L.tensor(A), *args, mask=L.tensor(mask), **kwargs))
        for L in LIBS
    ]
    same(*found)


def matrix(L: Any, layout: str = "csr") -> Any:
    """The same sparse matrix in one of the libraries."""
    return getattr(L.tensor(np.where(A > 0, A, 0)), f"to_sparse_{layout}")()


COMPRESSED: dict[str, Any] = {
    "csr": lambda L: [getattr(matrix(L), n)() for n in ("crow_indices", "col_indices", "values")],
    "csc": lambda L: [
        getattr(matrix(L, "csc"), n)() for n in ("ccol_indices", "row_indices", "values")
    ],
    "dense": lambda L: matrix(L).to_dense(),
    "coo": lambda L: matrix(L).to_sparse().coalesce().indices(),
    "matmul": lambda L: matrix(L) @ L.tensor(B),
    "vector": lambda L: matrix(L) @ L.tensor(B[:, 0]),
    "turned": lambda L: matrix(L).t().to_dense(),
    "scaled": lambda L: (matrix(L) * 2).to_dense(),
    "sampled": lambda L: L.sparse.sampled_addmm(
        matrix(L), L.tensor(A[:, :2]), L.tensor(A[:2, :]), beta=0.5, alpha=2.0
    ).to_dense(),
    "mean": lambda L: L.sparse.mm(matrix(L), L.tensor(B), "mean"),
    "two": lambda L: L.sparse.mm(
        matrix(L).to_sparse_coo(), matrix(L).t().to_sparse_coo()
    ).to_dense(),
    "softmax": lambda L: L.sparse.softmax(matrix(L).to_sparse_coo(), 1).to_dense(),
    "log_softmax": lambda L: L.sparse.log_softmax(matrix(L).to_sparse_coo(), 0).to_dense(),
    "spdiags": lambda L: L.sparse.spdiags(L.tensor(A), L.tensor([0, 2, -1]), (4, 4)).to_dense(),
}


@pytest.mark.parametrize("name", COMPRESSED)
def test_compressed(name: str) -> None:
    same(*[arrays(COMPRESSED[name](L)) for L in LIBS])


def test_gradients_of_compressed_matrices() -> None:
    found = []
    for L in LIBS:
        x, d = matrix(L).requires_grad_(), L.tensor(B).requires_grad_()
        (x @ d).sin().sum().backward()
        found.append(
            arrays([x.grad.to_dense() * (x.to_dense() != 0), d.grad])
        )  # torch fills the gaps
    same(*found)


@pytest.mark.parametrize("dim", [0, 1])
def test_names_of_types(dim: int) -> None:
    for x in (3, "a", [1], None, int):
        assert weft.typename(x) == torch.typename(x)
    order = [L.zeros(2, 3).transpose(0, dim).dim_order() for L in LIBS]
    assert order[0] == order[1]
