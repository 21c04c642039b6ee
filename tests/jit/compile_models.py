"""Modules that are trained compiled and eager in lock step, for `tests/jit/`."""

from __future__ import annotations

from typing import Any

import weft
from weft import nn


class Symmetric(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.triu() + x.triu(1).mT


class Recurrent(nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.rnn = kind(6, 5, num_layers=2, batch_first=True, dropout=0.2, bidirectional=True)
        self.head = nn.Linear(10, 3)

    def forward(self, x: Any) -> Any:
        out, _ = self.rnn(x)
        return self.head(out[:, -1])


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(6, 2, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoderLayer(6, 3, 8, batch_first=True)
        self.head = nn.Linear(6, 3)

    def forward(self, x: Any) -> Any:
        y, weights = self.attention(x, x, x)
        return self.head(self.encoder(y).mean(1)) + weights.mean()


class Square(weft.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2.5 * x * g  # not the derivative: it must be this one that is used


class Custom(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(6, 3)

    def forward(self, x: Any) -> Any:
        return Square.apply(self.lin(x))


class Checkpointed(nn.Module):
    def __init__(self, drop: float) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Dropout(drop))
        self.last = nn.Linear(5, 3)

    def forward(self, x: Any) -> Any:
        return self.last(weft.utils.checkpoint.checkpoint(self.first, x, use_reentrant=False))
