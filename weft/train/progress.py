"""How a training is shown: a bar on a terminal, a line for each epoch in a log."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

__all__ = ["Progress", "results_text"]

EVERY = 0.1  # seconds between two drawings
_BAR = "{desc} |{bar:20}| {n_fmt}/{total_fmt} {elapsed}{postfix}"
_NO_TOTAL = "{desc} {n_fmt} batches {elapsed}{postfix}"


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
            from tqdm import tqdm

            self.bar = tqdm(
                total=total,
                initial=done,
                desc=text,
                file=sys.stdout,
                dynamic_ncols=True,
                bar_format=_NO_TOTAL if total is None else _BAR,
                mininterval=0,
            )
            self.next = self.start + EVERY

    def left(self) -> float | None:
        """Return the seconds that are left of the training, if it can be told."""
        passed = self.done - self.first
        if self.total is None or not passed:
            return None
        epoch = self.total * (perf_counter() - self.start) / passed
        return epoch * (self.epochs_left + 1 - self.done / self.total)

    def draw(self, done: int, results: dict[str, Any]) -> None:
        """Draw the bar, with the results so far."""
        self.done = done
        self.next = perf_counter() + EVERY
        left = self.left()
        parts = [] if left is None else [f"{_clock(left)} left"]
        parts += [self.phase] if self.phase else []
        self.bar.n = done
        self.bar.set_postfix_str("  ".join([*parts, results_text(results)]), refresh=False)
        self.bar.refresh()

    def note(self, phase: str, results: dict[str, Any]) -> None:
        """Say on the bar what is going on."""
        if self.bar is not None:
            self.phase = phase
            self.draw(self.bar.n, results)

    def end(self, results: dict[str, Any]) -> None:
        """End an epoch with its results."""
        if self.bar is not None:
            self.bar.set_postfix_str(results_text(results), refresh=True)
            self.close()
        elif self.shown:
            seconds = perf_counter() - self.start
            print(f"{self.text}  {seconds:.1f} s  {results_text(results)}", flush=True)

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self.bar is not None:
            self.bar.close()
            self.bar, self.next = None, float("inf")

    def print(self, text: str) -> None:
        """Print a line without disturbing the bar."""
        if self.bar is not None:
            self.bar.write(text, file=sys.stdout)
        else:
            print(text, flush=True)
