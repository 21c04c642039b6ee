"""Vision transformers: an image read as a sequence of patches."""

from __future__ import annotations

import math
from collections import OrderedDict
from functools import partial
from typing import NamedTuple

import weft
from weft import nn
from weft.nn import init
from weft.vision.models.registry import model
from weft.vision.ops.misc import MLP, Conv2dNormActivation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from weft import Tensor

    Norm = Callable[[int], nn.Module]

__all__ = ["VisionTransformer", "vit_b_16", "vit_b_32", "vit_h_14", "vit_l_16", "vit_l_32"]

_NORM = partial(nn.LayerNorm, eps=1e-6)


class ConvStemConfig(NamedTuple):
    """One layer of a stem of convolutions.

    >>> from weft.vision.models.vision_transformer import ConvStemConfig
    >>> ConvStemConfig(8, 3, 2).stride
    2
    """

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Any = nn.BatchNorm2d
    activation_layer: Any = nn.ReLU


class MLPBlock(MLP):
    """Two linear layers with GELU between them.

    Args:
        in_dim: features of input and output.
        mlp_dim: features between.
        dropout: the probability of dropout after each layer.

    >>> from weft.vision.models.vision_transformer import MLPBlock
    >>> MLPBlock(4, 8, 0.0)(weft.ones(2, 4)).shape
    torch.Size([2, 4])
    """

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, dropout=dropout)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                init.xavier_uniform_(m.weight)
                init.normal_(m.bias, std=1e-6)


