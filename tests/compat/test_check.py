"""`python -m weft check`: what programs use of PyTorch, without running them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import weft.__main__
from weft.compat.check import main, table
from weft.compat.uses import uses_of

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"


def lacking(source: str) -> dict[str, list[int]]:
    """The names that weft lacks, with their lines."""
    return {u.name: u.lines for u in uses_of(source)[0] if not u.present}


def used(source: str) -> dict[str, list[int]]:
    """All names, with their lines."""
    return {u.name: u.lines for u in uses_of(source)[0]}


def test_aliases_are_followed() -> None:
    """Every way to import leads to PyTorch's full name."""
    source = """
import torch as t, torch.nn as nn
from torch.nn import functional as F, Linear as L
from torch import optim
import torch.optim.lr_scheduler
conv = nn.Conv2d
class Net(nn.Module):
    def __init__(self):
        self.a = conv(1, 2, 3)
        self.b = L(1, 2)
    def forward(self, x):
        import torch.fft as fourier
        return F.relu(x) + fourier.fft(x)
t.optim.SGD; torch.optim.lr_scheduler.StepLR
"""
    names = used(source)
    assert names["torch.nn.functional.relu"] == [13] and names["torch.fft.fft"] == [13]
    assert names["torch.nn.Linear"] == [3, 10] and names["torch.nn.Conv2d"] == [6]
    assert names["torch.nn.Module"] == [7]
    assert names["torch.optim.SGD"] == [14] == names["torch.optim.lr_scheduler.StepLR"]
    assert lacking(source) == {}


def test_lacking_names_have_lines() -> None:
    """Modules, functions and classes that weft does not have; each up to its first missing part."""
    source = """import torch
from torch.distributed.rpc import remote
import torch.onnx
torch.onnx.export(1)
torch.nn.Linaer(1, 2)
torch.nn.Linaer(3, 4)
x = torch.zeros(2)
"""
    found = lacking(source)
    assert found == {"torch.distributed.rpc": [2], "torch.onnx": [3, 4], "torch.nn.Linaer": [5, 6]}


def test_methods_of_tensors() -> None:
    """Where an expression is surely a tensor its methods are checked; elsewhere not."""
    source = """import torch
def f(x, flag):
    a = torch.ones(2) * 2
    b = a.reshape(-1).frobnicate()
    c = (a + x).no_such
    x.unknown()
    if flag:
        d = torch.ones(1)
    else:
        d = something()
    d.unknown()
    values, indices = torch.topk(a, 1)
    return values.unknown, -a.wrong
"""
    found = lacking(source)
    assert found == {
        "torch.Tensor.frobnicate": [4],
        "torch.Tensor.no_such": [5],
        "torch.Tensor.wrong": [13],
    }
    assert "torch.Tensor.reshape" in used(source)


def test_methods_of_modules() -> None:
    """Methods that a subclass calls on itself are its own, or those of the base."""
    source = """import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(1, 1)
        self.add_module("extra", nn.ReLU())
        self.register_bufer("x", None)
    def forward(self, x):
        self.apply(print)
        return self.extra(self.helper(self.fc(x)))
    def helper(self, x):
        return x
"""
    assert lacking(source) == {"torch.nn.Module.register_bufer": [7]}


def test_keywords() -> None:
    """Keyword arguments that weft's function does not take."""
    source = """import torch, torch.nn as nn
nn.Conv2d(1, 2, kernel_size=3, padding_mode="zeros", colour=1)
torch.sum(torch.ones(2), axis=0, keepdim=True)
torch.zeros(2, dtype=torch.int64, bogus=2)
torch.optim.SGD([], lr=1, **options)
"""
    found = [(k.name, k.keyword, k.line) for k in uses_of(source)[1]]
    assert found == [("torch.nn.Conv2d", "colour", 2), ("torch.zeros", "bogus", 4)]


def test_guarded_uses_are_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a program is prepared to miss is listed, but does not count."""
    path = tmp_path / "a.py"
    path.write_text(
        "import torch\ntry:\n    import torch.onnx\nexcept ImportError:\n    torch = torch\n"
    )
    assert main([str(path)]) == 0
    out = capsys.readouterr().out
    assert "torch.onnx" in out and "in a try" in out and "none lacking" in out


def test_optional_libraries_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What weft has, if only a library is installed, is not lacking."""

    def fails(name: str) -> None:
        raise ImportError("pip install weft[something]")

    monkeypatch.setattr("weft.compat.uses.find", fails)
    assert lacking("from torch.utils.tensorboard import SummaryWriter\nSummaryWriter(a=1)\n") == {}


def test_local_names_hide_imports() -> None:
    """A variable called like a module is not the module."""
    source = "from torch import nn\ndef f(nn):\n    return nn.whatever\n"
    assert lacking(source) == {}


def test_setting_a_name_is_no_use() -> None:
    """A switch that is there is listed; what a program adds itself is not lacking."""
    source = "import torch\ntorch.backends.cudnn.benchmark = True\ntorch.my_own = 1\n"
    assert used(source) == {"torch": [1], "torch.backends.cudnn.benchmark": [2]}


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files and folders, tables and JSON, exit codes."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "good.py").write_text("import torch\ntorch.ones(1)\n")
    (tmp_path / "sub" / "bad.py").write_text("import torch\ntorch.onez(1)\n")
    (tmp_path / "sub" / "broken.py").write_text("import torch\nprint(\n")
    good = str(tmp_path / "good.py")
    assert weft.__main__.main(["check", good]) == 0
    assert "torch.ones" in capsys.readouterr().out
    assert weft.__main__.main(["check", "--lacking", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "torch.onez" in out and "nearest: torch.ones" in out
    assert "cannot be read: line 2" in out and "3 files, 1 of them cannot be read, 1 lacking" in out
    assert main(["--json", str(tmp_path)]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["lacking"] == 1 and [len(f["names"]) for f in data["files"]] == [2, 2, 0]
    names = {n["name"]: n for n in data["files"][1]["names"]}
    assert names["torch.onez"]["lines"] == [2] and not names["torch.onez"]["present"]
    with pytest.raises(SystemExit) as end:
        main([str(tmp_path / "nothing.py")])
    assert end.value.code == 2


def test_files_that_are_no_utf8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Python's rules for encodings; a notebook is JSON, which is no program though Python reads it."""
    path = tmp_path / "old.py"
    path.write_bytes(b"# -*- coding: latin-1 -*-\nimport torch\ntorch.ones(1)  # \xe9\n")
    assert main([str(path)]) == 0
    assert "2 names of PyTorch, none lacking" in capsys.readouterr().out
    for content in (b"import torch  # \xe9\n", b"# coding: nonsense\n", b"\xff\xfe"):
        path.write_bytes(content)
        assert main([str(path)]) == 1
        out = capsys.readouterr().out
        assert "cannot be read" in out and "lacking" not in out
    notebook = tmp_path / "lesson.ipynb"
    notebook.write_text('{"cells": [{"cell_type": "code", "source": ["import torch"]}]}')
    assert main([str(notebook)]) == 1
    assert "cannot be read: ValueError: a notebook" in capsys.readouterr().out


def test_programs_lack_nothing() -> None:
    """The programs of tests/scripts run, so the check must not complain."""
    from weft.compat.check import report

    found = [report(str(path)) for path in sorted(SCRIPTS.glob("*.py"))]
    wrong = [table(r, only_lacking=True) for r in found if r["lacking"]]
    assert not wrong, "\n".join(wrong)
    assert sum(len(r["names"]) for r in found) > 600
