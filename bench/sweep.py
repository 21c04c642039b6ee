"""``python -m bench.sweep``: every op that weft and PyTorch both have, side by side, worst first.

Ops and their calls come from ``tests/samples/``, made large by ``bench/enlarge.py``: a new op with a
row there is here, too. Both libraries run in this process on one thread and take turns; the minimum of
CPU time counts. Results: ``bench/results/sweep.md`` and ``sweep.json``. A long sweep can be run in parts:
``--part 1/4 --merge`` puts each op that it has measured into these files, in the place of the same cells.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import re
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from helpers import cast, fits, flat, is_tensor, leaves, lift, resolve, swap
from samples import ROWS, Row, S
from tqdm import tqdm

from bench.enlarge import enlarged
from bench.reasons import reason
from bench.report import Others, amount, machine, three_digits

RESULTS = Path(__file__).resolve().parent / "results"
SIZES = (1_000, 100_000, 1_000_000)
OTHER_DTYPES = ("float64", "bfloat16", "complex64", "int64")
EQUAL = 0.95  # ratios above count as equal: these machines are noisy
FLOOR = 0.8  # ratios below need a reason
SAMPLE = 4e-4  # seconds that a sample takes at least
LONG = 0.3  # an op that takes longer is not tried at the next size
MOST = 30_000_000  # elements of a result
MEMORY = 8 << 30  # bytes that this process may take: an op that wants more is left out
PATIENCE = 6  # seconds of CPU time for the first call of anything

Work = Callable[[], object]
Wanted = Callable[[str], object]  # of a cell's name


@dataclass
class Cell:
    """What was measured of an op in one setting: seconds of CPU time."""

    what: str  # "1e5", "1e5 grad", "float64", "compiled"
    weft: float
    torch: float
    shapes: str
    error: float = math.nan  # weft's largest error over PyTorch's, both against float64

    @property
    def ratio(self) -> float:
        """Above 1, weft is faster."""
        return self.torch / self.weft


@dataclass
class Result:
    """All cells of an op; why there are none."""

    name: str
    cells: list[Cell] = field(default_factory=list)
    skipped: str = ""

    @property
    def worst(self) -> Cell:
        """The cell in which weft is slowest, compared with PyTorch."""
        return min(self.cells, key=lambda c: c.ratio)


# ---- one op ------------------------------------------------------------------------------------


class Op:
    """A row of the samples, in both libraries."""

    def __init__(self, row: Row, weft: Any, torch: Any) -> None:
        self.row, self.libs = row, (weft, torch)
        self.ops = [resolve(lib, row.name) for lib in self.libs]

    def forward(self, sample: S, dtype: str) -> tuple[Work, Work]:
        """The call, in both libraries."""
        works = []
        for lib, op in zip(self.libs, self.ops):
            s = lift(lib, cast(sample, dtype), dtype)
            works.append(lambda op=op, s=s: op(*s.args, **s.kwargs))
        return works[0], works[1]

    def with_gradient(self, sample: S) -> tuple[Work, Work] | None:
        """The call and the gradients of its inputs; None where there are none."""
        works = []
        for lib, op in zip(self.libs, self.ops):
            s = lift(lib, cast(sample, "float32"), "float32")
            inputs = self._wanted(s)
            for x in inputs:
                x.requires_grad_()
            outs = self._outputs(op(*s.args, **s.kwargs))
            if not inputs or not outs:
                return None
            g = [lib.ones_like(o) for o in outs]

            def work(lib=lib, op=op, s=s, inputs=inputs, g=g) -> object:
                outs = self._outputs(op(*s.args, **s.kwargs))
                return lib.autograd.grad(outs, inputs, g, allow_unused=True)

            works.append(work)
        return works[0], works[1]

    def _wanted(self, s: S) -> list[Any]:
        """The arguments that have a derivative."""
        args = list(s.args) + list(s.kwargs.values())
        chosen = (
            args
            if self.row.grad is True
            else [args[i] for i in self.row.grad or () if i < len(args)]
        )
        found: dict[int, Any] = {}
        for x in flat(chosen):
            if is_tensor(x) and (x.is_floating_point() or x.is_complex()):
                found[id(x)] = x
        return list(found.values())

    @staticmethod
    def _outputs(result: Any) -> list[Any]:
        return [r for r in flat(result) if is_tensor(r) and r.requires_grad]

    def compiled(self, sample: S) -> tuple[Work, Work]:
        """The call through weft.compile, and PyTorch's eager one."""
        weft, op = self.libs[0], self.ops[0]
        s = lift(weft, cast(sample, "float32"), "float32")
        tensors = [x for x in flat([*s.args, *s.kwargs.values()]) if is_tensor(x)]
        around = _without_tensors((s.args, s.kwargs))  # a call must not see its inputs twice

        def call(*given: Any) -> Any:
            args, kwargs = _filled(around, iter(given))
            return op(*args, **kwargs)

        if all(is_tensor(a) for a in s.args) and not s.kwargs:
            call = op  # most ops: no Python but the op's own

        run = weft.compile(call)
        for _ in range(10):  # until it is captured
            run(*tensors)
        return (lambda: run(*tensors)), self.forward(sample, "float32")[1]

    def error(self, sample: S) -> float:
        """Weft's largest error in float32 over PyTorch's, against PyTorch's float64."""
        if not self.row.values:
            return math.nan
        mine, theirs = (flat(w()) for w in self.forward(sample, "float32"))
        exact = flat(self.forward(sample, "float64")[1]())
        errors = [0.0, 0.0]
        for ours, pytorchs, right in zip(mine, theirs, exact):
            if not is_tensor(right) or not right.is_floating_point():
                continue
            r = right.detach().numpy()
            for i, x in enumerate((ours, pytorchs)):
                e = abs(x.detach().numpy().astype(np.float64) - r)
                errors[i] = max(
                    errors[i], float(np.nanmax(np.where(np.isfinite(r), e, 0), initial=0))
                )
        return errors[0] / errors[1] if errors[1] else (1.0 if not errors[0] else math.inf)


