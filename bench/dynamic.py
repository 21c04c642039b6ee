"""``python -m bench.dynamic``: programs whose sizes differ from call to call, eager and compiled.

Training steps over 200 batch sizes or lengths, each five times in random order, and a decoder whose
cache of keys and values grows by one position a call, as an argument and as an attribute. Everything
counts: captures, passes, machine code. weft (eager, compiled) and PyTorch (eager; with ``--torch-compile``
also ``torch.compile(dynamic=True)``, which needs a C++ compiler and takes minutes) run in this process on one
thread and take turns of a few calls; CPU time. Results: ``bench/results/dynamic.md``.
"""

from __future__ import annotations

import argparse
import random
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.models import Setting, build
from bench.report import amount, machine, three_digits

RESULTS = Path(__file__).resolve().parent / "results"
SIZES, TIMES, TURN = 200, 5, 20
POSITIONS, FIRST = 512, 5  # decoded tokens, and from which on they count
WAYS = ("weft eager", "weft compiled", "PyTorch eager", "PyTorch compiled")

Step = Callable[[Any], object]


@dataclass
class Row:
    """What was measured of one program: seconds of CPU time in all calls, by way."""

    name: str
    calls: int
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(WAYS, 0.0))
    note: str = ""  # what a compiled function says of itself

    def ratio(self, way: str) -> float:
        """The time of a way over that of the compiled one: above 1, compiled is faster."""
        return self.seconds[way] / self.seconds["weft compiled"]


# ---- training steps ----------------------------------------------------------------------------


def mlp(lib: Any) -> tuple[Step, Callable[[int], Any]]:
    """A small perceptron; the batch varies."""
    task = build("mlp", Setting(lib, lr=1e-9))
    return _classifier(lib, task), lambda n: _examples(lib, n, (10,), 3)


def transformer(lib: Any) -> tuple[Step, Callable[[int], Any]]:
    """Two encoder layers; the length varies."""
    task = build("transformer", Setting(lib, lr=1e-9), batch=4, width=128)
    return _classifier(lib, task), lambda n: _examples(lib, 4, (n, 128), 10)


def _classifier(lib: Any, task: Any) -> Step:
    loss_of = lib.nn.CrossEntropyLoss()

    def step(data: Any) -> Any:
        x, y = data
        task.optimizer.zero_grad()
        loss = loss_of(task.model(x), y)
        loss.backward()
        task.optimizer.step()
        return loss

    return step


