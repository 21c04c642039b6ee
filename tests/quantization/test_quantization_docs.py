"""The examples in the docs of ``weft.quantization`` and in its page run; PyTorch's names lead here."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft.compat.names import find

ROOT = Path(weft.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "quantization.md"
FILES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for folder in ("quantization", "ao")
    for path in (ROOT / folder).rglob("*.py")
) + ["weft.backends.quantized"]


@pytest.mark.parametrize("name", FILES)
def test_examples(name: str) -> None:
    """All examples of a file."""
    runner = doctest.DocTestRunner(
        verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    out: list[str] = []
    for test in doctest.DocTestFinder().find(importlib.import_module(name), globs={"weft": weft}):
        weft.manual_seed(0)
        runner.run(test, out=out.append)
    assert runner.failures == 0, "".join(out)


def test_public_names_have_examples() -> None:
    """Every function and class that they offer shows how it is used."""
    offered = [
        getattr(module, name)
        for module in map(importlib.import_module, FILES)
        for name in getattr(module, "__all__", ())
    ]
    kinds = [x for x in offered if inspect.isclass(x) or inspect.isfunction(x)]
    missing = [x.__name__ for x in kinds if ">>>" not in (x.__doc__ or "")]
    assert len(kinds) > 60 and not missing, missing


def test_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The snippets of docs/quantization.md, one after another."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    scope: dict[str, object] = {}
    for code in blocks:
        exec(compile(code, "docs/quantization.md", "exec"), scope)
    assert "DynamicQuantizedLinear(in_features=64" in capsys.readouterr().out
    assert "QuantizedConvReLU2d" in repr(scope["small"])


NAMES = {
    "torch.quantization.quantize_dynamic": "quantize_dynamic",
    "torch.ao.quantization.quantize_dynamic": "quantize_dynamic",
    "torch.ao.quantization.observer.MinMaxObserver": "MinMaxObserver",
    "torch.ao.nn.quantized.dynamic.Linear": "nn.dynamic.Linear",
    "torch.nn.quantized.dynamic.LSTM": "nn.dynamic.LSTM",
    "torch.ao.nn.quantized.FloatFunctional": "nn.quantized.FloatFunctional",
    "torch.nn.quantized.FloatFunctional": "nn.quantized.FloatFunctional",
    "torch.ao.nn.intrinsic.ConvReLU2d": "nn.intrinsic.ConvReLU2d",
    "torch.nn.intrinsic.LinearReLU": "nn.intrinsic.LinearReLU",
    "torch.ao.nn.qat.Linear": "nn.qat.Linear",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_pytorch(name: str) -> None:
    """Older and newer paths mean the same."""
    wanted = weft.quantization
    for part in NAMES[name].split("."):
        wanted = getattr(wanted, part)
    assert find(name) is wanted


PROGRAM = """
import torch
import torch.nn as nn
import torch.ao.quantization as tq
from torch.quantization import quantize_dynamic, get_default_qconfig
from torch.ao.nn.quantized import dynamic as nnqd
torch.backends.quantized.engine = "fbgemm"
m = nn.Sequential(nn.Linear(4, 3))
q = quantize_dynamic(m, {nn.Linear}, dtype=torch.qint8)
assert isinstance(q[0], nnqd.Linear) and q[0].weight().int_repr().dtype == torch.int8
m.eval()
m.qconfig = tq.get_default_qconfig("fbgemm")
p = tq.prepare(m)
p(torch.randn(8, 4))
c = tq.convert(p)
print(c)
"""


def test_a_program_for_pytorch(tmp_path: Path) -> None:
    """It runs unchanged."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "weft", "run", str(script)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "QuantizedLinear(in_features=4, out_features=3, scale=" in done.stdout
