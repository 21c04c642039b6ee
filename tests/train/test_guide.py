"""``weft.train`` loads what it needs when it is used; the program of its guide runs and resumes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import weft

ROOT = Path(weft.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "train.md"


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