def gpt(lib: Any) -> tuple[Step, Callable[[int], Any]]:
    """A causal language model; the length varies."""
    task = build("gpt", Setting(lib, lr=1e-9), batch=4, length=SIZES + 1, layers=2)

    def step(text: Any) -> Any:
        task.optimizer.zero_grad()
        y = task.model(text[:, :-1])
        loss = lib.nn.functional.cross_entropy(y.flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        task.optimizer.step()
        return loss

    def data(n: int) -> Any:
        rng = np.random.default_rng(n)
        return lib.tensor(rng.integers(0, 256, (4, n + 1)))

    return step, data


def _examples(lib: Any, batch: int, shape: tuple[int, ...], classes: int) -> Any:
    rng = np.random.default_rng(batch)
    x = rng.standard_normal((batch, *shape)).astype("float32")
    return lib.tensor(x), lib.tensor(rng.integers(0, classes, batch))


# ---- decoding ----------------------------------------------------------------------------------


def decoder(lib: Any, in_self: bool, width: int = 128, layers: int = 2) -> tuple[Any, Step]:
    """A step of decoding with a cache that grows: given and returned, or kept in the module."""
    nn, F = lib.nn, lib.nn.functional

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )

        def forward(self, x: Any, keys: Any, values: Any) -> Any:
            q, k, v = (
                y.view(1, 1, 4, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, -1)
            )
            keys, values = lib.cat([keys, k], 2), lib.cat([values, v], 2)
            y = F.scaled_dot_product_attention(q, keys, values)
            x = x + self.out(y.transpose(1, 2).reshape(1, 1, width))
            return x + self.mlp(self.norm2(x)), keys, values

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(Layer() for _ in range(layers))
            self.cache: list[Any] = []

        def forward(self, x: Any, cache: Any = None) -> Any:
            cache = self.cache if cache is None else cache
            new = []
            for layer, (keys, values) in zip(self.layers, cache):
                x, keys, values = layer(x, keys, values)
                new.append((keys, values))
            if in_self:
                self.cache = new
                return x
            return x, new

    lib.manual_seed(0)
    model = Decoder().eval()
    empty = lib.zeros(1, 4, 0, width // 4)
    state = {"x": lib.ones(1, 1, width), "cache": [(empty, empty)] * layers}
    model.cache = state["cache"]

    def token(call: Any) -> None:
        with lib.no_grad():
            if in_self:
                state["x"] = call(state["x"])
            else:
                state["x"], state["cache"] = call(state["x"], state["cache"])

    return model, token


# ---- measuring ---------------------------------------------------------------------------------


def in_turns(row: Row, work: dict[str, Iterable[Callable[[], object]]], skip: int = 0) -> None:
    """Run the calls of all ways, a few of each at a time; the first ``skip`` do not count."""
    running = {way: iter(calls) for way, calls in work.items()}
    done = dict.fromkeys(work, 0)
    while running:
        for way in list(running):
            for _ in range(TURN):
                call = next(running[way], None)
                if call is None:
                    del running[way]
                    break
                start = time.process_time()
                call()
                if done[way] >= skip:
                    row.seconds[way] += time.process_time() - start
                done[way] += 1


def measure_steps(
    name: str, make: Callable[[Any], Any], libs: dict[str, Any], seed: int = 0
) -> Row:
    """Training steps over many sizes."""
    sizes = [n + 1 for n in range(SIZES)] * TIMES
    random.Random(seed).shuffle(sizes)
    row = Row(name, len(sizes))
    work: dict[str, Any] = {}
    compiled: Any = None
    for way, lib in libs.items():
        step, data = make(lib)
        if way == "weft compiled":
            step = compiled = lib.compile(step)
        elif way == "PyTorch compiled":
            step = lib.compile(step, dynamic=True)
        given = {n: data(n) for n in set(sizes)}
        work[way] = [lambda step=step, x=given[n]: step(x) for n in sizes]
    in_turns(row, work)
    row.note = "; ".join(compiled.reasons)[:120]
    return row


def measure_decoding(name: str, in_self: bool, libs: dict[str, Any]) -> Row:
    """Tokens one by one, each with a cache that is longer than the last."""
    row = Row(name, POSITIONS - FIRST)
    work: dict[str, Any] = {}
    compiled: Any = None
    for way, lib in libs.items():
        model, token = decoder(lib, in_self)
        call = model
        if way == "weft compiled":
            call = compiled = lib.compile(model)
        elif way == "PyTorch compiled":
            call = lib.compile(model, dynamic=True)
        work[way] = [lambda token=token, call=call: token(call)] * POSITIONS
    in_turns(row, work, skip=FIRST)
    row.note = "; ".join(getattr(compiled, "reasons", ()))[:120]
    return row


ROWS: dict[str, Callable[[dict[str, Any]], Row]] = {
    "mlp": lambda libs: measure_steps("MLP, 200 batch sizes", mlp, libs),
    "transformer": lambda libs: measure_steps("encoder, 200 lengths", transformer, libs),
    "gpt": lambda libs: measure_steps("GPT, 200 lengths", gpt, libs),
    "decode": lambda libs: measure_decoding("decoding, cache as argument", False, libs),
    "decode_self": lambda libs: measure_decoding("decoding, cache in self", True, libs),
}


def table(rows: list[Row]) -> str:
    """The rows as Markdown: milliseconds a call, and ratios to the compiled calls."""
    head = (
        "| program | "
        + " | ".join(WAYS)
        + " | eager / compiled | PyTorch / compiled | PyTorch compiled / compiled | compile says |"
    )
    lines = [head, "| --- " * (len(WAYS) + 5) + "|"]
    for row in rows:
        times = [amount(row.seconds[way] / row.calls) if row.seconds[way] else "" for way in WAYS]
        ratios = [
            three_digits(row.ratio(way)) if row.seconds[way] else ""
            for way in (WAYS[0], WAYS[2], WAYS[3])
        ]
        lines.append(f"| {' | '.join([row.name, *times, *ratios, row.note])} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print and store."""
    p = argparse.ArgumentParser(prog="bench.dynamic", description=__doc__)
    p.add_argument("rows", nargs="*", help=f"which of {', '.join(ROWS)} (all, which are stored)")
    p.add_argument("--torch-compile", action="store_true", help="torch.compile(dynamic=True) too")
    args = p.parse_args()
    import weft

    libs: dict[str, Any] = {"weft eager": weft, "weft compiled": weft}
    try:
        import torch

        libs["PyTorch eager"] = torch
        if args.torch_compile:
            libs["PyTorch compiled"] = torch
    except ImportError:
        print("PyTorch is not installed: its column stays empty")
    for lib in set(libs.values()):
        lib.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows = []
    for name in args.rows or ROWS:
        rows.append(ROWS[name](libs))
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    text = table(rows)
    if not args.rows:
        facts = machine({})
        page = f"""# Sizes that differ from call to call

{time.strftime("%Y-%m-%d")}, {facts["cpu"]}, one thread, CPU time of all calls, captures included;
`python -m bench.dynamic`.

Training steps take {SIZES} sizes, each {TIMES} times in random order. Decoding takes positions
{FIRST + 1} to {POSITIONS}, every length new.

{text}
"""
        (RESULTS / "dynamic.md").write_text(page)
    print(text)


if __name__ == "__main__":
    main()
