"""The networks of ``models.py`` and their training steps in JAX, each compiled as a whole by ``jax.jit``.

``training_step("gpt", Drawn())`` gives a function that takes one step and returns its loss. Weights and
data are drawn as in ``models.py``. ``python -m bench.jax_models`` compares the first losses with weft's.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bench.models import Setting

Array = Any
Weights = dict[str, Array]
Shapes = dict[str, tuple[int, ...]]
#: Weights, gradients and what is kept from step to step -> new weights, and what is kept.
Update = Callable[[Weights, Weights, Any], tuple[Weights, Any]]


@dataclass
class Drawn(Setting):
    """How JAX is used; draws the numbers that :class:`Setting` draws.

    With ``channels_last`` images are NHWC, not NCHW.
    """

    lib: Any = jax
    donate: bool = True  # weights and state are given away to be written over
    unroll: int = 1  # steps of a recurrent network that become one turn of the compiled loop

    def tensor(self, array: np.ndarray) -> Array:
        """The array for JAX, in 32 bits."""
        return jnp.asarray(array.astype("float32" if array.dtype.kind == "f" else "int32"))

    def normal(self, *shape: int) -> Array:
        """Normal numbers; four dimensions are images."""
        x = self.random.standard_normal(shape)
        return self.tensor(x.transpose(0, 2, 3, 1) if self.images_last(shape) else x)

    def images_last(self, shape: Sequence[int]) -> bool:
        """Whether a shape is one of images (or filters) whose channels are to be last."""
        return self.channels_last and len(shape) == 4

    def weights(self, shapes: Shapes) -> Weights:
        """Weights of such shapes; filters for images with channels last are HWIO, not OIHW."""
        drawn = {name: self.weight(name, shape) for name, shape in shapes.items()}
        return {
            name: self.tensor(w.transpose(2, 3, 1, 0) if self.images_last(w.shape) else w)
            for name, w in drawn.items()
        }


@dataclass(frozen=True)
class Twin:
    """A network's weights, its data, the loss that both give, and the optimiser."""

    weights: Weights
    data: tuple[Array, ...]
    loss: Callable[..., Array]  # of weights and data; with buffers: of weights, buffers and data
    optimizer: tuple[Callable[[Weights], Any], Update]
    buffers: Weights | None = None  # if there are any, the loss returns itself and new ones


# ------------------------------------------------------------------------------------- optimisers


def sgd(
    lr: float, momentum: float = 0.0, weight_decay: float = 0.0
) -> tuple[Callable[[Weights], Any], Update]:
    """Steps against the gradient, with the momentum of earlier ones."""

    def begin(weights: Weights) -> Any:
        return jax.tree.map(jnp.zeros_like, weights) if momentum else ()

    def update(weights: Weights, grads: Weights, speed: Any) -> tuple[Weights, Any]:
        if weight_decay:
            grads = jax.tree.map(lambda g, w: g + weight_decay * w, grads, weights)
        if momentum:
            grads = speed = jax.tree.map(lambda v, g: momentum * v + g, speed, grads)
        return jax.tree.map(lambda w, g: w - lr * g, weights, grads), speed

    return begin, update


def adam(lr: float, weight_decay: float = 0.0) -> tuple[Callable[[Weights], Any], Update]:
    """Adam; with weight decay, AdamW."""
    beta1, beta2, eps = 0.9, 0.999, 1e-8

    def begin(weights: Weights) -> Any:
        zeros = jax.tree.map(jnp.zeros_like, weights)
        return jnp.zeros((), jnp.float32), zeros, jax.tree.map(jnp.copy, zeros)

    def update(weights: Weights, grads: Weights, state: Any) -> tuple[Weights, Any]:
        t, m, v = state
        t = t + 1
        m = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, m, grads)
        v = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, v, grads)
        size, root = lr / (1 - beta1**t), 1 / jnp.sqrt(1 - beta2**t)

        def moved(w: Array, m: Array, v: Array) -> Array:
            return (1 - lr * weight_decay) * w - size * m / (jnp.sqrt(v) * root + eps)

        return jax.tree.map(moved, weights, m, v), (t, m, v)

    return begin, update


