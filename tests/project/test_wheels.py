"""``tools/wheels.py``: which Pythons it finds, which wheel it takes, and that failures end it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tools import wheels  # noqa: E402

sys.path.pop(0)


def fake(folder: Path, name: str, version: str | None) -> Path:
    """A program that answers as a Python of some version would; None: one that fails."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{'exit 1' if version is None else f'echo {version}'}\n")
    path.chmod(0o755)
    return path


def test_pythons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each version: from PATH, else from pyenv; not a shim that does not run, none too old."""
    versions = tmp_path / ".pyenv" / "versions"
    fake(versions / "3.9.1" / "bin", "python", "3 9")
    eleven = fake(versions / "3.11.2" / "bin", "python", "3 11")
    thirteen = fake(versions / "3.13.0" / "bin", "python", "3 13")
    fake(tmp_path / "bin", "python3.11", None)  # a shim
    twelve = fake(tmp_path / "bin", "python3.12", "3 12")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    found = [p for p in wheels.pythons() if p.startswith(str(tmp_path))]
    assert found == [str(eleven), str(twelve), str(thirteen)]


def test_newest_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest of this Python's wheels; none is an error that says so."""
    monkeypatch.setattr(wheels, "ROOT", tmp_path)
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    with pytest.raises(SystemExit, match=f"no wheel for .*{tag}"):
        wheels.newest_wheel(sys.executable)
    (tmp_path / "dist").mkdir()
    for age, name in enumerate((f"weft-2-{tag}-{tag}-linux.whl", f"weft-1-{tag}-{tag}-linux.whl")):
        path = tmp_path / "dist" / name
        path.write_text("")
        os.utime(path, (1000 - age, 1000 - age))
    (tmp_path / "dist" / "weft-3-cp38-cp38-linux.whl").write_text("")
    assert wheels.newest_wheel(sys.executable).name.startswith("weft-2-")


def test_requirements() -> None:
    """What a build needs is read from pyproject.toml."""
    names = {re.split("[<>=]", package)[0] for package in wheels.requirements()}
    assert names == {"scikit-build-core", "nanobind", "cmake", "ninja"}


def test_failures_end_it() -> None:
    """A command that fails ends the program, and is named."""
    with pytest.raises(SystemExit, match=r"failed: .*-c raise"):
        wheels.run(sys.executable, "-c", "raise SystemExit(3)")


def test_smoke_program_refuses_a_source_tree() -> None:
    """The smoke test sees that it is given an installed weft, not the clone's."""
    done = subprocess.run(
        [sys.executable, "-c", wheels.SMOKE], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 1 and "AssertionError" in done.stderr
