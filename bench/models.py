"""Networks and one training step of each, written once for weft and PyTorch.

``build("gpt", Setting(weft))`` gives a :class:`Task`. Weights and data are drawn by NumPy, so every
library starts from the same numbers; sizes are keywords, and their defaults are what ``train.py`` times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

Tree = Any  # a word, or a pair of trees


@dataclass(frozen=True)
class Task:
    """A model, its optimiser, and the losses that one step goes down, one after the other."""

    model: Any
    optimizer: Any
    losses: Sequence[Callable[[], Any]]
    forward: Callable[[], Any]  # the model on its data, without a loss
    inputs: Sequence[Any] = ()  # the data, if the model is simply called with it

    def step(self) -> Any:
        """Train: one update for each loss. Return the last loss."""
        for compute in self.losses:
            self.optimizer.zero_grad()
            loss = compute()
            loss.backward()
            self.optimizer.step()
        return loss


@dataclass
class Setting:
    """A library and how it is used. Draws the same numbers in every library."""

    lib: Any
    dtype: str = "float32"
    lr: float | None = None  # instead of the task's own
    fused: bool | None = None  # the optimiser
    channels_last: bool = False
    drawn: bool = True  # False: the weights that the library itself begins with

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(0)

    def tensor(self, array: np.ndarray) -> Any:
        """The array as a tensor; real numbers in the setting's dtype."""
        return self.lib.tensor(array.astype(self.dtype) if array.dtype.kind == "f" else array)

    def normal(self, *shape: int) -> Any:
        """Normal numbers; four dimensions are images, in the setting's memory format."""
        x = self.tensor(self.random.standard_normal(shape))
        if self.channels_last and len(shape) == 4:
            x = x.contiguous(memory_format=self.lib.channels_last)
        return x

    def below(self, count: int, *shape: int) -> Any:
        """Whole numbers from 0 to ``count`` - 1."""
        return self.tensor(self.random.integers(0, count, shape))

    def weight(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """A parameter's first values, as its name and shape ask for."""
        bound = math.prod(shape[1:]) ** -0.5 if len(shape) > 1 else 0.1
        one = len(shape) == 1 and name.endswith("weight")  # the scale of a norm
        return one + self.random.uniform(-bound, bound, shape)

    def ready(self, model: Any) -> Any:
        """The model in the setting's dtype and memory format, with drawn weights."""
        model = model.to(getattr(self.lib, self.dtype))
        if self.drawn:
            for name, p in model.named_parameters():
                p.data.copy_(self.tensor(self.weight(name, tuple(p.shape))))
        if self.channels_last:
            model = model.to(memory_format=self.lib.channels_last)
        return model

    def task(
        self,
        model: Any,
        optimizer: str,
        losses: Sequence[Callable[[], Any]],
        forward: Callable[[], Any],
        **options: Any,
    ) -> Task:
        """The task with an optimiser by its name and options."""
        if self.lr is not None:
            options["lr"] = self.lr
        if self.fused is not None:
            options["fused"] = self.fused
        make = getattr(self.lib.optim, optimizer)
        return Task(model, make(model.parameters(), **options), losses, forward)

    def supervised(
        self,
        model: Any,
        inputs: Sequence[Any],
        criterion: Callable[[Any, Any], Any],
        wanted: Any,
        optimizer: str,
        **options: Any,
    ) -> Task:
        """The task to bring ``model(*inputs)`` close to ``wanted``."""

        def forward() -> Any:
            return model(*inputs)

        losses = [lambda: criterion(model(*inputs), wanted)]
        task = self.task(model, optimizer, losses, forward, **options)
        return replace(task, inputs=inputs)

    def word_by_word(self, scores: Any, wanted: Any) -> Any:
        """Cross entropy between the scores of every word of every sentence and classes."""
        return self.lib.nn.functional.cross_entropy(scores.flatten(0, 1), wanted)


# -------------------------------------------------------------------------------- small networks


def linear_regression(s: Setting, batch: int = 100) -> Task:
    """A line through points."""
    model = s.ready(s.lib.nn.Linear(1, 1))
    x = s.normal(batch, 1)
    y = 3 * x + 2 + 0.1 * s.normal(batch, 1)
    return s.supervised(model, [x], s.lib.nn.MSELoss(), y, "SGD", lr=0.1)


def mlp(s: Setting, sizes: Sequence[int] = (10, 50, 3), batch: int = 32) -> Task:
    """Linear layers with ReLU between them."""
    nn = s.lib.nn
    layers: list[Any] = []
    for wide, narrow in pairwise(sizes):
        layers += [nn.Linear(wide, narrow), nn.ReLU()]
    model = s.ready(nn.Sequential(*layers[:-1]))
    x, y = s.normal(batch, sizes[0]), s.below(sizes[-1], batch)
    return s.supervised(model, [x], nn.CrossEntropyLoss(), y, "Adam", lr=1e-3)


def wide_mlp(s: Setting, width: int = 1024, batch: int = 128) -> Task:
    """The same, wide."""
    return mlp(s, (784, width, width, 10), batch)


def rnn(s: Setting, batch: int = 32, length: int = 10) -> Task:
    """One number from the last state of ``nn.RNN``."""
    nn = s.lib.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.RNN(10, 20, num_layers=2, batch_first=True)
            self.out = nn.Linear(20, 1)

        def forward(self, x: Any) -> Any:
            states, _ = self.rnn(x)
            return self.out(states[:, -1])

    model = s.ready(Network())
    x, y = s.normal(batch, length, 10), s.normal(batch, 1)
    return s.supervised(model, [x], nn.MSELoss(), y, "Adam", lr=1e-3)


def reinforce(s: Setting, steps: int = 50) -> Task:
    """An update after an episode in which the policy was asked state by state."""
    nn, F = s.lib.nn, s.lib.nn.functional
    policy = s.ready(nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 2)))
    states = s.normal(steps, 1, 4).unbind(0)
    actions = s.below(2, steps, 1, 1).unbind(0)
    returns = s.normal(steps)

    def episode() -> Any:
        pairs = zip(states, actions)
        chosen = [F.log_softmax(policy(state), dim=1).gather(1, a) for state, a in pairs]
        return s.lib.cat(chosen).squeeze(1)

    return s.task(policy, "Adam", [lambda: -(episode() * returns).sum()], episode, lr=1e-2)


