"""Networks that answer: forward passes of usual models, written once for weft and PyTorch.

``network("vit_tiny", weft, batch=1)`` gives a model in evaluation mode and its inputs. Weights, statistics
of norms and inputs are drawn by NumPy, each from its own name, so every library has the same numbers.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

#: ``make(lib, batch)`` gives a model and its inputs as arrays.
Maker = Callable[[Any, int], tuple[Any, list[np.ndarray]]]


@dataclass(frozen=True)
class Network:
    """A model in evaluation mode, and what it is called with."""

    model: Any
    inputs: list[Any]  # tensors
    arrays: list[np.ndarray]  # the same numbers


def drawn(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Values of a parameter or a statistic by its name: signals keep about their size.

    >>> bool(drawn("bn.running_var", (3,)).min() > 0)
    True
    """
    random = np.random.default_rng(zlib.crc32(name.encode()))
    if len(shape) > 1:
        bound = math.sqrt(3 / math.prod(shape[1:]))
        return random.uniform(-bound, bound, shape).astype("float32")
    around = 1.0 if name.endswith(("weight", "running_var")) else 0.0
    return (around + random.uniform(-0.3, 0.3, shape)).astype("float32")


def normal(*shape: int) -> np.ndarray:
    """Normal numbers, the same ones for the same shape."""
    return np.random.default_rng(0).standard_normal(shape, dtype="float32")


def words(count: int, *shape: int) -> np.ndarray:
    """Whole numbers from 0 to ``count`` - 1."""
    return np.random.default_rng(0).integers(0, count, shape)


# ------------------------------------------------------------------------------ layers and sequences


def mlp(lib: Any, batch: int, sizes: tuple[int, ...] = (784, 512, 512, 10)) -> Any:
    """Linear layers with ReLU between them."""
    nn = lib.nn
    layers: list[Any] = []
    for wide, narrow in pairwise(sizes):
        layers += [nn.Linear(wide, narrow), nn.ReLU()]
    return nn.Sequential(*layers[:-1]), [normal(batch, sizes[0])]


def lstm(lib: Any, batch: int, hidden: int = 256, length: int = 64) -> Any:
    """Ten numbers from the last state of an LSTM of two layers."""
    nn = lib.nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(hidden, hidden, num_layers=2, batch_first=True)
            self.out = nn.Linear(hidden, 10)

        def forward(self, x: Any) -> Any:
            states, _ = self.lstm(x)
            return self.out(states[:, -1])

    return Reader(), [normal(batch, length, hidden)]


def tcn(lib: Any, batch: int, channels: int = 64, levels: int = 6, length: int = 512) -> Any:
    """Causal convolutions whose dilation doubles from block to block, with residuals."""
    nn, F = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self, wide: int, dilation: int) -> None:
            super().__init__()
            self.past = 2 * dilation
            self.conv1 = nn.Conv1d(wide, channels, 3, dilation=dilation)
            self.conv2 = nn.Conv1d(channels, channels, 3, dilation=dilation)
            self.same = nn.Identity() if wide == channels else nn.Conv1d(wide, channels, 1)

        def forward(self, x: Any) -> Any:
            y = F.relu(self.conv1(F.pad(x, (self.past, 0))))
            y = F.relu(self.conv2(F.pad(y, (self.past, 0))))
            return F.relu(y + self.same(x))

    blocks = [Block(channels if level else 16, 2**level) for level in range(levels)]
    model = nn.Sequential(*blocks, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(channels, 10))
    return model, [normal(batch, 16, length)]


# ------------------------------------------------------------------------------------- transformers


def attention(lib: Any, width: int, heads: int) -> Any:
    """Self-attention with one projection to queries, keys and values; also with a cache of the past."""
    nn, F = lib.nn, lib.nn.functional
    depth = width // heads

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width)
            self.project = nn.Linear(width, width)

        def split(self, x: Any) -> list[Any]:
            batch, length = x.shape[0], x.shape[1]
            parts = self.qkv(x).chunk(3, dim=-1)
            return [p.reshape(batch, length, heads, depth).transpose(1, 2) for p in parts]

        def joined(self, y: Any) -> Any:
            return self.project(y.transpose(1, 2).flatten(2))

        def forward(self, x: Any, causal: bool = False) -> Any:
            q, k, v = self.split(x)
            return self.joined(F.scaled_dot_product_attention(q, k, v, is_causal=causal))

        def after(self, x: Any, past_k: Any, past_v: Any) -> tuple[Any, Any, Any]:
            q, k, v = self.split(x)
            k, v = lib.cat((past_k, k), dim=2), lib.cat((past_v, v), dim=2)
            return self.joined(F.scaled_dot_product_attention(q, k, v)), k, v

    return Attention()


