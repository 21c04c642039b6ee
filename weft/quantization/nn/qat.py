"""Quantisation-aware training: layers with weights rounded as they will be once quantised."""

from __future__ import annotations

import weft
from weft import Tensor
from weft.nn import conv, linear
from weft.nn import functional as F
from weft.nn.module import Module
from weft.nn.utils.fusion import fuse_conv_bn_weights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvBn",
    "Linear",
    "freeze_bn_stats",
    "update_bn_stats",
]


class Linear(linear.Linear):
    """A linear layer whose weight passes ``weight_fake_quant``.

    Args:
        in_features: size of the last dimension of x.
        out_features: size of the last dimension of y.
        bias: whether there is a b.
        qconfig: what makes the module that rounds.
        relu: whether a ReLU belongs to it.

    >>> qconfig = weft.quantization.get_default_qat_qconfig()
    >>> weft.quantization.nn.qat.Linear(2, 3, qconfig=qconfig)(weft.ones(1, 2)).shape
    torch.Size([1, 3])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        qconfig: Any = None,
        relu: bool = False,
    ) -> None:
        super().__init__(in_features, out_features, bias)
        self.qconfig, self.relu = _need_qconfig(self, qconfig), relu
        self.weight_fake_quant = qconfig.weight()

    @classmethod
    def from_float(cls, mod: Any) -> Linear:
        """Return the trainable form of a layer with a ``qconfig``; it has the same parameters."""
        layer, relu = (mod[0], True) if isinstance(mod, weft.nn.Sequential) else (mod, False)
        sizes = layer.in_features, layer.out_features, layer.bias is not None
        with weft.nn.utils.no_init():
            new = cls(*sizes, qconfig=mod.qconfig, relu=relu)
        new.weight, new.bias = layer.weight, layer.bias
        return new.train(mod.training)

    def forward(self, input: Tensor) -> Tensor:
        y = F.linear(input, self.weight_fake_quant(self.weight), self.bias)
        return F.relu(y) if self.relu else y


def _need_qconfig(module: Module, qconfig: Any) -> Any:
    if qconfig is None:
        raise ValueError(f"{type(module).__name__}: a layer that rounds its weight needs a qconfig")
    return qconfig


class _Conv:
    """What convolutions share: the weight passes ``weight_fake_quant``."""

    _float: Any = None

    def __init__(self, *args: Any, qconfig: Any = None, relu: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.qconfig, self.relu = _need_qconfig(self, qconfig), relu  # type: ignore[arg-type]
        self.weight_fake_quant = qconfig.weight()

    @classmethod
    def from_float(cls: Any, mod: Any) -> Any:
        """Return the trainable form of a layer with a ``qconfig``; it has the same parameters."""
        layer, relu = (mod[0], True) if isinstance(mod, weft.nn.Sequential) else (mod, False)
        with weft.nn.utils.no_init():
            new = cls(
                layer.in_channels, layer.out_channels, layer.kernel_size, layer.stride,
                layer.padding, layer.dilation, layer.groups, layer.bias is not None,
                layer.padding_mode, qconfig=mod.qconfig, relu=relu,
            )  # fmt: skip
        new.weight, new.bias = layer.weight, layer.bias
        return new.train(mod.training)

    def forward(self: Any, input: Tensor) -> Tensor:
        y = self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)
        return F.relu(y) if self.relu else y


class Conv1d(_Conv, conv.Conv1d):
    """A convolution over sequences that rounds its weight; arguments as ``nn.Conv1d``.

    >>> qconfig = weft.quantization.get_default_qat_qconfig()
    >>> weft.quantization.nn.qat.Conv1d(1, 2, 3, qconfig=qconfig)(weft.ones(1, 1, 4)).shape
    torch.Size([1, 2, 2])
    """


class Conv2d(_Conv, conv.Conv2d):
    """A convolution over images that rounds its weight; arguments as ``nn.Conv2d``.

    >>> qconfig = weft.quantization.get_default_qat_qconfig()
    >>> weft.quantization.nn.qat.Conv2d(1, 2, 3, qconfig=qconfig)(weft.ones(1, 1, 4, 4)).shape
    torch.Size([1, 2, 2, 2])
    """


class Conv3d(_Conv, conv.Conv3d):
    """A convolution over volumes that rounds its weight; arguments as ``nn.Conv3d``.

    >>> qconfig = weft.quantization.get_default_qat_qconfig()
    >>> weft.quantization.nn.qat.Conv3d(1, 2, 1, qconfig=qconfig)(weft.ones(1, 1, 2, 2, 2)).shape
    torch.Size([1, 2, 2, 2, 2])
    """


class ConvBn(Module):
    """A convolution with the batch norm behind it, whose joint weight is rounded.

    The weight that is rounded is the one that the quantised layer will have: W γ / sqrt(σ² + ε), with the
    running σ². While it learns, the result is scaled back, so that the batch norm sees what it would see.

    Args:
        layers: an ``intrinsic.ConvBn…`` or ``ConvBnReLU…`` with a ``qconfig``.

    >>> n, q = weft.nn, weft.quantization
    >>> both = q.nn.intrinsic.ConvBn2d(n.Conv2d(1, 2, 3), n.BatchNorm2d(2))
    >>> both.qconfig = q.get_default_qat_qconfig()
    >>> q.nn.qat.ConvBn(both)(weft.randn(4, 1, 5, 5)).shape
    torch.Size([4, 2, 3, 3])
    """

    def __init__(self, layers: Any) -> None:
        super().__init__()
        self.qconfig = _need_qconfig(self, getattr(layers, "qconfig", None))
        self.conv, self.bn, self.relu = layers[0], layers[1], len(layers) == 3
        self.weight_fake_quant = self.qconfig.weight()
        self.freeze_bn = False
        self.train(layers.training)

    def freeze_bn_stats(self) -> ConvBn:
        """Keep the statistics of the batch norm as they are, and use them while it learns."""
        self.freeze_bn = True
        return self.train(self.training)

    def update_bn_stats(self) -> ConvBn:
        """Go on with statistics of the batch."""
        self.freeze_bn = False
        return self.train(self.training)

    def train(self, mode: bool = True) -> ConvBn:
        """Set the mode; a frozen batch norm stays in the mode of evaluation."""
        super().train(mode)
        self.bn.train(mode and not self.freeze_bn)
        return self

    @classmethod
    def from_float(cls, mod: Any) -> ConvBn:
        """Return the trainable form of fused layers with a ``qconfig``; it has the same parameters."""
        return cls(mod)

    def folded(self) -> tuple[Tensor, Tensor]:
        """Return weight and bias of the one convolution that both are."""
        bn = self.bn
        stats = bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
        return fuse_conv_bn_weights(self.conv.weight, self.conv.bias, *stats)

    def forward(self, x: Tensor) -> Tensor:
        conv, bn = self.conv, self.bn
        factor = weft.rsqrt(bn.running_var + bn.eps)
        factor = factor if bn.weight is None else bn.weight * factor
        along = [-1] + [1] * (conv.weight.dim() - 1)
        weight = self.weight_fake_quant(conv.weight * factor.reshape(along))
        y = conv._conv_forward(x, weight, None) / factor.reshape([1, *along[:-1]])
        if conv.bias is not None:
            y = y + conv.bias.reshape([1, *along[:-1]])
        y = bn(y)
        return F.relu(y) if self.relu else y

    def __getattr__(self, name: str) -> Any:
        """Give the settings of the convolution as its own."""
        if name in ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation",
                    "groups", "padding_mode", "bias"):  # fmt: skip
            return getattr(self.conv, name)
        return super().__getattr__(name)


def freeze_bn_stats(mod: Module) -> None:
    """Keep the statistics of batch norms behind convolutions; for ``model.apply``.

    >>> n, q = weft.nn, weft.quantization
    >>> model = n.Sequential(n.Conv2d(1, 2, 3), n.BatchNorm2d(2))
    >>> model = q.fuse_modules_qat(model, [["0", "1"]])
    >>> model.qconfig = q.get_default_qat_qconfig()
    >>> model = q.prepare_qat(model).apply(q.nn.qat.freeze_bn_stats)
    >>> model.train()[0].bn.training
    False
    """
    if isinstance(mod, ConvBn):
        mod.freeze_bn_stats()


def update_bn_stats(mod: Module) -> None:
    """Let the statistics of batch norms behind convolutions go on; for ``model.apply``.

    >>> weft.nn.Linear(2, 1).apply(weft.quantization.nn.qat.update_bn_stats)
    Linear(in_features=2, out_features=1, bias=True)
    """
    if isinstance(mod, ConvBn):
        mod.update_bn_stats()