# ----------------------------------------------------------------------------------------- layers


def linear_shapes(name: str, wide: int, narrow: int) -> Shapes:
    """The weights of :func:`linear`."""
    return {f"{name}.weight": (narrow, wide), f"{name}.bias": (narrow,)}


def linear(w: Weights, name: str, x: Array) -> Array:
    """A linear layer."""
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def cross_entropy(scores: Array, wanted: Array) -> Array:
    """The mean over all rows; scores of more than two dimensions are rows of rows."""
    logs = jax.nn.log_softmax(scores.reshape(-1, scores.shape[-1]))
    return -jnp.take_along_axis(logs, wanted[:, None], axis=1).mean()


def layer_norm(w: Weights, name: str, x: Array) -> Array:
    """Rows with mean 0 and variance 1, scaled and shifted."""
    mean = x.mean(-1, keepdims=True)
    scale = lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    return (x - mean) * scale * w[f"{name}.weight"] + w[f"{name}.bias"]


def convolution(s: Drawn) -> Callable[..., Array]:
    """``conv(x, filters, stride, padding)`` in the setting's layout."""
    layout = ("NHWC", "HWIO", "NHWC") if s.channels_last else ("NCHW", "OIHW", "NCHW")

    def conv(x: Array, filters: Array, stride: int = 1, padding: int = 0) -> Array:
        pads = ((padding, padding), (padding, padding))
        return lax.conv_general_dilated(
            x, filters, (stride, stride), pads, dimension_numbers=layout
        )

    return conv


