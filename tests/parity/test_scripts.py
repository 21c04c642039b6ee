"""Programs written for PyTorch, unchanged: the same numbers on PyTorch and under `weft run`.

The programs are in tests/scripts; each prints lines `name value`. PyTorch runs them all in one
process, for its import takes longer than most of them; weft runs each in a process of its own.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "scripts"
SCRIPTS = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem != "common")
LINE = re.compile(r"^(\w+) (-?\d[\d.e+-]*|-?inf|nan)$", re.MULTILINE)
TOLERANCE = 1e-4

ON_TORCH = """
import contextlib, io, json, runpy, sys, traceback, torch
for name in sys.argv[1:]:
    out = io.StringIO()
    sys.argv, error = [name], None
    try:
        with contextlib.redirect_stdout(out):
            runpy.run_path(name, run_name="__main__")
    except BaseException:
        error = traceback.format_exc()
    torch.set_default_dtype(torch.float32)
    torch.use_deterministic_algorithms(False)
    print(json.dumps([name, out.getvalue(), error]), flush=True)
"""


def environment() -> dict[str, str]:
    """Both run with few threads, and find weft and the programs' helpers."""
    paths = [str(ROOT), str(FOLDER), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "OMP_NUM_THREADS": "2",
    }


def numbers(text: str) -> dict[str, float]:
    """The lines `name value` of a program's output."""
    return {name: float(value) for name, value in LINE.findall(text)}


@pytest.fixture(scope="module")
def on_torch() -> dict[str, tuple[str, str | None]]:
    """What every program prints with PyTorch, and its error if it fails."""
    names = [str(FOLDER / f"{name}.py") for name in SCRIPTS]
    done = subprocess.run(
        [sys.executable, "-c", ON_TORCH, *names],
        env=environment(), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(rows) == len(names), done.stderr[-2000:]
    return {Path(name).stem: (out, error) for name, out, error in rows}


def test_there_are_enough() -> None:
    """At least thirty programs."""
    assert len(SCRIPTS) >= 30


@pytest.mark.parametrize("name", SCRIPTS)
def test_same_numbers(name: str, on_torch: dict[str, tuple[str, str | None]]) -> None:
    """Every number that a program prints is the same in both, but for rounding."""
    out, error = on_torch[name]
    assert error is None, f"{name} fails on PyTorch\n{error}"
    done = subprocess.run(
        [sys.executable, "-m", "weft", "run", str(FOLDER / f"{name}.py")],
        env=environment(), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, f"{name} fails on weft\n{done.stderr[-3000:]}"
    theirs, ours = numbers(out), numbers(done.stdout)
    assert len(theirs) >= 3, f"{name} prints too little:\n{out}"
    assert list(ours) == list(theirs)
    wrong = [
        f"{key}: {ours[key]!r} on weft, {value!r} on PyTorch"
        for key, value in theirs.items()
        if not math.isclose(ours[key], value, rel_tol=TOLERANCE, abs_tol=1e-7)
    ]
    assert not wrong, "\n".join(wrong)
