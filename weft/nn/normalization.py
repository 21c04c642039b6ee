"""Normalisation layers without a batch; those with one are in ``batchnorm.py``."""

from __future__ import annotations

import weft
from weft._environment import at_line
from weft.nn import functional as F
from weft.nn import init
from weft.nn.batchnorm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LazyBatchNorm1d,
    LazyBatchNorm2d,
    LazyBatchNorm3d,
    LazyInstanceNorm1d,
    LazyInstanceNorm2d,
    LazyInstanceNorm3d,
    ScaleAndShift,
    SyncBatchNorm,
)
from weft.nn.module import Module
from weft.nn.parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "CrossMapLRN2d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LocalResponseNorm",
    "RMSNorm",
    "SyncBatchNorm",
]


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


class LayerNorm(ScaleAndShift):
    """Normalises over the last dimensions: y = (x - mean) / sqrt(var + eps) * weight + bias.

    Args:
        normalized_shape: the sizes of these dimensions.
        eps: added to the variance.
        elementwise_affine: whether there are weight and bias.
        bias: whether there is a bias.
        device: the CPU.
        dtype: the type of the parameters.

    >>> weft.nn.LayerNorm(3)(weft.randn(4, 3)).shape
    torch.Size([4, 3])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        for name, wanted in (("weight", True), ("bias", bias)):
            value = None
            if elementwise_affine and wanted:
                value = Parameter(weft.empty(self.normalized_shape, device=device, dtype=dtype))
            self.register_parameter(name, value)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides by the root of the mean square over the last dimensions, times weight.

    Args:
        normalized_shape: the sizes of these dimensions.
        eps: added to the mean square (default: the smallest step of the dtype at 1).
        elementwise_affine: whether there is a weight.
        device: the CPU.
        dtype: the type of the weight.

    >>> weft.nn.RMSNorm(3)(weft.randn(4, 3)).shape
    torch.Size([4, 3])
    """

    weight: Any

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        value = weft.empty(self.normalized_shape, device=device, dtype=dtype)
        self.register_parameter("weight", Parameter(value) if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the scale to one."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(ScaleAndShift):
    """Normalises groups of channels of each example.

    Args:
        num_groups: the number of groups.
        num_channels: the number of channels.
        eps: added to the variance.
        affine: whether there are weight and bias, one for each channel.
        device: the CPU.
        dtype: the type of the parameters.
        bias: whether there is a bias.

    >>> weft.nn.GroupNorm(2, 4)(weft.randn(1, 4, 5)).shape
    torch.Size([1, 4, 5])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                at_line(
                    f"{type(self).__name__}: num_channels ({num_channels}) must be divisible by "
                    f"num_groups ({num_groups})"
                )
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = Parameter(weft.empty(num_channels, device=device, dtype=dtype))
            self.register_parameter(name, value if wanted else None)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """Divides by a power of the mean square of neighbouring channels.

    Args:
        size: how many neighbours.
        alpha: their weight.
        beta: the power.
        k: added to the mean.

    >>> weft.nn.LocalResponseNorm(2)(weft.randn(1, 5, 4)).shape
    torch.Size([1, 5, 4])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """``LocalResponseNorm`` of images, under an older name.

    >>> weft.nn.CrossMapLRN2d(2)(weft.randn(1, 5, 4, 4)).shape
    torch.Size([1, 5, 4, 4])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)
