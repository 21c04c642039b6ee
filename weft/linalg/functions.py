"""Pseudo-inverse, least squares, the ``_ex`` functions with error codes, ``tensorinv``."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.linalg.common import (
    LinAlgError,
    _batch,
    _h,
    _matrix,
    _real,
    _same_dtype,
    _square,
)
from weft.linalg.decompose import svd, svdvals
from weft.linalg.eigen import eigh, eigvalsh
from weft.linalg.systems import inv, solve
from weft.ops import named_tuple, op, primitive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# ---- results with an error code instead of an exception ----


def _with_info(f: Any, A: Tensor, check_errors: bool) -> tuple[Tensor | None, Tensor]:
    """Return f(A) and zeros; where it fails, None and ones for the matrices that made it fail."""
    try:
        return f(A), weft.zeros(A.shape[:-2], dtype=weft.int32)
    except LinAlgError:
        if check_errors:
            raise
    flat = A.detach().reshape(-1, *A.shape[-2:])
    codes = []
    for one in flat:
        try:
            f(one)
            codes.append(0)
        except LinAlgError:
            codes.append(1)
    return None, weft.tensor(codes, dtype=weft.int32).reshape(A.shape[:-2])


def _regular(A: Tensor, info: Tensor) -> Tensor:
    """Return A with the identity in place of the matrices that failed."""
    return weft.where((info == 0)[..., None, None], A, weft.eye(A.shape[-1], dtype=A.dtype))


@op(name="linalg_inv_ex", function=False, method=False, out=True)
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """Return the inverse and, per matrix, a code that is not zero where there is none.

    >>> weft.linalg.inv_ex(weft.eye(2)).info
    tensor(0, dtype=torch.int32)
    """
    _square("inv_ex", A)
    inverse, info = _with_info(inv, A, check_errors)
    if inverse is None:
        inverse = inv(_regular(A, info))
    return named_tuple("linalg_inv_ex", inverse=inverse, info=info)


@op(name="linalg_solve_ex", function=False, method=False, out=True)
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """Return the solution of A X = B and, per matrix, a code that is not zero where there is none.

    >>> weft.linalg.solve_ex(weft.eye(2), weft.ones(2)).result
    tensor([1., 1.])
    """
    _square("solve_ex", A)
    try:
        result = solve(A, B, left=left)
        info = weft.zeros(A.shape[:-2], dtype=weft.int32)
    except LinAlgError:
        if check_errors:
            raise
        _, info = _with_info(inv, A, False)
        result = solve(_regular(A, info), B, left=left)
    return named_tuple("linalg_solve_ex", result=result, info=info)


# ---- rank, pseudo-inverse, least squares ----


def _tolerances(A: Tensor, atol: Any, rtol: Any) -> tuple[Tensor, Tensor]:
    """Return the absolute and the relative size up to which a singular value counts as zero."""
    real = weft.float64 if A.dtype in (weft.float64, weft.complex128) else weft.float32
    if rtol is None:
        absolute = atol is not None and (isinstance(atol, Tensor) or atol > 0)
        rtol = 0.0 if absolute else max(A.shape[-2:]) * weft.finfo(real).eps

    def beside(t: Any) -> Tensor:
        t = t.to(real) if isinstance(t, Tensor) else weft.tensor(t, dtype=real)
        return t.unsqueeze(-1) if t.ndim else t

    return beside(0.0 if atol is None else atol), beside(rtol)


@op(
    name="linalg_matrix_rank",
    function=False,
    method=False,
    out=True,
    casts_out=True,
    derivative="a rank is a whole number",
)
def matrix_rank(
    A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """Return the number of singular values that are not (nearly) zero.

    >>> weft.linalg.matrix_rank(weft.ones(3, 3))
    tensor(1)
    """
    _matrix("matrix_rank", A)
    if tol is not None:
        atol, rtol = tol, 0.0
    A = A.detach()
    if hermitian:
        _square("matrix_rank", A)
    if A.numel() == 0:
        return weft.zeros(A.shape[:-2], dtype=weft.int64)
    s = eigvalsh(A).abs() if hermitian else svdvals(A)
    least, relative = _tolerances(A, atol, rtol)
    return (s > weft.maximum(relative * s.amax(-1, True), least)).sum(-1)


@primitive("_linalg_pinv(Tensor A, Tensor atol, Tensor rtol, bool hermitian) -> Tensor")
class _Pinv:
    """The pseudo-inverse, taking singular values up to the tolerance for zero.

    >>> weft.linalg.pinv(weft.eye(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    keeps = ("A", "result")

    def infer(A, atol, rtol, hermitian):
        shape = _square("pinv", A) if hermitian else _matrix("pinv", A)
        return [((*shape[:-2], shape[-1], shape[-2]), A.dtype)]

    def run(A, atol, rtol, hermitian):
        a = _C._from_buffer(A)
        if hermitian:
            s, u = eigh(a)
            vh = u.mH
        else:
            u, s, vh = svd(a, full_matrices=False)
        size = s.abs()
        least = weft.maximum(size.amax(-1, True) * _C._from_buffer(rtol), _C._from_buffer(atol))
        inverse = weft.where(size > least, 1 / s, 0).to(a.dtype)
        return [(vh.mH * inverse.unsqueeze(-2)) @ u.mH]

    def backward(ctx, g):
        return _pinv_back(ctx.A, ctx.result, g), None, None


_pinv: Any = _Pinv


def _pinv_back(a: Tensor, p: Tensor, g: Tensor) -> Tensor:
    """Golub and Pereyra: the part within the range of a, and the two parts that tilt it."""
    gh, ph = _h(g), _h(p)
    if a.shape[-2] <= a.shape[-1]:
        k = gh @ p
        kp = k @ ph
        return -_h(p @ k) + kp - (a @ p) @ kp + (ph @ p) @ (gh - k @ a)
    k = p @ gh
    pk = ph @ k
    return -_h(k @ p) + (gh - a @ k) @ p @ ph + pk - (pk @ p) @ a


@op(name="linalg_pinv", function=False, method=False, out=True, casts_out=True)
def pinv(
    A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """Return the pseudo-inverse: the inverse where there is one, else the closest thing to it.

    >>> weft.linalg.pinv(weft.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    _matrix("pinv", A)
    if hermitian:
        _square("pinv", A)
    if A.numel() == 0:
        return weft.zeros([*A.shape[:-2], A.shape[-1], A.shape[-2]], dtype=A.dtype) + A.sum()
    return _pinv(A, *_tolerances(A, atol, rcond if rtol is None else rtol), hermitian)


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@primitive(
    "_linalg_lstsq(Tensor A, Tensor B, float rcond, str driver) -> (Tensor solution, Tensor rank, "
    "Tensor singular_values)"
)
class _Lstsq:
    """The X that makes A X - B smallest, the rank of A, and its singular values.

    >>> weft.linalg.lstsq(weft.eye(2), weft.ones(2, 1)).rank
    tensor(2)
    """

    keeps = ("A", "B")

    def infer(A, B, rcond, driver):
        m, n = _matrix("lstsq", A)[-2:]
        _same_dtype("lstsq", A, B)
        if _matrix("lstsq", B, "B")[-2] != m or driver not in _DRIVERS:
            raise RuntimeError(
                f"linalg.lstsq: expected B with {m} rows and one of the drivers {_DRIVERS}, got "
                f"B of shape {list(B.shape)} and {driver!r}"
            )
        batch = _batch("lstsq", tuple(A.shape[:-2]), tuple(B.shape[:-2]))
        values = (*A.shape[:-2], min(m, n))
        return [
            ((*batch, n, B.shape[-1]), A.dtype), (A.shape[:-2], weft.int64),
            (values, _real(A.dtype)),
        ]  # fmt: skip

    def backward(ctx, g, *rest):
        p = pinv(ctx.A, rtol=ctx.rcond)
        ga = _pinv_back(ctx.A, p, g @ _h(ctx.B)) if ctx.needs("A") else None
        return ga, _h(p) @ g


_lstsq: Any = _Lstsq


@op(name="linalg_lstsq", function=False, method=False, out=True, casts_out=True)
def lstsq(A: Tensor, B: Tensor, rcond: Any = None, *, driver: str | None = None) -> Any:
    """Return the X that makes A X - B smallest, the residuals, rank and singular values of A.

    >>> weft.linalg.lstsq(weft.tensor([[1.0], [1.0]]), weft.tensor([[1.0], [3.0]])).solution
    tensor([[2.0000]])
    """
    _matrix("lstsq", A)
    _same_dtype("lstsq", A, B)
    driver = "gelsy" if driver is None else driver
    if driver not in _DRIVERS:
        raise RuntimeError(
            "linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got "
            f"{driver}"
        )
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    b = B.unsqueeze(-1) if vector else B
    if b.ndim < 2 or b.shape[-2] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.lstsq: input.size(-2) should match other.size(-2), got {list(A.shape)} and "
            f"{list(B.shape)}"
        )
    m, n = A.shape[-2:]
    limit = weft.finfo(A.dtype).eps * max(m, n) if rcond is None else float(rcond)
    x, rank, s = _lstsq(A, b, limit, driver)
    if driver == "gels":
        rank = weft.zeros(0, dtype=weft.int64)
    if m > n and driver != "gelsy" and (driver == "gels" or bool((rank == n).all())):
        residuals = ((A @ x - b).abs() ** 2).sum(-2)
        residuals = residuals.squeeze(-1) if vector else residuals
    else:
        residuals = weft.real(x).reshape(-1).narrow(0, 0, 0)
    values = s if driver in ("gelsd", "gelss") else weft.zeros(0, dtype=s.dtype)
    return named_tuple(
        "linalg_lstsq",
        solution=x.squeeze(-1) if vector else x,
        residuals=residuals,
        rank=rank,
        singular_values=values,
    )


# ---- tensors as matrices ----


@op(name="linalg_tensorinv", function=False, method=False, out=True, casts_out=True)
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """Return the inverse of A with respect to tensordot over its last dimensions.

    >>> weft.linalg.tensorinv(weft.eye(4).reshape(2, 2, 4)).shape
    torch.Size([4, 2, 2])
    """
    if ind <= 0:
        raise RuntimeError("linalg.tensorinv: expected a strictly positive integer for 'ind'")
    shape, n = list(A.shape), 1
    for s in shape[ind:]:
        n *= s
    if n * n != A.numel():
        raise RuntimeError(
            "linalg.tensorinv: expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), got {shape}"
        )
    return inv(A.reshape(n, n)).reshape(shape[ind:] + shape[:ind])


@op(name="linalg_tensorsolve", function=False, method=False, out=True, casts_out=True)
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """Return the X of tensordot(A, X, X.ndim) = B.

    >>> weft.linalg.tensorsolve(weft.eye(4).reshape(2, 2, 4), weft.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    shape = list(A.shape[B.ndim :])
    if A.numel() != B.numel() ** 2 and A.numel() != B.numel() * _product(shape):
        raise RuntimeError(
            f"linalg.tensorsolve: expected a square problem, got A {list(A.shape)} and B "
            f"{list(B.shape)}"
        )
    return solve(A.reshape(B.numel(), -1), B.reshape(-1)).reshape(shape)


def _product(shape: list[int]) -> int:
    n = 1
    for s in shape:
        n *= s
    return n
