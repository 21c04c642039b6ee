"""Copies of views: ``expand_copy`` is ``expand``, then a copy."""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_contiguous_copy = _C._op_function("contiguous_copy")

# The view op, and arguments for its example.
_VIEWS = {
    "as_strided": "weft.ones(2), (2, 2), (0, 1)",
    "detach": "weft.ones(2)",
    "diagonal": "weft.eye(2)",
    "expand": "weft.ones(1), (2,)",
    "permute": "weft.ones(2, 3), (1, 0)",
    "select": "weft.eye(2), 0, 1",
    "split": "weft.ones(4), 2",
    "split_with_sizes": "weft.ones(3), [1, 2]",
    "squeeze": "weft.ones(2, 1)",
    "t": "weft.ones(2, 3)",
    "transpose": "weft.ones(2, 3), 0, 1",
    "unbind": "weft.eye(2)",
    "unfold": "weft.ones(4), 0, 2, 2",
    "unsqueeze": "weft.ones(2), 0",
    "view": "weft.ones(4), (2, 2)",
    "view_as_complex": "weft.ones(1, 2)",
    "view_as_real": "weft.ones(1) + 0j",
}


def _copied(view: Any) -> Any:
    if isinstance(view, tuple):
        return tuple(_copied(v) for v in view)
    return _contiguous_copy(view)


def _declare(view: str, example: str) -> None:
    name = view + "_copy"
    see = getattr(Tensor, view, None) or getattr(weft, view)

    def copy(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        return _copied(see(input, *args, **kwargs))

    copy.__name__ = copy.__qualname__ = name
    copy.__doc__ = f"""Return what ``{view}`` shows, in memory of its own.

    >>> y = weft.{name}({example})
    """
    derivative = "detached from the graph" if view == "detach" else True
    op(method=False, out=True, derivative=derivative)(copy)


for _view, _example in _VIEWS.items():
    _declare(_view, _example)


@op(method=False, out=True)
def alias_copy(input: Tensor) -> Tensor:
    """Return a copy of ``input``.

    >>> weft.alias_copy(weft.ones(2))
    tensor([1., 1.])
    """
    return _copied(input)
