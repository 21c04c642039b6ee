"""Ops that only graphs call check their numbers themselves: a file may hold any."""

from __future__ import annotations

import io
from typing import Any

import pytest

import weft
from weft import _C, jit


def call(op: str, *args: Any) -> Any:
    """Call an op as graphs do."""
    return _C._call_op(op, args, False)


@pytest.mark.parametrize(
    "spec",
    [(1, 50, 2), (1, -1, 2), (1, 0, 5), (1, 0, -2), (0, 4, 0), (0, -1, 0), (3, 1, 2), (2**62, 1, 2),
     (0, 0, 0, 0, 0, 0, 0, 0, 0), (1,), (1, 2**62, 1), (-1, 0, 0, 1, 1, 4)],
)  # fmt: skip
def test_views_stay_inside(spec: tuple[int, ...]) -> None:
    """Neither a view nor its derivative reaches outside of a tensor."""
    with pytest.raises(RuntimeError, match="lie outside of a tensor of shape"):
        call("view_at", weft.ones(4, 3), spec)
    with pytest.raises(RuntimeError, match="lie outside of a tensor of shape"):
        call("view_at_backward", weft.ones(2, 3), (4, 3), spec)


def test_views_that_fit() -> None:
    """The last elements, empty slices and new dimensions are inside."""
    x = weft.arange(12.0).reshape(4, 3)
    assert call("view_at", x, (2, 1, 2))[0].equal(x[1::2])
    assert call("view_at", x, (1, 4, 0))[0].shape == (0, 3)
    assert call("view_at", x, (-1, 0, 0, 1, 1, 3))[0].equal(x[None, 1:])
    assert call("view_at_backward", weft.ones(1), (4,), (3, 3, 1))[0].tolist() == [0, 0, 0, 1]


def test_gradients_of_other_shapes() -> None:
    """What goes back must have the shape of what was made."""
    with pytest.raises(RuntimeError, match=r"expected a gradient of shape \[2, 3\], got \[9, 3\]"):
        call("view_at_backward", weft.ones(9, 3), (4, 3), (1, 0, 2))
    window = ((2,), (2,), (0,), (1,))
    with pytest.raises(RuntimeError, match="do not fit"):
        call("pool_largest", weft.ones(3, 2), *window, (-1,))
    with pytest.raises(RuntimeError, match=r"expected a gradient of shape \[1, 2\], got \[1, 1\]"):
        call("pool_mean_backward", weft.ones(1, 1), (1, 4), *window, (2,), True, 0)
    at = weft.zeros(1, 2, dtype=weft.int64)
    with pytest.raises(RuntimeError, match="for indices of shape"):
        call("pool_put", weft.ones(1, 1), at, (1, 4), 1)
    with pytest.raises(RuntimeError, match="planes of 3 dimensions"):
        call("pool_put", weft.ones(1, 2), at, (1, 4), 3)


def test_a_file_with_a_view_outside() -> None:
    """A changed file gives an error when it runs, not the memory of others."""
    file = io.BytesIO()
    jit.save(jit.trace(lambda x: x[1:3], weft.ones(4, 3)), file)
    content = weft.load(io.BytesIO(file.getvalue()))
    node = content["traced"][1]["nodes"][0]
    assert node[0] == "view_at"
    node[1][1]["tuple"][1]["data"] = 50
    changed = io.BytesIO()
    weft.save(content, changed)
    with pytest.raises(RuntimeError, match="lie outside"):
        jit.load(io.BytesIO(changed.getvalue()))(weft.ones(4, 3))
