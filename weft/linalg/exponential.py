"""The exponential of matrices."""

from __future__ import annotations

import math

import weft
from weft import _C
from weft._C import Tensor
from weft.linalg.common import _h, _matrix, _same_dtype, _square
from weft.ops import primitive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # a matrix, and its derivative in one direction if that is wanted
    Dual = list[Tensor]


def _times(x: Dual, y: Dual) -> Dual:
    """The product, and its derivative."""
    first = x[0] @ y[0]
    return [first, x[0] @ y[1] + x[1] @ y[0]] if len(x) > 1 else [first]


def _sum(one: float, *parts: tuple[float, Dual]) -> Dual:
    """Multiples of the identity and of matrices."""
    factor, first = parts[0]
    total = [t * factor for t in first]
    for factor, x in parts[1:]:
        for t, y in zip(total, x):
            t.add_(y, alpha=factor)
    if one:
        total[0].diagonal(0, -2, -1).add_(one)
    return total


def _degree_8(a: Dual) -> Dual:
    """The series up to the 8th power in three products: Bader, Blanes and Casas, 2019."""
    root = math.sqrt(177)
    x3 = 2 / 3
    a2 = _times(a, a)
    a4 = _times(a2, _sum(0, (x3 * (1 + root) / 88, a), (x3 * (1 + root) / 352, a2)))
    right = _sum(
        (-271 + 29 * root) / (315 * x3),
        (11 * (-1 + root) / (1260 * x3), a),
        (11 * (-9 + root) / (5040 * x3), a2),
        ((89 - root) / (5040 * x3**2), a4),
    )
    a8 = _times(_sum(0, (x3, a2), (1, a4)), right)
    return _sum(1, (1, a), ((857 - 58 * root) / 630, a2), (1, a8))


def _degree_12(a: Dual) -> Dual:
    """The series up to the 12th power, in steps of four: Paterson and Stockmeyer."""
    a2 = _times(a, a)
    powers = (a, a2, _times(a2, a))
    a4 = _times(a2, a2)
    y = [t * (1 / math.factorial(12)) for t in a4]
    for k in (8, 4, 0):
        first, *others = (1 / math.factorial(k + i) for i in range(4))
        y = _sum(first, (1, y if k == 8 else _times(a4, y)), *zip(others, powers))
    return y


def _exponential(a: Dual) -> Dual:
    """The series where it is short, for the matrix over a power of two, and squared back."""
    degree, short = _degree_12, 0.299
    if a[0].dtype in (weft.float32, weft.complex64):
        degree, short = _degree_8, 0.58
    largest = float(a[0].abs().sum(-2).max())
    squarings = 0
    if short < largest < math.inf:
        squarings = math.ceil(math.log2(largest / short))
    first = min(squarings, 100)  # 2^129 is no float
    y = degree([t * 2.0**-first * 2.0 ** (first - squarings) for t in a])
    for _ in range(squarings):
        y = _times(y, y)
    return y


@primitive("linalg_matrix_exp(Tensor A) -> Tensor")
class _MatrixExp:
    """The exponential of a square matrix.

    >>> weft.linalg.matrix_exp(weft.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    keeps = ("A",)

    def infer(A):
        return [(_square("matrix_exp", A), A.dtype)]

    def run(A):
        return _exponential([_C._from_buffer(A)]) if A.size else [A]

    def backward(ctx, g):
        a = _h(ctx.A)
        if not ctx.create_graph:
            return _derivative(a, g)
        # exp of [[Aᴴ, g], [0, Aᴴ]] has the derivative in its upper right corner.
        n = a.shape[-1]
        upper, lower = weft.cat([a, g], -1), weft.cat([weft.zeros_like(a), a], -1)
        return matrix_exp(weft.cat([upper, lower], -2)).narrow(-2, 0, n).narrow(-1, n, n)


matrix_exp: Any = _MatrixExp


@primitive("_linalg_matrix_exp_derivative(Tensor A, Tensor direction) -> Tensor")
class _Derivative:
    """How the exponential of a matrix changes in a direction.

    >>> weft.linalg.exponential._derivative(weft.zeros(1, 1), weft.ones(1, 1))
    tensor([[1.]])
    """

    no_derivative = "use linalg.matrix_exp, which has one"

    def infer(A, direction):
        shape = _square("matrix_exp", A)
        _same_dtype("matrix_exp", A, direction, ("A", "its gradient"))
        if _matrix("matrix_exp", direction) != shape:
            raise RuntimeError(
                f"linalg.matrix_exp: expected a direction of shape {list(shape)}, got "
                f"{list(direction.shape)}"
            )
        return [(shape, A.dtype)]

    def run(A, direction):
        if not A.size:
            return [A]
        return _exponential([_C._from_buffer(A), _C._from_buffer(direction)])[1:]


_derivative: Any = _Derivative
