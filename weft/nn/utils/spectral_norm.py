"""Weights divided by their largest singular value, as found by power iteration."""

from __future__ import annotations

import weft
from weft.nn import functional as F
from weft.nn.parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor
    from weft.nn.module import Module

__all__ = ["SpectralNorm", "as_matrix", "remove_spectral_norm", "spectral_norm"]


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """Return a weight as a matrix whose rows are along ``dim``.

    >>> from weft.nn.utils.spectral_norm import as_matrix
    >>> as_matrix(weft.ones(2, 3, 4), 1).shape
    torch.Size([3, 8])
    """
    if dim != 0:
        weight = weight.permute(dim, *[d for d in range(weight.dim()) if d != dim])
    return weight.reshape(weight.shape[0], -1)


def iterate(matrix: Tensor, u: Tensor, v: Tensor, times: int, eps: float) -> tuple[Tensor, Tensor]:
    """Return better singular vectors: v = Wᵀu, u = Wv, each of length one."""
    with weft.no_grad():
        for _ in range(times):
            v = F.normalize(matrix.t() @ u, dim=0, eps=eps)
            u = F.normalize(matrix @ v, dim=0, eps=eps)
    return u, v


class SpectralNorm:
    """The hook that makes the weight before each forward.

    >>> m = weft.nn.utils.spectral_norm(weft.nn.Linear(2, 3))
    >>> list(m.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """

    _version = 1

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.eps = name, dim, eps
        self.recomputes = name
        self.n_power_iterations = n_power_iterations

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """Return the weight over its largest singular value, after another iteration or not."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            new_u, new_v = iterate(matrix, u, v, self.n_power_iterations, self.eps)
            with weft.no_grad():
                u.copy_(new_u)
                v.copy_(new_v)
            u, v = u.clone(), v.clone()  # the graph keeps these; the buffers change again
        return weight / weft.dot(u, matrix @ v)

    @staticmethod
    def apply(
        module: Any, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Replace a parameter by one that is divided before use."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two spectral_norm hooks on the same parameter {name}"
                )
        fn = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        with weft.no_grad():
            matrix = as_matrix(weight, dim)
            h, w = matrix.shape
            u = F.normalize(weft.randn(h, dtype=weight.dtype), dim=0, eps=eps)
            v = F.normalize(weft.randn(w, dtype=weight.dtype), dim=0, eps=eps)
        del module._parameters[name]
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(fn)
        module._register_state_dict_hook(_StateHook(fn))
        return fn

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        with weft.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for suffix in ("_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


class _StateHook:
    """Writes the version of this form of spectral norm into a state dict, as PyTorch does."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        versions[self.fn.name + ".version"] = self.fn._version


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a parameter by its largest singular value before each forward.

    Args:
        module: whose parameter it is.
        name: of the parameter.
        n_power_iterations: how many iterations each forward adds while training.
        eps: against division by zero.
        dim: of the outputs (default: 0, or 1 for transposed convolutions).

    >>> weft.nn.utils.spectral_norm(weft.nn.Linear(20, 40)).weight_u.shape
    torch.Size([40])
    """
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Undo ``spectral_norm``.

    >>> m = weft.nn.utils.spectral_norm(weft.nn.Linear(2, 3))
    >>> list(weft.nn.utils.remove_spectral_norm(m).state_dict())
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for key, state_hook in module._state_dict_hooks.items():
        if isinstance(state_hook, _StateHook) and state_hook.fn.name == name:
            del module._state_dict_hooks[key]
            break
    return module
