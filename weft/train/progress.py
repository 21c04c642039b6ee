"""How a training is shown: a bar on a terminal, a line for each epoch in a log."""

from __future__ import annotations

import shutil
import sys
from functools import cache
from time import perf_counter
from typing import Any

__all__ = ["Progress", "results_text"]

EVERY = 0.1  # seconds between two drawings
WIDEST, NARROWEST = 20, 5  # of the bar, in columns


def results_text(results: dict[str, Any]) -> str:
    """Return the numbers among results as text.

    >>> from weft.train.progress import results_text
    >>> results_text({"epoch": 3, "loss": 0.12345, "lr": 1e-5, "matrix": [[1]]})
    'loss 0.1235  lr 1e-05'
    """
    numbers = {k: v for k, v in results.items() if isinstance(v, (int, float)) and k != "epoch"}
    return "  ".join(f"{name} {_number(value)}" for name, value in numbers.items())


def _number(x: float) -> str:
    if isinstance(x, int):
        return str(x)
    return f"{x:.4f}" if x == 0 or 1e-2 <= abs(x) < 1e4 else f"{x:.4g}"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


@cache
def _bar_class() -> Any:
    from tqdm import tqdm  # type: ignore[import-untyped]

    class Bar(tqdm):
        """A bar without the thread that tqdm lets watch its bars: workers may be forked."""

        monitor_interval = 0

    return Bar


class Progress:
    """Shows a training on the standard output.

    Args:
        shown: False for nothing at all.

    >>> from weft.train.progress import Progress
    >>> progress = Progress(True)
    >>> progress.begin("epoch 1/2", 10, 0, 1)
    >>> progress.end({"loss": 0.5})  # doctest: +ELLIPSIS
    epoch 1/2  ... s  loss 0.5000
    """

    def __init__(self, shown: bool) -> None:
        self.shown = shown
        self.bar: Any = None
        self.next = float("inf")  # when it is drawn again

    def begin(self, text: str, total: int | None, done: int, epochs_left: int) -> None:
        """Begin an epoch.

        Args:
            text: what stands before the bar.
            total: how many batches there are, if it is known.
            done: how many of them are done.
            epochs_left: how many epochs come after this one.
        """
        self.start, self.text, self.total = perf_counter(), text, total
        self.first, self.done, self.epochs_left = done, done, epochs_left
        self.phase = ""
        if self.shown and sys.stdout.isatty():
            self.bar = _bar_class()(
                total=total,
                initial=done,
                file=sys.stdout,
                dynamic_ncols=True,
                bar_format=self.line({}, running=True),
                mininterval=0,
                leave=False,
            )
            self.next = self.start + EVERY

    def left(self) -> float | None:
        """Return the seconds that are left of the training, if it can be estimated."""
        passed = self.done - self.first
        if self.total is None or not passed:
            return None
        epoch = self.total * (perf_counter() - self.start) / passed
        return epoch * (self.epochs_left + 1 - self.done / self.total)

    def line(self, results: dict[str, Any], running: bool) -> str:
        """Return a line, as tqdm's format: the bar is as wide as the terminal leaves it."""
        count = str(self.done) if self.total is None else f"{self.done}/{self.total}"
        parts = [count, _clock(perf_counter() - self.start)]
        left = self.left() if running else None
        parts += [] if left is None else [f"{_clock(left)} left"]
        parts += [text for text in (self.phase, results_text(results)) if text]
        rest = "  ".join(parts).replace("{", "{{").replace("}", "}}")
        room = shutil.get_terminal_size().columns - len(self.text) - len(rest) - 6
        width = 0 if self.total is None else min(WIDEST, room)
        bar = f"|{{bar:{width}}}| " if width >= NARROWEST else " "
        return f"{self.text} {bar}{rest}"

    def draw(self, done: int, results: dict[str, Any]) -> None:
        """Draw the bar, with the results so far."""
        self.done = self.bar.n = done
        self.next = perf_counter() + EVERY
        self.bar.bar_format = self.line(results, running=True)
        self.bar.refresh()

    def note(self, phase: str, results: dict[str, Any]) -> None:
        """Say on the bar what is going on."""
        if self.bar is not None:
            self.phase = phase
            self.draw(self.done, results)

    def tick(self, what: str, done: int) -> None:
        """Count batches that are not trained with, in a bar of their own or on that of the epoch."""
        if self.bar is not None and self.text == what:
            self.draw(done, {})
        elif self.bar is not None:
            self.note(f"{what} {done}", {})

    def end(self, results: dict[str, Any]) -> None:
        """End an epoch with its results: they stay, in full."""
        if self.bar is not None:
            self.phase = ""
            self.bar.n = self.done
            self.bar.bar_format = line = self.line(results, running=False)
            text = str(self.bar) if "{bar:" in line else line.format()  # too long: uncut
            self.close()
            print(text, flush=True)
        elif self.shown:
            seconds = perf_counter() - self.start
            print(f"{self.text}  {seconds:.1f} s  {results_text(results)}", flush=True)

    def close(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.close()
            self.bar, self.next = None, float("inf")

    def print(self, text: str) -> None:
        """Print a line without disturbing the bar."""
        if self.bar is not None:
            self.bar.write(text, file=sys.stdout)
        else:
            print(text, flush=True)
