"""Why rows of the sweep stay below PyTorch: what was tried or found out, printed under the table."""

from __future__ import annotations

import re

_LAPACK = (
    r"^linalg\.(?!cross|vander|multi_dot|matrix_power|vecdot)|^lu(?!_unpack)|^chol|^qr$|^geqrf$|^orm?g?qr$|"
    r"^svd|lowrank$|logdet$|^det$|^p?inverse$|^triangular_solve$|^nuclear_norm$"
)

# Names of ops, names of cells (``1e3``, ``compiled``), and the reason; the first that fits counts.
REASONS = (
    (
        r"^(conj|resolve_conj|H|mH|adjoint)$",
        r"",
        "PyTorch's `conj` is a lazy view; weft writes the result",
    ),
    (
        _LAPACK,
        r"^1e3",
        "matrices of 32 rows: LAPACK takes less than the Python around it (20 to 40 µs)",
    ),
    (
        _LAPACK,
        r"",
        "MKL's LAPACK on an Intel CPU beside OpenBLAS (LU by panels and products was not faster)",
    ),
    (r"", r"^compiled$", "a call of a compiled function costs 2 to 4 µs, more than these ops take"),
    (r"^fft\.", r"", "MKL's Fourier transforms of long lines"),
    (
        r"^(matmul|mm|addmm|addbmm|bmm|baddbmm|tensordot|chain_matmul|einsum|linalg\.multi_dot|"
        r"linalg\.matrix_power)$",
        r"",
        "MKL's products of few rows, small or complex matrices",
    ),
    (
        r"linear_cross_entropy",
        r"",
        "two thirds of its probabilities are denormal numbers, which slow the product of the gradient",
    ),
    (r"^(linalg\.)?cross$|^lu_unpack$", r"", "made of other ops, with copies between them"),
    (r"", r"^1e3", "small calls: the Python body of an op made of others"),
)


def reason(op: str, cell: str) -> str:
    """The reason for a cell of an op, or nothing if none is known."""
    for ops, cells, why in REASONS:
        if re.search(ops, op) and re.search(cells, cell):
            return why
    return ""
