"""GoogLeNet: kernels of several sizes in parallel."""

from __future__ import annotations

from collections import namedtuple

import weft
from weft import nn
from weft.nn import functional as F
from weft.nn import init
from weft.vision.models.registry import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from weft import Tensor

__all__ = ["GoogLeNet", "GoogLeNetOutputs", "googlenet"]

GoogLeNetOutputs = namedtuple("GoogLeNetOutputs", ["logits", "aux_logits2", "aux_logits1"])

# Widths of the branches: 1 x 1; 3 x 3 after its reduction; the second 3 x 3 likewise; pooling.
_BLOCKS = {
    "inception3a": (192, 64, 96, 128, 16, 32, 32), "inception3b": (256, 128, 128, 192, 32, 96, 64),
    "maxpool3": 3,
    "inception4a": (480, 192, 96, 208, 16, 48, 64), "inception4b": (512, 160, 112, 224, 24, 64, 64),
    "inception4c": (512, 128, 128, 256, 24, 64, 64), "inception4d": (512, 112, 144, 288, 32, 64, 64),
    "inception4e": (528, 256, 160, 320, 32, 128, 128),
    "maxpool4": 2,
    "inception5a": (832, 256, 160, 320, 32, 128, 128),
    "inception5b": (832, 384, 192, 384, 48, 128, 128),
}  # fmt: skip


