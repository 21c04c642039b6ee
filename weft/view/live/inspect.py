"""What a stopped program holds: tensors in numbers and text, and the variables of the user's frame."""

from __future__ import annotations

import os
import sys

import weft
from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from weft import Tensor

__all__ = ["describe_tensor", "describe_variables", "user_frame"]

ALL, BINS, MOST = 1 << 20, 40, 60
LONGEST = 200
_PACKAGE = os.path.dirname(os.path.abspath(weft.__file__)) + os.sep


def user_frame() -> FrameType | None:
    """Return the innermost frame that belongs to the program, not to weft or to Python.

    >>> from weft.view.live.inspect import user_frame
    >>> user_frame() is not None
    True
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_PACKAGE, "<frozen")) and file != os.__file__:
            return frame
        frame = frame.f_back
    return None


def describe_tensor(name: str, t: Tensor) -> dict[str, Any]:
    """Return a tensor for the page: shape, dtype, values in numbers, a histogram, its text.

    >>> from weft.view.live.inspect import describe_tensor
    >>> describe_tensor("x", weft.ones(2))["text"]
    'tensor([1., 1.])'
    """
    shown = t.detach()
    if t.is_floating_point() and not t.is_sparse:  # a copy: to print it would change how it lies
        shown = _C._sample(t, t.numel()).view(t.shape).to(t.dtype)
    text = repr(shown)
    return {
        "name": name, "shape": list(t.shape), "dtype": str(t.dtype)[6:], "text": text[:4000],
        "grad": bool(t.requires_grad), "stats": None if t.is_sparse else _C._summary(t, ALL, BINS),
    }  # fmt: skip


def describe_variables(frame: FrameType | None) -> list[dict[str, Any]]:
    """Return the tensors and plain values that the variables of a frame hold."""
    found: list[dict[str, Any]] = []
    for name, value in sorted((frame.f_locals if frame is not None else {}).items()):
        if name.startswith("__") or len(found) >= MOST:
            continue
        if issubclass(type(value), weft.Tensor):
            found.append(describe_tensor(name, value))
        elif type(value) in (int, float, bool, str, type(None)):
            found.append({"name": name, "text": repr(value)[:LONGEST]})
    return found