def feed_forward(lib: Any, width: int, approximate: str = "none") -> Any:
    """Four times as wide and back, with GELU between."""
    nn = lib.nn
    gelu = nn.GELU(approximate=approximate)
    return nn.Sequential(nn.Linear(width, 4 * width), gelu, nn.Linear(4 * width, width))


def bert(
    lib: Any, batch: int, layers: int, width: int, heads: int, length: int = 128, count: int = 30522
) -> Any:
    """An encoder with norms after the sums, as BERT has them: the last states of all words."""
    nn = lib.nn

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = attention(lib, width, heads)
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.mlp = feed_forward(lib, width)

        def forward(self, x: Any) -> Any:
            x = self.norm1(x + self.attention(x))
            return self.norm2(x + self.mlp(x))

    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(count, width)
            self.places = nn.Parameter(lib.zeros(length, width))
            self.norm = nn.LayerNorm(width)
            self.layers = nn.Sequential(*(Layer() for _ in range(layers)))

        def forward(self, x: Any) -> Any:
            return self.layers(self.norm(self.words(x) + self.places))

    return Bert(), [words(count, batch, length)]


def bert_small(lib: Any, batch: int) -> Any:
    """Four layers, 512 wide."""
    return bert(lib, batch, layers=4, width=512, heads=8)


def bert_base(lib: Any, batch: int) -> Any:
    """Twelve layers, 768 wide."""
    return bert(lib, batch, layers=12, width=768, heads=12)