def dqn(s: Setting, batch: int = 64) -> Task:
    """An update of Q values towards what the target network expects."""
    nn, F = s.lib.nn, s.lib.nn.functional

    def network() -> Any:
        layers = (nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
        return s.ready(nn.Sequential(*layers))

    q, target = network(), network()
    state, after = s.normal(batch, 4), s.normal(batch, 4)
    action, reward = s.below(2, batch, 1), s.normal(batch)
    goes_on = 1.0 - s.below(10, batch).eq(0).to(reward.dtype)

    def loss() -> Any:
        value = q(state).gather(1, action).squeeze(1)
        with s.lib.no_grad():
            best = target(after).max(1).values
        return F.smooth_l1_loss(value, reward + 0.99 * goes_on * best)

    return s.task(q, "Adam", [loss], lambda: q(state), lr=1e-3)


def tree_lstm(s: Setting, trees: int = 25, hidden: int = 64, words: int = 1000) -> Task:
    """A class for each binary tree of 10 to 30 leaves, one tree and one update at a time."""
    lib, nn, F = s.lib, s.lib.nn, s.lib.nn.functional

    class TreeLSTM(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(words, hidden)
            self.leaf = nn.Linear(hidden, 3 * hidden)
            self.node = nn.Linear(2 * hidden, 5 * hidden)
            self.out = nn.Linear(hidden, 5)

        def state(self, tree: Tree) -> tuple[Any, Any]:
            if not isinstance(tree, tuple):
                i, o, u = self.leaf(self.words(tree)).chunk(3, dim=1)
                c = i.sigmoid() * u.tanh()
            else:
                (h1, c1), (h2, c2) = self.state(tree[0]), self.state(tree[1])
                i, o, u, f1, f2 = self.node(lib.cat((h1, h2), dim=1)).chunk(5, dim=1)
                c = i.sigmoid() * u.tanh() + f1.sigmoid() * c1 + f2.sigmoid() * c2
            return o.sigmoid() * c.tanh(), c

        def forward(self, tree: Tree) -> Any:
            return self.out(self.state(tree)[0])

    def grow(leaves: int) -> Tree:
        if leaves == 1:
            return s.below(words, 1)
        left = int(s.random.integers(1, leaves))
        return grow(left), grow(leaves - left)

    model = s.ready(TreeLSTM())
    forest = [grow(int(leaves)) for leaves in s.random.integers(10, 31, trees)]
    labels = s.below(5, trees, 1).unbind(0)
    losses = [
        lambda tree=tree, label=label: F.cross_entropy(model(tree), label)
        for tree, label in zip(forest, labels)
    ]
    return s.task(model, "Adam", losses, lambda: [model(tree) for tree in forest], lr=1e-3)


def gcn(s: Setting, nodes: int = 2708, edges: int = 10_000, features: int = 1433) -> Task:
    """Two layers over a graph; what neighbours send is added up by ``index_add``."""
    lib, nn, F = s.lib, s.lib.nn, s.lib.nn.functional
    source, target = s.below(nodes, edges), s.below(nodes, edges)
    degree = lib.ones(nodes).index_add(0, target, lib.ones(edges)).to(getattr(lib, s.dtype))
    norm = (degree[source] * degree[target]).rsqrt().unsqueeze(1)
    own = (1 / degree).unsqueeze(1)

    class Layer(nn.Module):
        def __init__(self, wide: int, narrow: int) -> None:
            super().__init__()
            self.linear = nn.Linear(wide, narrow)

        def forward(self, x: Any) -> Any:
            h = self.linear(x)
            return (h * own).index_add(0, target, h.index_select(0, source) * norm)

    model = s.ready(nn.Sequential(Layer(features, 16), nn.ReLU(), Layer(16, 7)))
    x = s.tensor((s.random.random((nodes, features)) < 0.02).astype("float32"))
    labels = s.below(7, nodes)
    known = s.tensor(s.random.permutation(nodes)[:140])

    def criterion(scores: Any, wanted: Any) -> Any:
        return F.cross_entropy(scores[known], wanted)

    return s.supervised(model, [x], criterion, labels[known], "Adam", lr=1e-2)


# ----------------------------------------------------------------------------------------- images


def lenet(s: Setting, batch: int = 64) -> Task:
    """Two convolutions and three linear layers on 1x28x28."""
    nn = s.lib.nn
    model = s.ready(
        nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * 5 * 5, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, 10),
        )
    )
    x, y = s.normal(batch, 1, 28, 28), s.below(10, batch)
    return s.supervised(model, [x], nn.CrossEntropyLoss(), y, "SGD", lr=0.02, momentum=0.9)


