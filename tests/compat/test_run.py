"""`python -m weft run`: as `python script.py` would run it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def weft(*args: str, cwd: Path, path: str = str(ROOT), **kwargs: Any) -> Any:
    """Run the command line of weft in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "weft", *args], cwd=cwd, text=True, capture_output=True,
        env={**os.environ, "PYTHONPATH": path}, timeout=600, **kwargs,
    )  # fmt: skip


def script(folder: Path, source: str, name: str = "program.py") -> str:
    """Write a program."""
    (folder / name).parent.mkdir(exist_ok=True, parents=True)
    (folder / name).write_text(source)
    return name


TELL = """
import json, sys, torch
print(json.dumps([sys.argv, sys.path[0], __name__, __file__, __package__, torch.ones(2).sum().item()]))
"""


def test_script(tmp_path: Path) -> None:
    """Arguments, path, name and file are those that Python gives."""
    script(tmp_path, TELL, "sub/program.py")
    done = weft("run", "sub/program.py", "-m", "--x=1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    argv, first, name, file, package, value = json.loads(done.stdout)
    assert argv == ["sub/program.py", "-m", "--x=1"]
    assert first == str(tmp_path / "sub") and file == str(tmp_path / "sub" / "program.py")
    assert (name, package, value) == ("__main__", None, 2.0)


def test_module(tmp_path: Path) -> None:
    """`-m package.module` and `-m package`, with relative imports."""
    script(tmp_path, "x = 5", "package/other.py")
    script(tmp_path, "", "package/__init__.py")
    script(tmp_path, "from .other import x" + TELL + "print(x)", "package/module.py")
    script(tmp_path, "from . import module", "package/__main__.py")
    done = weft("run", "-m", "package.module", "a", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    argv, first, name, file, package, _ = json.loads(done.stdout.splitlines()[0])
    assert argv == [str(tmp_path / "package" / "module.py"), "a"] and argv[0] == file
    assert (first, name, package) == (str(tmp_path), "__main__", "package")
    assert done.stdout.splitlines()[1] == "5"
    done = weft("run", "-m", "package", cwd=tmp_path)
    assert json.loads(done.stdout.splitlines()[0])[2] == "package.module"


def test_folder(tmp_path: Path) -> None:
    """A folder with a __main__.py."""
    script(tmp_path, TELL, "app/__main__.py")
    done = weft("run", "app", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[2] == "__main__"


def test_error_shows_only_the_program(tmp_path: Path) -> None:
    """The report of an error begins with the program's line; the exit code is 1."""
    script(tmp_path, "import torch\n\ndef f():\n    raise ValueError('oh')\n\nf()\n")
    done = weft("run", "program.py", cwd=tmp_path)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == f'  File "{tmp_path / "program.py"}", line 6, in <module>'
    assert lines[-1] == "ValueError: oh"
    assert "run.py" not in done.stderr and "runpy" not in done.stderr


def test_hook_of_the_program(tmp_path: Path) -> None:
    """A program's own sys.excepthook is called, with the program's frames only."""
    script(
        tmp_path,
        "import sys\n"
        "def hook(kind, error, trace):\n    print(kind.__name__, trace.tb_frame.f_code.co_filename)\n"
        "sys.excepthook = hook\n1 / 0\n",
    )
    done = weft("run", "program.py", cwd=tmp_path)
    assert done.stdout == f"ZeroDivisionError {tmp_path / 'program.py'}\n"
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("source", "code", "text"),
    [
        ("import sys; sys.exit(7)", 7, ""),
        ("import sys; sys.exit('bye')", 1, "bye"),
        ("raise SystemExit", 0, ""),
        ("import os; os._exit(3)", 3, ""),
        ("print(1", 1, "SyntaxError"),
        ("import torch; torch.no_such_op()", 1, "AttributeError: weft lacks torch.no_such_op"),
        ("import torch.onnx", 1, "ModuleNotFoundError: weft lacks torch.onnx"),
        ("import atexit; atexit.register(print, 'end')", 0, ""),
    ],
)
def test_exit_codes(tmp_path: Path, source: str, code: int, text: str) -> None:
    """The end of the program is the end of the process."""
    script(tmp_path, source)
    done = weft("run", "program.py", cwd=tmp_path)
    assert done.returncode == code and text in done.stderr
    assert ("end" in done.stdout) == ("atexit" in source)


def test_wrong_calls(tmp_path: Path) -> None:
    """Files and modules that are not there, and no program at all."""
    assert "can't open file" in weft("run", "nothing.py", cwd=tmp_path).stderr
    assert "No module named nothing" in weft("run", "-m", "nothing", cwd=tmp_path).stderr
    cases = {(): "usage", ("-m",): "-m needs a module", ("--bogus",): "unknown option --bogus"}
    for args, says in cases.items():
        for watch in ([], ["--watch"]):  # no page opens for a program that cannot run
            done = weft("run", *watch, *args, cwd=tmp_path)
            assert done.returncode == 2 and "usage" in done.stderr and says in done.stderr
            assert "live view" not in done.stderr
    assert "usage" in weft("run", "--help", cwd=tmp_path).stdout


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt(tmp_path: Path) -> None:
    """Ctrl-C ends the program as it ends Python: by the signal, with the program's line."""
    script(tmp_path, "import time\nprint('ready', flush=True)\nwhile True:\n    time.sleep(0.01)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "weft", "run", "program.py"], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=600)
    assert process.returncode == -signal.SIGINT
    assert text.splitlines()[1].startswith(f'  File "{tmp_path / "program.py"}", line ')
    assert "KeyboardInterrupt" in text and "compat" not in text


WORKERS = """
import multiprocessing as mp
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)

def work(n):
    import torch.nn.functional as F
    Net()
    return torch.__version__, F.relu(torch.arange(n)).sum().item()

if __name__ == "__main__":
    with mp.get_context({method!r}).Pool(1) as pool:
        print(*pool.map(work, [3, 4]))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers(tmp_path: Path, method: str) -> None:
    """Processes of multiprocessing find weft under PyTorch's name, however they are started."""
    script(tmp_path, WORKERS.replace("{method!r}", repr(method)))
    done = weft("run", "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1::2] == ["3)", "6)"] and done.stdout.count("+weft") == 2


def test_workers_of_a_module(tmp_path: Path) -> None:
    """The same for `-m`, where the process is told the name of the module."""
    script(tmp_path, WORKERS.replace("{method!r}", "'spawn'"), "package/module.py")
    done = weft("run", "-m", "package.module", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("+weft") == 2
