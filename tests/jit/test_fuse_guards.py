"""What ``jit.fuse`` and ``jit.trace`` notice of a module that changes."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import nn


def one() -> Any:
    return weft.ones(1)


class Remembers(nn.Module):
    """A module that gives its buffer another tensor in each call."""

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self.register_buffer("h", weft.zeros(1))

    def forward(self, x: Any) -> Any:
        """Return what it has heard until now."""
        self.h = self.h * 0.5 + x
        return self.h


@pytest.mark.filterwarnings("ignore::weft.jit.TracerWarning")
def test_fuse_notices_a_buffer_that_is_another_one() -> None:
    eager, fused = Remembers(), weft.jit.fuse(Remembers())
    for _ in range(4):
        assert eager(one()).item() == fused(one()).item()


def test_trace_warns_of_a_buffer_that_is_another_one() -> None:
    with pytest.warns(weft.jit.TracerWarning, match=r"sets self\.h to another tensor"):
        weft.jit.trace(Remembers(), one())


def test_fuse_notices_a_forward_that_is_another_one() -> None:
    net, x = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), weft.ones(1, 2)
    fused = weft.jit.fuse(net)
    fused(x)
    net[0].forward = lambda x: x * 100
    assert weft.equal(fused(x), weft.full((1, 2), 100.0))
