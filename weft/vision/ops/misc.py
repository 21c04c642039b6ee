"""Blocks of layers that many networks share."""

from __future__ import annotations

from itertools import pairwise

import weft
from weft import nn
from weft.nn.modules.utils import _ntuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from weft import Tensor

__all__ = [
    "MLP", "Conv2dNormActivation", "Conv3dNormActivation", "FrozenBatchNorm2d", "Permute",
    "SqueezeExcitation",
]  # fmt: skip


class FrozenBatchNorm2d(nn.Module):
    """Batch normalisation whose statistics and scales are fixed: buffers, not parameters.

    Args:
        num_features: the channels of the input.
        eps: is added to variances.

    >>> norm = weft.vision.ops.FrozenBatchNorm2d(2, eps=0)
    >>> norm.running_mean.fill_(1.0)
    tensor([1., 1.])
    >>> norm(weft.ones(1, 2, 1, 1)).reshape(-1)
    tensor([0., 0.])
    """

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", weft.ones(num_features))
        self.register_buffer("bias", weft.zeros(num_features))
        self.register_buffer("running_mean", weft.zeros(num_features))
        self.register_buffer("running_var", weft.ones(num_features))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        state_dict.pop(prefix + "num_batches_tracked", None)  # which BatchNorm2d also has
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def forward(self, x: Tensor) -> Tensor:
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        shift = self.bias - self.running_mean * scale
        return x * scale.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, eps={self.eps}"


class _ConvNormActivation(nn.Sequential):
    """A convolution, a normalisation and an activation, of which the last two may be left out."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        groups: int,
        norm_layer: Callable[..., nn.Module] | None,
        activation_layer: Callable[..., nn.Module] | None,
        dilation: Any,
        inplace: bool | None,
        bias: bool | None,
        conv_layer: Callable[..., nn.Module],
        dims: int,
    ) -> None:
        if padding is None:  # such that a stride of 1 keeps the size
            each = _ntuple(dims)
            pairs = zip(each(kernel_size), each(dilation))
            padding = tuple((k - 1) // 2 * d for k, d in pairs)
        bias = norm_layer is None if bias is None else bias
        layers = [
            conv_layer(
                in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
            )
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = out_channels


class Conv2dNormActivation(_ConvNormActivation):
    """A convolution, a normalisation and an activation in a row.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: of the convolution.
        stride: of the convolution.
        padding: of the convolution; None keeps the size of the image at stride 1.
        groups: of the convolution.
        norm_layer: makes the normalisation of the channels; None leaves it out.
        activation_layer: makes the activation; None leaves it out.
        dilation: of the convolution.
        inplace: given to the activation; None gives it nothing.
        bias: whether the convolution has one; None: if there is no normalisation.

    >>> block = weft.vision.ops.Conv2dNormActivation(3, 8, stride=2)
    >>> [type(layer).__name__ for layer in block], block(weft.ones(2, 3, 8, 8)).shape
    (['Conv2d', 'BatchNorm2d', 'ReLU'], torch.Size([2, 8, 4, 4]))
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int] = 3,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] | str | None = None,
        groups: int = 1,
        norm_layer: Callable[..., nn.Module] | None = nn.BatchNorm2d,
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        dilation: int | tuple[int, int] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, groups, norm_layer,
            activation_layer, dilation, inplace, bias, nn.Conv2d, 2,
        )  # fmt: skip


class Conv3dNormActivation(_ConvNormActivation):
    """``Conv2dNormActivation`` of volumes or films, with the same arguments.

    >>> weft.vision.ops.Conv3dNormActivation(1, 2)(weft.ones(1, 1, 4, 4, 4)).shape
    torch.Size([1, 2, 4, 4, 4])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int, int] = 3,
        stride: int | tuple[int, int, int] = 1,
        padding: int | tuple[int, int, int] | str | None = None,
        groups: int = 1,
        norm_layer: Callable[..., nn.Module] | None = nn.BatchNorm3d,
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        dilation: int | tuple[int, int, int] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, groups, norm_layer,
            activation_layer, dilation, inplace, bias, nn.Conv3d, 3,
        )  # fmt: skip


class MLP(nn.Sequential):
    """Linear layers with activations between them, and dropout after each.

    Args:
        in_channels: features of the input.
        hidden_channels: features after each layer.
        norm_layer: makes a normalisation after each layer but the last; None leaves it out.
        activation_layer: makes the activations.
        inplace: given to activations and dropout; None gives them nothing.
        bias: whether layers have one.
        dropout: its probability.

    >>> weft.vision.ops.MLP(4, [8, 2])(weft.ones(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: Sequence[int],
        norm_layer: Callable[..., nn.Module] | None = None,
        activation_layer: Callable[..., nn.Module] = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        if not hidden_channels:
            raise ValueError("MLP: hidden_channels must name at least one layer, got none")
        given = {} if inplace is None else {"inplace": inplace}
        sizes, layers = [in_channels, *hidden_channels], []
        for i, (a, b) in enumerate(pairwise(sizes), 2):
            layers.append(nn.Linear(a, b, bias=bias))
            if i < len(sizes):
                layers += [norm_layer(b)] if norm_layer is not None else []
                layers.append(activation_layer(**given))
            layers.append(nn.Dropout(dropout, **given))
        super().__init__(*layers)


class Permute(nn.Module):
    """``permute`` as a layer.

    Args:
        dims: the dimensions in their new order.

    >>> weft.vision.ops.Permute([0, 2, 3, 1])(weft.ones(1, 3, 4, 5)).shape
    torch.Size([1, 4, 5, 3])
    """

    def __init__(self, dims: Sequence[int]) -> None:
        super().__init__()
        self.dims = list(dims)

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(self.dims)

    def extra_repr(self) -> str:
        return f"dims={self.dims}"


class SqueezeExcitation(nn.Module):
    """Scales channels by weights that a small network finds from their means.

    Args:
        input_channels: channels of the input.
        squeeze_channels: the width of the small network.
        activation: makes the activation between its layers.
        scale_activation: makes the activation that gives the weights.

    >>> weft.vision.ops.SqueezeExcitation(8, 2)(weft.ones(1, 8, 4, 4)).shape
    torch.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Callable[..., nn.Module] = nn.ReLU,
        scale_activation: Callable[..., nn.Module] = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation, self.scale_activation = activation(), scale_activation()

    def forward(self, input: Tensor) -> Tensor:
        hidden = self.activation(self.fc1(self.avgpool(input)))
        return self.scale_activation(self.fc2(hidden)) * input
