"""Affine maps."""

from __future__ import annotations

import math

import weft
from weft.nn import functional as F
from weft.nn import init
from weft.nn.lazy import LazyModuleMixin
from weft.nn.module import Module
from weft.nn.parameter import Parameter, UninitializedParameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input; takes any arguments and ignores them.

    >>> weft.nn.Identity(54, unused=True)(weft.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """y = x Wᵀ + b along the last dimension.

    Args:
        in_features: size of the last dimension of x.
        out_features: size of the last dimension of y.
        bias: whether there is a b.
        device: the CPU.
        dtype: the type of the parameters.

    Both begin evenly spread between ±1/sqrt(in_features).

    >>> weft.nn.Linear(20, 30)(weft.randn(128, 20)).shape
    torch.Size([128, 30])
    """

    in_features: int
    out_features: int
    weight: Any
    bias: Any

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(weft.empty(out_features, in_features, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(weft.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = self.weight.shape[1]
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A ``Linear`` under the name that PyTorch's attention gives to its last layer."""


class Bilinear(Module):
    """y = x₁ᵀ A x₂ + b along the last dimension.

    Args:
        in1_features: size of the last dimension of x₁.
        in2_features: size of the last dimension of x₂.
        out_features: size of the last dimension of y.
        bias: whether there is a b.
        device: the CPU.
        dtype: the type of the parameters.

    >>> weft.nn.Bilinear(2, 3, 4)(weft.randn(5, 2), weft.randn(5, 3)).shape
    torch.Size([5, 4])
    """

    weight: Any
    bias: Any

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        sizes = (out_features, in1_features, in2_features)
        self.weight = Parameter(weft.empty(sizes, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(weft.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A ``Linear`` whose ``in_features`` are those of the first batch.

    Args:
        out_features: size of the last dimension of y.
        bias: whether there is a b.
        device: the CPU.
        dtype: the type of the parameters.

    >>> layer = weft.nn.LazyLinear(3)
    >>> layer(weft.ones(1, 2)).shape
    torch.Size([1, 3])
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters anew, once there are any."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take ``in_features`` from the first batch."""
        if self.has_uninitialized_params():
            with weft.no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise RuntimeError(
                    f"LazyLinear: the loaded weight has {self.weight.shape[-1]} in_features, the "
                    f"first batch {input.shape[-1]}"
                )
            self.in_features = input.shape[-1]
