"""Random programs, compiled and eager in lock step: equal bit for bit, or refused for the same reason.

The programs are those of compile_programs.py. A case also says which calls get other batch sizes or
read-only memory, when garbage is collected, and whether threads call the function at the same time.

In some cases what is captured follows from weft's own policy, and from how long eager calls are made
to take by its clock: nothing, so long that captures pay in the middle of the calls, or what they take.
"""

from __future__ import annotations

import functools
import gc
import itertools
import random
import re
import sys
import threading
import time
import warnings
from collections import Counter
from typing import Any

from jit.compile_lockstep import CALLS, bits, run
from jit.compile_programs import Program, World

import weft
from weft.jit import cost_model

COUNTS: Counter[str] = Counter()  # for the tally
_ROWS = (1, 2, 3, 5)
_THREADS = 3
_SHIPPED = cost_model.WORTH
_CLOCKS = (1e-9, 0.03, 1e6, None)  # seconds of an eager call; None: what it takes
# What a program that threads can run at the same time may not do: change what it shares, or draw.
_IMPURE = re.compile(
    r"\bb\b|opt|\.data|backward|rand|drop|norm|no_grad\(\): p|bernoulli|uniform_|grad\("
)


def generate(rng: random.Random) -> Any:
    """A program and how it is called."""
    kind = rng.choice(("plain", "rows", "read-only", "both", "threads"))
    calls = rng.choice((CALLS, 2 * CALLS, 3 * CALLS))  # all after the first eight are alike
    turns, sizes = range(calls), rng.sample(_ROWS, 2)
    rows = {
        str(t): rng.choice(sizes) for t in turns if kind in ("rows", "both") and rng.random() < 0.4
    }
    frozen = [t for t in turns if kind in ("read-only", "both") and rng.random() < 0.4]
    return {
        "program": rng.randrange(10**9),
        "calls": calls,
        "rows": rows,
        "read_only": frozen,
        "which": rng.randrange(3),
        "collect": rng.choice((0, 0, 7, 50, 400)),
        "shipped": rng.random() < 0.4,
        "clock": rng.choice(_CLOCKS),
        "threads": kind == "threads",
        "dynamic": rng.choice((None, None, True)),
        "control": rng.choice((0, 0, 1, 2)),
    }


def check(case: Any) -> None:
    """Run it in lock step, or by threads where it is pure."""
    before, control = gc.get_threshold(), case.get("control", 0)
    cost_model.WORTH = _SHIPPED if case["shipped"] else 0.0
    cost_model.clock = time.perf_counter if case["clock"] is None else _clock(case["clock"])
    if case["collect"]:
        gc.set_threshold(case["collect"], 2, 2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if case["threads"]:
                _by_threads(case["program"], control)
            else:
                vary = functools.partial(_vary, case)
                replayed = run(case["program"], vary, case["calls"], case.get("dynamic"), control)
                if case.get("dynamic"):
                    COUNTS["calls for any size"] += case["calls"]
                    COUNTS["replays for any size"] += replayed
                    return
                policy = "by weft's own policy" if case["shipped"] else "at once"
                COUNTS[f"calls with captures {policy}"] += case["calls"]
                COUNTS[f"replays with captures {policy}"] += replayed
    finally:
        gc.set_threshold(*before)
        cost_model.WORTH, cost_model.clock = _SHIPPED, time.perf_counter


def _clock(seconds: float) -> Any:
    """A clock by which every second look comes so much later: eager calls take that long."""
    return itertools.accumulate(itertools.cycle((0.0, seconds))).__next__


def _vary(case: Any, turn: int, args: list[Any]) -> None:
    """Give arguments other rows, or read-only memory."""
    args[3] = min(args[3], 1 + (CALLS - 1) // 5)
    rows = case["rows"].get(str(turn))
    for i in range(2):
        if rows is not None and not (i == 1 and args[1] is args[0]):
            t = args[i].detach().repeat(2, 1)[:rows].clone()
            args[i] = t.requires_grad_(args[i].requires_grad)
    if rows is not None:  # an op whose result nobody uses is left out, with an index out of bounds
        args[2] = args[2] % rows
    if turn in case["read_only"]:
        for i in range(2):
            if case["which"] in (i, 2) and not args[i].requires_grad:
                array = args[i].numpy().copy()
                array.flags.writeable = False
                args[i] = weft.from_numpy(array)


def _by_threads(seed: int, control: int) -> None:
    """Threads that call one compiled function get what one eager call after the other gives."""
    program = Program(seed, control)
    if _IMPURE.search(program.source.split("def f(x", 1)[1]):
        return
    world = World(seed, program.optimizer)
    eager, compiled = program.function(world), weft.compile(program.function(world))
    wrong: list[Any] = []

    def outcome(f: Any, turn: int) -> Any:
        args = turns[turn]
        try:
            return bits(f(*[t.clone() for t in args[:3]], s=args[3]))
        except (RuntimeError, ValueError, IndexError) as e:
            return type(e)

    turns = [program.inputs(turn) for turn in range(CALLS)]
    want = [outcome(eager, turn) for turn in range(CALLS)]

    def work(first: int) -> None:
        for k in range(2 * CALLS):
            turn = (first + k) % CALLS
            if outcome(compiled, turn) != want[turn]:
                wrong.append(turn)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(_THREADS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong, f"calls {wrong} by threads differ from eager ones\n{program.source}"
