"""The gallery: every example runs, says what it must reach, and is on the map."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft.utils import gallery

ROOT = Path(weft.__file__).resolve().parents[1]
ELSEWHERE = {
    "digits"
}  # has no goal line and no --smoke; tests/project/test_examples.py runs it in full
COMPILED = (
    ROOT / "tests" / "project" / "compiled_example.py"
)  # runs an example whose networks are compiled
NAMES = [name for name in gallery.examples() if name not in ELSEWHERE]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the examples put the files that they make for themselves."""
    return tmp_path_factory.mktemp("data")


def smoke(*command: str, pictures: Path, data: Path) -> subprocess.CompletedProcess[str]:
    """Run a few steps of an example."""
    return subprocess.run(
        [sys.executable, *command, "--smoke"],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "WEFT_GALLERY": str(pictures),
            "WEFT_GALLERY_DATA": str(data),
        },
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize("name", NAMES)
def test_runs(name: str, tmp_path: Path, data: Path) -> None:
    """A few steps of it end well, and leave a picture that the output names; the same compiled."""
    example, pictures = str(gallery.folder() / f"{name}.py"), tmp_path / "compiled"
    again = smoke(str(COMPILED), example, pictures=pictures, data=data)
    told = f"{again.stdout}\n{again.stderr}"
    assert again.returncode == 0 and "compiled: " in again.stdout, told
    shutil.rmtree(pictures)
    run = smoke(example, pictures=tmp_path, data=data)
    told = f"{run.stdout}\n{run.stderr}"
    assert run.returncode == 0, told
    result = re.search(r".*\(goal: at (least|most) .*\): smoke run: not judged; ", run.stdout)
    assert result, told
    assert result[0] in again.stdout, f"{told}\n{again.stdout}"
    assert ("picture: " in run.stdout) == (tmp_path / f"{name}.png").exists(), told
    assert "Warning" not in run.stderr, told
    assert {path.suffix for path in tmp_path.iterdir()} <= {".png"}, "a smoke run records no result"


@pytest.mark.parametrize("name", NAMES)
def test_says_what_it_must_reach(name: str) -> None:
    """The first line says what it does; a goal and the command follow."""
    doc = gallery.examples()[name]
    assert doc.splitlines()[0].endswith(".")
    goals = [line for line in doc.splitlines() if line.startswith("Goal: ")]
    assert len(goals) == 1 and re.search(r"\d", goals[0])
    assert f"    python -m weft examples {name}" in doc.splitlines()


@pytest.mark.parametrize("name", gallery.examples())
def test_is_on_the_map(name: str) -> None:
    """docs/map.md has a row for it."""
    page = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
    part = page.partition("## `examples/`")[2].partition("\n## ")[0]
    assert any(f"`{name}.py`" in row for row in part.splitlines() if row.startswith("|"))
