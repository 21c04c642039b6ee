"""How a module was made: its class and the arguments of its constructor.

Every module keeps them in ``_made``, so that ``load_from_checkpoint`` can make it again. What is
kept is data: numbers and text as they are, copies of containers, tensors by reference, and of
modules among the arguments how these were made. Nothing else is kept alive.
"""

from __future__ import annotations

from collections import OrderedDict
from operator import itemgetter
from types import BuiltinFunctionType, FunctionType, MethodType

import weft
from weft._C import ModuleBase, Op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

ATOMS = frozenset((int, float, bool, str, type(None)))
_DATA = ATOMS | {complex, bytes, range, type(...)}
_DATA |= {weft.Size, weft.dtype, weft.device, weft.Generator}
_DEEPEST = 32  # containers within containers


class ConstructorCall(list):
    """The record of one module: a weak reference to it, its class, and the kept arguments.

    A list with names, because every module pays for making one. It is also what identifies a
    module among the arguments of another one.
    """

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]  # by identity, also within sets
    __eq__ = object.__eq__
    reference = property(itemgetter(0))
    cls = property(itemgetter(1))
    args = property(itemgetter(2))
    kwargs = property(itemgetter(3))

    @property
    def module(self) -> Any:
        """The module, or None when it is gone."""
        return None if self.reference is None else self.reference()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copies and pickles get their reference from ``Module.__setstate__``."""
        return ConstructorCall, ((None, *self[1:]),)


class Unkept:
    """Stands for an argument that is not data, which is not kept alive; says what it was."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def keep(values: Iterable[Any], depth: int = 0) -> tuple[Any, ...]:
    """Return what is kept of arguments, or of the items of a container.

    >>> from weft.nn.module_arguments import keep
    >>> kept = keep((1, [2.0, print]))
    >>> kept[0], kept[1][0], kept[1][1].text
    (1, 2.0, 'the function print')
    """
    values = tuple(values)
    if ATOMS.issuperset(map(type, values)):
        return values
    return tuple(
        [
            value._made or Unkept(f"a {type(value).__name__}")
            if issubclass(type(value), ModuleBase)  # not isinstance: it may ask for __class__
            else _kept(value, depth)
            for value in values
        ]
    )


def _kept(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind in _DATA or kind is ConstructorCall:
        return value
    if issubclass(kind, weft.Tensor):
        return value if value.grad_fn is None else value.detach()
    if depth < _DEEPEST:
        if kind in (list, tuple, set, frozenset):
            return kind(keep(value, depth + 1))
        if kind is dict or kind is OrderedDict:
            return kind(zip(keep(value, depth + 1), keep(value.values(), depth + 1)))
    if kind.__module__ == "numpy" and hasattr(value, "dtype"):
        return value
    if kind is Op or (issubclass(kind, type) and issubclass(value, ModuleBase)):
        return value
    if kind is FunctionType and str(value.__module__).startswith("weft."):
        return value
    named = {FunctionType: "function", BuiltinFunctionType: "function", MethodType: "method"}
    if kind in named or issubclass(kind, type):
        return Unkept(f"the {named.get(kind, 'class')} {value.__qualname__}")
    return Unkept(f"an object of type {kind.__name__}")
