"""Runs the cases of a fuzzer in child processes, and reduces what they find to small reproducers.

A fuzzer is a module of this folder with two functions, and more if they help:

- ``generate(rng)`` returns a case, made of JSON's types, which follows from ``rng`` alone;
- ``check(case)`` runs it, and raises AssertionError where a result is silently wrong. It catches the
  exceptions that the code under test is documented to raise;
- ``shrink(case)`` yields smaller cases, the most promising first. Without it, ``shrink`` of this
  module drops parts of lists and dicts and makes numbers smaller;
- ``prepare()`` is called once in each child process, before its first case;
- ``COUNTS`` is a Counter that ``check`` adds to: the tally shows the sums.

What counts as a finding: a silent mismatch, an exception that ``check`` did not expect, the end of
the process by a signal, and a case that takes more than ``SLOW`` seconds of CPU time and that Ctrl-C
does not end. CPU time is measured, not time by the clock, so that a busy machine finds nothing more.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fuzz.worker import BOARD, NO_SEED, case_of
from robustness.crashes import cpu_seconds

FOLDER = Path(__file__).resolve().parent
REPRODUCERS = FOLDER / "reproducers"
NO_FUZZERS = ("canary", "runner", "worker")
BATCH = 64  # cases of a job
SLOW = 5.0  # seconds of CPU time after which a case gets Ctrl-C, and again after that one
STUCK = 120.0  # seconds by the clock that a case may wait without using the CPU
SHRINKING = 60.0  # seconds by the clock for making a case smaller


def fuzzers() -> list[str]:
    """The names of all fuzzers."""
    names = {p.stem for p in FOLDER.glob("*.py")}
    return sorted(n for n in names if not n.startswith(("_", "test_")) and n not in NO_FUZZERS)


@dataclasses.dataclass
class Finding:
    """A case that went wrong."""

    fuzzer: str
    kind: str  # "mismatch", "SIGSEGV", "hang", "undocumented KeyError"
    text: str
    case: Any
    seed: int = NO_SEED

    def save(self) -> Path:
        """Write it where the tests will find it; return the file."""
        data = json.dumps(self.case, sort_keys=True).encode()
        path = REPRODUCERS / f"{self.fuzzer}-{hashlib.sha256(data).hexdigest()[:8]}.json"
        REPRODUCERS.mkdir(exist_ok=True)
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n")
        return path


@dataclasses.dataclass
class Tally:
    """How many cases a fuzzer has run, and what became of them."""

    fuzzer: str
    cases: int = 0
    kinds: Counter[str] = dataclasses.field(default_factory=Counter)
    findings: list[Finding] = dataclasses.field(default_factory=list)
    counts: Counter[str] = dataclasses.field(default_factory=Counter)
    seconds: float = 0.0

    def __str__(self) -> str:
        kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(self.kinds.items())) or "nothing"
        counts = "".join(f"; {n:,} {what}" for what, n in sorted(self.counts.items()))
        return f"{self.fuzzer:15} {self.cases:9,} cases in {self.seconds:6.0f} s: {kinds}{counts}"


class Worker:
    """A child process that runs cases, one after the other."""

    def __init__(self, fuzzer: str) -> None:
        self.fuzzer = fuzzer
        self.log = tempfile.TemporaryFile()
        self.board = tempfile.NamedTemporaryFile()
        self.board.write(BOARD.pack(NO_SEED, 0))
        self.board.flush()
        self.answers, theirs = os.pipe()
        paths = [str(FOLDER.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker", fuzzer, self.board.name],
            stdin=subprocess.PIPE,
            stdout=self.log,
            stderr=self.log,
            pass_fds=[theirs],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(paths),
                "WEFT_FUZZ_ANSWERS": str(theirs),
            },
        )
        os.close(theirs)
        self.partial = b""
        self.counts: Counter[str] = Counter()  # of the jobs that are done

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        os.close(self.answers)
        self.log.close()
        self.board.close()

    def at(self) -> tuple[int, int]:
        """The seed of the case that runs, and how many have begun."""
        return BOARD.unpack(os.pread(self.board.fileno(), BOARD.size, 0))

    def cpu_seconds(self) -> float:
        """What the process has used so far."""
        try:
            return cpu_seconds(self.process.pid)
        except OSError:
            return 0.0

    def tail(self) -> str:
        """The last lines that it printed."""
        size = os.fstat(self.log.fileno()).st_size
        return os.pread(self.log.fileno(), 4000, max(0, size - 4000)).decode(errors="replace")

    def ask(self, job: dict[str, Any]) -> None:
        """Give it a job."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            self.process.stdin.flush()

    def lines(self, seconds: float) -> list[dict[str, Any]] | None:
        """What it answered within that time; None when the process has ended."""
        if not select.select([self.answers], [], [], seconds)[0]:
            return []
        data = os.read(self.answers, 1 << 16)
        if not data:
            return None
        *whole, self.partial = (self.partial + data).split(b"\n")
        return [json.loads(line) for line in whole]

    def run(self, job: dict[str, Any]) -> Iterator[tuple[int, str, str]]:
        """Yield what the job finds: seed, kind, text. After a signal or a hang the worker is over."""
        self.ask(job)
        watch = Watch(self)
        while True:
            answers = self.lines(0.1)
            if answers is None:
                code = self.process.wait()
                kind = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                yield self.at()[0], kind, self.tail()
                return
            for a in answers:
                if "done" in a:
                    self.counts.update(a["counts"])
                    return
                yield a["seed"], a["kind"], a["text"]
            if not answers and watch.hangs():
                seed = self.at()[0]
                self.process.send_signal(signal.SIGABRT)  # faulthandler tells where it was
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(10)
                yield seed, "hang", self.tail()
                return

    @property
    def alive(self) -> bool:
        """Whether it can take another job."""
        return self.process.poll() is None


