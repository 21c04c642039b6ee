"""Run a program under Python's profiler and under weft's, one after the other, and print both."""

from __future__ import annotations

import argparse
import cProfile
import io
import platform
import pstats
import sys

import weft
from weft.compat.run import run_path
from weft.profiler import profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

RULE = "-" * 80


def _title(text: str) -> str:
    return f"{RULE}\n  {text}\n{RULE}"


def _under_python(script: str, args: Sequence[str]) -> str:
    """Return the functions of Python that took longest."""
    prof = cProfile.Profile()
    prof.enable()
    try:
        _run(script, args)
    finally:
        prof.disable()
    text = io.StringIO()
    stats = pstats.Stats(prof, stream=text)
    stats.sort_stats("tottime").print_stats(15)
    return text.getvalue().strip()


def _run(script: str, args: Sequence[str]) -> None:
    """Run the program; its leaving with code 0 is no end of ours."""
    path = sys.path[:]
    try:
        run_path(script, args)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    finally:
        sys.path[:] = path


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m weft.utils.bottleneck",
        description="Run a script twice, under Python's profiler and under weft's, and print both.",
    )
    parser.add_argument("script")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="what the script is given")
    given = parser.parse_args(argv)
    print(_title("Environment"))
    print(
        f"weft {weft.__version__}, Python {platform.python_version()}, {weft.get_num_threads()} threads"
    )
    print(_title("cProfile: functions of Python, by their own time"))
    print(_under_python(given.script, given.args))
    with profile(record_shapes=True, with_flops=True) as prof:
        _run(given.script, given.args)
    print(_title("weft.profiler: ops, by their own time"))
    if prof.events():
        print(prof.verdict())
        print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=15))
    else:
        print("The script ran no op of weft.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