def attention(qkv: Array, causal: bool) -> Array:
    """Attention with four heads; queries, keys and values lie side by side in the last dimension."""
    batch, length, width = qkv.shape[0], qkv.shape[1], qkv.shape[2] // 3
    q, k, v = (y.reshape(batch, length, 4, width // 4) for y in jnp.split(qkv, 3, axis=-1))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (width // 4) ** -0.5
    if causal:
        scores = jnp.where(jnp.tri(length, dtype=bool), scores, -jnp.inf)
    y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    return y.reshape(batch, length, width)


# -------------------------------------------------------------------------------- small networks


def linear_regression(s: Drawn) -> Twin:
    """A line through points."""
    weights = s.weights({"weight": (1, 1), "bias": (1,)})
    x = s.normal(100, 1)
    y = 3 * x + 2 + 0.1 * s.normal(100, 1)

    def loss(w: Weights, x: Array, y: Array) -> Array:
        return ((x @ w["weight"].T + w["bias"] - y) ** 2).mean()

    return Twin(weights, (x, y), loss, sgd(s.lr or 0.1))


def perceptron(s: Drawn, sizes: Sequence[int]) -> tuple[Weights, Callable[[Weights, Array], Array]]:
    """The weights of linear layers with ReLU between them, and what they compute."""
    names = [str(2 * i) for i in range(len(sizes) - 1)]
    shapes: Shapes = {}
    for name, (wide, narrow) in zip(names, pairwise(sizes)):
        shapes |= linear_shapes(name, wide, narrow)

    def forward(w: Weights, x: Array) -> Array:
        for name in names[:-1]:
            x = jax.nn.relu(linear(w, name, x))
        return linear(w, names[-1], x)

    return s.weights(shapes), forward


def mlp(s: Drawn, sizes: Sequence[int] = (10, 50, 3), batch: int = 32) -> Twin:
    """Linear layers with ReLU between them."""
    weights, forward = perceptron(s, sizes)
    x, y = s.normal(batch, sizes[0]), s.below(sizes[-1], batch)

    def loss(w: Weights, x: Array, y: Array) -> Array:
        return cross_entropy(forward(w, x), y)

    return Twin(weights, (x, y), loss, adam(s.lr or 1e-3))


def wide_mlp(s: Drawn) -> Twin:
    """The same, wide."""
    return mlp(s, (784, 1024, 1024, 10), 128)


def rnn(s: Drawn) -> Twin:
    """One number from the last state of two recurrent layers."""
    shapes: Shapes = {}
    for layer, wide in enumerate((10, 20)):
        shapes |= recurrent_shapes(f"rnn.{{}}_l{layer}", wide, 20, 20)
    weights = s.weights({**shapes, **linear_shapes("out", 20, 1)})
    x, y = s.normal(32, 10, 10), s.normal(32, 1)

    def loss(w: Weights, x: Array, y: Array) -> Array:
        states = x.swapaxes(0, 1)
        for layer in range(2):
            into, back, bias, other = (w[f"rnn.{part}_l{layer}"] for part in PARTS)
            given = states @ into.T + (bias + other)

            def turn(h: Array, x: Array, back: Array = back) -> tuple[Array, Array]:
                h = jnp.tanh(x + h @ back.T)
                return h, h

            start = jnp.zeros((32, 20), jnp.float32)
            last, states = lax.scan(turn, start, given, unroll=s.unroll)
        return ((linear(w, "out", last) - y) ** 2).mean()

    return Twin(weights, (x, y), loss, adam(s.lr or 1e-3))


PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def recurrent_shapes(name: str, wide: int, hidden: int, gates: int) -> Shapes:
    """The weights of a recurrent layer; its name has a place for each of ``PARTS``."""
    shapes = ((gates, wide), (gates, hidden), (gates,), (gates,))
    return {name.format(part): shape for part, shape in zip(PARTS, shapes)}


def dqn(s: Drawn) -> Twin:
    """An update of Q values towards what the target network expects."""
    (q, forward), (target, _) = (perceptron(s, (4, 128, 128, 2)) for _ in range(2))
    state, after = s.normal(64, 4), s.normal(64, 4)
    action, reward = s.below(2, 64, 1), s.normal(64)
    goes_on = 1.0 - (s.below(10, 64) == 0).astype(jnp.float32)

    def loss(w: Weights, target: Weights, *moment: Array) -> Array:
        state, after, action, reward, goes_on = moment
        value = jnp.take_along_axis(forward(w, state), action, axis=1)[:, 0]
        off = jnp.abs(value - (reward + 0.99 * goes_on * forward(target, after).max(1)))
        return jnp.where(off < 1, 0.5 * off * off, off - 0.5).mean()

    data = (target, state, after, action, reward, goes_on)
    return Twin(q, data, loss, adam(s.lr or 1e-3))


# ----------------------------------------------------------------------------------------- images


def lenet(s: Drawn) -> Twin:
    """Two convolutions and three linear layers on 1x28x28."""
    shapes: Shapes = {"0.weight": (6, 1, 5, 5), "0.bias": (6,)}
    shapes |= {"3.weight": (16, 6, 5, 5), "3.bias": (16,)}
    for name, wide, narrow in (("7", 400, 120), ("9", 120, 84), ("11", 84, 10)):
        shapes |= linear_shapes(name, wide, narrow)
    weights = s.weights(shapes)
    x, y = s.normal(64, 1, 28, 28), s.below(10, 64)
    conv = convolution(s)
    window = (1, 2, 2, 1) if s.channels_last else (1, 1, 2, 2)

    def layer(w: Weights, name: str, x: Array, padding: int) -> Array:
        bias = w[f"{name}.bias"]
        x = conv(x, w[f"{name}.weight"], 1, padding)
        x = jax.nn.relu(x + (bias if s.channels_last else bias[:, None, None]))
        return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")

    def loss(w: Weights, x: Array, y: Array) -> Array:
        x = layer(w, "3", layer(w, "0", x, 2), 0)
        if s.channels_last:
            x = x.transpose(0, 3, 1, 2)
        x = jax.nn.relu(linear(w, "7", x.reshape(64, 400)))
        return cross_entropy(linear(w, "11", jax.nn.relu(linear(w, "9", x))), y)

    return Twin(weights, (x, y), loss, sgd(s.lr or 0.02, momentum=0.9))


def resnet18(s: Drawn) -> Twin:
    """ResNet-18 as for CIFAR: a 3x3 convolution with stride 1 and no pooling at the start."""
    blocks = [("3", 64, 64, 1), ("4", 64, 64, 1)]
    for i, channels in enumerate((64, 128, 256)):
        blocks.append((str(5 + 2 * i), channels, 2 * channels, 2))
        blocks.append((str(6 + 2 * i), 2 * channels, 2 * channels, 1))
    shapes: Shapes = {}

    def layer_shapes(conv: str, norm: str, channels: int, wanted: int, side: int) -> None:
        shapes[f"{conv}.weight"] = (wanted, channels, side, side)
        shapes[f"{norm}.weight"] = shapes[f"{norm}.bias"] = (wanted,)

    layer_shapes("0", "1", 3, 64, 3)
    for name, channels, wanted, stride in blocks:
        layer_shapes(f"{name}.conv1", f"{name}.bn1", channels, wanted, 3)
        layer_shapes(f"{name}.conv2", f"{name}.bn2", wanted, wanted, 3)
        if stride != 1:
            layer_shapes(f"{name}.shortcut.0", f"{name}.shortcut.1", channels, wanted, 1)
    weights = s.weights({**shapes, **linear_shapes("13", 512, 10)})
    buffers: Weights = {}
    for name, shape in shapes.items():
        if name.endswith("bias"):
            buffers[name.replace("bias", "running_mean")] = jnp.zeros(shape, jnp.float32)
            buffers[name.replace("bias", "running_var")] = jnp.ones(shape, jnp.float32)
    x, y = s.normal(32, 3, 32, 32), s.below(10, 32)
    conv = convolution(s)
    over, sides = ((0, 1, 2), (1, 2)) if s.channels_last else ((0, 2, 3), (2, 3))

    def loss(w: Weights, buffers: Weights, x: Array, y: Array) -> tuple[Array, Weights]:
        after: Weights = {}

        def aligned(v: Array) -> Array:
            return v if s.channels_last else v[:, None, None]

        def layer(c: str, norm: str, x: Array, stride: int, padding: int) -> Array:
            x = conv(x, w[f"{c}.weight"], stride, padding)
            mean, variance = x.mean(over), x.var(over)
            count = x.size // mean.size
            seen = {"running_mean": mean, "running_var": variance * (count / (count - 1))}
            for what, now in seen.items():
                key = f"{norm}.{what}"
                after[key] = 0.9 * buffers[key] + 0.1 * lax.stop_gradient(now)
            scale = w[f"{norm}.weight"] * lax.rsqrt(variance + 1e-5)
            return (x - aligned(mean)) * aligned(scale) + aligned(w[f"{norm}.bias"])

        x = jax.nn.relu(layer("0", "1", x, 1, 1))
        for name, _, _, stride in blocks:
            z = jax.nn.relu(layer(f"{name}.conv1", f"{name}.bn1", x, stride, 1))
            z = layer(f"{name}.conv2", f"{name}.bn2", z, 1, 1)
            if stride != 1:
                x = layer(f"{name}.shortcut.0", f"{name}.shortcut.1", x, stride, 0)
            x = jax.nn.relu(z + x)
        return cross_entropy(linear(w, "13", x.mean(sides)), y), after

    optimizer = sgd(s.lr or 0.01, momentum=0.9, weight_decay=5e-4)
    return Twin(weights, (x, y), loss, optimizer, buffers)


# -------------------------------------------------------------------------------------- sequences


def lstm_tagger(s: Drawn) -> Twin:
    """A tag for every word, from the states of an LSTM."""
    shapes: Shapes = {"words.weight": (10_000, 256)}
    shapes |= recurrent_shapes("lstm.{}_l0", 256, 256, 4 * 256)
    weights = s.weights({**shapes, **linear_shapes("out", 256, 20)})
    x, y = s.below(10_000, 32, 50), s.below(20, 32 * 50)

    def loss(w: Weights, x: Array, y: Array) -> Array:
        into, back, bias, other = (w[f"lstm.{part}_l0"] for part in PARTS)
        given = w["words.weight"][x.T] @ into.T + (bias + other)

        def turn(state: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
            h, c = state
            i, f, g, o = jnp.split(x + h @ back.T, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((32, 256), jnp.float32)
        _, states = lax.scan(turn, (zeros, zeros), given, unroll=s.unroll)
        return cross_entropy(linear(w, "out", states.swapaxes(0, 1)), y)

    return Twin(weights, (x, y), loss, adam(s.lr or 3e-3))


def gru_turn(given: Array, h: Array, back: Array, bias: Array) -> Array:
    """The next state of a GRU from what its input gives to the gates."""
    r, z, n = jnp.split(given, 3, axis=1)
    hr, hz, hn = jnp.split(h @ back.T + bias, 3, axis=1)
    z = jax.nn.sigmoid(z + hz)
    return (1 - z) * jnp.tanh(n + jax.nn.sigmoid(r + hr) * hn) + z * h


def gru_seq2seq(s: Drawn) -> Twin:
    """A GRU reads a sentence; a second one writes, and looks at all states of the first."""
    batch, length, words, hidden = 32, 20, 1000, 128
    shapes: Shapes = {"read.weight": (words, hidden), "written.weight": (words, hidden)}
    shapes |= recurrent_shapes("encoder.{}_l0", hidden, hidden, 3 * hidden)
    shapes |= recurrent_shapes("decoder.{}", 2 * hidden, hidden, 3 * hidden)
    weights = s.weights({**shapes, **linear_shapes("out", 2 * hidden, words)})
    source, target = s.below(words, batch, length), s.below(words, batch, length)
    y = s.below(words, batch * length)

    def loss(w: Weights, source: Array, target: Array, y: Array) -> Array:
        into, back, bias, other = (w[f"encoder.{part}_l0"] for part in PARTS)
        given = w["read.weight"][source.T] @ into.T + bias

        def read(h: Array, x: Array) -> tuple[Array, Array]:
            h = gru_turn(x, h, back, other)
            return h, h

        zeros = jnp.zeros((batch, hidden), jnp.float32)
        h, memory = lax.scan(read, zeros, given, unroll=s.unroll)
        memory = memory.swapaxes(0, 1)
        into, again, bias, last = (w[f"decoder.{part}"] for part in PARTS)
        word_part = w["written.weight"][target.T] @ into[:, :hidden].T + bias

        def write(state: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
            h, context = state
            h = gru_turn(x + context @ into[:, hidden:].T, h, again, last)
            weight = jax.nn.softmax(jnp.einsum("blh,bh->bl", memory, h), axis=1)
            context = jnp.einsum("bl,blh->bh", weight, memory)
            return (h, context), jnp.concatenate((h, context), axis=1)

        _, states = lax.scan(write, (h, zeros), word_part, unroll=s.unroll)
        return cross_entropy(linear(w, "out", states.swapaxes(0, 1)), y)

    return Twin(weights, (source, target, y), loss, adam(s.lr or 1e-3))


def transformer(s: Drawn) -> Twin:
    """Two encoder layers of four heads, and a class from the mean of what they give."""
    width = 256
    shapes: Shapes = {}
    names = [f"encoder.layers.{i}" for i in range(2)]
    for n in names:
        shapes[f"{n}.self_attn.in_proj_weight"] = (3 * width, width)
        shapes[f"{n}.self_attn.in_proj_bias"] = (3 * width,)
        shapes |= linear_shapes(f"{n}.self_attn.out_proj", width, width)
        shapes |= linear_shapes(f"{n}.linear1", width, 2 * width)
        shapes |= linear_shapes(f"{n}.linear2", 2 * width, width)
        for norm in ("norm1", "norm2"):
            shapes[f"{n}.{norm}.weight"] = shapes[f"{n}.{norm}.bias"] = (width,)
    weights = s.weights({**shapes, **linear_shapes("out", width, 10)})
    x, y = s.normal(32, 64, width), s.below(10, 32)

    def loss(w: Weights, x: Array, y: Array) -> Array:
        for n in names:
            qkv = x @ w[f"{n}.self_attn.in_proj_weight"].T + w[f"{n}.self_attn.in_proj_bias"]
            mixed = attention(qkv, causal=False)
            x = layer_norm(w, f"{n}.norm1", x + linear(w, f"{n}.self_attn.out_proj", mixed))
            wide = jax.nn.relu(linear(w, f"{n}.linear1", x))
            x = layer_norm(w, f"{n}.norm2", x + linear(w, f"{n}.linear2", wide))
        return cross_entropy(linear(w, "out", x.mean(1)), y)

    return Twin(weights, (x, y), loss, adam(s.lr or 1e-4))


def gpt(s: Drawn) -> Twin:
    """A causal language model with four heads, over bytes."""
    batch, length, width, words = 16, 64, 128, 256
    shapes: Shapes = {"words.weight": (words, width), "places.weight": (length, width)}
    names = [f"blocks.{i}" for i in range(4)]
    for n in names:
        for norm in ("norm1", "norm2"):
            shapes[f"{n}.{norm}.weight"] = shapes[f"{n}.{norm}.bias"] = (width,)
        shapes |= linear_shapes(f"{n}.qkv", width, 3 * width)
        shapes |= linear_shapes(f"{n}.project", width, width)
        shapes |= linear_shapes(f"{n}.mlp.0", width, 4 * width)
        shapes |= linear_shapes(f"{n}.mlp.2", 4 * width, width)
    shapes["norm.weight"] = shapes["norm.bias"] = (width,)
    weights = s.weights({**shapes, "out.weight": (words, width)})
    text = s.below(words, batch, length + 1)

    def loss(w: Weights, text: Array) -> Array:
        x = w["words.weight"][text[:, :-1]] + w["places.weight"]
        for n in names:
            qkv = linear(w, f"{n}.qkv", layer_norm(w, f"{n}.norm1", x))
            mixed = attention(qkv, causal=True)
            x = x + linear(w, f"{n}.project", mixed)
            wide = linear(w, f"{n}.mlp.0", layer_norm(w, f"{n}.norm2", x))
            x = x + linear(w, f"{n}.mlp.2", jax.nn.gelu(wide, approximate=False))
        scores = layer_norm(w, "norm", x) @ w["out.weight"].T
        return cross_entropy(scores, text[:, 1:].reshape(-1))

    return Twin(weights, (text,), loss, adam(s.lr or 3e-4, weight_decay=0.01))


TWINS: dict[str, Callable[[Drawn], Twin]] = {
    twin.__name__: twin
    for twin in (
        linear_regression,
        mlp,
        rnn,
        dqn,
        lenet,
        wide_mlp,
        resnet18,
        lstm_tagger,
        gru_seq2seq,
        transformer,
        gpt,
    )
}


# --------------------------------------------------------------------------------------- training


def training_step(name: str, setting: Drawn) -> Callable[[], Array]:
    """A function that trains the twin for one step and returns the loss, when it is there."""
    twin = TWINS[name](setting)
    begin, update = twin.optimizer
    derive = jax.value_and_grad(twin.loss, has_aux=twin.buffers is not None)

    def whole(weights: Weights, state: Any, buffers: Any, data: tuple[Array, ...]) -> Any:
        if buffers is None:
            loss, grads = derive(weights, *data)
        else:
            (loss, buffers), grads = derive(weights, buffers, *data)
        return loss, *update(weights, grads, state), buffers

    compiled = jax.jit(whole, donate_argnums=(0, 1, 2) if setting.donate else ())
    kept, data = (twin.weights, begin(twin.weights), twin.buffers), twin.data

    def step() -> Array:
        nonlocal kept
        loss, *kept = compiled(*kept, data)
        return loss.block_until_ready()

    return step


def check(steps: int = 4) -> int:
    """Print the first losses in JAX and weft; 1 if any two are not the same to within 1e-3."""
    program = (
        "import json, sys, weft; from bench.models import *\n"
        "tasks = {name: build(name, Setting(weft)) for name in sys.argv[2:]}\n"
        "turns = range(int(sys.argv[1]))\n"
        "print(json.dumps({n: [t.step().item() for _ in turns] for n, t in tasks.items()}))"
    )
    python = [sys.argv[1] if len(sys.argv) > 1 else sys.executable, "-c", program]
    done = subprocess.run([*python, str(steps), *TWINS], check=True, stdout=subprocess.PIPE)
    wanted, bad = json.loads(done.stdout), 0
    for name in TWINS:
        step = training_step(name, Drawn())
        losses = [float(step()) for _ in range(steps)]
        same = all(math.isclose(a, b, rel_tol=1e-3) for a, b in zip(losses, wanted[name]))
        bad += not same
        print(f"{name:<20}{'same' if same else 'DIFFERENT'}  jax {losses}  weft {wanted[name]}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(check())
