"""Modules to script, each with inputs; written as users write them."""

# ruff: noqa: UP006, UP035, UP045

from __future__ import annotations

from typing import Dict, List, Optional

import weft
from weft import Tensor, jit, nn
from weft.nn import functional as F


class Mlp(nn.Module):
    """Layers in a list, a constant, a counter, a buffer."""

    scale: jit.Final[float] = 0.5  # type: ignore[valid-type]
    __constants__ = ("width",)

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.width = width
        self.layers = nn.ModuleList([nn.Linear(3, width), nn.Linear(width, 3)])
        self.calls = 0
        self._names = ["a", "b"]
        self.register_buffer("total", weft.zeros(()))
        self.drop = nn.Dropout(0.5)
        self.missing = None

    def forward(self, x, times: int = 1):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i < len(self.layers) - 1:
                x = F.relu(x)
        for _ in range(times):
            x = self._mixed(x) * self.scale
        if self.missing is not None:
            x = self.missing(x)
        self.calls += 1
        self.total += x.sum().detach() + len(self._names)
        return self.drop(x)

    def _mixed(self, x):
        return x + x.mean() / self.width

    @jit.export
    def describe(self) -> str:
        return f"{self.calls} calls of width {self.width}"

    @jit.unused
    def odd(self, x):
        return eval("x")


class Block(nn.Module):
    """A residual block whose shortcut may be missing."""

    def __init__(self, n: int, m: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(n, m, 3, padding=1), nn.BatchNorm2d(m), nn.ReLU())
        self.shortcut = nn.Conv2d(n, m, 1) if n != m else None

    def forward(self, x):
        y = self.body(x)
        if self.shortcut is not None:
            x = self.shortcut(x)
        return x + y


class Net(nn.Module):
    """Blocks in sequence, heads in a dict, tied weights."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(2, 4), Block(4, 4))
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 2)})
        self.heads["b"].weight = self.heads["a"].weight

    def forward(self, x, only: Optional[str] = None) -> Dict[str, Tensor]:
        features = self.blocks(x).mean([2, 3])
        out: Dict[str, Tensor] = {}
        for name, head in self.heads.items():
            if only is None or only == name:
                out[name] = head(features)
        return out


class Recurrent(nn.Module):
    """A loop over time with a cell and a list of states."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 4)
        self.norm = nn.LayerNorm(4)
        self.weights = nn.ParameterList([nn.Parameter(weft.ones(4) * i) for i in range(2)])

    def forward(self, x):
        h = x.new_zeros(x.shape[1], 4)
        states: List[Tensor] = []
        for step in x:
            h = self.norm(self.cell(step, h))
            states.append(h)
        for w in self.weights:
            h = h + w
        return weft.stack(states), h


class Base(nn.Module):
    """A base class with a forward."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)


class Derived(Base):
    """Calls the base class, a static method and a property."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = 2.0
        self.activation = F.gelu

    @property
    def gain_squared(self) -> float:
        return self.gain * self.gain

    @staticmethod
    def shifted(x, by: float):
        return x + by

    def forward(self, x):
        return self.activation(self.shifted(super().forward(x), 1.0)) * self.gain_squared


class Stack(nn.Sequential):
    """A Sequential with layers of its own."""

    def __init__(self, n: int) -> None:
        super().__init__(nn.Linear(n, n), nn.Tanh())


class Walk(nn.Sequential):
    """A Sequential with a forward of its own."""

    def forward(self, x):
        for layer in self:
            x = layer(x) + x
        return x + len(self)


def made() -> list[tuple[nn.Module, tuple[Tensor, ...]]]:
    """Fresh modules with inputs."""
    weft.manual_seed(0)
    x = weft.randn(2, 3)
    return [
        (Mlp(), (x,)),
        (Net(), (weft.randn(2, 2, 5, 5),)),
        (Recurrent(), (weft.randn(4, 2, 3),)),
        (Derived(), (x,)),
        (nn.Sequential(Stack(3), Derived()), (x,)),
        (Walk(nn.Linear(3, 3), Stack(3)), (x,)),
        (nn.Linear(3, 2), (x,)),
        (nn.LSTM(3, 4, 2), (weft.randn(5, 2, 3),)),
        (nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2), (weft.randn(3, 2, 4),)),
    ]
