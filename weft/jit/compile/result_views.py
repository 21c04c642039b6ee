"""Results that are views: of each other, of a tensor that stays inside, or of what the call was given.

A change in place of one is seen by the others, and so are its gradients. For that the tape needs to
know which tensor a view is a view of, its base. A base that is no result becomes a hidden one.
"""

from __future__ import annotations

from typing import NamedTuple

import weft
from weft import _C
from weft.jit.op_schema import is_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor
    from weft.jit.graph import Value

    from .capture import Capture

__all__ = ["Base", "find_bases"]


class Base(NamedTuple):
    """What a result is a view of."""

    of: Any  # the number of another result; or a value that the call was given, or its own base
    fixed: bool  # it is one of several views that were made at once: not to be changed in place


def find_bases(capture: Capture, found: list[Tensor], flat: list[Any]) -> list[Base | None] | None:
    """Return the base of each result that has a gradient, if it needs one; None if that cannot be said.

    Args:
        capture: the call.
        found: the results that have gradients; hidden ones are added.
        flat: all results.
    """
    mine = {*found}
    others = [t for t in flat if isinstance(t, weft.Tensor) and t not in mine]
    others += capture.given
    values = {capture.value(t) for t in found}
    if len(values) < len(found) or not _are_explained(capture, found, others):
        return None
    roots = [_C._root_of(t) for t in found]
    number = {t: i for i, t in enumerate(found)}
    bases: list[Base | None] = []
    for t, root in zip(found[:], roots):
        fixed = _C._is_fixed_view(t)
        if root is t:
            bases.append(None)
        elif (given := _given(capture, t, root)) is not None:
            bases.append(Base(given, fixed))
        elif root in number or fixed or sum(r is root for r in roots) > 1:
            if root not in number:
                value = capture.values.get(root)
                if value is None or value.producer is None or root in capture.given:
                    return None
                if root.grad_fn is None:
                    return None
                number[root] = len(found)
                found.append(root)
            bases.append(Base(number[root], fixed))
        else:  # nobody else sees its base
            bases.append(None)
    return bases + [None] * (len(found) - len(bases))


def _are_explained(capture: Capture, found: list[Tensor], others: list[Tensor]) -> bool:
    """Say whether all that is in the memory of a result is that by way of a base, or is detached."""
    roots: dict[Any, Tensor] = {}  # by memory
    for t in found:
        root = _C._root_of(t)
        if roots.setdefault(_C._place(t)[0], root) is not root:
            return False
    for t in others:
        root = roots.get(_C._place(t)[0])
        if root is None:
            continue
        if t in capture.given:
            if _C._root_of(t) is not root:
                return False
        elif _C._root_of(t) is not t or _C._wants_grad(t) or not capture.is_made(t):
            return False
    return True


def _given(capture: Capture, t: Tensor, root: Tensor) -> Value | None:
    """Return the value that the call was given and of which it has made a view; None if it made all."""
    v = capture.value(t)
    while v.producer is not None and is_view(v.producer):
        v = v.producer.inputs()[0]
    of = {value: x for x, value in capture.given.items()}
    return v if v in of and _C._root_of(of[v]) is root else None