def resnet18(s: Setting, batch: int = 32, side: int = 32, width: int = 64) -> Task:
    """ResNet-18 as for CIFAR: a 3x3 convolution with stride 1 and no pooling at the start."""
    nn, F = s.lib.nn, s.lib.nn.functional

    class Block(nn.Module):
        def __init__(self, channels: int, wanted: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(channels, wanted, 3, stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(wanted)
            self.conv2 = nn.Conv2d(wanted, wanted, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(wanted)
            self.shortcut = nn.Sequential()
            if stride != 1:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(channels, wanted, 1, stride, bias=False), nn.BatchNorm2d(wanted)
                )

        def forward(self, x: Any) -> Any:
            y = F.relu(self.bn1(self.conv1(x)))
            return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))

    layers = [nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    layers += [Block(width, width, 1), Block(width, width, 1)]
    for channels in (width, 2 * width, 4 * width):
        layers += [Block(channels, 2 * channels, 2), Block(2 * channels, 2 * channels, 1)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, 10)]
    model = s.ready(nn.Sequential(*layers))
    x, y = s.normal(batch, 3, side, side), s.below(10, batch)
    options = {"lr": 0.01, "momentum": 0.9, "weight_decay": 5e-4}
    return s.supervised(model, [x], F.cross_entropy, y, "SGD", **options)


def vae(s: Setting, batch: int = 128, hidden: int = 400, latent: int = 20) -> Task:
    """A variational autoencoder of 784 pixels, whose noise is given."""
    lib, nn, F = s.lib, s.lib.nn, s.lib.nn.functional

    class Autoencoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Linear(784, hidden)
            self.mean = nn.Linear(hidden, latent)
            self.log_variance = nn.Linear(hidden, latent)
            self.decoder = nn.Sequential(
                nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, 784)
            )

        def forward(self, x: Any, noise: Any) -> tuple[Any, Any, Any]:
            h = F.relu(self.encoder(x))
            mean, log_variance = self.mean(h), self.log_variance(h)
            return self.decoder(mean + noise * (0.5 * log_variance).exp()), mean, log_variance

    model = s.ready(Autoencoder())
    x = s.tensor(s.random.random((batch, 784)) ** 2)
    noise = s.normal(batch, latent)

    def loss() -> Any:
        logits, mean, log_variance = model(x, noise)
        rebuilt = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
        divergence = -0.5 * (1 + log_variance - mean**2 - lib.exp(log_variance)).sum()
        return (rebuilt + divergence) / batch

    return s.task(model, "Adam", [loss], lambda: model(x, noise), lr=1e-3)


# -------------------------------------------------------------------------------------- sequences


