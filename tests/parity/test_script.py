"""The same source, scripted by weft and by PyTorch, gives the same numbers."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import weft

SOURCE = """
import math
from typing import Dict, List, Optional, Tuple
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

def polynomial(x, coefficients: List[float]):
    total = torch.zeros_like(x)
    for c in coefficients:
        total = total * x + c
    return total

def newton(x, steps: int = 20) -> Tuple[Tensor, int]:
    y, count = torch.ones_like(x), 0
    while bool(((y * y - x).abs() > 1e-5).any()) and count < steps:
        y = 0.5 * (y + x / y)
        count += 1
    return y, count

def branches(x, n: int):
    if n > 2:
        x = x + n
    elif n == 2:
        x = x * n
    else:
        x = -x
    return x

def collect(x) -> Dict[str, Tensor]:
    out: Dict[str, Tensor] = {}
    for i, row in enumerate(x.unbind(0)):
        if i % 2 == 0:
            out[f"row {i}"] = row * (i + 1)
    return out

def windows(x, size: int) -> List[Tensor]:
    return [x[i : i + size].mean(0) for i in range(x.size(0) - size + 1)]

def optional(x, bias: Optional[Tensor] = None):
    if bias is not None:
        return x + bias
    return x

def attention(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    return F.softmax(scores, dim=-1) @ v

def in_place(x):
    y = x.clone()
    y[0] = 1.0
    y[:, 1] *= 2
    return y

def fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a

def numbers(a: int, b: float) -> List[float]:
    return [a // 2 + b, float(a % 3), b ** 2, math.floor(b) + 0.5, float(abs(-a)), round(b) + 0.0]

def forked(x):
    f = torch.jit.fork(branches, x, 3)
    return torch.jit.wait(f) * 2

class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 5), nn.Linear(5, 2)])
        self.norm = nn.LayerNorm(2)

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i == 0:
                x = torch.relu(x)
        return self.norm(x)

class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU())
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = F.max_pool2d(self.body(x), 2)
        return y.flatten(1) * self.calls

class Loop(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 4)

    def forward(self, x):
        h = torch.zeros(x.size(1), 4)
        states: List[Tensor] = []
        for t in range(x.size(0)):
            h = self.cell(x[t], h)
            states.append(h)
        return torch.stack(states)

class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x, twice: bool = False):
        self.seen += x.sum().detach()
        y = x * torch.sigmoid(self.weight)
        if twice:
            return y + y
        return y
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: Any) -> tuple[Any, Any]:
    """The source as two modules, with one word changed."""
    folder: Path = tmp_path_factory.mktemp("script")
    found = []
    renamed = SOURCE.replace("import torch.", "import weft.").replace("from torch ", "from weft ")
    renamed = renamed.replace("import torch\n", "import weft as torch\n")
    for name, text in (("ours", renamed), ("theirs", SOURCE)):
        path = folder / f"{name}.py"
        path.write_text(text)
        spec: Any = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.append(module)
    return found[0], found[1]


RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 3)).astype(np.float32)
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "polynomial": [(X, [1.0, -2.0, 0.5])],
    "newton": [(np.abs(X) + 0.5,)],
    "branches": [(X, 1), (X, 2), (X, 3)],
    "collect": [(X,)],
    "windows": [(X, 2)],
    "optional": [(X,), (X, X[0])],
    "attention": [(X, X, X)],
    "in_place": [(X,)],
    "fibonacci": [(10,)],
    "numbers": [(5, 2.75), (4, -1.25)],
    "forked": [(X,)],
    "Mlp": [(X,)],
    "Conv": [(RNG.standard_normal((2, 1, 4, 4)).astype(np.float32),)],
    "Loop": [(RNG.standard_normal((3, 2, 3)).astype(np.float32),)],
    "Gate": [(X,), (X, True)],
}


def of(framework: Any, x: Any) -> Any:
    """An argument as a tensor of a framework that wants gradients."""
    return framework.tensor(x, requires_grad=True) if isinstance(x, np.ndarray) else x


def leaves(x: Any) -> list[Any]:
    """Tensors as arrays, and numbers, in a result."""
    if hasattr(x, "detach"):
        return [np.array(x.detach().tolist())]
    if isinstance(x, dict):
        return [v for key in x for v in (key, *leaves(x[key]))]
    return [v for part in x for v in leaves(part)] if isinstance(x, (list, tuple)) else [x]


def run(framework: Any, f: Any, args: Any) -> list[Any]:
    """The result, and the gradients of its first tensor."""
    given = [of(framework, a) for a in args]
    result = f(*given)
    found = leaves(result)
    first = next(iter(result.values())) if isinstance(result, dict) else result
    first = first[0] if isinstance(first, (list, tuple)) else first
    if getattr(first, "requires_grad", False):
        first.sum().backward()
        found += [leaves(t.grad)[0] for t in given if getattr(t, "grad", None) is not None]
        if hasattr(f, "parameters"):
            found += [leaves(p.grad)[0] for p in f.parameters() if p.grad is not None]
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(ROWS))
def test_scripts(name: str, sources: Any) -> None:
    """Results and gradients, and the keys of modules."""
    ours, theirs = (getattr(module, name) for module in sources)
    if isinstance(ours, type):
        ours, theirs = ours(), theirs()
        state = {key: np.array(v.tolist()) for key, v in theirs.state_dict().items()}
        ours.load_state_dict({k: weft.tensor(v.astype("f4")) for k, v in state.items()})
    scripted, wanted = weft.jit.script(ours), torch.jit.script(theirs)
    if hasattr(wanted, "state_dict"):
        assert list(scripted.state_dict()) == list(wanted.state_dict())
    for args in ROWS[name]:
        a, b = run(weft, scripted, args), run(torch, wanted, args)
        assert len(a) == len(b)
        for x, y in zip(a, b):
            if isinstance(x, np.ndarray):
                np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-5)
            else:
                assert type(x) is type(y) and (x == y or abs(x - y) < 1e-12)
