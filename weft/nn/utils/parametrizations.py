"""Parametrizations that are ready to use: orthogonal matrices, weight norm, spectral norm."""

from __future__ import annotations

import weft
from weft import Tensor
from weft.nn import functional as F
from weft.nn.module import Module
from weft.nn.utils import parametrize
from weft.nn.utils.spectral_norm import as_matrix, iterate
from weft.nn.utils.weight_norm import norm_except_dim, scaled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = ("matrix_exp", "cayley", "householder")


def _make_orthogonal(x: Tensor) -> Tensor:
    """The Q of x = QR with a positive diagonal of R."""
    q, r = weft.linalg.qr(x)
    return q * weft.sgn(weft.diagonal(r, dim1=-2, dim2=-1)).unsqueeze(-2)


def _is_orthogonal(q: Tensor) -> bool:
    """Whether the columns are orthonormal, but for rounding."""
    n, k = q.shape[-2:]
    gram = q.mH @ q
    eps = 10.0 * n * weft.finfo(q.dtype).eps
    return bool(weft.allclose(gram, weft.eye(k, dtype=q.dtype).expand_as(gram), atol=eps))


def _reflections(a: Tensor, tau: Tensor) -> Tensor:
    """The first k columns of the product of I - τᵢ vᵢ vᵢᴴ; vᵢ is below the diagonal of ``a``."""
    n, k = a.shape[-2:]
    q = weft.eye(n, k, dtype=a.dtype).expand(*a.shape[:-2], n, k)
    for i in reversed(range(k)):
        one = weft.zeros(*a.shape[:-2], i + 1, 1, dtype=a.dtype)
        one[..., i, :] = 1
        v = weft.cat([one, a[..., i + 1 :, i : i + 1]], -2)
        q = q - tau[..., i : i + 1].unsqueeze(-1) * (v @ (v.mH @ q))
    return q


def _reflectors(q: Tensor) -> tuple[Tensor, Tensor]:
    """Householder's QR: the vᵢ below the diagonal, R on and above it, and the τᵢ."""
    a = q.detach().clone()
    n, k = a.shape[-2:]
    taus = []
    for i in range(k):
        x = a[..., i:, i]
        norm = weft.linalg.vector_norm(x, dim=-1)
        below = weft.linalg.vector_norm(x[..., 1:], dim=-1) if n - i > 1 else weft.zeros_like(norm)
        alpha = x[..., 0]
        beta = -weft.where(alpha >= 0, norm, -norm)
        flat = below == 0
        tau = weft.where(flat, weft.zeros_like(beta), (beta - alpha) / weft.where(flat, 1.0, beta))
        scale = weft.where(flat, weft.ones_like(beta), alpha - beta)
        v = weft.cat([weft.ones_like(x[..., :1]), x[..., 1:] / scale.unsqueeze(-1)], -1)
        block = a[..., i:, i:]
        block = block - tau[..., None, None] * v.unsqueeze(-1) * (v.unsqueeze(-2) @ block)
        a[..., i:, i:] = block
        a[..., i + 1 :, i] = v[..., 1:]
        taus.append(tau)
    return a, weft.stack(taus, -1)


