"""The child process that runs the cases of one fuzzer: `python -m fuzz.worker NAME BOARD`.

It reads jobs from its standard input, one JSON object a line: either ``{"seeds": [first, end]}`` or
``{"case": ...}``. It answers on the pipe that WEFT_FUZZ_ANSWERS names, one JSON object a line: one
for each finding, and ``{"done": true, "counts": {...}}`` after a job. Which case it is in stands on the board, a
small file that both processes map: the parent reads it when this process dies or hangs.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import mmap
import os
import random
import resource
import signal
import struct
import sys
import traceback
from collections.abc import Iterator
from typing import Any

BOARD = struct.Struct("<qq")  # the seed of the case that runs (or NO_SEED), and how many have begun
NO_SEED = -1
MOST_MEMORY = 8 << 30  # bytes of address space: threads, torch and JIT code reserve much of it


def case_of(fuzzer: Any, seed: int) -> Any:
    """The case that a fuzzer generates from a seed."""
    return fuzzer.generate(random.Random(f"{fuzzer.__name__}:{seed}"))


def limit_resources() -> None:
    """Refuse core dumps, and more memory than any case needs."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not os.environ.get("WEFT_SANITIZE"):  # shadow memory takes terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def jobs() -> Iterator[dict[str, Any]]:
    """What the parent asks for, until it closes the pipe."""
    source = os.fdopen(os.dup(0), "r")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the code under test reads nothing of it
    for line in source:
        yield json.loads(line)


def outcome(fuzzer: Any, case: Any) -> tuple[str, str] | None:
    """What is wrong with a case: a kind and a text; None if nothing is."""
    try:
        fuzzer.check(case)
    except MemoryError:
        return None
    except AssertionError as e:
        return "mismatch", str(e) or traceback.format_exc(limit=-2)
    except KeyboardInterrupt:  # the parent found that it takes long; Ctrl-C ends it, which is right
        return "interrupted", ""
    except BaseException as e:
        return f"undocumented {type(e).__name__}", traceback.format_exc(limit=-4)
    return None


def main() -> None:
    """Work through the jobs."""
    name, board_path = sys.argv[1:]
    answers = os.fdopen(int(os.environ.pop("WEFT_FUZZ_ANSWERS")), "w")
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with open(board_path, "r+b") as f:
        board = mmap.mmap(f.fileno(), BOARD.size)
    fuzzer = importlib.import_module(f"fuzz.{name}")
    limit_resources()
    if prepare := getattr(fuzzer, "prepare", None):
        prepare()
    begun = 0

    def answer(**data: Any) -> None:
        answers.write(json.dumps(data) + "\n")
        answers.flush()

    for job in jobs():
        if "seeds" in job and not begun:  # what a generator makes once takes no case's time
            case_of(fuzzer, job["seeds"][0])
        for seed in range(*job["seeds"]) if "seeds" in job else [NO_SEED]:
            begun += 1
            board[:] = BOARD.pack(seed, begun)
            case = job["case"] if seed == NO_SEED else case_of(fuzzer, seed)
            if found := outcome(fuzzer, case):
                answer(seed=seed, kind=found[0], text=found[1])
        counts = getattr(fuzzer, "COUNTS", {})
        answer(done=True, counts=counts)
        counts.clear()


if __name__ == "__main__":
    main()
