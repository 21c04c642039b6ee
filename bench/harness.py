"""What a benchmark row is, and how rows are measured fairly.

Every library lives in a worker process of its own (``bench/worker.py``), so that two OpenMP
runtimes never meet in one process. The parent asks the workers in turns (A B C, B C A, ...) for
one short sample each; whoever is not asked sleeps in a read. Noise then hits every library alike,
and the minimum over many short rounds is what the machine can do.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Files that declare rows.
MODULES = ("dispatch", "kernels", "fused", "quantized", "train", "static", "compiled", "inference")
ONE_SIZE: Mapping[str, Mapping[str, Any]] = {"": {}}
NEAR = 0.97  # a ratio this close below its budget is printed as NEAR: within the noise
ENGINES = ("onnxruntime", "openvino")  # libraries that run networks which PyTorch exported
WRONG = "wrong answer"  # in an error: whoever gave it, the line is a MISS
NO_THREADS = ("jax", "numpy")  # libraries whose thread count can't be set while they run


# ------------------------------------------------------------------------------------- the rows


@dataclass(frozen=True)
class Stmt:
    """A statement to time in a tight loop, as timeit does: no Python call around it.

    ``names`` become local variables of the loop.
    """

    source: str
    names: Mapping[str, Any]


@dataclass(frozen=True)
class Value:
    """A function that returns the measured number itself (peak bytes, seconds to compile).

    It is called once per round.
    """

    measure: Callable[[], float]


#: ``setup(lib, mode, **size)`` prepares the work and returns what is timed: a callable, a
#: :class:`Stmt` or a :class:`Value`. ``lib`` is the imported module, ``mode`` one of ``Row.modes``.
Setup = Callable[..., "Callable[[], object] | Stmt | Value"]


@dataclass(frozen=True)
class Row:
    """One piece of work, in one or more sizes, for several libraries.

    ``setups`` is keyed by library; the one for ``"torch"`` also serves weft and its bare build
    unless they have their own. ``modes`` are the settings to try per library (the best one
    counts), each combined with every thread count. ``threads`` gives the table's lines: weft runs
    with exactly that many, a peer with that many or fewer, whichever is faster for it.
    ``budget`` is the smallest allowed ratio peer / weft, keyed by ``"torch"``,
    ``"torch:compile"`` (only modes that begin with that word), ``"best"`` (the best of all peers) or
    ``"engines"`` (the better one of the engines). ``limit``, instead of a budget, is what weft itself has
    to stay under. ``clock`` is ``"wall"``, or ``"cpu"`` for the CPU time of a library's process.
    ``around(size, workers)`` is entered while a size is measured: it makes the files that it needs.
    """

    family: str
    group: str
    name: str
    setups: Mapping[str, Setup]
    sizes: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: ONE_SIZE)
    quick: tuple[str, ...] | None = None
    modes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    threads: tuple[int, ...] = (1,)
    budget: Mapping[str, float] = field(default_factory=dict)
    unit: str = "s"
    limit: float | None = None
    clock: str = "wall"
    around: Callable[[str, Mapping[str, Worker]], AbstractContextManager[None]] | None = None

    def setup_for(self, library: str) -> Setup | None:
        """The setup that ``library`` uses, or None if this row isn't for it.

        >>> Row("f", "g", "n", {"torch": print}).setup_for("weft") is print
        True
        """
        fallback = self.setups.get("torch") if library == "weft" else None
        return self.setups.get(library, fallback)

    def settings(self, library: str, allowed: tuple[int, ...]) -> list[tuple[str, int]]:
        """The (mode, threads) pairs to measure; 0 threads means the library's own choice."""
        modes = self.modes.get(library, ("eager",))
        if library in NO_THREADS:
            return [(mode, 0) for mode in modes]
        lines = [t for t in self.threads if t in allowed]
        counts = lines if library in ("weft", "bare") else sorted({1, *lines})
        return [(mode, t) for t in counts for mode in modes]

    def id(self, size: str) -> str:
        """``family/group/name/size``, which is what ``--only`` is matched against."""
        return "/".join(part for part in (self.family, self.group, self.name, size) if part)


@dataclass(frozen=True)
class Mean:
    """A geometric mean that the table prints, over a ``family/group`` or a whole family."""

    peer: str
    budget: float | None


ROWS: list[Row] = []
MEANS: dict[str, Mean] = {}


def register(row: Row) -> Row:
    """Add a row to the table; its ids must be new."""
    taken = {old.id(size) for old in ROWS for size in old.sizes}
    clash = taken.intersection(row.id(size) for size in row.sizes)
    if clash:
        raise ValueError(f"bench row declared twice: {sorted(clash)}")
    ROWS.append(row)
    return row


def load_rows() -> list[Row]:
    """Import the files that declare rows, once, and return all rows."""
    for module in MODULES:
        importlib.import_module(f"bench.{module}")
    return ROWS


# ---------------------------------------------------------------------------------- the workers


class WorkerError(RuntimeError):
    """A worker died, hung, or could not do what was asked."""


