"""What the examples share: a progress bar, a goal that is checked, a picture at the end.

An example says in its first line what it does, and in a line that begins with ``Goal:`` what it must
reach. It ends with ``conclude``, which measures the goal and stores the picture. With ``--smoke`` it
runs only a few steps: to see that it works, not how well.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BUILD = Path.cwd() / "build"  # where an example writes: below the folder it is started in
OUTPUT = Path(os.environ.get("WEFT_GALLERY") or BUILD / "gallery")
DATA = Path(os.environ.get("WEFT_GALLERY_DATA") or BUILD / "gallery-data")  # files made by examples
SMOKE = "--smoke" in sys.argv
_begin = time.perf_counter()


def arguments(doc: str | None, **defaults: Any) -> argparse.Namespace:
    """The options of an example: ``--smoke``, and one for each default."""
    parser = argparse.ArgumentParser(description=(doc or "").strip().partition("\n")[0])
    parser.add_argument(
        "--smoke", action="store_true", help="a few steps only, to see that it runs"
    )
    for name, value in defaults.items():
        option = "--" + name.replace("_", "-")
        parser.add_argument(option, type=type(value), default=value, help=f"default: {value}")
    return parser.parse_args()


def rounds(count: int, text: str = "epoch") -> Iterable[int]:
    """0, 1, …, count - 1 behind a progress bar with the time left; two of them with --smoke."""
    from tqdm import tqdm

    every = 0.1 if sys.stderr.isatty() else 20  # seconds: a log needs few lines
    total = range(min(count, 2) if SMOKE else count)
    return tqdm(total, desc=text, dynamic_ncols=True, mininterval=every, maxinterval=2 * every)


def say(bar: Iterable[int], **values: float) -> None:
    """Write numbers behind the progress bar."""
    text = {name: f"{value:.4g}" for name, value in values.items()}
    bar.set_postfix(text, refresh=False)  # type: ignore[attr-defined]


def conclude(
    what: str,
    value: float,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    picture: Figure | None = None,
    table: Sequence[Sequence[str]] = (),
) -> None:
    """Print the table and the result, store the picture, and exit with 1 if the goal is missed."""
    name = Path(sys.argv[0]).stem
    for row in table:
        print("  ".join(f"{cell:<14}" for cell in row).rstrip())
    goal = f"at least {at_least:g}" if at_least is not None else f"at most {at_most:g}"
    good = value >= at_least if at_least is not None else at_most is not None and value <= at_most
    seconds = time.perf_counter() - _begin
    verdict = "smoke run: not judged" if SMOKE else "reached" if good else "MISSED"
    print(f"{what}: {value:.4g} (goal: {goal}): {verdict}; {seconds:.1f} s")
    OUTPUT.mkdir(parents=True, exist_ok=True)
    if picture is not None:
        path = OUTPUT / f"{name}.png"
        picture.savefig(path, dpi=72, bbox_inches="tight")
        print(f"picture: {os.path.relpath(path)}")
    record = {"what": what, "value": value, "goal": goal, "reached": bool(good), "seconds": seconds}
    record["table"] = [list(row) for row in table]
    if not SMOKE:
        (OUTPUT / f"{name}.json").write_text(json.dumps(record, indent=1))
    if not good and not SMOKE:
        sys.exit(1)


def figure(
    rows: int = 1, columns: int = 1, width: float = 8.0, height: float = 3.2
) -> tuple[Any, Any]:
    """A matplotlib figure and its axes, drawn without a screen."""
    try:
        import matplotlib
    except ImportError as e:
        raise ImportError("pictures need matplotlib: pip install weft[examples]") from e
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot.subplots(rows, columns, figsize=(width, height), layout="constrained")
