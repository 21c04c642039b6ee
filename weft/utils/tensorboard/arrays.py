"""What users log, as NumPy arrays."""

from __future__ import annotations

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def array_of(x: Any, what: str) -> Any:
    """Return a tensor, an array, a number or a list as a NumPy array; ``what`` is for messages.

    >>> from weft.utils.tensorboard.arrays import array_of
    >>> array_of(weft.ones(2, dtype=weft.bfloat16), "x").dtype.name
    'float32'
    """
    import numpy as np

    if isinstance(x, weft.Tensor):
        x = x.detach()
        return (x.float() if x.dtype == weft.bfloat16 else x).numpy()
    if isinstance(x, (list, tuple)) and any(isinstance(v, weft.Tensor) for v in x):
        return np.stack([array_of(v, what) for v in x])
    found = np.asarray(x)
    if found.dtype.kind not in "biufc":
        raise TypeError(f"{what}: takes a Tensor, an array or numbers, not {type(x).__name__}")
    return found


def number_of(x: Any, what: str) -> float:
    """Return the one number in a tensor or an array.

    >>> from weft.utils.tensorboard.arrays import number_of
    >>> number_of(weft.tensor([2.0]), "loss")
    2.0
    """
    found = array_of(x, what)
    if found.size != 1:
        raise ValueError(f"{what}: takes one number, got an array of shape {list(found.shape)}")
    if found.dtype.kind == "c":
        raise TypeError(f"{what}: takes a real number, got {found.dtype}")
    return float(found.reshape(()))
