"""``python -m weft profile`` and ``python -m weft.utils.bottleneck``, as they are typed."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from xml.etree import ElementTree

import weft

ROOT = pathlib.Path(weft.__file__).parent.parent

PROGRAM = """
import sys
import {name} as torch
from {name} import nn

model, x = nn.Linear(64, 64), torch.rand(32, 64)
for _ in range(3):
    model(x).sum().backward()
print("done", sys.argv[1:], __name__)
"""


def run(*args: str, folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *args], cwd=folder, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_profile_of_a_script(tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(name="weft"))
    done = run(
        "weft", "profile", "--rows", "4", "--trace", "t.json", "--flame", "f.svg", "train.py", "--rows",
        "9", folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done ['--rows', '9'] __main__\n"
    assert "verdict: " in done.stderr
    assert "% of peak" in done.stderr
    assert "Linear" in done.stderr
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    ElementTree.parse(tmp_path / "f.svg")


def test_profile_of_a_program_for_pytorch(tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(name="torch"))
    done = run("weft", "profile", "--by", "line", "train.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "train.py:8" in done.stderr


def test_profile_of_a_module(tmp_path: pathlib.Path) -> None:
    (tmp_path / "trained.py").write_text(PROGRAM.format(name="weft"))
    done = run("weft", "profile", "--by", "op", "-m", "trained", "-m", "x", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "done ['-m', 'x'] __main__" in done.stdout
    assert "linear" in done.stderr


def test_programs_that_fail_are_reported_too(tmp_path: pathlib.Path) -> None:
    (tmp_path / "fails.py").write_text("import weft\nweft.ones(3) + 1\nraise ValueError('mine')\n")
    done = run("weft", "profile", "fails.py", folder=tmp_path)
    assert done.returncode == 1
    assert "ValueError: mine" in done.stderr
    assert "add" in done.stderr
    (tmp_path / "leaves.py").write_text("import sys, weft\nweft.ones(3)\nsys.exit(3)\n")
    done = run("weft", "profile", "leaves.py", folder=tmp_path)
    assert done.returncode == 3
    assert "ones" in done.stderr
    (tmp_path / "idle.py").write_text("print(1)\n")
    done = run("weft", "profile", "idle.py", folder=tmp_path)
    assert done.returncode == 0
    assert "ran no op" in done.stderr


def test_bottleneck(tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(name="weft"))
    done = run("weft.utils.bottleneck", "train.py", "now", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done ['now'] __main__") == 2
    assert "cProfile" in done.stdout
    assert "tottime" in done.stdout
    assert "Self CPU %" in done.stdout
    assert "LinearBackward0" in done.stdout


def test_wrong_options_are_told_before_the_program_runs(tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.py").write_text("print('ran')")
    cases = {
        ("--every", "0"): "--every: must be a whole number of at least 1, got 0",
        ("--limit", "-1"): "--limit: must be a whole number of at least 1, got -1",
        ("--trace", "no/such/t.json"): "--trace: no/such/t.json cannot be written",
        ("--flame", "."): "--flame: . cannot be written",
    }
    for options, says in cases.items():
        done = run("weft", "profile", *options, "train.py", folder=tmp_path)
        assert done.returncode == 2 and "ran" not in done.stdout
        assert says in done.stderr and "Traceback" not in done.stderr, done.stderr
    done = run("weft", "profile", folder=tmp_path)
    assert done.returncode == 2 and "a script, or -m and a module, is missing" in done.stderr