HERE = "<a tensor>"


def _without_tensors(value: Any) -> Any:
    """Nested arguments, with HERE for each tensor."""
    if isinstance(value, (list, tuple)):
        return type(value)([_without_tensors(v) for v in value])
    if isinstance(value, dict):
        return {k: _without_tensors(v) for k, v in value.items()}
    return HERE if is_tensor(value) else value


def _filled(value: Any, tensors: Iterator[Any]) -> Any:
    """Nested arguments with tensors in their places, in order."""
    if isinstance(value, (list, tuple)):
        return type(value)([_filled(v, tensors) for v in value])
    if isinstance(value, dict):
        return {k: _filled(v, tensors) for k, v in value.items()}
    return next(tensors) if value is HERE else value


def label_of(elements: int) -> str:
    """The name of a size: 1e5."""
    return f"{elements:.0e}".replace("e+0", "e")


def measured(op: Op, wanted: Wanted) -> Result:
    """The cells of an op whose names are wanted."""
    result = Result(op.row.name)
    dtype = "float32" if "f" in op.row.dtypes else "int64" if "i" in op.row.dtypes else "bool"
    middle = None
    for elements in SIZES:
        label = label_of(elements)
        rest = elements == SIZES[1] and any(wanted(w) for w in (*OTHER_DTYPES, "compiled"))
        if not (wanted(label) or wanted(label + " grad") or rest):
            continue
        found = first_that_runs(op, elements, dtype)
        if found is None:
            break
        sample, seconds = found
        middle = sample if elements <= SIZES[1] else middle
        if wanted(label):
            add(result, label, sample, op.forward(sample, dtype), op)
        has_gradient = op.row.grad and dtype == "float32" and not op.row.mutates
        if has_gradient and wanted(label + " grad"):
            attempt(result, label + " grad", sample, lambda s=sample: op.with_gradient(s))
        if seconds > LONG / 10:
            break
    if middle is None:
        result.skipped = result.skipped or "no large call of it runs in both libraries"
        return result
    others(result, op, middle, dtype, wanted)
    return result


