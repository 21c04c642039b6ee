"""A = L D L^T for symmetric matrices that need not be positive: the method of Bunch and Kaufman.

D has blocks of one or two rows. ``LD`` keeps both factors in the lower triangle of one matrix, and
``pivots`` says which rows were exchanged, both in the form of LAPACK's ``sytrf``.
"""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.linalg.common import _batch, _matrix, _same_dtype, _square
from weft.ops import named_tuple, op, primitive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@primitive(
    "linalg_ldl_factor_ex(Tensor A, *, bool hermitian=False, bool check_errors=False) -> "
    "(Tensor LD, Tensor pivots, Tensor info)"
)
class _FactorEx:
    """The factors of symmetric matrices, the exchanged rows, and where a block is singular.

    >>> weft.linalg.ldl_factor_ex(weft.tensor([[2.0, 1.0], [1.0, 3.0]])).LD
    tensor([[2.0000, 0.0000],
            [0.5000, 2.5000]])
    """

    no_derivative = "use linalg.solve, which has one"

    def infer(A, hermitian, check_errors):
        *batch, n, _ = _square("ldl_factor_ex", A)
        return [(A.shape, A.dtype), ([*batch, n], weft.int32), (batch, weft.int32)]


ldl_factor_ex: Any = _FactorEx


@op(name="linalg_ldl_factor", function=False, method=False, out=True, derivative="use linalg.solve")
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:
    """Return the factors of symmetric matrices in one matrix, and the exchanged rows.

    >>> weft.linalg.ldl_factor(weft.tensor([[2.0, 1.0], [1.0, 3.0]])).pivots
    tensor([1, 2], dtype=torch.int32)
    """
    LD, pivots, _ = ldl_factor_ex(A, hermitian=hermitian, check_errors=True)
    return named_tuple("linalg_ldl_factor", LD=LD, pivots=pivots)


@primitive(
    "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor"
)
class _Solve:
    """The X with A X = B, from the factors of A that ``ldl_factor`` gives.

    >>> A, B = weft.tensor([[2.0, 1.0], [1.0, 3.0]]), weft.tensor([[4.0], [7.0]])
    >>> weft.linalg.ldl_solve(*weft.linalg.ldl_factor(A), B)
    tensor([[1.],
            [2.]])
    """

    no_derivative = "use linalg.solve, which has one"

    def infer(LD, pivots, B, hermitian):
        *batch, n, _ = _square("ldl_solve", LD)
        *others, rows, columns = _matrix("ldl_solve", B, "B")
        _same_dtype("ldl_solve", LD, B, ("LD", "B"))
        if list(pivots.shape) != [*batch, n] or pivots.dtype not in (weft.int32, weft.int64):
            raise RuntimeError(
                f"linalg.ldl_solve: expected pivots of integers, of shape {[*batch, n]}, got "
                f"{pivots.dtype} of shape {list(pivots.shape)}"
            )
        if rows != n:
            raise RuntimeError(f"linalg.ldl_solve: {n}x{n} factors do not fit {rows} rows of B")
        both = _batch("ldl_solve", tuple(batch), tuple(others))
        return [([*both, n, columns], B.dtype)]


ldl_solve: Any = _Solve
