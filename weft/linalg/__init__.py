"""Linear algebra: products, norms, decompositions and solvers, for matrices and batches of them."""

from __future__ import annotations

import weft
from weft.ops.decompose import LinAlgError

_NAMES = (
    "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "inv_ex",
    "lstsq", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr",
    "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander",
    "vecdot", "vector_norm",
)  # fmt: skip

for _name in _NAMES:
    globals()[_name] = getattr(weft, f"linalg_{_name}")
del _name

__all__ = ["LinAlgError", *_NAMES]
