"""The examples in the docs of ``weft.train`` give what they print, and every class has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import weft
from weft import train

ROOT = Path(weft.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "train.md"
FILES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "train").rglob("*.py")
)


@pytest.mark.parametrize("name", FILES)
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All examples of a file, without a warning."""
    if name.endswith("tuning"):
        pytest.importorskip("optuna")
    importlib.import_module(name)
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(
        verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    out: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for test in doctest.DocTestFinder().find(sys.modules[name], globs={"weft": weft}):
            weft.manual_seed(0)
            runner.run(test, out=out.append)
    assert runner.failures == 0, "".join(out)


def test_classes_have_examples() -> None:
    """Every class and function that weft.train offers shows how it is used."""
    offered = [getattr(train, name) for name in train.__all__ if name != "metrics"]
    offered += [getattr(train.metrics, name) for name in train.metrics.__all__]
    missing = [x.__name__ for x in offered if ">>>" not in (inspect.getdoc(x) or "")]
    assert not missing, missing


def test_import_is_light() -> None:
    """Neither tqdm nor Optuna nor TensorBoard is loaded before it is used."""
    code = (
        "import sys, weft.train\n"
        "heavy = {'tqdm', 'optuna', 'tensorboard', 'sklearn', 'PIL', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent
    )
    assert out.stdout.strip() == "[]"


def test_the_page_runs(tmp_path: Path) -> None:
    """The program of docs/train.md reaches its result, and prints a line for each epoch."""
    code = next(
        block
        for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
        if block.startswith("# digits_fit.py")
    )
    (tmp_path / "digits_fit.py").write_text(code, "utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT.parent), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "digits_fit.py"]
    for expected in (r"epoch 1/6 ", r".*last\.weft: the training is complete, with 6 epochs"):
        run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        lines = run.stdout.splitlines()
        assert re.match(expected, lines[0])
        right = re.fullmatch(r"([\d.]+)% of unseen digits are right", lines[-1])
        assert right is not None and float(right[1]) > 96
