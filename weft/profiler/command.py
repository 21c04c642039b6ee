"""``python -m weft profile``: a program is run, and what its time went into is printed."""

from __future__ import annotations

import argparse
import os
import sys

from .profile import profile
from .recording import DEFAULT_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from weft.debug.memory_track import Track

__all__ = ["main", "parsed", "report", "run_recorded"]


def _positive(text: str) -> int:
    """Return a number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text}")
    return int(text)


def _file(text: str) -> str:
    """Return the name of a file that can be written; the program has not run yet."""
    written = text if os.path.exists(text) else os.path.dirname(text) or "."
    if os.path.isdir(text) or not os.access(written, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} cannot be written")
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m weft profile",
        description="Run a program and print where its time goes. It may import weft, or torch.",
    )
    parser.add_argument(
        "--by", choices=("op", "module", "line"), help="one table only; default: module and op"
    )
    parser.add_argument("--rows", type=int, default=15, help="of a table (default 15; -1: all)")
    parser.add_argument(
        "--trace", type=_file, metavar="FILE", help="write a trace for chrome://tracing or Perfetto"
    )
    parser.add_argument("--flame", type=_file, metavar="FILE", help="write a flame graph (SVG)")
    parser.add_argument(
        "--memory", action="store_true", help="each block of memory is in the trace"
    )
    parser.add_argument(
        "--every", type=_positive, default=1, metavar="N", help="record one op of N (default 1)"
    )
    parser.add_argument(
        "--limit", type=_positive, default=DEFAULT_LIMIT, help="of events (default 1,000,000)"
    )
    parser.add_argument(
        "-m", dest="module", metavar="MODULE", help="run a module instead of a script"
    )
    parser.add_argument("program", nargs=argparse.REMAINDER, help="the script, and its arguments")
    return parser


def main(argv: Sequence[str]) -> int:
    """Profile the program that a command line names; return the exit code of that program."""
    args, run = parsed(_parser(), argv)
    prof = profile(
        with_flops=True, profile_memory=args.memory, every=args.every, limit=args.limit,
        record_shapes=args.trace is not None,
    )  # fmt: skip
    code = run_recorded(prof, run)
    print(report(prof, args.by, args.rows), file=sys.stderr)
    if args.trace:
        prof.export_chrome_trace(args.trace)
        print(f"trace: {args.trace}", file=sys.stderr)
    if args.flame:
        prof.flame(args.flame)
        print(f"flame graph: {args.flame}", file=sys.stderr)
    return code


def parsed(
    parser: argparse.ArgumentParser, argv: Sequence[str]
) -> tuple[argparse.Namespace, Callable[[], None]]:
    """Return the options of a command line and what runs its program; exits where it names none."""
    argv = list(argv)
    # What follows -m MODULE is the program's, whatever it looks like.
    module = argv.index("-m") if "-m" in argv else None
    cut = module + 2 if module is not None and not _script_before(parser, argv, module) else None
    args = parser.parse_args(argv[:cut] if cut else argv)
    rest = argv[cut:] if cut else args.program
    if not args.module and not rest:
        parser.error("a script, or -m and a module, is missing")
    from weft.compat.run import run_module, run_path

    def run() -> None:
        if args.module:
            run_module(args.module, rest)
        else:
            run_path(rest[0], rest[1:])

    return args, run


def _script_before(parser: argparse.ArgumentParser, argv: list[str], place: int) -> bool:
    """Whether the script's name stands before this place: then what is there belongs to it."""
    options = parser._option_string_actions
    k = 0
    while k < place:
        if not argv[k].startswith("-"):
            return True
        known = options.get(argv[k])
        k += 2 if known is not None and known.nargs is None else 1
    return False


def run_recorded(recorder: profile | Track, run: Callable[[], None]) -> int:
    """Run a program under a recorder; its errors are shown, and what ran before them is recorded."""
    code = 0
    recorder.start()
    try:
        run()
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
            code = 1
        else:
            code = end.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        recorder.stop()
    return code


def report(prof: profile, by: str | None = None, rows: int = 15) -> str:
    """Return the verdict and the tables of a profile.

    >>> from weft.profiler import profile
    >>> from weft.profiler.command import report
    >>> with profile() as prof:
    ...     y = weft.ones(2) + 1
    >>> "add" in report(prof, "op")
    True
    """
    if not prof.events():
        return "verdict: nothing was recorded: the program ran no op of weft"
    parts = [f"verdict: {prof.verdict()}"]
    for group_by in [by] if by else ["module", "op"]:
        parts.append(prof.report(group_by, rows))  # type: ignore[arg-type]
    return "\n\n".join(parts)