class BasicConv2d(nn.Module):
    """A convolution without bias, batch normalisation, ReLU.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kwargs: arguments of ``Conv2d``.

    >>> from weft.vision.models.googlenet import BasicConv2d
    >>> BasicConv2d(3, 4, kernel_size=3)(weft.ones(2, 3, 5, 5)).shape
    torch.Size([2, 4, 3, 3])
    """

    def __init__(self, in_channels: int, out_channels: int, **kwargs: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    """Four branches over the same input, joined.

    Args:
        in_channels: channels of the input.
        ch1x1: channels of the 1 x 1 convolution.
        ch3x3red: channels of the reduction before the first 3 x 3 convolution.
        ch3x3: channels of the first 3 x 3 convolution.
        ch5x5red: channels of the reduction before the second one.
        ch5x5: its channels; it is 3 x 3 too, as in the published weights.
        pool_proj: channels of the projection after pooling.
        conv_block: makes convolutions; None: ``BasicConv2d``.

    >>> from weft.vision.models.googlenet import Inception
    >>> Inception(8, 1, 2, 3, 2, 4, 5)(weft.ones(2, 8, 4, 4)).shape
    torch.Size([2, 13, 4, 4])
    """

    def __init__(
        self,
        in_channels: int,
        ch1x1: int,
        ch3x3red: int,
        ch3x3: int,
        ch5x5red: int,
        ch5x5: int,
        pool_proj: int,
        conv_block: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch1 = conv(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            conv(in_channels, ch3x3red, kernel_size=1),
            conv(ch3x3red, ch3x3, kernel_size=3, padding=1),
        )
        self.branch3 = nn.Sequential(
            conv(in_channels, ch5x5red, kernel_size=1),
            conv(ch5x5red, ch5x5, kernel_size=3, padding=1),
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(3, 1, 1, ceil_mode=True), conv(in_channels, pool_proj, kernel_size=1)
        )

    def forward(self, x: Tensor) -> Tensor:
        return weft.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class InceptionAux(nn.Module):
    """A classifier on the way, which brings gradients to early layers.

    Args:
        in_channels: channels of the input.
        num_classes: the number of classes.
        conv_block: makes the convolution; None: ``BasicConv2d``.
        dropout: the probability of dropout.

    >>> from weft.vision.models.googlenet import InceptionAux
    >>> InceptionAux(8, 3)(weft.ones(2, 8, 8, 8)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        in_channels: int,
        num_classes: int,
        conv_block: Callable[..., nn.Module] | None = None,
        dropout: float = 0.7,
    ) -> None:
        super().__init__()
        self.conv = (conv_block or BasicConv2d)(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(F.adaptive_avg_pool2d(x, (4, 4))).flatten(1)
        return self.fc2(self.dropout(F.relu(self.fc1(x), inplace=True)))


def from_imagenet_range(x: Tensor) -> Tensor:
    """Return images normalised by ImageNet's statistics as ones normalised to -1 … 1.

    >>> from weft.vision.models.googlenet import from_imagenet_range
    >>> from_imagenet_range(weft.zeros(1, 3, 1, 1)).reshape(-1)
    tensor([-0.0300, -0.0880, -0.1880])
    """
    mean = x.new_tensor([0.485, 0.456, 0.406]).reshape(1, 3, 1, 1)
    deviation = x.new_tensor([0.229, 0.224, 0.225]).reshape(1, 3, 1, 1)
    return x * (deviation / 0.5) + (mean - 0.5) / 0.5


def draw_truncated(net: nn.Module, std: float) -> None:
    """Draw weights from a normal distribution cut at -2 and 2; a layer may have a ``stddev``.

    >>> from weft.vision.models.googlenet import draw_truncated
    >>> draw_truncated(weft.nn.Linear(2, 2), 0.1)
    """
    for m in net.modules():
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            init.trunc_normal_(m.weight, 0.0, float(getattr(m, "stddev", std)), -2, 2)
        elif isinstance(m, nn.BatchNorm2d):
            init.ones_(m.weight)
            init.zeros_(m.bias)


class GoogLeNet(nn.Module):
    """Nine Inception blocks (Szegedy and others, 2014).

    In training with ``aux_logits`` it returns ``GoogLeNetOutputs(logits, aux_logits2,
    aux_logits1)``, else the logits.

    Args:
        num_classes: the number of classes.
        aux_logits: whether there are two more classifiers on the way.
        transform_input: whether images normalised by ImageNet's statistics are brought to -1 … 1.
        init_weights: whether weights are drawn from truncated normal distributions; None: yes.
        blocks: classes in place of ``BasicConv2d``, ``Inception`` and ``InceptionAux``.
        dropout: the probability of dropout before the last layer.
        dropout_aux: the same for the classifiers on the way.

    >>> with weft.nn.utils.no_init():
    ...     net = weft.vision.models.GoogLeNet(num_classes=3, aux_logits=False)
    >>> net.fc
    Linear(in_features=1024, out_features=3, bias=True)
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        init_weights: bool | None = None,
        blocks: Sequence[Callable[..., nn.Module]] | None = None,
        dropout: float = 0.2,
        dropout_aux: float = 0.7,
    ) -> None:
        super().__init__()
        conv, inception, aux = blocks or (BasicConv2d, Inception, InceptionAux)
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.conv1 = conv(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, 2, ceil_mode=True)
        self.conv2 = conv(64, 64, kernel_size=1)
        self.conv3 = conv(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, 2, ceil_mode=True)
        for name, what in _BLOCKS.items():
            pool = isinstance(what, int)
            block = nn.MaxPool2d(what, 2, ceil_mode=True) if pool else inception(*what)  # type: ignore[misc,arg-type]
            self.add_module(name, block)
        self.aux1 = aux(512, num_classes, dropout=dropout_aux) if aux_logits else None
        self.aux2 = aux(528, num_classes, dropout=dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(1024, num_classes)
        if init_weights is not False:
            draw_truncated(self, 0.01)

    def forward(self, x: Tensor) -> Any:
        if self.transform_input:
            x = from_imagenet_range(x)
        x = self.maxpool1(self.conv1(x))
        x = self.maxpool2(self.conv3(self.conv2(x)))
        aux: dict[str, Tensor] = {}
        for name in _BLOCKS:
            x = getattr(self, name)(x)
            if self.training and self.aux1 is not None and name == "inception4a":
                aux["aux_logits1"] = self.aux1(x)
            elif self.training and self.aux2 is not None and name == "inception4d":
                aux["aux_logits2"] = self.aux2(x)
        logits = self.fc(self.dropout(self.avgpool(x).flatten(1)))
        return GoogLeNetOutputs(logits, **aux) if aux else logits


@model
def googlenet(**kwargs: Any) -> GoogLeNet:
    """Make a GoogLeNet.

    Args:
        kwargs: arguments of ``GoogLeNet``.

    >>> with weft.nn.utils.no_init():
    ...     net = weft.vision.models.googlenet(num_classes=3, aux_logits=False)
    >>> net.aux1
    """
    return GoogLeNet(**kwargs)
