"""A = L D L^T for symmetric matrices that need not be positive: the method of Bunch and Kaufman.

D has blocks of one or two rows. ``LD`` keeps both factors in the lower triangle of one matrix, and
``pivots`` says which rows were exchanged, both in the form of LAPACK's ``sytrf``.
"""

from __future__ import annotations

import math

import weft
from weft._C import Tensor
from weft.linalg.common import _batch, _matrix, _same_dtype, _square
from weft.ops import named_tuple, op, primitive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_GROWTH = (1 + math.sqrt(17)) / 8  # keeps the factors from growing


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

    def run(A, hermitian, check_errors):
        import numpy

        n = A.shape[-1]
        flat = numpy.array(A).reshape(math.prod(A.shape[:-2]), n, n)
        pivots = numpy.zeros((len(flat), n), numpy.int32)
        info = numpy.zeros(len(flat), numpy.int32)
        hermitian = hermitian and numpy.iscomplexobj(flat)
        for i, matrix in enumerate(flat):
            info[i] = _factor(matrix, pivots[i], hermitian)
        if check_errors:
            _refuse(info, "ldl_factor_ex")
        lower = numpy.tril(flat).reshape(A.shape)
        return [lower, pivots.reshape(A.shape[:-1]), info.reshape(A.shape[:-2])]


ldl_factor_ex: Any = _FactorEx


def _refuse(info: Any, name: str) -> None:
    for i, code in enumerate(info.reshape(-1).tolist()):
        if code:
            raise RuntimeError(
                f"linalg.{name}: (Batch element {i}): D[{code},{code}] is exactly zero, so that "
                "solving with these factors would divide by zero"
            )


def _size(x: Any) -> Any:
    return abs(x.real) + abs(x.imag)  # as LAPACK measures


def _factor(a: Any, pivots: Any, hermitian: bool) -> int:
    """NumPy: factor the lower triangle of one matrix where it lies; return the first zero pivot."""
    n, k, info = len(a), 0, 0
    while k < n:
        if hermitian:
            a[k, k] = a[k, k].real
        step, p = _choose(a, k, hermitian)
        if step == 0:  # a column of zeros
            info = info or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        _exchange(a, k, k + step - 1, p, step, hermitian)
        if step == 1:
            _eliminate_one(a, k, hermitian)
            pivots[k] = p + 1
        else:
            _eliminate_two(a, k, hermitian)
            pivots[k] = pivots[k + 1] = -(p + 1)
        k += step
    return info


def _choose(a: Any, k: int, hermitian: bool) -> tuple[int, int]:
    """Return how many rows the next block has, and which row belongs at its end."""
    n = len(a)
    here = abs(a[k, k].real) if hermitian else _size(a[k, k])
    if k + 1 == n:
        return (1, k) if here else (0, k)
    column = _size(a[k + 1 :, k])
    best = k + 1 + int(column.argmax())
    largest = column.max()
    if max(here, largest) == 0 or here != here:
        return 0, k
    if here >= _GROWTH * largest:
        return 1, k
    row = max(_size(a[best, k:best]).max(), _size(a[best + 1 :, best]).max(initial=0))
    there = abs(a[best, best].real) if hermitian else _size(a[best, best])
    if here >= _GROWTH * largest * (largest / row):
        return 1, k
    if there >= _GROWTH * row:
        return 1, best
    return 2, best


def _exchange(a: Any, k: int, end: int, p: int, step: int, hermitian: bool) -> None:
    """Exchange rows and columns ``end`` and ``p`` of what is left, in the lower triangle."""
    if p == end:
        if hermitian and step == 2:
            a[k + 1, k + 1] = a[k + 1, k + 1].real
        return
    a[p + 1 :, [end, p]] = a[p + 1 :, [p, end]]
    down, across = a[end + 1 : p, end].copy(), a[p, end + 1 : p].copy()
    if hermitian:
        down, across = down.conj(), across.conj()
        a[p, end] = a[p, end].conj()
    a[end + 1 : p, end], a[p, end + 1 : p] = across, down
    a[end, end], a[p, p] = a[p, p], a[end, end]
    if hermitian:
        a[end, end], a[p, p] = a[end, end].real, a[p, p].real
    if step == 2:
        a[k + 1, k], a[p, k] = a[p, k], a[k + 1, k]


def _eliminate_one(a: Any, k: int, hermitian: bool) -> None:
    column = a[k + 1 :, k] / a[k, k]
    other = a[k + 1 :, k].conj() if hermitian else a[k + 1 :, k]
    a[k + 1 :, k + 1 :] -= column[:, None] * other[None, :]
    a[k + 1 :, k] = column


def _eliminate_two(a: Any, k: int, hermitian: bool) -> None:
    import numpy

    if k + 2 >= len(a):
        return
    off = a[k + 1, k]
    upper = off.conj() if hermitian else off
    block = numpy.array([[a[k, k], upper], [off, a[k + 1, k + 1]]])
    below = a[k + 2 :, k : k + 2].copy()
    columns = numpy.linalg.solve(block.T, below.T).T  # below @ inv(block)
    a[k + 2 :, k + 2 :] -= columns @ (below.conj().T if hermitian else below.T)
    a[k + 2 :, k : k + 2] = columns


@op(name="linalg_ldl_factor", function=False, method=False, out=True, derivative="use linalg.solve")
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:
    """Return the factors of symmetric matrices in one matrix, and the exchanged rows.

    >>> weft.linalg.ldl_factor(weft.tensor([[2.0, 1.0], [1.0, 3.0]])).pivots
    tensor([1, 2], dtype=torch.int32)
    """
    LD, pivots, info = ldl_factor_ex(A, hermitian=hermitian)
    _refuse(info, "ldl_factor")
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

    def run(LD, pivots, B, hermitian):
        import numpy

        n = LD.shape[-1]
        batch = numpy.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
        found = numpy.array(numpy.broadcast_to(B, (*batch, *B.shape[-2:])))
        factors = numpy.broadcast_to(LD, (*batch, n, n))
        steps = numpy.broadcast_to(pivots, (*batch, n))
        hermitian = hermitian and numpy.iscomplexobj(LD)
        for at in numpy.ndindex(*batch):
            _solve_one(factors[at], steps[at], found[at], hermitian)
        return [found]


ldl_solve: Any = _Solve


def _blocks(pivots: Any) -> list[tuple[int, int, int]]:
    """Return where each block of D begins, its rows, and with which row its end was exchanged."""
    found, k = [], 0
    while k < len(pivots):
        step = 1 if pivots[k] > 0 else 2
        found.append((k, step, abs(int(pivots[k])) - 1))
        k += step
    return found


def _solve_one(ld: Any, pivots: Any, x: Any, hermitian: bool) -> None:
    """NumPy: solve L D L^T x = b where b lies."""
    import numpy

    blocks = _blocks(pivots)
    for k, step, p in blocks:
        end = k + step
        if p != end - 1:
            x[[end - 1, p]] = x[[p, end - 1]]
        x[end:] -= ld[end:, k:end] @ x[k:end]
        block = ld[k:end, k:end].copy()
        if step == 2:
            block[0, 1] = block[1, 0].conj() if hermitian else block[1, 0]
        x[k:end] = numpy.linalg.solve(block, x[k:end])
    for k, step, p in reversed(blocks):
        end = k + step
        below = ld[end:, k:end]
        x[k:end] -= (below.conj().T if hermitian else below.T) @ x[end:]
        if p != end - 1:
            x[[end - 1, p]] = x[[p, end - 1]]
