"""Settings of PyTorch that choose between kernels: weft keeps them and says what they mean here.

weft has one kernel for each case. It computes float32 in full, gives the same bits on every run,
and has no pool of threads for independent ops; no setting makes it less exact.
"""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_num_interop_threads",
    "use_deterministic_algorithms",
]

_PRECISIONS = ("highest", "high", "medium")
_MODES = ("default", "warn", "error")
_state: dict[str, Any] = {"precision": "highest", "deterministic": 0, "interop": 1}


def set_float32_matmul_precision(precision: str) -> None:
    """Allow products of float32 matrices to be less exact; weft always computes them in full.

    Args:
        precision: ``"highest"``, ``"high"`` or ``"medium"``.

    >>> weft.set_float32_matmul_precision("high")
    >>> weft.get_float32_matmul_precision()
    'high'
    >>> weft.set_float32_matmul_precision("highest")
    """
    if precision not in _PRECISIONS:
        raise ValueError(
            f"set_float32_matmul_precision: expected one of {', '.join(_PRECISIONS)}, "
            f"got {precision!r}"
        )
    _state["precision"] = precision


def get_float32_matmul_precision() -> str:
    """Return how exact products of float32 matrices have to be.

    >>> weft.get_float32_matmul_precision()
    'highest'
    """
    return _state["precision"]


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for kernels that give the same bits on every run. Those of weft always do.

    Args:
        mode: whether to ask.
        warn_only: whether PyTorch would warn, not raise, where it has no such kernel.

    >>> weft.use_deterministic_algorithms(True)
    >>> weft.are_deterministic_algorithms_enabled()
    True
    >>> weft.use_deterministic_algorithms(False)
    """
    _state["deterministic"] = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled() -> bool:
    """Say whether deterministic kernels were asked for.

    >>> weft.are_deterministic_algorithms_enabled()
    False
    """
    return _state["deterministic"] > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Say whether a missing deterministic kernel would only be warned of.

    >>> weft.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _state["deterministic"] == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Ask for deterministic kernels: 0 or "default", 1 or "warn", 2 or "error".

    >>> weft.set_deterministic_debug_mode("default")
    """
    level = _MODES.index(debug_mode) if debug_mode in _MODES else debug_mode
    if level not in (0, 1, 2):
        raise RuntimeError(
            f"set_deterministic_debug_mode: expected 0, 1, 2 or one of {', '.join(_MODES)}, "
            f"got {debug_mode!r}"
        )
    _state["deterministic"] = level


def get_deterministic_debug_mode() -> int:
    """Return what ``set_deterministic_debug_mode`` set, as a number.

    >>> weft.get_deterministic_debug_mode()
    0
    """
    return _state["deterministic"]


def set_num_interop_threads(num: int) -> None:
    """Set the threads that run independent ops side by side; weft runs ops one after the other.

    >>> weft.set_num_interop_threads(1)
    """
    if isinstance(num, bool) or not isinstance(num, int):
        raise TypeError(f"set_num_interop_threads expects an int, but got {type(num).__name__}")
    if num < 1:
        raise RuntimeError(f"set_num_interop_threads: expected a positive number, got {num}")
    _state["interop"] = num


def get_num_interop_threads() -> int:
    """Return what ``set_num_interop_threads`` set.

    >>> weft.get_num_interop_threads()
    1
    """
    return _state["interop"]


def set_default_tensor_type(t: Any) -> None:
    """Set the dtype of new floating-point tensors by an older name.

    Args:
        t: ``weft.FloatTensor``, ``weft.DoubleTensor`` …, or its name.

    >>> weft.set_default_tensor_type("torch.FloatTensor")
    """
    name = t if isinstance(t, str) else getattr(t, "__name__", str(t))
    if "cuda" in name or "cuda" in getattr(t, "__module__", ""):
        raise TypeError(f"set_default_tensor_type: {name}: weft has only the device 'cpu'")
    short = name.rpartition(".")[2]
    kind = getattr(getattr(weft, short, None), "_dtype", None)
    if kind is None or not kind.is_floating_point:
        raise TypeError(
            "set_default_tensor_type: expected a floating-point type such as torch.FloatTensor "
            f"or torch.DoubleTensor, got {name}"
        )
    weft.set_default_dtype(kind)
