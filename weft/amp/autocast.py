"""``autocast``: where it is switched off, a block or function that changes nothing."""

from __future__ import annotations

import functools
import warnings

import weft
from weft._setting import DEVICES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_DTYPES = {"cpu": weft.bfloat16}
_OTHERS = weft.float16


class autocast:
    """Run ops in a smaller dtype inside a ``with`` block, or in a decorated function.

    weft does not cast ops yet: ``enabled=True`` on the CPU raises. For a device that is not there
    it warns, and the block runs as it stands, as in PyTorch.

    Args:
        device_type: whose ops to cast.
        dtype: the dtype to cast to.
        enabled: whether to cast.
        cache_enabled: whether cast weights are kept.

    >>> with weft.autocast("cpu", enabled=False):
    ...     (weft.ones(2, 2) @ weft.ones(2)).dtype
    torch.float32
    """

    def __init__(
        self,
        device_type: str,
        dtype: weft.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        """Check and keep the settings."""
        if not isinstance(device_type, str):
            raise ValueError(
                f"autocast: device_type must be a str, got {type(device_type).__name__}"
            )
        if device_type not in DEVICES:
            raise RuntimeError(
                f"autocast: expected one of {', '.join(DEVICES)} for device_type, "
                f"got {device_type!r}"
            )
        if enabled and device_type != "cpu":
            warnings.warn(
                f"autocast: {device_type} is not available: nothing is cast", stacklevel=2
            )
        elif enabled:
            raise NotImplementedError(
                "autocast('cpu', enabled=True): weft does not cast ops yet; convert the model and "
                "its input by .to(torch.bfloat16), or pass enabled=False"
            )
        self.device, self._enabled = device_type, False
        self.fast_dtype = dtype if dtype is not None else get_autocast_dtype(device_type)
        self._cache_enabled = cache_enabled is None or cache_enabled

    def __enter__(self) -> autocast:
        """Enter the block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the block."""

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose calls are such blocks."""

        @functools.wraps(func)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return inside


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Say whether ops are cast here.

    >>> weft.is_autocast_enabled("cpu")
    False
    """
    return False


def is_autocast_cpu_enabled() -> bool:
    """Say whether ops are cast on the CPU.

    >>> weft.is_autocast_cpu_enabled()
    False
    """
    return False


def is_autocast_cache_enabled() -> bool:
    """Say whether cast weights are kept.

    >>> weft.is_autocast_cache_enabled()
    True
    """
    return True


def is_autocast_available(device_type: str) -> bool:
    """Say whether weft can cast the ops of a device: not yet.

    >>> weft.amp.is_autocast_available("cpu")
    False
    """
    return False


def get_autocast_dtype(device_type: str) -> weft.dtype:
    """Return the dtype that ops of a device are cast to.

    >>> weft.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return _DTYPES.get(device_type, _OTHERS)


def clear_autocast_cache() -> None:
    """Forget cast weights: there are none.

    >>> weft.clear_autocast_cache()
    """


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str = "cuda",
    cast_inputs: weft.dtype | None = None,
) -> Callable[..., Any]:
    """Mark the forward of an ``autograd.Function`` for autocast, which is off: it runs unchanged.

    Args:
        fwd: the forward.
        device_type: whose autocast is meant.
        cast_inputs: the dtype of its inputs inside autocast; outside, they stay as they are.

    >>> @weft.amp.custom_fwd(device_type="cpu")
    ... def forward(ctx, x):
    ...     return x
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    return fwd


def custom_bwd(
    bwd: Callable[..., Any] | None = None, *, device_type: str = "cuda"
) -> Callable[..., Any]:
    """Mark the backward of an ``autograd.Function`` for autocast, which is off: it runs unchanged.

    Args:
        bwd: the backward.
        device_type: whose autocast is meant.

    >>> @weft.amp.custom_bwd
    ... def backward(ctx, g):
    ...     return g
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    return bwd