class _Orthogonal(Module):
    """Makes a matrix with orthonormal columns (or rows) of any matrix."""

    base: Any

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        n, k = X.shape[-2:]
        wide = n < k
        if wide:
            X, n, k = X.mT, k, n
        if self.orthogonal_map == "householder":
            a = X.tril(-1)
            tau = 2.0 / (1.0 + (a * a).sum(-2))
            q = _reflections(a, tau)
            q = q * weft.diagonal(X, dim1=-2, dim2=-1).detach().trunc().unsqueeze(-2)
        else:
            a = X.tril()
            if n != k:
                a = weft.cat([a, a.new_zeros(*a.shape[:-2], n, n - k)], -1)
            a = a - a.mH
            if self.orthogonal_map == "matrix_exp":
                q = weft.matrix_exp(a)
            else:
                one = weft.eye(n, dtype=a.dtype)
                q = weft.linalg.solve(one - 0.5 * a, one + 0.5 * a)
            q = q[..., :k] if n != k else q
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def right_inverse(self, Q: Tensor) -> Tensor:
        """Return an original that gives ``Q``, made orthogonal if it is not."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {Q.shape}."
            )
        given = Q
        n, k = Q.shape[-2:]
        wide = n < k
        if wide:
            Q, n, k = Q.mT, k, n
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley "
                    "parametrizations when use_trivialization=False."
                )
            a, tau = _reflectors(Q)
            signs = weft.diagonal(a, dim1=-2, dim2=-1).sign()
            signs = weft.where(tau == 0, -signs, signs)
            diagonal = weft.eye(n, k, dtype=a.dtype) * signs.unsqueeze(-2)
            a = a.tril(-1) + a.triu(1) + diagonal
            return a.mT if wide else a
        if n != k:
            more = weft.randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype)
            Q = _make_orthogonal(weft.cat([Q.detach(), more], -1))
        elif _is_orthogonal(Q):
            Q = Q.detach().clone()
        else:
            Q = _make_orthogonal(Q.detach())
        self.base = Q
        # Minus the identity: the diagonal counts only in "householder", where it undoes the signs.
        back = weft.zeros_like(given)
        weft.diagonal(back, dim1=-2, dim2=-1).fill_(-1.0)
        return back


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a matrix orthogonal: QᵀQ = I, or QQᵀ = I if it is wide.

    Args:
        module: whose parameter it is.
        name: of the parameter, a matrix or a batch of them.
        orthogonal_map: ``"matrix_exp"``, ``"cayley"`` or ``"householder"``.
        use_trivialization: keep a base that the matrix is measured from; it can then be assigned.

    >>> m = weft.nn.utils.parametrizations.orthogonal(weft.nn.Linear(2, 3))
    >>> weft.allclose(m.weight.T @ m.weight, weft.eye(2), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
            f"{orthogonal_map}"
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


class _WeightNorm(Module):
    """Length times direction: originals 0 and 1."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return scaled(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return length and direction."""
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a parameter as length times direction.

    Args:
        module: whose parameter it is.
        name: of the parameter.
        dim: along which each has a length of its own; None for one length.

    >>> m = weft.nn.utils.parametrizations.weight_norm(weft.nn.Linear(20, 40))
    >>> m.parametrizations.weight.original0.shape
    torch.Size([40, 1])
    """
    made = _WeightNorm(dim)
    parametrize.register_parametrization(module, name, made, unsafe=True)

    def read_old(state_dict: Any, prefix: str, *rest: Any) -> None:
        """Accept the names that the older form of weight norm uses."""
        g, v = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if g in state_dict and v in state_dict:
            state_dict[f"{prefix}parametrizations.{name}.original0"] = state_dict.pop(g)
            state_dict[f"{prefix}parametrizations.{name}.original1"] = state_dict.pop(v)

    module._register_load_state_dict_pre_hook(read_old)
    return module


class _SpectralNorm(Module):
    """A weight over its largest singular value."""

    _u: Any
    _v: Any

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.dim()
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got "
                f"{dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            with weft.no_grad():
                matrix = as_matrix(weight, self.dim)
                h, w = matrix.shape
                u = F.normalize(weft.randn(h, dtype=weight.dtype), dim=0, eps=eps)
                v = F.normalize(weft.randn(w, dtype=weight.dtype), dim=0, eps=eps)
                u, v = iterate(matrix, u, v, 15, eps)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            u, v = iterate(matrix, self._u, self._v, self.n_power_iterations, self.eps)
            with weft.no_grad():
                self._u.copy_(u)
                self._v.copy_(v)
        u, v = self._u.clone(), self._v.clone()  # the graph keeps these; the buffers change again
        return weight / weft.dot(u, matrix @ v)

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the value itself: what is divided again stays as it is, nearly."""
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Compute a parameter divided by its largest singular value.

    Args:
        module: whose parameter it is.
        name: of the parameter.
        n_power_iterations: how many iterations each use adds while training.
        eps: against division by zero.
        dim: of the outputs (default: 0, or 1 for transposed convolutions).

    >>> m = weft.nn.utils.parametrizations.spectral_norm(weft.nn.Linear(20, 40))
    >>> bool((weft.linalg.matrix_norm(m.weight, 2) - 1).abs() < 0.2)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, made)
