"""``python -m weft memory``: a program is run, and what holds memory and what the peak was is printed."""

from __future__ import annotations

import argparse
import sys

import weft
from weft.profiler.command import parsed, run_recorded

from .memory import Report, Survey, Track

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m weft memory",
        description="Run a program and print what its peak of memory was made of, and what holds "
        "memory when it ends. It may import weft, or torch.",
    )
    parser.add_argument("--rows", type=int, default=10, help="of a table (default 10; -1: all)")
    parser.add_argument("--picture", metavar="FILE", help="write memory over time (SVG)")
    parser.add_argument(
        "--by", choices=("module", "line", "op"), default="module", help="what its areas are"
    )
    parser.add_argument(
        "--limit", type=int, default=5_000_000, help="of ops and blocks (default 5,000,000)"
    )
    parser.add_argument(
        "-m", dest="module", metavar="MODULE", help="run a module instead of a script"
    )
    parser.add_argument("program", nargs=argparse.REMAINDER, help="the script, and its arguments")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the program that a command line names, and report; return the exit code of that program."""
    args, run = parsed(_parser(), argv)
    weft.reset_peak_memory_stats()
    tracked = Track(args.limit)
    code = run_recorded(tracked, run)
    print(tracked.peak.text(args.rows), file=sys.stderr)
    title = "\nwhen the program ended:"
    print(Report(Survey(tracked.lines()), title).text(args.rows), file=sys.stderr)
    if args.picture:
        tracked.picture(args.picture, args.by)
        print(f"picture: {args.picture}", file=sys.stderr)
    return code