@dataclass(frozen=True)
class Library:
    """How a library is reached: a label for the table, a module, an interpreter, a path."""

    label: str
    module: str
    python: str = sys.executable
    path: str | None = None


class Worker:
    """The process of one library, spoken to in JSON lines over pipes."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.process: subprocess.Popen[bytes] | None = None
        self.info: dict[str, Any] = {}
        self._buffer = b""

    def start(self, timeout: float = 120.0) -> dict[str, Any]:
        """Start the process and import the library; return its version and the like."""
        mine = self.library
        command = [mine.python, str(ROOT / "bench" / "worker.py"), mine.label, mine.module]
        if mine.path:
            command.append(os.path.abspath(mine.path))
        env = dict(os.environ)
        if mine.label == "jax":
            env.setdefault("JAX_ENABLE_X64", "1")  # float64 and int64 rows need it
            env.setdefault("JAX_PLATFORMS", "cpu")
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
            )
        except OSError as error:
            raise WorkerError(f"no interpreter: {error.strerror}") from None
        self._buffer = b""
        self.info = self._receive(timeout)
        return self.info

    def ask(self, timeout: float = 120.0, **message: Any) -> dict[str, Any]:
        """Send one request and return its answer; a dead or silent worker is replaced."""
        if self.process is None:
            self.start()
        assert self.process is not None and self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.stop()
            raise WorkerError("the worker died") from None
        return self._receive(timeout)

    def _receive(self, timeout: float) -> dict[str, Any]:
        assert self.process is not None and self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        deadline = time.monotonic() + timeout
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(pipe, 65536) if ready else b""
            if not chunk:
                code = self.process.poll()
                self.stop()
                raise WorkerError(
                    f"no answer in {timeout:.0f} s" if not ready else f"the worker died ({code})"
                )
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    def stop(self) -> None:
        """End the process, if there is one."""
        if self.process is None:
            return
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    pass
        self.process.kill()
        self.process.wait()
        self.process = None


def start_workers(libraries: list[Library]) -> tuple[dict[str, Worker], dict[str, str]]:
    """Start a worker for each library; return those that answer, and why the others don't."""
    workers: dict[str, Worker] = {}
    absent: dict[str, str] = {}
    for library in libraries:
        worker = Worker(library)
        try:
            worker.start()
            workers[library.label] = worker
        except WorkerError as error:
            worker.stop()
            absent[library.label] = str(error)
    return workers, absent


# ------------------------------------------------------------------------------ the measurement