def gpt2(lib: Any, batch: int, past: int, length: int) -> Any:
    """GPT-2 (small): the scores of the next word after ``length`` words.

    With a ``past``, keys and values of so many words are inputs, and those with the new word are results.
    """
    nn = lib.nn
    layers, width, heads, count = 12, 768, 12, 50257

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = attention(lib, width, heads)
            self.mlp = feed_forward(lib, width, "tanh")

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm1(x), causal=True)
            return x + self.mlp(self.norm2(x))

        def after(self, x: Any, past_k: Any, past_v: Any) -> tuple[Any, Any, Any]:
            y, k, v = self.attention.after(self.norm1(x), past_k, past_v)
            x = x + y
            return x + self.mlp(self.norm2(x)), k, v

    class GPT2(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(count, width)
            self.places = nn.Parameter(lib.zeros(past + length, width))
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm = nn.LayerNorm(width)

        def scores(self, x: Any) -> Any:
            return nn.functional.linear(self.norm(x[:, -1]), self.words.weight)

        def forward(self, x: Any, *cache: Any) -> Any:
            x = self.words(x) + self.places[past:]
            kept = []
            for i, block in enumerate(self.blocks):
                if past:
                    x, k, v = block.after(x, cache[2 * i], cache[2 * i + 1])
                    kept += [k, v]
                else:
                    x = block(x)
            return (self.scores(x), *kept) if past else self.scores(x)

    cache = [normal(batch, heads, past, width // heads)] * (2 * layers) if past else []
    return GPT2(), [words(count, batch, length), *(array.copy() for array in cache)]


def gpt2_prefill(lib: Any, batch: int) -> Any:
    """The first 128 words at once."""
    return gpt2(lib, batch, past=0, length=128)


def gpt2_decode(lib: Any, batch: int) -> Any:
    """One word after 128."""
    return gpt2(lib, batch, past=128, length=1)


def vit_tiny(lib: Any, batch: int, width: int = 192, layers: int = 12, heads: int = 3) -> Any:
    """A vision transformer on 224x224 in patches of 16, with norms before the layers."""
    nn = lib.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = attention(lib, width, heads)
            self.mlp = feed_forward(lib, width)

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class ViT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, 16, stride=16)
            self.first = nn.Parameter(lib.zeros(1, 1, width))
            self.places = nn.Parameter(lib.zeros(1, 197, width))
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm = nn.LayerNorm(width)
            self.out = nn.Linear(width, 1000)

        def forward(self, x: Any) -> Any:
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = lib.cat((self.first.expand(x.shape[0], -1, -1), x), dim=1) + self.places
            return self.out(self.norm(self.blocks(x))[:, 0])

    return ViT(), [normal(batch, 3, 224, 224)]


# ----------------------------------------------------------------------------------------- images


def conv_norm(
    lib: Any, wide: int, wanted: int, kernel: int, stride: int = 1, groups: int = 1, act: Any = None
) -> Any:
    """A convolution that keeps the size (but for its stride), a batch norm and an activation."""
    nn = lib.nn
    layers = [
        nn.Conv2d(wide, wanted, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(wanted),
    ]
    return nn.Sequential(*layers, *([act()] if act else []))


def mobilenet_v2(lib: Any, batch: int) -> Any:
    """Inverted residuals with depthwise convolutions and ReLU6, 224x224."""
    nn = lib.nn

    class Block(nn.Module):
        def __init__(self, wide: int, wanted: int, stride: int, times: int) -> None:
            super().__init__()
            hidden = wide * times
            layers = [conv_norm(lib, wide, hidden, 1, act=nn.ReLU6)] if times > 1 else []
            layers.append(conv_norm(lib, hidden, hidden, 3, stride, groups=hidden, act=nn.ReLU6))
            self.layers = nn.Sequential(*layers, conv_norm(lib, hidden, wanted, 1))
            self.residual = stride == 1 and wide == wanted

        def forward(self, x: Any) -> Any:
            return x + self.layers(x) if self.residual else self.layers(x)

    layers, wide = [conv_norm(lib, 3, 32, 3, 2, act=nn.ReLU6)], 32
    stages = (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)
    for times, wanted, count, stride in (*stages, (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            layers.append(Block(wide, wanted, 1 if i else stride, times))
            wide = wanted
    layers += [conv_norm(lib, wide, 1280, 1, act=nn.ReLU6), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(1280, 1000)), [normal(batch, 3, 224, 224)]


def efficientnet_b0(lib: Any, batch: int) -> Any:
    """Inverted residuals with squeeze and excitation and SiLU, 224x224, as EfficientNet-B0."""
    nn = lib.nn

    class Excite(nn.Module):
        def __init__(self, wide: int, narrow: int) -> None:
            super().__init__()
            self.pool = nn.AdaptiveAvgPool2d(1)
            self.down, self.up = nn.Conv2d(wide, narrow, 1), nn.Conv2d(narrow, wide, 1)

        def forward(self, x: Any) -> Any:
            scale = self.up(nn.functional.silu(self.down(self.pool(x))))
            return x * lib.sigmoid(scale)

    class Block(nn.Module):
        def __init__(self, wide: int, wanted: int, kernel: int, stride: int, times: int) -> None:
            super().__init__()
            hidden = wide * times
            layers = [conv_norm(lib, wide, hidden, 1, act=nn.SiLU)] if times > 1 else []
            layers += [
                conv_norm(lib, hidden, hidden, kernel, stride, groups=hidden, act=nn.SiLU),
                Excite(hidden, max(1, wide // 4)),
                conv_norm(lib, hidden, wanted, 1),
            ]
            self.layers = nn.Sequential(*layers)
            self.residual = stride == 1 and wide == wanted

        def forward(self, x: Any) -> Any:
            return x + self.layers(x) if self.residual else self.layers(x)

    layers, wide = [conv_norm(lib, 3, 32, 3, 2, act=nn.SiLU)], 32
    stages = (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3)
    later = (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)
    for times, wanted, count, stride, kernel in (*stages, *later):
        for i in range(count):
            layers.append(Block(wide, wanted, kernel, 1 if i else stride, times))
            wide = wanted
    layers += [conv_norm(lib, wide, 1280, 1, act=nn.SiLU), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(1280, 1000)), [normal(batch, 3, 224, 224)]


def unet(lib: Any, batch: int, width: int = 32, side: int = 128) -> Any:
    """Four times down and up again, with what was there on the way down beside it."""
    nn = lib.nn

    def two(wide: int, wanted: int) -> Any:
        first = conv_norm(lib, wide, wanted, 3, act=nn.ReLU)
        return nn.Sequential(first, conv_norm(lib, wanted, wanted, 3, act=nn.ReLU))

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = [width * 2**i for i in range(5)]
            self.first = two(3, width)
            self.pool = nn.MaxPool2d(2)
            self.down = nn.ModuleList([two(a, b) for a, b in pairwise(widths)])
            self.grow = nn.ModuleList(
                [nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in pairwise(widths)][::-1]
            )
            self.up = nn.ModuleList([two(2 * a, a) for a in widths[:-1]][::-1])
            self.out = nn.Conv2d(width, 2, 1)

        def forward(self, x: Any) -> Any:
            x = self.first(x)
            seen = []
            for down in self.down:
                seen.append(x)
                x = down(self.pool(x))
            for grow, up in zip(self.grow, self.up):
                x = up(lib.cat((seen.pop(), grow(x)), dim=1))
            return self.out(x)

    return UNet(), [normal(batch, 3, side, side)]


def resnet(lib: Any, batch: int, counts: tuple[int, ...], bottleneck: bool) -> Any:
    """A ResNet on 224x224; a bottleneck has three convolutions and is four times as wide outside."""
    nn, F = lib.nn, lib.nn.functional
    factor = 4 if bottleneck else 1

    class Block(nn.Module):
        def __init__(self, wide: int, inner: int, stride: int) -> None:
            super().__init__()
            wanted = inner * factor
            if bottleneck:
                layers = [
                    conv_norm(lib, wide, inner, 1, act=nn.ReLU),
                    conv_norm(lib, inner, inner, 3, stride, act=nn.ReLU),
                    conv_norm(lib, inner, wanted, 1),
                ]
            else:
                layers = [
                    conv_norm(lib, wide, inner, 3, stride, act=nn.ReLU),
                    conv_norm(lib, inner, inner, 3),
                ]
            self.layers = nn.Sequential(*layers)
            same = stride == 1 and wide == wanted
            self.shortcut = nn.Identity() if same else conv_norm(lib, wide, wanted, 1, stride)

        def forward(self, x: Any) -> Any:
            return F.relu(self.layers(x) + self.shortcut(x))

    layers = [conv_norm(lib, 3, 64, 7, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1)]
    wide = 64
    for stage, count in enumerate(counts):
        inner = 64 * 2**stage
        for i in range(count):
            layers.append(Block(wide, inner, 2 if stage and not i else 1))
            wide = inner * factor
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(wide, 1000)]
    return nn.Sequential(*layers), [normal(batch, 3, 224, 224)]


def resnet18(lib: Any, batch: int) -> Any:
    """ResNet-18."""
    return resnet(lib, batch, (2, 2, 2, 2), bottleneck=False)


def resnet50(lib: Any, batch: int) -> Any:
    """ResNet-50."""
    return resnet(lib, batch, (3, 4, 6, 3), bottleneck=True)


NETWORKS: dict[str, Maker] = {
    make.__name__: make
    for make in (
        mlp,
        lstm,
        bert_small,
        bert_base,
        gpt2_prefill,
        gpt2_decode,
        vit_tiny,
        tcn,
        mobilenet_v2,
        efficientnet_b0,
        unet,
        resnet18,
        resnet50,
    )
}


def network(name: str, lib: Any, batch: int) -> Network:
    """A network by its name, with the weights that belong to it.

    >>> import weft
    >>> made = network("mlp", weft, batch=2)
    >>> tuple(made.model(*made.inputs).shape)
    (2, 10)
    """
    model, arrays = NETWORKS[name](lib, batch)
    state = model.state_dict()
    for key, value in state.items():
        if value.is_floating_point():
            state[key] = lib.tensor(drawn(key, tuple(value.shape)))
    model.load_state_dict(state)
    return Network(model.eval(), [lib.tensor(array) for array in arrays], arrays)
