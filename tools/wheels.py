"""``python -m tools.wheels`` builds a wheel for each Python of this machine, and tries it out.

A wheel is installed in an empty environment and must pass a smoke test there: ``import weft``, a
few steps of training, a compiled one, ``python -m weft doctor``. ``--no-build`` only tries those in
``dist/``; Pythons can be named: ``python -m tools.wheels python3.12 /usr/bin/python3.13``.
"""

from __future__ import annotations

import argparse
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST, NEWEST = 10, 14

SMOKE = """
import os, pathlib, sys
import weft, weft.nn as nn
assert sys.prefix in weft.__file__, weft.__file__
model, x = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), weft.randn(32, 4)
optimizer = weft.optim.Adam(model.parameters(), lr=0.01)
def step():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    loss.backward()
    optimizer.step()
    return loss
first = step().item()
compiled = weft.compile(step)
for _ in range(100):
    last = compiled().item()
assert last < first / 2, (first, last)
assert weft.linalg.inv(weft.eye(3)).equal(weft.eye(3))
package = pathlib.Path(weft.__file__).parent
for name in ("py.typed", "__init__.pyi", "_C.pyi", "cuda/__init__.pyi", "examples/digits.py"):
    assert (package / name).exists(), name
print(f"weft {weft.__version__}, Python {sys.version.split()[0]}: loss {first:.3f} -> {last:.3f}")
"""


def pythons() -> list[str]:
    """Return one interpreter for each version that weft supports, from PATH and from pyenv."""
    found: dict[int, str] = {}
    for minor in range(OLDEST, NEWEST + 1):
        pattern = os.path.expanduser(f"~/.pyenv/versions/3.{minor}.*/bin/python")
        for path in [shutil.which(f"python3.{minor}"), *sorted(glob.glob(pattern))]:
            if path and minor not in found and _version(path) == (3, minor):
                found[minor] = path
    return [found[minor] for minor in sorted(found)]


def _version(python: str) -> tuple[int, int] | None:
    """Return the version of an interpreter; None if it does not run (a shim without a Python)."""
    code = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    major, minor = done.stdout.split()
    return int(major), int(minor)


def run(*command: str | Path, cwd: Path | None = None, path: Path | None = None) -> None:
    """Run a command, with a folder in front of PATH; exit if it fails."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment.setdefault("CXX", "c++")  # as CMake calls it: ccache keys files by that name, too
    if path:
        environment["PATH"] = f"{path}{os.pathsep}{environment['PATH']}"
    done = subprocess.run([*map(str, command)], cwd=cwd, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(map(str, command))}")


def environment(folder: Path, python: str, *packages: str) -> Path:
    """Return the interpreter of a virtual environment with some packages."""
    made = folder / "bin" / "python"
    if not made.exists():
        run(python, "-m", "venv", folder)
    if packages:
        run(made, "-m", "pip", "-q", "--disable-pip-version-check", "install", *packages)
    return made


def requirements() -> list[str]:
    """Return what pyproject.toml says that a build needs."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lists = re.findall(r"^(?:requires|build) = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    return [package for found in lists for package in re.findall(r'"([^"]+)"', found)]


def build(python: str) -> None:
    """Build a wheel into ``dist/``; what was compiled before is used again."""
    major, minor = _version(python) or (0, 0)
    if (major, minor) == sys.version_info[:2] and importlib.util.find_spec("nanobind"):
        made = Path(sys.executable)  # it has what a build needs, and ccache knows its files
    else:
        folder = ROOT / "build" / "wheels" / f"cp{major}{minor}"
        made = environment(folder, python, *requirements())
    wheel = ("wheel", ".", "--no-deps", "--no-build-isolation", "-w", "dist")
    run(made, "-m", "pip", "-q", "--disable-pip-version-check", *wheel, cwd=ROOT, path=made.parent)


def newest_wheel(python: str) -> Path:
    """Return the newest wheel in ``dist/`` for an interpreter."""
    major, minor = _version(python) or (0, 0)
    found = sorted((ROOT / "dist").glob(f"weft-*-cp{major}{minor}-*.whl"), key=os.path.getmtime)
    if not found:
        raise SystemExit(f"dist/ has no wheel for {python} (cp{major}{minor})")
    return found[-1]


def smoke(python: str) -> None:
    """Install the wheel in an empty environment and try it from an empty folder."""
    with tempfile.TemporaryDirectory() as name:
        made = environment(Path(name) / "venv", python, str(newest_wheel(python)))
        empty = Path(name) / "empty"
        empty.mkdir()
        run(made, "-c", SMOKE, cwd=empty)
        run(made, "-m", "weft", "doctor", cwd=empty)


def main(argv: Sequence[str] | None = None) -> int:
    """Build and try the wheels; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.wheels", description=__doc__)
    parser.add_argument("python", nargs="*", help="interpreters (default: each version found)")
    parser.add_argument("--no-build", action="store_true", help="only try what dist/ has")
    args = parser.parse_args(argv)
    for python in args.python or pythons():
        print(f"--- {python}", flush=True)
        if not args.no_build:
            build(python)
        smoke(python)
    return 0


if __name__ == "__main__":
    sys.exit(main())
