"""Random programs, compiled and eager in lock step: equal bit for bit, or refused for the same reason.

The programs are those of compile_programs.py. A case also says which calls get other batch sizes or
read-only memory, when garbage is collected, and whether threads call the function at the same time.
"""

from __future__ import annotations

import gc
import random
import re
import sys
import threading
import warnings
from typing import Any

from compile_lockstep import CALLS, bits, run
from compile_programs import Program, World

import weft
from weft.jit.compile import price

_ROWS = (1, 2, 3, 5)
_THREADS = 3
# What a program that threads can run at the same time may not do: change what it shares, or draw.
_IMPURE = re.compile(
    r"\bb\b|opt|\.data|backward|rand|drop|norm|no_grad\(\): p|bernoulli|uniform_|grad\("
)


def generate(rng: random.Random) -> Any:
    """A program and how it is called."""
    kind = rng.choice(("plain", "rows", "read-only", "both", "threads"))
    turns = range(CALLS)
    rows = {
        str(t): rng.choice(_ROWS) for t in turns if kind in ("rows", "both") and rng.random() < 0.4
    }
    frozen = [t for t in turns if kind in ("read-only", "both") and rng.random() < 0.4]
    return {
        "program": rng.randrange(10**9),
        "rows": rows,
        "read_only": frozen,
        "which": rng.randrange(3),
        "collect": rng.choice((0, 0, 7, 50, 400)),
        "worth": rng.choice((0.0, 0.0, 0.0, 10.0)),
        "threads": kind == "threads",
    }


def check(case: Any) -> None:
    """Run it in lock step, or by threads where it is pure."""
    before, price.WORTH = gc.get_threshold(), case["worth"]
    if case["collect"]:
        gc.set_threshold(case["collect"], 2, 2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if case["threads"]:
                _by_threads(case["program"])
            else:
                run(case["program"], lambda turn, args: _vary(case, turn, args))
    finally:
        gc.set_threshold(*before)
        price.WORTH = 0.0


def _vary(case: Any, turn: int, args: list[Any]) -> None:
    """Give arguments other rows, or read-only memory."""
    rows = case["rows"].get(str(turn))
    for i in range(2):
        if rows is not None and not (i == 1 and args[1] is args[0]):
            t = args[i].detach().repeat(2, 1)[:rows].clone()
            args[i] = t.requires_grad_(args[i].requires_grad)
    if turn in case["read_only"]:
        for i in range(2):
            if case["which"] in (i, 2) and not args[i].requires_grad:
                array = args[i].numpy().copy()
                array.flags.writeable = False
                args[i] = weft.from_numpy(array)


def _by_threads(seed: int) -> None:
    """Threads that call one compiled function get what one eager call after the other gives."""
    program = Program(seed)
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