def others(result: Result, op: Op, sample: S, dtype: str, wanted: Wanted) -> None:
    """The other dtypes and the compiled call, at the middle size."""
    for other in OTHER_DTYPES:
        if other in ("complex64", dtype) or not wanted(other):
            continue
        if other_fits(op.row, sample, other):
            attempt(result, other, sample, lambda other=other: op.forward(sample, other))
    complex_call = in_complex(sample)
    if dtype == "float32" and complex_call is not None and wanted("complex64"):
        attempt(result, "complex64", complex_call, lambda: op.forward(complex_call, "float32"))
    if dtype == "float32" and not op.row.mutates and op.row.values and wanted("compiled"):
        attempt(result, "compiled", sample, lambda: op.compiled(sample))


def other_fits(row: Row, sample: S, dtype: str) -> bool:
    """Whether the op is defined for that dtype."""
    if dtype == "int64":
        return "i" in row.dtypes and fits(sample, dtype)
    return "f" in row.dtypes and (dtype != "bfloat16" or row.half is not None)


def in_complex(sample: S) -> S | None:
    """The call with complex numbers, where it has floats."""
    if not any(a.dtype.kind == "f" for a in leaves(sample)):
        return None
    return swap(sample, lambda a: a + 0.5j * a[..., ::-1] if a.dtype.kind == "f" and a.ndim else a)


def attempt(
    result: Result, what: str, sample: S, make: Callable[[], tuple[Work, Work] | None]
) -> None:
    """Add a cell unless one of the libraries cannot do it."""
    try:
        works = make()
        if works is None or not ends(works):
            return
    except Exception:
        return
    add(result, what, sample, works)


def add(
    result: Result, what: str, sample: S, works: tuple[Work, Work], op: Op | None = None
) -> None:
    """Measure, and keep the cell."""
    ours, theirs = race(*works)
    if theirs / ours < EQUAL:  # or is it noise?
        again = race(*works, seconds=0.4)
        ours, theirs = min(ours, again[0]), min(theirs, again[1])
    cell = Cell(what, ours, theirs, repr(sample)[:100])
    if op is not None and what == label_of(SIZES[1]):
        try:
            cell.error = op.error(sample)
        except Exception:
            pass
    result.cells.append(cell)


def first_that_runs(op: Op, elements: int, dtype: str) -> tuple[S, float] | None:
    """The first call of that size that both libraries accept, and how long weft takes for it."""
    tried = late = 0
    for sample in enlarged(op.row, elements):
        if not fits(sample, dtype):
            continue
        tried += 1
        if tried > 24:
            return None
        try:
            works = op.forward(sample, dtype)
            if not ends(works):
                continue
            start = time.perf_counter()
            out = works[0]()
            seconds = time.perf_counter() - start
        except TimeoutError:
            late += 1
            if late == 3:
                return None
            continue
        except Exception:
            continue
        large = sum(x.numel() for x in flat(out) if is_tensor(x)) > MOST
        return None if large else (sample, seconds)
    return None


def ends(works: Iterable[Work]) -> bool:
    """Whether the pieces of work end without an error, as a child process finds out.

    Raises TimeoutError where they take too long: a loop in C++ that nothing can interrupt would take this
    process with it.
    """
    child = os.fork()
    if not child:
        code = 1
        try:
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, PATIENCE)
            for work in works:
                work()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
        raise TimeoutError
    return status == 0


def race(ours: Work, theirs: Work, seconds: float = 0.06) -> tuple[float, float]:
    """The smallest CPU times of two pieces of work that take turns."""
    works, counts = (ours, theirs), []
    for work in works:
        work()
        start = time.process_time()
        work()
        once = max(time.process_time() - start, 1e-7)
        counts.append(max(1, int(SAMPLE / once)))
    best = [math.inf, math.inf]
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < 4 or (rounds < 60 and time.perf_counter() < end):
        for i in (0, 1) if rounds % 2 else (1, 0):
            work = works[i]
            start = time.process_time()
            for _ in range(counts[i]):
                work()
            best[i] = min(best[i], (time.process_time() - start) / counts[i])
        rounds += 1
    return best[0], best[1]


# ---- all of them -------------------------------------------------------------------------------

CELLS = [label_of(e) for e in SIZES]
CELLS = [*CELLS, *(c + " grad" for c in CELLS), *OTHER_DTYPES, "compiled"]


def rows(only: str) -> Iterator[Row]:
    """The rows of all samples, each op once."""
    for row in ROWS.values():
        if row.alias_of is None and re.search(only, row.name):
            yield row


def mean(cells: list[Cell]) -> float:
    """The geometric mean of ratios."""
    return math.exp(sum(math.log(c.ratio) for c in cells) / len(cells)) if cells else math.nan


def report(results: list[Result], about: dict[str, Any]) -> str:
    """The table, worst first."""
    done = sorted((r for r in results if r.cells), key=lambda r: r.worst.ratio)
    cells = [c for r in done for c in r.cells]
    below = [c for c in cells if c.ratio < EQUAL]
    share = about["others"]  # None: the parts of the sweep were run at different times
    busy = "beside other work" + (
        "" if share is None else f", which took {share:.0%} of the machine"
    )
    middle = {label_of(SIZES[1]), label_of(SIZES[1]) + " grad"}
    quick = sum({c.what for c in r.cells} <= middle for r in done)
    lines = [
        "# Every op beside PyTorch",
        "",
        f"{about['date']}, {about['cpu']}, {about['isa']}, weft {about['weft']}, "
        f"PyTorch {about['torch']}, one thread, minima of CPU time, {busy}.",
        "",
        f"{len(done)} ops, {len(cells)} cells, geometric mean {three_digits(mean(cells))}; "
        f"{len(below)} cells of {sum(r.worst.ratio < EQUAL for r in done)} ops below {EQUAL}; "
        f"{quick} ops were measured at {label_of(SIZES[1])} only.",
        "",
        "PyTorch's time / weft's: below 1 weft is slower. Columns: elements of the largest tensor;",
        "*grad*: with the gradients of all inputs; other dtypes and the compiled call (against",
        "PyTorch's eager one) at 1e5. *error*: weft's largest float32 error over PyTorch's, both",
        "against float64, where it is above 1.",
        "",
    ]
    columns = list(dict.fromkeys(c.what for r in done for c in r.cells))
    columns = [c for c in CELLS if c in columns]
    lines += [
        "| op | worst | " + " | ".join(columns) + " | error | slowest call |",
        "| --- |" + " --- |" * (len(columns) + 3),
    ]
    for r in done:
        by = {c.what: c for c in r.cells}
        shown = [three_digits(by[c].ratio) if c in by else "" for c in columns]
        errors = [c.error for c in r.cells if c.error > 1]
        w = r.worst
        lines.append(
            f"| `{r.name}` | {three_digits(w.ratio)} | {' | '.join(shown)} | "
            f"{three_digits(max(errors)) if errors else ''} | "
            f"{w.what}: {amount(w.weft)}, PyTorch {amount(w.torch)} `{w.shapes}` |"
        )
    lines += ["", f"## Below {FLOOR}, and why", "", *_explained(done)]
    missing = [r.name for r in results if not r.cells]
    lines += [
        "",
        f"Not measured, since no large call runs in both: {', '.join(missing) or 'none'}.",
    ]
    return "\n".join(lines) + "\n"


def _explained(results: list[Result]) -> list[str]:
    """A line for each reason, with the ops and their worst ratios; those without a known one first."""
    ops: dict[str, dict[str, float]] = {"": {}}
    for r in results:
        for c in r.cells:
            if c.ratio < FLOOR:
                worst = ops.setdefault(reason(r.name, c.what), {})
                worst[r.name] = min(c.ratio, worst.get(r.name, c.ratio))
    return [
        f"- {why or 'no reason known, to be mended'}: "
        + (", ".join(f"`{name}` {three_digits(worst[name])}" for name in worst) or "none")
        for why, worst in ops.items()
    ]


def stored(about: dict[str, Any]) -> dict[str, Result]:
    """What the stored sweep measured on this machine with these libraries; nothing from another one."""
    try:
        old = json.loads((RESULTS / "sweep.json").read_text())
    except FileNotFoundError:
        return {}
    if any(old.get(key) != about[key] for key in ("cpu", "isa", "weft", "torch")):
        return {}
    return {
        r["name"]: Result(r["name"], [Cell(**c) for c in r["cells"]], r["skipped"])
        for r in old["ops"]
    }


def merged(old: Result | None, new: Result) -> Result:
    """An op's cells, the new ones in the place of old ones of the same name."""
    if old is None:
        return new
    fresh = {c.what for c in new.cells}
    cells = [*(c for c in old.cells if c.what not in fresh), *new.cells]
    cells.sort(key=lambda c: CELLS.index(c.what))
    return Result(new.name, cells, "" if cells else new.skipped)


def write(folder: Path, results: Iterable[Result], about: dict[str, Any]) -> None:
    """The table and the figures."""
    results = list(results)
    (folder / "sweep.md").write_text(report(results, about))
    (folder / "sweep.json").write_text(
        json.dumps({**about, "ops": [asdict(r) for r in results]}, indent=0) + "\n"
    )


def arguments() -> argparse.Namespace:
    """What to measure, and where it is kept."""
    parser = argparse.ArgumentParser(prog="python -m bench.sweep", description=__doc__)
    parser.add_argument("--only", default="", metavar="REGEX", help="ops whose name matches")
    parser.add_argument(
        "--cells", default="", metavar="REGEX", help=f"settings that match: {', '.join(CELLS)}"
    )
    parser.add_argument("--quick", action="store_true", help="float32 at 1e5 elements only")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="every Nth op from the Ith")
    parser.add_argument(
        "--merge", action="store_true", help="add to bench/results, in the place of the same cells"
    )
    parser.add_argument(
        "--write", type=Path, help="folder of the results (bench/results for all ops)"
    )
    args = parser.parse_args()
    if args.merge and args.write:
        parser.error("--merge adds to bench/results, --write makes other files: not both")
    if not re.fullmatch(r"[1-9]\d*/[1-9]\d*", args.part):
        parser.error(f"--part: expected I/N such as 2/4, got {args.part}")
    if args.quick:
        args.cells = "^1e5( grad)?$"
    return args


def main() -> int:
    """Measure, print what is below, write the files."""
    args = arguments()
    import torch

    import weft

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    torch.set_num_threads(1)
    weft.set_num_threads(1)
    warnings.simplefilter("ignore")
    gc.disable()
    about = {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": machine({})["cpu"],
        "isa": weft._C._isa(),
        "weft": weft.__version__,
        "torch": torch.__version__,
        "others": None,
    }
    others = Others({})
    partial = args.only or args.cells or args.part != "1/1"
    folder = args.write or (RESULTS if args.merge or not partial else None)
    results = stored(about) if args.merge else {}
    first, step = (int(n) for n in args.part.split("/"))
    wanted = re.compile(args.cells).search
    saved = time.monotonic()
    for row in tqdm(list(rows(args.only))[first - 1 :: step], unit=" ops", disable=None):
        op = Op(row, weft, torch)
        if not all(op.ops):
            continue
        try:
            new = measured(op, wanted)
        except Exception as e:
            new = Result(row.name, skipped=f"{type(e).__name__}: {e}")
        for c in new.cells:
            if c.ratio < EQUAL:
                tqdm.write(
                    f"{row.name:40} {c.what:10} x{three_digits(c.ratio)}  {amount(c.weft)} {c.shapes}"
                )
        results[row.name] = merged(results.get(row.name), new)
        gc.collect()
        sys.stdout.flush()
        if folder and time.monotonic() - saved > 30:
            about["others"] = None if args.merge else others.share()
            write(folder, results.values(), about)
            saved = time.monotonic()
    about["others"] = None if args.merge else others.share()
    if folder:
        write(folder, results.values(), about)
    print(report(list(results.values()), about).split("\n")[4])
    return 0


if __name__ == "__main__":
    sys.exit(main())
