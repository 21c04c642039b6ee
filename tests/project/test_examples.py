"""The examples do what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from serialization.resumable import digest

import weft

ROOT = Path(weft.__file__).resolve().parents[1]


EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits.py"

# Runs the example, with Ctrl-C in the middle of its third epoch, however fast the machine is.
INTERRUPTED = f"""
import runpy, signal, sys
import weft
step, steps = weft.optim.AdamW.step, []
def counted(self, *args, **kwargs):
    steps.append(1)
    if len(steps) == 110:  # an epoch has 45
        signal.raise_signal(signal.SIGINT)
    return step(self, *args, **kwargs)
weft.optim.AdamW.step = counted
sys.argv[0], sys.path[0] = {str(EXAMPLE)!r}, {str(EXAMPLE.parent)!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def digits(path: Path, *options: str, program: tuple[str, ...] = (str(EXAMPLE),)) -> Any:
    """Start examples/digits.py with a checkpoint of our own."""
    return subprocess.Popen(
        [sys.executable, *program, "--checkpoint", str(path), *options],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def output(path: Path, *options: str) -> str:
    """Run it to the end."""
    with digits(path, *options) as run:
        text = run.communicate(timeout=300)[0]
    assert run.returncode == 0, text
    return text


def test_digits_are_learnt(tmp_path: Path) -> None:
    """At least 97 % of unseen digits; a second run has nothing to do, --fresh begins anew."""
    path = tmp_path / "digits.weft"
    text = output(path)
    match = re.search(r"test accuracy (.*)% on 360 unseen digits", text)
    assert match and float(match[1]) >= 97
    assert text.count("epoch ") == 12
    again = output(path)
    assert "has 12 of 12 epochs: the training is complete" in again
    assert "epoch " not in again and match[0] in again
    with digits(path, "--epochs", "1") as run:
        assert "from a training of 12 epochs, not 1" in run.communicate()[0]
    assert run.returncode == 2
    assert output(path, "--epochs", "1", "--fresh").count("epoch ") == 1


@pytest.mark.usefixtures("ctrl_c")
def test_digits_can_be_interrupted(tmp_path: Path) -> None:
    """Ctrl-C in the middle: a friendly word, and the next run ends as if nothing had been."""
    whole, parts = tmp_path / "whole.weft", tmp_path / "parts.weft"
    output(whole, "--epochs", "4")
    with digits(parts, "--epochs", "4", program=("-c", INTERRUPTED)) as run:
        text = run.communicate(timeout=300)[0]
    assert run.returncode == 130
    assert re.search(r"Stopped: 2 of 4 epochs are in .*parts.weft; make run goes on", text)
    assert "of 4 epochs: going on from there" in output(parts, "--epochs", "4")
    ends = [weft.load(path) for path in (whole, parts)]
    for end in ends:
        end["random"] = end["random"]["weft"]  # those of NumPy and Python are not used or seeded
    assert digest(ends[0]) == digest(ends[1])
