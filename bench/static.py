"""Answers of networks as static graphs: ``jit.optimize_for_inference`` against PyTorch's best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.harness import Row, Setup, register
from bench.models import Setting, build

#: Task, arguments, and how many times faster than PyTorch's best a call has to be.
CALLS: tuple[tuple[str, str, dict[str, int], float], ...] = (
    ("mlp", "", {}, 6.0),
    ("resnet18", "", {}, 1.3),
)
#: How PyTorch answers: eager (also with channels last), and a trace, frozen and optimised.
MODES = ("eager", "channels_last", "frozen", "frozen_channels_last")


def call(task: str, options: dict[str, int]) -> Setup:
    """A call of the network on one input, without a graph of gradients."""

    def setup(lib: Any, mode: str) -> Callable[[], object]:
        made = build(task, Setting(lib, channels_last="channels_last" in mode), batch=1, **options)
        model, given = made.model.eval(), made.inputs[0]
        if mode == "compile":
            model = lib.compile(model)
        elif lib.__name__ != "torch" or mode.startswith("frozen"):
            with lib.no_grad():
                model = lib.jit.optimize_for_inference(lib.jit.trace(model, given))

        def forward() -> object:
            with lib.no_grad():
                return model(given)

        return forward

    return setup


def _declare() -> None:
    for task, size, options, factor in CALLS:
        modes = MODES if task == "resnet18" else ("eager", "frozen")
        register(
            Row(
                "static",
                "inference",
                task,
                {"torch": call(task, options)},
                sizes={size: {}},
                modes={"torch": modes},
                threads=(1, 2),
                budget={"torch": factor},
            )
        )


_declare()
