"""Ops over lists of tensors: ``_foreach_mul_(parameters, 0.5)``, as optimisers and averages write them.

Each is the op of the same name, once for each tensor; a list of numbers or tensors goes along with them.
"""

from __future__ import annotations

import weft
from weft._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_UNARY = """
abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg
reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
""".split()
_WITH_OTHERS = "add clamp_max clamp_min div lerp maximum minimum mul pow sub".split()
_WITH_PAIRS = ["addcdiv", "addcmul"]
_METHODS = {"maximum": "clamp_min", "minimum": "clamp_max"}  # these take numbers, too

NAMES = [
    f"_foreach_{name}{tail}"
    for name in (*_UNARY, *_WITH_OTHERS, *_WITH_PAIRS)
    for tail in ("", "_")
] + ["_foreach_copy_", "_foreach_norm", "_foreach_zero_"]


def _column(value: Any, count: int, what: str) -> list[Any]:
    """One value for each tensor: a list goes along, anything else is meant for all."""
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise RuntimeError(
            f"{what}: Tensor lists must have the same number of tensors, got {count} and {len(value)}"
        )
    return list(value)


def _apply(
    name: str, tensors: Sequence[Tensor], given: tuple[Any, ...], settings: dict[str, Any]
) -> tuple[Tensor, ...]:
    what = f"_foreach_{name}"
    if not tensors:
        raise RuntimeError(f"{what}: Tensor list must have at least one tensor.")
    columns = [_column(value, len(tensors), what) for value in given]
    base, tail = (name[:-1], "_") if name.endswith("_") else (name, "")
    method = _METHODS.get(base, base) + tail
    return tuple(getattr(x, method)(*row, **settings) for x, *row in zip(tensors, *columns))


def _scaled(name: str, given: tuple[Any, ...], settings: dict[str, Any], count: int) -> Any:
    """The ``value`` of addcmul and addcdiv: a number, or one for each tensor."""
    *pairs, value = given if len(given) == 3 else (*given, settings.pop("value", 1))
    if "scalars" in settings:
        value = settings.pop("scalars")
    if settings:
        raise TypeError(f"_foreach_{name}: unknown arguments {sorted(settings)}")
    return pairs, _column(value, count, f"_foreach_{name}")


def _made(name: str) -> Callable[..., tuple[Tensor, ...] | None]:
    inplace = name.endswith("_")
    pairs = name.rstrip("_") in _WITH_PAIRS

    def run(self: Sequence[Tensor], *given: Any, **settings: Any) -> tuple[Tensor, ...] | None:
        if pairs:
            others, values = _scaled(name, given, settings, len(self))
            columns = [_column(o, len(self), f"_foreach_{name}") for o in others]
            rows = zip(self, *columns, values)
            out = tuple(getattr(x, name)(a, b, value=v) for x, a, b, v in rows)
        else:
            out = _apply(name, self, given, settings)
        return None if inplace else out

    run.__name__ = run.__qualname__ = f"_foreach_{name}"
    run.__doc__ = f"``{name}`` of each tensor of a list" + (", in place." if inplace else ".")
    return run


def _foreach_norm(self: Sequence[Tensor], ord: float = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """Return the norm of each tensor.

    >>> from weft.ops.foreach import _foreach_norm
    >>> _foreach_norm([weft.ones(4), weft.zeros(1)])
    (tensor(2.), tensor(0.))
    """
    return tuple(weft.linalg.vector_norm(x, ord, dtype=dtype) for x in self)


def __getattr__(name: str) -> Any:
    """Make the function of that name."""
    if name not in NAMES:
        raise AttributeError(f"module 'weft.ops.foreach' has no attribute '{name}'")
    function = _made(name.removeprefix("_foreach_"))
    globals()[name] = function
    return function