@dataclass
class Timing:
    """Samples of one library in one setting, as seconds per call (or the row's unit)."""

    mode: str
    threads: int
    samples: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The smallest sample: what the machine can do undisturbed."""
        return min(self.samples)

    @property
    def median(self) -> float:
        """The middle sample: what one sees on this machine as busy as it is."""
        return statistics.median(self.samples)

    @property
    def setting(self) -> str:
        """Mode and threads, as the table prints them."""
        parts = [self.mode] if self.mode != "eager" else []
        parts += [f"{self.threads}t"] if self.threads else []
        return " ".join(parts)


@dataclass
class Line:
    """One line of the table: weft and its peers at one row, one size and one thread count."""

    family: str
    group: str
    id: str
    threads: int
    unit: str = "s"
    timings: dict[str, list[Timing]] = field(default_factory=dict)
    budget: Mapping[str, float] = field(default_factory=dict)
    limit: float | None = None
    errors: dict[str, str] = field(default_factory=dict)
    skipped: str = ""
    others: float = 0.0  # share of the machine that other work took meanwhile

    def best(self, key: str) -> Timing | None:
        """The best timing of ``"torch"``, ``"torch:compile"``, ``"best"`` (of all peers), ``"engines"``."""
        label, _, mode = key.partition(":")
        groups = {"best": set(self.timings) - {"weft", "bare"}, "engines": set(ENGINES)}
        wanted = groups.get(label, {label})
        chosen = [
            timing
            for library, timings in self.timings.items()
            for timing in timings
            if timing.samples and library in wanted and mode in ("", timing.mode.partition(" ")[0])
        ]
        return min(chosen, key=lambda timing: timing.best, default=None)

    def ratio(self, key: str) -> tuple[float, float] | None:
        """Peer / weft from the minima and from the medians; above 1, weft is faster."""
        mine, theirs = self.best("weft"), self.best(key)
        if mine is None or theirs is None:
            return None
        return theirs.best / mine.best, theirs.median / mine.median

    @property
    def status(self) -> str:
        """PASS, NEAR (within the noise below), MISS, n/a (not measured) or nothing (no budget)."""
        if self.skipped:
            return "skip"
        if any(WRONG in why for why in self.errors.values()):
            return "MISS"
        if self.limit is not None:
            mine = self.best("weft")
            return "n/a" if mine is None else "PASS" if mine.best < self.limit else "MISS"
        worst = "" if not self.budget else "PASS"
        for key, wanted in self.budget.items():
            ratio = self.ratio(key)
            if ratio is None:
                return "n/a" if self.best("weft") else "MISS"
            if ratio[0] < wanted:
                near = ratio[0] >= wanted * NEAR and worst != "MISS"
                worst = "NEAR" if near else "MISS"
        return worst


@dataclass(frozen=True)
class Options:
    """How long to measure: per case in seconds, between two numbers of rounds."""

    quick: bool = False
    threads: tuple[int, ...] = (1, 2)
    seconds: float = 1.6
    rounds: tuple[int, int] = (7, 400)
    sample: float = 1e-3


def measure(row: Row, size: str, workers: dict[str, Worker], options: Options) -> list[Line]:
    """Measure one row at one size in all workers, in turns, and return its lines."""
    with row.around(size, workers) if row.around else nullcontext():
        return _measure(row, size, workers, options)


def _measure(row: Row, size: str, workers: dict[str, Worker], options: Options) -> list[Line]:
    timings: dict[str, list[Timing]] = {}
    errors: dict[str, str] = {}
    jobs = list(_prepare(row, size, workers, options, timings, errors))
    lines = _lines(row, size, options, timings, errors)
    least, most = options.rounds
    start, rounds, extended = time.perf_counter(), 0, False
    allowed = options.seconds
    while jobs and rounds < most:
        shift = rounds % len(jobs)
        for worker, timing in jobs[shift:] + jobs[:shift]:
            label = worker.library.label
            if label in errors:
                continue
            try:
                answer = worker.ask(
                    _patience([timing.mode]), cmd="sample", mode=timing.mode, threads=timing.threads
                )
                timing.samples.append(answer["value"])
            except WorkerError as error:
                errors[label] = str(error)
        rounds += 1
        spent = time.perf_counter() - start
        if spent > allowed and (rounds >= least or (rounds >= 3 and spent > 3 * allowed)):
            if extended or options.quick or not any(_undecided(line) for line in lines):
                break
            # Again as long, on fresh memory: where the inputs lie is luck, too.
            extended = True
            for label in [label for label in timings if label not in errors]:
                try:
                    _ask_to_prepare(row, size, workers[label], options)
                except WorkerError as error:
                    errors[label] = str(error)
            allowed = time.perf_counter() - start + options.seconds
    return lines


def _ask_to_prepare(row: Row, size: str, worker: Worker, options: Options) -> dict[str, str]:
    """Let a worker set up, warm up and size its loops; return the modes it refused, and why."""
    settings = row.settings(worker.library.label, options.threads)
    answer = worker.ask(
        _patience(mode for mode, _ in settings),
        cmd="prepare",
        id=row.id(size),
        settings=settings,
        sample=options.sample,
    )
    refused: dict[str, str] = answer["refused"]
    return refused


def _patience(modes: Iterable[str]) -> float:
    """Seconds to wait for a worker: PyTorch may compile for minutes."""
    return 1200.0 if "compile" in modes else 120.0


def _prepare(
    row: Row,
    size: str,
    workers: dict[str, Worker],
    options: Options,
    timings: dict[str, list[Timing]],
    errors: dict[str, str],
) -> Iterator[tuple[Worker, Timing]]:
    """Get every worker ready; yield the samples to take in each round, in order."""
    per_library: list[list[tuple[Worker, Timing]]] = []
    for label, worker in workers.items():
        if row.setup_for(label) is None:
            continue
        try:
            refused = _ask_to_prepare(row, size, worker, options)
        except WorkerError as error:
            errors[label] = str(error)
            continue
        for mode, why in refused.items():
            errors[f"{label} {mode}"] = why
        settings = row.settings(label, options.threads)
        timings[label] = [Timing(*setting) for setting in settings if setting[0] not in refused]
        per_library.append([(worker, timing) for timing in timings[label]])
        if not timings[label]:
            errors[label] = next(iter(refused.values()))
    # weft, torch, jax at their first setting, then at their second, so that equals are neighbours
    for position in range(max(map(len, per_library), default=0)):
        for mine in per_library:
            if position < len(mine):
                yield mine[position]


def _lines(
    row: Row,
    size: str,
    options: Options,
    timings: dict[str, list[Timing]],
    errors: dict[str, str],
) -> list[Line]:
    """The table's lines over (still growing) timings, one for each thread count of the row."""
    counts = [t for t in row.threads if t in options.threads]
    lines = []
    for count in counts:
        # Some use as many threads as they like: compare with them at the most we have.
        absent = NO_THREADS if count != counts[-1] else ()
        budget = {k: v for k, v in row.budget.items() if k.partition(":")[0] not in absent}
        chosen: dict[str, list[Timing]] = {}
        for label, all_timings in timings.items():
            if label in absent:
                continue
            exactly = label in ("weft", "bare")
            chosen[label] = [
                t for t in all_timings if t.threads == count or (not exactly and t.threads < count)
            ]
        id = row.id(size)
        lines.append(
            Line(row.family, row.group, id, count, row.unit, chosen, budget, row.limit, errors)
        )
    return lines


def _undecided(line: Line) -> bool:
    """Whether a ratio is so close to its budget, on either side, that more rounds are due."""
    for key, wanted in line.budget.items():
        ratio = line.ratio(key)
        if ratio is not None and abs(ratio[0] / wanted - 1) < 0.05:
            return True
    return False
