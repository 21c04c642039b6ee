"""Training steps of whole networks, answers of trained ones, optimisers, and peak memory.

A step is ``zero_grad``, forward, loss, backward and ``step``. The networks are in ``models.py``.
The learning rate is so small that the numbers stay what they are however long a row is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from bench.fresh import in_fresh_process
from bench.harness import MEANS, Mean, Row, Setup, Value, register
from bench.memory import growth
from bench.models import Setting, build

STILL = 1e-8  # a learning rate
PLAIN = ("eager", "fused")
IMAGES = ("eager", "fused", "channels_last")  # the last with a fused optimiser, too
#: Group, task and how many times faster than PyTorch a training step has to be.
STEPS: tuple[tuple[str, str, float], ...] = (
    ("small", "linear_regression", 5.0),
    ("small", "mlp", 5.0),
    ("small", "rnn", 5.0),
    ("small", "reinforce", 5.0),
    ("small", "dqn", 4.0),
    ("small", "tree_lstm", 5.0),
    ("small", "lenet", 2.0),
    ("small", "gcn", 1.5),
    ("large", "wide_mlp", 1.1),
    ("large", "resnet18", 1.1),
    ("large", "lstm_tagger", 1.1),
    ("large", "gru_seq2seq", 1.1),
    ("large", "transformer", 1.1),
    ("large", "gpt", 1.1),
)
#: The same for the answer to one input.
ANSWERS = (("mlp", 6.0), ("resnet18", 1.2), ("lstm_tagger", 1.2))
OPTIMIZERS: dict[str, tuple[str, dict[str, float]]] = {
    "sgd_momentum": ("SGD", {"momentum": 0.9}),
    "adam": ("Adam", {}),
    "adamw": ("AdamW", {}),
}


def modes_of(task: str) -> tuple[str, ...]:
    """The settings of PyTorch that are tried."""
    return IMAGES if task in ("lenet", "resnet18") else PLAIN


def options_of(mode: str) -> dict[str, Any]:
    """A mode of a row as arguments of :class:`Setting`.

    >>> options_of("eager"), options_of("channels_last")
    ({}, {'fused': True, 'channels_last': True})
    """
    return {} if mode == "eager" else {"fused": True, "channels_last": mode == "channels_last"}


def step(task: str) -> Setup:
    """A training step."""

    def setup(lib: Any, mode: str) -> Callable[[], object]:
        return build(task, Setting(lib, lr=STILL, **options_of(mode))).step

    return setup


def answer(task: str) -> Setup:
    """What the network says to a single input, without a graph."""

    def setup(lib: Any, mode: str) -> Callable[[], object]:
        made = build(task, Setting(lib, **options_of(mode)), batch=1)
        made.model.eval()

        def forward() -> object:
            with lib.no_grad():
                return made.forward()

        return forward

    return setup


def update(name: str) -> Setup:
    """A step of an optimiser over 10 million parameters in 100 tensors."""
    kind, options = OPTIMIZERS[name]

    def setup(lib: Any, mode: str) -> Callable[[], object]:
        parameters = [lib.full((250, 400), 0.5, requires_grad=True) for _ in range(100)]
        for p in parameters:
            p.grad = lib.full_like(p, 0.1)
        chosen = {} if mode == "eager" else {mode: True}
        return getattr(lib.optim, kind)(parameters, lr=STILL, **options, **chosen).step

    return setup


def peak(task: str) -> Setup:
    """Bytes at the peak of a training step; measured once, since they hardly change."""

    def setup(lib: Any, mode: str) -> Value:
        return Value(cache(partial(in_fresh_process, growth, lib.__name__, task, options_of(mode))))

    return setup


def declare(
    group: str,
    name: str,
    setup: Setup,
    modes: tuple[str, ...],
    factor: float,
    threads: tuple[int, ...] = (1, 2),
    unit: str = "s",
) -> None:
    """A row against PyTorch's best mode, which it has to beat by a factor."""
    register(
        Row(
            "train",
            group,
            name,
            {"torch": setup},
            modes={"torch": modes},
            threads=threads,
            budget={"torch": factor},
            unit=unit,
        )
    )


def _declare() -> None:
    for group, task, factor in STEPS:
        declare(group, task, step(task), modes_of(task), factor)
    for task, factor in ANSWERS:
        modes = tuple(mode for mode in modes_of(task) if mode != "fused")
        declare("inference", task, answer(task), modes, factor)
    for name in OPTIMIZERS:
        declare("optimizer", name, update(name), ("eager", "foreach", "fused"), 1.0)
    for _, task, _ in STEPS:
        declare("memory", task, peak(task), modes_of(task), 1.0, (2,), "B")
    MEANS["train/small"] = Mean("torch", None)
    MEANS["train/large"] = Mean("torch", 1.3)


_declare()
