"""The process that runs one library: ``python bench/worker.py LABEL MODULE [PATH]``.

It imports MODULE (from PATH first, if given), then answers requests in JSON lines: ``prepare``
sets a row up, ``sample`` times it once, ``size`` weighs the package. Between requests it sleeps.
Started by ``bench/harness.py``; nobody else needs it.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import itertools
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

_HERE = Path(__file__).resolve().parent
sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != _HERE]
sys.path.append(str(_HERE.parent))  # last, so that an installed weft wins over the source tree

from bench import harness  # noqa: E402

Loop = Callable[[Iterator[None]], float]
WARM = 0.02  # seconds of warm-up before the loop is sized


#: What seconds are counted by: what a row's ``clock`` names.
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


def compile_loop(work: Callable[[], object] | harness.Stmt, clock: str = "wall") -> Loop:
    """A function that runs the work once per item and returns the seconds that took.

    >>> compile_loop(harness.Stmt("x + 1", {"x": 1}))(iter([None])) >= 0
    True
    """
    if isinstance(work, harness.Stmt):
        source, names = work.source, dict(work.names)
    else:
        source, names = "_call()", {"_call": work}
    body = "\n        ".join(source.splitlines())
    arguments = ", ".join(["_items", "_timer", *names])
    code = (
        f"def _loop({arguments}):\n"
        f"    _start = _timer()\n"
        f"    for _ in _items:\n"
        f"        {body}\n"
        f"    return _timer() - _start\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(code, f"<bench {source[:40]!r}>", "exec"), scope)
    loop = scope["_loop"]
    values = tuple(names.values())
    timer = CLOCKS[clock]
    return lambda items: loop(items, timer, *values)


class Case:
    """One row at one size in one mode, set up and ready to be sampled."""

    def __init__(
        self, work: Callable[[], object] | harness.Stmt | harness.Value, clock: str = "wall"
    ) -> None:
        self.value = work.measure if isinstance(work, harness.Value) else None
        self.loop = None if isinstance(work, harness.Value) else compile_loop(work, clock)
        self.loops: dict[int, int] = {}
        self.target = 0.0  # seconds that a sample should take
        self.slow: dict[int, float] = {}  # seconds of one call, seen while calibrating

    def run(self, count: int) -> float:
        """Seconds for ``count`` calls, with the garbage collector off."""
        assert self.loop is not None
        gc.disable()
        try:
            return self.loop(itertools.repeat(None, count))
        finally:
            gc.enable()

    def calibrate(self, threads: int, sample: float) -> None:
        """Warm up, and find how many calls make a sample of at least ``sample`` seconds."""
        if self.loop is None:
            return
        self.target = sample
        self.run(1)  # the first call may compile, allocate, or start threads
        count, spent = 1, 0.0
        while True:
            first = self.run(count)
            seconds = min(first, self.run(count)) if first < WARM else first  # twice: noise
            spent += first + seconds
            if seconds < sample:
                wanted = int(1.2 * count * sample / (seconds + 1e-9))
                count = max(count + 1, min(10 * count, wanted))
            elif spent >= WARM:
                break
        self.loops[threads], self.slow[threads] = count, seconds / count

    def sample(self, threads: int) -> float:
        """Seconds per call over one sample, after a short warm-up that isn't timed."""
        if self.value is not None:
            return float(self.value())
        count = self.loops[threads]
        if count > 1 or self.slow.get(threads, 0.0) < WARM:
            self.run(max(1, count // 8))
        seconds = self.run(count)
        if seconds < 0.6 * self.target:  # it was sized in a noisy moment: longer next time
            self.loops[threads] = min(10 * count, int(count * self.target / seconds) + 1)
        return seconds / count


class Server:
    """Answers the parent's requests for one library."""

    def __init__(self, label: str, module: str, path: str | None) -> None:
        if path is not None:
            # An editable install finds its package through a hook of its own: drop such hooks.
            sys.meta_path[:] = [
                f for f in sys.meta_path if getattr(f, "__module__", "").startswith("_frozen")
            ]
            sys.path.insert(0, path)
        self.name = module
        self.lib: Any = importlib.import_module(module)
        if getattr(self.lib, "__file__", None) is None:
            raise ImportError(f"{module} is a folder of sources, not an installed package")
        if path is not None and not _inside(self.lib.__file__, path):
            raise ImportError(f"the given path holds no {module}")
        if label not in ("jax", *harness.ENGINES):
            self.lib.ones(3) + 1  # half a build should say so now, not in every row
        self.label = label
        self.rows = {row.id(s): (row, s) for row in harness.load_rows() for s in row.sizes}
        self.cases: dict[str, Case] = {}

    def hello(self) -> dict[str, Any]:
        """What the parent wants to know first."""
        threads = getattr(self.lib, "get_num_threads", lambda: None)()
        isa = getattr(getattr(self.lib, "_C", None), "_isa", None)  # weft's own kernels
        return {
            "version": str(getattr(self.lib, "__version__", "unknown")),
            "python": sys.version.split()[0],
            "threads": threads,
            "isa": isa() if isa else None,
            "in_tree": _inside(self.lib.__file__, str(_HERE.parent / self.name)),
        }

    def prepare(self, id: str, settings: list[list[Any]], sample: float) -> dict[str, Any]:
        """Set a row up in all its modes, and size its loops for each thread count."""
        self.cases.clear()
        gc.collect()
        row, size = self.rows[id]
        setup = row.setup_for(self.label)
        assert setup is not None
        refused: dict[str, str] = {}
        for mode, threads in settings:
            if mode in refused:
                continue
            try:
                self.set_threads(threads)
                if mode not in self.cases:
                    self.cases[mode] = Case(setup(self.lib, mode, **row.sizes[size]), row.clock)
                self.cases[mode].calibrate(threads, sample)
            except Exception as error:  # whatever the library raises is this row's result
                refused[mode] = _reason(error)
        gc.collect()
        self.settle()
        return {"refused": refused}

    def sample(self, mode: str, threads: int) -> dict[str, Any]:
        """Time one sample."""
        self.set_threads(threads)
        value = self.cases[mode].sample(threads)
        if threads != 1:
            self.settle()
        return {"value": value}

    def set_threads(self, threads: int) -> None:
        """Use that many threads, where the library can be told."""
        setter = getattr(self.lib, "set_num_threads", None)
        if threads and setter is not None:
            setter(threads)

    def settle(self) -> None:
        """Wait until idle threads have stopped spinning, as OpenMP's do for a while.

        Otherwise they would take time from the library that is measured next.
        """
        for _ in range(30):
            before = time.process_time()
            time.sleep(0.001)
            if time.process_time() - before < 0.0003:
                return

    def size(self) -> dict[str, Any]:
        """Bytes of the package's own files, and of the packages it can't be installed without."""
        package = _bytes_of_package(self.lib)
        return {"package": package, "needed": package + _bytes_of_requirements(self.name)}


def _inside(file: str | None, folder: str) -> bool:
    """Tell whether a file lies in a folder, links in it not followed."""
    return file is not None and Path(os.path.abspath(file)).is_relative_to(os.path.abspath(folder))


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())[:160]
    for path in sorted({str(_HERE.parent), *filter(None, sys.path)}, key=len, reverse=True):
        text = text.replace(path, "...")
    return f"{type(error).__name__}: {text}"


def _bytes_of_package(module: Any) -> int:
    """All files below the package's folders, wherever an editable install has put them."""
    folders = {Path(p).resolve() for p in module.__path__}
    native = getattr(getattr(module, "_C", None), "__file__", None)
    if native:
        folders.add(Path(native).resolve().parent)
    folders |= {f.with_name(f.name + ".libs") for f in set(folders)}
    files = {
        file.resolve()
        for folder in folders
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    return sum(file.stat().st_size for file in files)


def _bytes_of_requirements(name: str) -> int:
    """Files of the distributions that ``name`` requires without any extra, as pip recorded them."""
    seen: set[str] = set()
    queue, total = [name], 0
    while queue:
        wanted = queue.pop()
        key = re.sub(r"[-_.]+", "-", wanted).lower()
        if key in seen:
            continue
        seen.add(key)
        try:
            found = importlib.metadata.distribution(wanted)
        except importlib.metadata.PackageNotFoundError:
            continue  # required on other systems only, or a source tree that isn't installed
        for requirement in found.requires or ():
            if "extra ==" not in requirement:
                queue.append(re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0])
        if wanted != name:
            paths = [Path(str(found.locate_file(f))) for f in found.files or ()]
            total += sum(p.stat().st_size for p in paths if p.is_file() and p.suffix != ".pyc")
    return total


def serve(replies: IO[str], label: str, module: str, path: str | None) -> None:
    """Import the library, say hello, then answer until the parent closes the pipe."""

    def reply(answer: dict[str, Any]) -> None:
        replies.write(json.dumps(answer) + "\n")
        replies.flush()

    try:
        server = Server(label, module, path)
    except Exception as error:
        reply({"error": _reason(error)})
        return
    reply(server.hello())
    while line := sys.stdin.readline():
        request = json.loads(line)
        handler = getattr(server, request.pop("cmd"))
        try:
            reply(handler(**request))
        except Exception as error:
            reply({"error": _reason(error)})


if __name__ == "__main__":
    # Whatever a library prints must not end up between the replies.
    private = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        serve(private, sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
    except (KeyboardInterrupt, BrokenPipeError):
        pass
