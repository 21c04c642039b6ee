"""Linear algebra: products, norms, decompositions and solvers, for matrices and batches of them."""

from __future__ import annotations

from weft import linalg_vector_norm as vector_norm
from weft import matmul

from .common import LinAlgError
from .decompose import qr, svd, svdvals
from .eigen import eig, eigh, eigvals, eigvalsh
from .elimination import lu, lu_factor, lu_factor_ex, lu_solve
from .exponential import matrix_exp
from .functions import (
    inv_ex,
    lstsq,
    matrix_rank,
    pinv,
    solve_ex,
    tensorinv,
    tensorsolve,
)
from .norms import cond, matrix_norm, norm
from .products import cross, diagonal, matrix_power, multi_dot, vander, vecdot
from .reflections import householder_product
from .symmetric import ldl_factor, ldl_factor_ex, ldl_solve
from .systems import det, inv, slogdet, solve
from .triangles import cholesky, cholesky_ex, solve_triangular

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex",
    "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve",
    "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm",
    "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv",
    "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip
