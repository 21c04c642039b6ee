"""``python -m bench``: weft and its peers in turns, printed as ratios."""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tqdm import tqdm

from bench import harness, inference, report, seeing, size, startup, trainer
from bench.harness import Library, Line, Options, Row, Worker

RESULTS = harness.ROOT / "bench" / "results"
PROBES = ("startup/import/first_op", "size/package", "trainer/overhead", "seeing/profiler")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    add = parser.add_argument
    add("--only", metavar="REGEX", help="rows whose family/group/name/size matches")
    add("--quick", action="store_true", help="one size per row, few rounds: about two minutes")
    add(
        "--peers",
        default="torch,jax,numpy,onnxruntime,openvino",
        help="libraries to compare with (default: %(default)s)",
    )
    add("--threads", default="1,2", help="thread counts (default: %(default)s)")
    add("--json", metavar="FILE", type=Path, help="results, and FILE.md beside it")
    add("--seconds", type=float, help="time for each row and size (default 1.6; quick 0.4)")
    add("--python", metavar="LIB=EXE", action="append", default=[], help="a library's interpreter")
    add("--module", metavar="LIB=NAME", action="append", default=[], help="a module to stand in")
    add("--check", action="store_true", help="exit with 1 if a budget is missed")
    add("--list", action="store_true", help="print the rows and stop")
    return parser.parse_args(arguments)


def libraries(options: argparse.Namespace) -> list[Library]:
    """Which libraries take part, and how each is reached.

    An interpreter comes from ``--python``, else from ``WEFT_BENCH_PYTHON_<LIB>``, else it is ours.
    """
    pythons = dict(pair.split("=", 1) for pair in options.python)
    modules = dict(pair.split("=", 1) for pair in options.module)
    found = []
    for label in ["weft", *filter(None, options.peers.split(","))]:
        from_env = os.environ.get(f"WEFT_BENCH_PYTHON_{label.upper()}")
        # os.path.abspath, not resolve: the link inside a venv is what makes it a venv
        python = os.path.abspath(pythons.get(label) or from_env or sys.executable)
        found.append(Library(label, modules.get(label, label), python))
    bare = os.environ.get("WEFT_BARE_PATH")
    if bare:
        found.append(Library("bare", found[0].module, found[0].python, bare))
    return found


def select(rows: list[Row], only: str | None, quick: bool) -> list[tuple[Row, str]]:
    """The rows and sizes to run."""
    wanted = re.compile(only or "")
    return [
        (row, label)
        for row in rows
        for label in row.sizes
        if wanted.search(row.id(label)) and (not quick or row.quick is None or label in row.quick)
    ]


def run(args: argparse.Namespace, workers: dict[str, Worker], options: Options) -> list[Line]:
    """Measure what was selected, printing as it goes."""
    lines: list[Line] = []

    def keep(measure: Callable[[], list[Line]]) -> None:
        others = report.Others(workers)
        new = measure()
        share = round(others.share(), 3)
        lines.extend(new)
        for line in new:
            line.others = share if line.unit == "s" else 0.0
            tqdm.write(report.headline(line))
            sys.stdout.flush()

    for row, label in tqdm(
        select(harness.load_rows(), args.only, args.quick), unit=" rows", disable=None
    ):
        if row.family == "provenance" and "bare" not in workers:
            continue
        keep(partial(harness.measure, row, label, workers, options))
    wanted = re.compile(args.only or "")
    if wanted.search(PROBES[0]):
        keep(partial(startup.measure, workers, args.quick))
    if wanted.search(PROBES[1]):
        keep(partial(size.measure, workers))
    if wanted.search(PROBES[2]):
        keep(partial(trainer.measure, workers, args.quick))
    if wanted.search(PROBES[3]):
        keep(partial(seeing.measure, workers, args.quick))
    return lines


def main() -> int:
    """Run the benchmark; 0 unless ``--check`` finds a missed budget or weft can't be imported."""
    args = parse()
    rows = harness.load_rows()
    if args.list:
        print(*(row.id(s) for row, s in select(rows, args.only, args.quick)), *PROBES, sep="\n")
        return 0
    threads = tuple(int(count) for count in args.threads.split(","))
    options = Options(threads=threads)
    if args.quick:
        options = Options(quick=True, threads=threads, seconds=0.4, rounds=(5, 100))
    if args.seconds is not None:
        options = dataclasses.replace(options, seconds=args.seconds)
    workers, absent = harness.start_workers(libraries(args))
    for label, why in absent.items():
        print(f"without {label}: {why}")
    if "bare" not in workers and "bare" not in absent:
        print("without provenance rows: WEFT_BARE_PATH names no build (bench/README.md)")
    if "weft" not in workers:
        return 2
    about = report.machine(workers)
    standing_in = workers["weft"].library.module != "weft"
    about["command"] = "python -m bench" + (" --quick" if args.quick else "")
    if args.only:
        about["command"] += f" --only '{args.only}'"
    if args.seconds is not None:
        about["command"] += f" --seconds {args.seconds:g}"
    about["absent"] = absent
    print(f"{about['cpu']}, {about['cores']} cores; {about['libraries']}")
    start, others = time.monotonic(), report.Others(workers)
    try:
        lines = run(args, workers, options)
        about["others"] = round(others.share(), 3)
    finally:
        for worker in workers.values():
            worker.stop()
    print()
    for mean in report.means(lines):
        print(mean)
    counts = report.tally(lines)
    minutes = (time.monotonic() - start) / 60
    print(", ".join(f"{n} {status}" for status, n in counts.items()), f"in {minutes:.1f} min")
    if about["others"] > 0.05:
        print(f"other work took {about['others']:.0%} of the machine: repeat when it is quiet")
    if args.json:
        report.save(args.json, lines, about)
    if not args.quick and not standing_in and inference.save(RESULTS, lines, about):
        print("results: bench/results/inference.md")
    if not args.only and not standing_in:
        report.save(RESULTS / "latest.json", lines, about)
        print("results: bench/results/latest.md")
    return int(args.check and ("MISS" in counts or "n/a" in counts))


if __name__ == "__main__":
    sys.exit(main())