class Watch:
    """Measures how long the current case of a worker takes, and sends Ctrl-C to a slow one."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.begin()

    def begin(self) -> None:
        self.case, self.interrupted = self.worker.at()[1], False
        self.cpu, self.clock = self.worker.cpu_seconds(), time.monotonic()

    def hangs(self) -> bool:
        """Whether the case goes on although it got Ctrl-C."""
        if self.worker.at()[1] != self.case:
            self.begin()
        cpu = self.worker.cpu_seconds() - self.cpu
        clock = time.monotonic() - self.clock
        if cpu < SLOW and clock < STUCK:
            return False
        if self.interrupted or self.case == 0:
            return self.interrupted
        self.worker.process.send_signal(signal.SIGINT)
        self.interrupted, self.cpu, self.clock = True, self.cpu + cpu, time.monotonic()
        return False


def run(
    fuzzer: str,
    first: int,
    cases: int | None = None,
    seconds: float | None = None,
    progress: Callable[[int], Any] = lambda n: None,
) -> Tally:
    """Run cases from seed ``first`` on: so many, or for so long. ``progress`` gets the number of new ones."""
    tally = Tally(fuzzer)
    module = importlib.import_module(f"fuzz.{fuzzer}")
    start, seed = time.monotonic(), first
    end = first + cases if cases is not None else sys.maxsize
    worker = Worker(fuzzer)
    try:
        while seed < end and (seconds is None or time.monotonic() - start < seconds):
            stop = min(seed + BATCH, end)
            for at, kind, text in worker.run({"seeds": [seed, stop]}):
                tally.kinds[kind] += 1
                if kind != "interrupted":
                    tally.findings.append(Finding(fuzzer, kind, text, case_of(module, at), at))
                if not worker.alive:
                    stop = at + 1
            if not worker.alive:
                tally.counts += worker.counts
                worker.close()
                worker = Worker(fuzzer)
            tally.cases += stop - seed
            progress(stop - seed)
            seed = stop
    finally:
        tally.counts += worker.counts
        worker.close()
        tally.seconds = time.monotonic() - start
    return tally


def run_case(fuzzer: str, case: Any) -> tuple[str, str] | None:
    """What is wrong with one case, in a process of its own: kind and text."""
    worker = Worker(fuzzer)
    try:
        found = [(k, t) for _, k, t in worker.run({"case": case}) if k != "interrupted"]
        return found[0] if found else None
    finally:
        worker.close()


def shrink(case: Any) -> Iterator[Any]:
    """Smaller forms of data: halves and single parts of lists dropped, numbers nearer to zero."""
    if isinstance(case, list):
        for n in (len(case) // 2, len(case) // 4, 1):
            for i in range(0, len(case), n or 1) if n else ():
                yield case[:i] + case[i + n :]
        for i, part in enumerate(case):
            yield from (case[:i] + [smaller] + case[i + 1 :] for smaller in shrink(part))
    elif isinstance(case, dict):
        for key, part in case.items():
            yield from ({**case, key: smaller} for smaller in shrink(part))
    elif isinstance(case, (int, float)) and not isinstance(case, bool) and case not in (0, 1):
        yield from (0, 1)
        if isinstance(case, int) and abs(case) > 3:
            yield case // 2


def minimise(found: Finding) -> Finding:
    """The same finding with a case as small as a minute allows."""
    module = importlib.import_module(f"fuzz.{found.fuzzer}")
    smaller_of = getattr(module, "shrink", shrink)
    deadline = time.monotonic() + SHRINKING
    smaller = True
    while smaller:
        smaller = False
        for case in smaller_of(found.case):
            if time.monotonic() > deadline:
                return found
            again = run_case(found.fuzzer, case)
            if again and again[0] == found.kind:
                found = dataclasses.replace(found, case=case, text=again[1])
                smaller = True
                break
    return found


@functools.cache
def saved() -> tuple[Finding, ...]:
    """The reproducers that the project keeps."""
    return tuple(Finding(**json.loads(p.read_text())) for p in sorted(REPRODUCERS.glob("*.json")))
