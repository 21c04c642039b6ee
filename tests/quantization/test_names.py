"""PyTorch's names of quantisation, older and newer, lead to ``weft.quantization``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft.compat.names import find

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
