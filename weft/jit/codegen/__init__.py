"""From the text of a fused group to machine code, by LLVM.

``csrc/ops/fused.cpp`` asks ``make`` for a group that it does not know yet. Nothing of LLVM is
imported before that.
"""

from __future__ import annotations

import weft
from weft import _C

from .fused_group import KIND_OF, Ref, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["make"]


def make(text: str) -> None:
    """Make the code of a group, and let the op ``fused`` know it.

    >>> text = "v0: float32; v1: float32 = mul(v0, 2.0); v2: float32 = tanh(v1); return v2"
    >>> weft.jit.codegen.make(text)
    >>> weft._C._call_op("fused", ([weft.zeros(3)], text), False)
    (tensor([0., 0., 0.]),)
    """
    if _C._has_fused(text):
        return
    from .loop import write
    from .machine_code import function

    group = parse(text)
    try:
        loop = write(group, _C._isa())
        inputs = [(getattr(weft, dtype), once) for dtype, once in group.inputs]
        steps = [_described(s) for s in group.steps]
        code = function(loop)
        _C._add_fused(text, code, loop.lanes, inputs, steps, group.outputs, group.reduces)
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"fused: no loop can be made of this text: {text}") from error


def _described(step: Any) -> tuple[Any, ...]:
    """Return a step as ``_C._add_fused`` wants it: op, plain arguments, values, dtype."""
    dtype = getattr(weft, step.dtype)
    if step.op == "expand":
        return None, step.args, (), dtype
    plain = tuple(None if isinstance(a, Ref) else _plain(a) for a in step.args)
    values = tuple(a.number if isinstance(a, Ref) else None for a in step.args)
    return step.op, plain, values, dtype


def _plain(a: Any) -> Any:
    name = getattr(a, "name", None)
    return getattr(weft, name) if name in KIND_OF else a
