"""Fuzz weft: `python -m fuzz [NAME ...]` in the folder tests, or `make fuzz MINUTES=10`.

Prints one line for each fuzzer, and leaves a small reproducer in tests/fuzz/reproducers for each
finding. Ends with code 1 if there was one.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from fuzz import runner
from tqdm import tqdm

KEPT = 5  # findings of a kind and a fuzzer that are made small and kept


def arguments() -> argparse.Namespace:
    """The command line."""
    p = argparse.ArgumentParser(prog="fuzz", description="Look for crashes and silent errors.")
    p.add_argument("fuzzers", nargs="*", metavar="NAME", help="which fuzzers (all)")
    p.add_argument("--minutes", type=float, help="how long all of them run together (1)")
    p.add_argument("--cases", type=int, help="how many cases each of them runs, instead of minutes")
    p.add_argument("--seed", type=int, help="the first seed (by the clock)")
    p.add_argument("--jobs", type=int, default=2, help="how many processes run at a time (2)")
    args = p.parse_args()
    unknown = set(args.fuzzers) - set(runner.fuzzers())
    if unknown:
        p.error(f"no fuzzer named {sorted(unknown)}; there are {runner.fuzzers()}")
    args.fuzzers = args.fuzzers or runner.fuzzers()
    if args.seed is None:
        args.seed = int(time.time()) * 1_000_000
    return args


def campaign(
    args: argparse.Namespace, fuzzer: str, bar: tqdm, lock: threading.Lock
) -> runner.Tally:
    """One process after the other for one share of a fuzzer's cases."""

    def progress(n: int) -> None:
        with lock:
            bar.update(n)

    share, rest = divmod(args.cases or 0, args.jobs)
    parts: list[tuple[int, int | None]] = [
        (args.seed + k * 10**12, (share + (k < rest)) if args.cases else None)
        for k in range(args.jobs)
    ]
    seconds = None if args.cases else 60 * (args.minutes or 1) / len(args.fuzzers)
    total = runner.Tally(fuzzer)
    with ThreadPoolExecutor(args.jobs) as pool:
        futures = [
            pool.submit(runner.run, fuzzer, first, cases, seconds, progress)
            for first, cases in parts
        ]
        for tally in (f.result() for f in futures):
            total.cases += tally.cases
            total.kinds += tally.kinds
            total.findings += tally.findings
            total.counts += tally.counts
            total.seconds = max(total.seconds, tally.seconds)
    return total


def keep(tally: runner.Tally) -> None:
    """Make the first findings of each kind small, and save them."""
    seen: dict[str, int] = {}
    for found in tally.findings:
        seen[found.kind] = seen.get(found.kind, 0) + 1
        if seen[found.kind] <= KEPT:
            small = runner.minimise(found)
            last = small.text.strip().splitlines()[-1:] or [""]
            print(f"  seed {found.seed}: {found.kind}: {last[0][:200]}\n    {small.save()}")


def main() -> int:
    """Run the fuzzers one after the other."""
    args = arguments()
    print(f"seed {args.seed}: --seed repeats this run")
    lock = threading.Lock()
    failed = False
    for fuzzer in args.fuzzers:
        with tqdm(total=args.cases, desc=fuzzer, unit=" cases", leave=False, disable=None) as bar:
            tally = campaign(args, fuzzer, bar, lock)
        print(tally, flush=True)
        keep(tally)
        failed = failed or bool(tally.findings)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
