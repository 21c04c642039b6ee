"""mypy and pyright on programs: silent on right ones, not on wrong ones. ``make types`` runs this.

They read weft as a wheel installs it: the stubs beside what they describe.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
WANTED = pytest.mark.skipif("WEFT_CHECKERS" not in os.environ, reason="make types runs checkers")
pytestmark = [WANTED, pytest.mark.slow]

# What checkers find in programs that are right as they run, with weft as with PyTorch's own types:
# the program says nothing of its types, and the checker guesses narrower ones than it uses.
PROGRAMS_OWN = {
    "custom_optimizer.py": {"reportIncompatibleMethodOverride": 1},  # a step without closure
    "ema_swa.py": {"reportIndexIssue": 1},
    "mnist_cnn.py": {"reportArgumentType": 2, "reportIndexIssue": 1},
    "neural_style.py": {"reportAttributeAccessIssue": 3, "reportFunctionMemberAccess": 3},
}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with weft's sources and stubs in one package."""
    folder = tmp_path_factory.mktemp("site")
    ignore = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "weft", folder / "weft", ignore=ignore)
    shutil.copytree(ROOT / "stubs" / "weft", folder / "weft", dirs_exist_ok=True)
    return folder


def mypy(installed: Path, program: Path) -> list[tuple[int, str]]:
    """What mypy says in strict mode: line and message."""
    flags = ["--strict", "--follow-imports=silent", "--no-pretty", "--config-file="]
    cache = installed.parent / "mypy-cache"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *flags, "--cache-dir", str(cache), program.name],
        cwd=program.parent, env={**os.environ, "MYPYPATH": str(installed)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"^(.+?):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    elsewhere = [row for row in found if row[0] != program.name]
    assert not elsewhere, elsewhere[:5]
    return [(int(line), message) for _, line, message in found]


def pyright(installed: Path, folder: Path, mode: str) -> list[dict[str, Any]]:
    """What pyright says of a folder of programs."""
    settings = {
        "include": ["."],
        "extraPaths": [str(installed)],
        "typeCheckingMode": mode,
        "reportPossiblyUnboundVariable": mode == "strict",  # a loop over data runs at least once
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    tool = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(tool, cwd=folder, capture_output=True, text=True, check=False)
    rows = json.loads(done.stdout[done.stdout.index("{") :])["generalDiagnostics"]
    return [row for row in rows if row["severity"] in ("error", "warning")]


def wrong_lines() -> set[int]:
    """The lines of mistakes.py that a checker must complain about."""
    lines = (HERE / "mistakes.py").read_text().splitlines()
    return {i for i, line in enumerate(lines, 1) if line.endswith("# wrong")}


def as_weft(text: str) -> str:
    """A program for PyTorch, as one for weft."""
    text = re.sub(r"^(\s*)import torch$", r"\1import weft as torch", text, flags=re.M)
    text = re.sub(r"^(\s*)import torch\.([\w.]+) as", r"\1import weft.\2 as", text, flags=re.M)
    both = r"\1import weft as torch\n\1import weft.\2"
    text = re.sub(r"^(\s*)import torch\.([\w.]+)$", both, text, flags=re.M)
    text = re.sub(r"^(\s*)from torch(\.[\w.]+)? import", r"\1from weft\2 import", text, flags=re.M)
    return text.replace("weft.utils.hooks", "weft.nn.module_hooks")


def test_mypy_strict(installed: Path) -> None:
    """mypy is silent on the typed training, and finds each mistake and nothing else."""
    assert mypy(installed, HERE / "training.py") == []
    assert {line for line, _ in mypy(installed, HERE / "mistakes.py")} == wrong_lines()
    messages = " ".join(message for _, message in mypy(installed, HERE / "mistakes.py"))
    assert '"Tensor" has no attribute "sotfmax"; maybe "softmax"?' in messages


def test_pyright_strict(installed: Path, tmp_path: Path) -> None:
    """The same with pyright."""
    for name in ("training.py", "mistakes.py"):
        shutil.copy(HERE / name, tmp_path)
    found = pyright(installed, tmp_path, "strict")
    where = [(Path(row["file"]).name, row["range"]["start"]["line"] + 1) for row in found]
    assert set(where) == {("mistakes.py", line) for line in wrong_lines()}
    assert any('attribute "sotfmax" for class "Tensor"' in row["message"] for row in found)


def test_valid_calls(installed: Path, tmp_path: Path) -> None:
    """Both accept every valid call of every sample row: thousands, with the types of arguments."""
    sys.path.insert(0, str(HERE))
    try:
        from calls import program
    finally:
        sys.path.pop(0)
    text = program()
    assert text.count("\n") > 2000
    (tmp_path / "valid.py").write_text(text)
    lines = text.splitlines()
    assert [lines[line - 1] + m for line, m in mypy(installed, tmp_path / "valid.py")] == []
    found = pyright(installed, tmp_path, "standard")
    assert [lines[r["range"]["start"]["line"]] + r["message"] for r in found] == []


@pytest.mark.parametrize("kind", ["examples", "scripts", "readme"])
def test_pyright_on_programs(kind: str, installed: Path, tmp_path: Path) -> None:
    """pyright in its standard mode is silent on the gallery, on programs for PyTorch, the README."""
    if kind == "readme":
        snippets = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
        texts = {f"snippet_{i}.py": text for i, text in enumerate(snippets)}
    else:
        folder = ROOT / ("examples" if kind == "examples" else "tests/scripts")
        texts = {path.name: path.read_text() for path in folder.glob("*.py")}
    assert texts
    for name, text in texts.items():
        (tmp_path / name).write_text(as_weft(text) if kind == "scripts" else text)
    counts: dict[str, dict[str, int]] = {}
    for row in pyright(installed, tmp_path, "standard"):
        name = Path(row["file"]).name
        if kind == "scripts" and name in PROGRAMS_OWN:
            rules = counts.setdefault(name, {})
            rules[row["rule"]] = rules.get(row["rule"], 0) + 1
        else:
            pytest.fail(f"{name}:{row['range']['start']['line'] + 1}: {row['message']}")
    assert counts == (PROGRAMS_OWN if kind == "scripts" else {})


def test_pyright_in_a_clone() -> None:
    """Editors that open the clone are pointed to the stubs by pyproject.toml."""
    tool = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(tool, cwd=ROOT, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout[done.stdout.index("{") :])
    assert report["summary"]["filesAnalyzed"] > 10
    assert report["generalDiagnostics"] == []
