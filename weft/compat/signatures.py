"""What functions of weft take and return, from the registry of ops and from Python's signatures."""

from __future__ import annotations

import functools
import inspect

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["keywords_of", "returns_tensor"]

_OF_ALL_OPS = {"axis", "device", "dtype", "keepdims", "layout", "memory_format", "names", "out",
               "pin_memory", "requires_grad", "self", "input"}  # fmt: skip


@functools.lru_cache(maxsize=1)
def _registry() -> dict[str, Any]:
    return weft.ops.registry()


def _info(f: Any) -> Any:
    """Return what the registry has on a native op or its method, else None."""
    if type(f).__name__ != "Op":
        return None
    name = f.__name__
    return _registry().get(name) or _registry().get(name.removesuffix("_"))


def keywords_of(f: Any) -> set[str] | None:
    """Return the keyword arguments that a function or class takes; None if that is not known.

    >>> from weft.compat.signatures import keywords_of
    >>> sorted(keywords_of(weft.nn.Flatten))
    ['end_dim', 'start_dim']
    """
    info = _info(f)
    if info is not None:
        found = set(_OF_ALL_OPS)
        for signature in info.signatures:
            inside = signature[signature.index("(") + 1 : signature.rindex(")")]
            for part in inside.split(") ->")[0].split(", "):
                found.add(part.partition("=")[0].split(" ")[-1].lstrip("*"))
        return found - {""}
    if type(f).__name__ == "Op" or not callable(f):
        return None
    init: Any = getattr(f, "__init__", None)
    made = isinstance(f, type) and init is not object.__init__
    try:  # Python 3.10 takes the arguments of a class from __new__, where there is one
        parameters = list(inspect.signature(init if made else f).parameters.values())[made:]
    except (TypeError, ValueError):
        return None
    if any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters):
        return None
    found = {p.name for p in parameters if p.kind != p.POSITIONAL_ONLY}
    own = getattr(f, "__module__", "") or ""
    return found | _OF_ALL_OPS if own.startswith(("weft.ops", "weft.linalg", "weft.fft")) else found


def returns_tensor(f: Any) -> bool:
    """Say whether a function, given tensors, surely returns one tensor.

    >>> from weft.compat.signatures import returns_tensor
    >>> returns_tensor(weft.zeros), returns_tensor(weft.topk), returns_tensor(weft.save)
    (True, False, False)
    """
    if isinstance(f, type):
        return f is weft.Tensor
    info = _info(f)
    if info is not None:
        return all(s.endswith("-> Tensor") for s in info.signatures)
    return str(getattr(f, "__annotations__", {}).get("return", "")) == "Tensor"