class EncoderBlock(nn.Module):
    """Attention and an MLP, each after a normalisation and added to its input.

    Args:
        num_heads: heads of attention.
        hidden_dim: features.
        mlp_dim: features within the MLP.
        dropout: its probability.
        attention_dropout: its probability for attention weights.
        norm_layer: makes normalisations.

    >>> from weft.vision.models.vision_transformer import EncoderBlock
    >>> EncoderBlock(2, 8, 16, 0.0, 0.0)(weft.ones(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Norm = _NORM,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(
            hidden_dim, num_heads, dropout=attention_dropout, batch_first=True
        )
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 3:
            shape = tuple(input.shape)
            raise ValueError(f"expected (batch_size, seq_length, hidden_dim), got {shape}")
        y = self.ln_1(input)
        y, _ = self.self_attention(y, y, y, need_weights=False)
        x = input + self.dropout(y)
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Places are added, then blocks follow one another.

    Args:
        seq_length: the length of sequences.
        num_layers: how many blocks there are.
        num_heads: heads of attention.
        hidden_dim: features.
        mlp_dim: features within MLPs.
        dropout: its probability.
        attention_dropout: its probability for attention weights.
        norm_layer: makes normalisations.

    >>> from weft.vision.models.vision_transformer import Encoder
    >>> Encoder(5, 1, 2, 8, 16, 0.0, 0.0)(weft.ones(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(
        self,
        seq_length: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Norm = _NORM,
    ) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(weft.empty(1, seq_length, hidden_dim))
        init.normal_(self.pos_embedding, std=0.02)
        self.dropout = nn.Dropout(dropout)
        settings = (num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer)
        self.layers = nn.Sequential(
            OrderedDict((f"encoder_layer_{i}", EncoderBlock(*settings)) for i in range(num_layers))
        )
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: Tensor) -> Tensor:
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """A transformer over the patches of an image and a class token (Dosovitskiy, 2020).

    Args:
        image_size: width and height of images.
        patch_size: width and height of patches.
        num_layers: how many blocks there are.
        num_heads: heads of attention.
        hidden_dim: features.
        mlp_dim: features within MLPs.
        dropout: its probability.
        attention_dropout: its probability for attention weights.
        num_classes: the number of classes.
        representation_size: features of a layer before the last; None: there is no such layer.
        norm_layer: makes normalisations.
        conv_stem_configs: a ``ConvStemConfig`` for each convolution that comes before patches.

    >>> net = weft.vision.models.VisionTransformer(32, 8, 1, 2, 8, 16, num_classes=3)
    >>> net(weft.ones(2, 3, 32, 32)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: Norm = _NORM,
        conv_stem_configs: Sequence[ConvStemConfig] | None = None,
    ) -> None:
        super().__init__()
        if image_size % patch_size:
            raise ValueError(
                f"image_size must be divisible by patch_size, got {image_size} and {patch_size}"
            )
        self.image_size, self.patch_size, self.hidden_dim = image_size, patch_size, hidden_dim
        self.mlp_dim, self.num_classes = mlp_dim, num_classes
        self.attention_dropout, self.dropout = attention_dropout, dropout
        self.representation_size, self.norm_layer = representation_size, norm_layer
        self.conv_proj = (
            _stem(conv_stem_configs, hidden_dim)
            if conv_stem_configs is not None
            else nn.Conv2d(3, hidden_dim, patch_size, patch_size)
        )
        self.class_token = nn.Parameter(weft.zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.encoder = Encoder(
            self.seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout,
            attention_dropout, norm_layer,
        )  # fmt: skip
        heads: OrderedDict[str, nn.Module] = OrderedDict()
        if representation_size is not None:
            heads["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            heads["act"] = nn.Tanh()
        heads["head"] = nn.Linear(representation_size or hidden_dim, num_classes)
        self.heads = nn.Sequential(heads)
        self._draw()

    def _draw(self) -> None:
        stem = self.conv_proj
        if isinstance(stem, nn.Conv2d):
            fan_in = stem.in_channels * stem.kernel_size[0] * stem.kernel_size[1]
            init.trunc_normal_(stem.weight, std=math.sqrt(1 / fan_in))
            init.zeros_(stem.bias)
        else:
            init.normal_(stem.conv_last.weight, 0.0, math.sqrt(2 / stem.conv_last.out_channels))
            init.zeros_(stem.conv_last.bias)
        if self.representation_size is not None:
            inner = self.heads.pre_logits
            init.trunc_normal_(inner.weight, std=math.sqrt(1 / inner.in_features))
            init.zeros_(inner.bias)
        init.zeros_(self.heads.head.weight)
        init.zeros_(self.heads.head.bias)

    def _process_input(self, x: Tensor) -> Tensor:
        """Return the patches of images as a sequence (N, patches, features)."""
        size = self.image_size
        if x.ndim != 4 or x.shape[-2:] != (size, size):
            raise ValueError(
                f"VisionTransformer: expected images (N, 3, {size}, {size}), got {tuple(x.shape)}"
            )
        return self.conv_proj(x).flatten(2).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self._process_input(x)
        x = weft.cat([self.class_token.expand(x.shape[0], -1, -1), x], 1)
        return self.heads(self.encoder(x)[:, 0])


def _stem(configs: Sequence[ConvStemConfig], hidden_dim: int) -> nn.Sequential:
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    channels = 3
    for i, c in enumerate(configs):
        layers[f"conv_bn_relu_{i}"] = Conv2dNormActivation(
            channels, c.out_channels, c.kernel_size, c.stride, norm_layer=c.norm_layer,
            activation_layer=c.activation_layer,
        )  # fmt: skip
        channels = c.out_channels
    layers["conv_last"] = nn.Conv2d(channels, hidden_dim, 1)
    return nn.Sequential(layers)


@model
def vit_b_16(**kwargs: Any) -> VisionTransformer:
    """Make a base vision transformer over patches of 16 x 16 pixels."""
    return VisionTransformer(kwargs.pop("image_size", 224), 16, 12, 12, 768, 3072, **kwargs)


@model
def vit_b_32(**kwargs: Any) -> VisionTransformer:
    """Make a base vision transformer over patches of 32 x 32 pixels."""
    return VisionTransformer(kwargs.pop("image_size", 224), 32, 12, 12, 768, 3072, **kwargs)


@model
def vit_l_16(**kwargs: Any) -> VisionTransformer:
    """Make a large vision transformer over patches of 16 x 16 pixels."""
    return VisionTransformer(kwargs.pop("image_size", 224), 16, 24, 16, 1024, 4096, **kwargs)


@model
def vit_l_32(**kwargs: Any) -> VisionTransformer:
    """Make a large vision transformer over patches of 32 x 32 pixels."""
    return VisionTransformer(kwargs.pop("image_size", 224), 32, 24, 16, 1024, 4096, **kwargs)


@model
def vit_h_14(**kwargs: Any) -> VisionTransformer:
    """Make a huge vision transformer over patches of 14 x 14 pixels."""
    return VisionTransformer(kwargs.pop("image_size", 224), 14, 32, 16, 1280, 5120, **kwargs)
