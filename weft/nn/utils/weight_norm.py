"""Weights as length times direction."""

from __future__ import annotations

import weft
from weft.nn.parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor
    from weft.nn.module import Module

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """Return the 2-norms over all dimensions but one, or (-1) over all.

    >>> from weft.nn.utils.weight_norm import norm_except_dim
    >>> norm_except_dim(weft.ones(2, 4), 0)
    tensor([[2.],
            [2.]])
    """
    if dim == -1:
        return weft.linalg.vector_norm(v)
    if not -v.dim() <= dim < v.dim():
        raise IndexError(
            f"weight_norm: dim must be in [{-v.dim()}, {v.dim() - 1}] for a weight of shape "
            f"{list(v.shape)}, got {dim}"
        )
    dim = dim % v.dim()
    others = [d for d in range(v.dim()) if d != dim]
    return weft.linalg.vector_norm(v, 2, others, keepdim=True) if others else v.abs()


def scaled(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """Return g v / ‖v‖."""
    return v * (g / norm_except_dim(v, dim))


class WeightNorm:
    """The hook that makes the weight before each forward.

    >>> m = weft.nn.utils.weight_norm(weft.nn.Linear(2, 3))
    >>> list(m.state_dict())
    ['bias', 'weight_g', 'weight_v']
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = self.recomputes = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """Return the weight for the present length and direction."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return scaled(v, g, self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Replace a parameter by its length and direction."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two weight_norm hooks on the same parameter {name}"
                )
        fn = WeightNorm(name, dim)
        weight = getattr(module, name)
        del module._parameters[name]
        with weft.no_grad():
            length = norm_except_dim(weight, fn.dim)
        module.register_parameter(name + "_g", Parameter(length))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, fn.compute_weight(module))
        module.register_forward_pre_hook(fn)
        return fn

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module).detach()
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Replace a parameter by its length ``name_g`` and its direction ``name_v``.

    Args:
        module: whose parameter it is.
        name: of the parameter.
        dim: along which each has a length of its own; None for one length.

    >>> weft.nn.utils.weight_norm(weft.nn.Linear(20, 40)).weight_g.shape
    torch.Size([40, 1])
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Undo ``weight_norm``.

    >>> m = weft.nn.utils.weight_norm(weft.nn.Linear(2, 3))
    >>> list(weft.nn.utils.remove_weight_norm(m).state_dict())
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
