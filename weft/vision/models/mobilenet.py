"""MobileNet: few multiplications, for small devices."""

from __future__ import annotations

from weft import nn
from weft.nn import init
from weft.vision.models.registry import model
from weft.vision.ops.misc import Conv2dNormActivation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from weft import Tensor

    Norm = Callable[[int], nn.Module]

__all__ = ["MobileNetV2", "mobilenet_v2"]

# Of each stage: by how much blocks widen inside, channels, blocks, stride of the first.
_STAGES = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
    (6, 320, 1, 1),
)  # fmt: skip


def divisible(width: float, divisor: int) -> int:
    """Return the multiple of a divisor that is nearest to a width, and at least 90% of it.

    >>> from weft.vision.models.mobilenet import divisible
    >>> divisible(33, 8), divisible(3, 8), divisible(11, 8)
    (32, 8, 16)
    """
    near = max(divisor, int(width + divisor / 2) // divisor * divisor)
    return near + divisor if near < 0.9 * width else near


class InvertedResidual(nn.Module):
    """A block that is wide inside: widened, filtered channel by channel, narrowed.

    Args:
        inp: channels of the input.
        oup: channels of the output.
        stride: 1 or 2.
        expand_ratio: by how much the block widens inside.
        norm_layer: makes normalisations; None: ``BatchNorm2d``.

    >>> from weft.vision.models.mobilenet import InvertedResidual
    >>> InvertedResidual(4, 8, 2, 6)(weft.ones(2, 4, 8, 8)).shape
    torch.Size([2, 8, 4, 4])
    """

    def __init__(
        self, inp: int, oup: int, stride: int, expand_ratio: int, norm_layer: Norm | None = None
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm = norm_layer or nn.BatchNorm2d
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        wide = round(inp * expand_ratio)
        settings: Any = {"norm_layer": norm, "activation_layer": nn.ReLU6}
        layers: list[nn.Module] = []
        if expand_ratio != 1:
            layers.append(Conv2dNormActivation(inp, wide, 1, **settings))
        layers += [
            Conv2dNormActivation(wide, wide, stride=stride, groups=wide, **settings),
            nn.Conv2d(wide, oup, 1, bias=False),
            norm(oup),
        ]
        self.conv = nn.Sequential(*layers)
        self.out_channels = oup

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """Inverted residuals (Sandler and others, 2018).

    Args:
        num_classes: the number of classes.
        width_mult: by how much channels are multiplied.
        inverted_residual_setting: for each stage (expansion, channels, blocks, stride).
        round_nearest: numbers of channels are multiples of it.
        block: makes blocks; None: ``InvertedResidual``.
        norm_layer: makes normalisations; None: ``BatchNorm2d``.
        dropout: the probability of dropout before the classifier.

    >>> net = weft.vision.models.MobileNetV2(num_classes=3, width_mult=0.25)
    >>> net(weft.ones(2, 3, 32, 32)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: Sequence[Sequence[int]] | None = None,
        round_nearest: int = 8,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Norm | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        stages = _STAGES if inverted_residual_setting is None else inverted_residual_setting
        if not stages or any(len(stage) != 4 for stage in stages):
            raise ValueError(
                "inverted_residual_setting should be a non-empty list of 4-element lists, "
                f"got {inverted_residual_setting}"
            )
        make, norm = block or InvertedResidual, norm_layer or nn.BatchNorm2d
        settings: Any = {"norm_layer": norm, "activation_layer": nn.ReLU6}
        channels = divisible(32 * width_mult, round_nearest)
        self.last_channel = divisible(1280 * max(1.0, width_mult), round_nearest)
        layers: list[nn.Module] = [Conv2dNormActivation(3, channels, stride=2, **settings)]
        for expansion, width, count, stride in stages:
            out = divisible(width * width_mult, round_nearest)
            for i in range(count):
                layers.append(
                    make(channels, out, stride if i == 0 else 1, expansion, norm_layer=norm)
                )
                channels = out
        layers.append(Conv2dNormActivation(channels, self.last_channel, 1, **settings))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(self.last_channel, num_classes)
        )
        self._draw()

    def _draw(self) -> None:
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                init.kaiming_normal_(m.weight, mode="fan_out")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                init.ones_(m.weight)
            elif isinstance(m, nn.Linear):
                init.normal_(m.weight, 0, 0.01)
            else:
                continue
            if m.bias is not None:
                init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).mean((2, 3)))


@model
def mobilenet_v2(**kwargs: Any) -> MobileNetV2:
    """Make a MobileNet of the second version.

    Args:
        kwargs: arguments of ``MobileNetV2``.

    >>> len(weft.vision.models.mobilenet_v2(num_classes=2).features)
    19
    """
    return MobileNetV2(**kwargs)