def lstm_tagger(
    s: Setting, batch: int = 32, length: int = 50, words: int = 10_000, width: int = 256
) -> Task:
    """A tag for every word, from the states of an LSTM."""
    nn = s.lib.nn
    tags = 20

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(words, width)
            self.lstm = nn.LSTM(width, width, batch_first=True)
            self.out = nn.Linear(width, tags)

        def forward(self, x: Any) -> Any:
            return self.out(self.lstm(self.words(x))[0])

    model = s.ready(Tagger())
    x, y = s.below(words, batch, length), s.below(tags, batch * length)
    return s.supervised(model, [x], s.word_by_word, y, "Adam", lr=3e-3)


def gru_seq2seq(
    s: Setting, batch: int = 32, length: int = 20, words: int = 1000, hidden: int = 128
) -> Task:
    """A GRU reads a sentence; a second one writes, and looks at all states of the first."""
    lib, nn = s.lib, s.lib.nn

    class Translator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.read = nn.Embedding(words, hidden)
            self.written = nn.Embedding(words, hidden)
            self.encoder = nn.GRU(hidden, hidden, batch_first=True)
            self.decoder = nn.GRUCell(2 * hidden, hidden)
            self.out = nn.Linear(2 * hidden, words)

        def forward(self, source: Any, target: Any) -> Any:
            memory, last = self.encoder(self.read(source))
            h, context, states = last[0], lib.zeros_like(last[0]), []
            for word in self.written(target).unbind(1):
                h = self.decoder(lib.cat((word, context), dim=1), h)
                weight = (memory @ h.unsqueeze(2)).softmax(dim=1)
                context = (memory * weight).sum(1)
                states.append(lib.cat((h, context), dim=1))
            return self.out(lib.stack(states, dim=1))

    model = s.ready(Translator())
    source, target = s.below(words, batch, length), s.below(words, batch, length)
    y = s.below(words, batch * length)
    return s.supervised(model, [source, target], s.word_by_word, y, "Adam", lr=1e-3)


def transformer(
    s: Setting, batch: int = 32, length: int = 64, width: int = 256, dropout: float = 0.0
) -> Task:
    """Two encoder layers of four heads, and a class from the mean of what they give."""
    nn = s.lib.nn
    layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=dropout, batch_first=True)

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.TransformerEncoder(layer, 2)
            self.out = nn.Linear(width, 10)

        def forward(self, x: Any) -> Any:
            return self.out(self.encoder(x).mean(1))

    model = s.ready(Classifier())
    x, y = s.normal(batch, length, width), s.below(10, batch)
    return s.supervised(model, [x], nn.CrossEntropyLoss(), y, "Adam", lr=1e-4)


def gpt(
    s: Setting,
    batch: int = 16,
    length: int = 64,
    width: int = 128,
    layers: int = 4,
    words: int = 256,
) -> Task:
    """A causal language model with four heads, over bytes."""
    lib, nn, F = s.lib, s.lib.nn, s.lib.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv = nn.Linear(width, 3 * width)
            self.project = nn.Linear(width, width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )

        def attention(self, x: Any) -> Any:
            heads = [y.unflatten(-1, (4, -1)).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1)]
            y = F.scaled_dot_product_attention(*heads, is_causal=True)
            return self.project(y.transpose(1, 2).flatten(2))

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(words, width)
            self.places = nn.Embedding(length, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm = nn.LayerNorm(width)
            self.out = nn.Linear(width, words, bias=False)

        def forward(self, x: Any) -> Any:
            places = lib.arange(x.shape[1])
            return self.out(self.norm(self.blocks(self.words(x) + self.places(places))))

    model = s.ready(GPT())
    text = s.below(words, batch, length + 1)
    x, y = text[:, :-1], text[:, 1:].flatten()
    return s.supervised(model, [x], s.word_by_word, y, "AdamW", lr=3e-4)


TASKS: dict[str, Callable[..., Task]] = {
    task.__name__: task
    for task in (
        linear_regression,
        mlp,
        rnn,
        reinforce,
        dqn,
        lenet,
        tree_lstm,
        gcn,
        wide_mlp,
        resnet18,
        lstm_tagger,
        gru_seq2seq,
        transformer,
        gpt,
        vae,
    )
}


def build(name: str, setting: Setting, **sizes: Any) -> Task:
    """A task by its name, with sizes other than its own where given.

    >>> import weft
    >>> task = build("linear_regression", Setting(weft), batch=4)
    >>> bool(task.step() > task.step() > task.step())
    True
    """
    return TASKS[name](setting, **sizes)
