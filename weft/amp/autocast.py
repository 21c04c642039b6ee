"""``autocast``: ops run in a smaller dtype where that is known to do no harm."""

from __future__ import annotations

import functools
import warnings

import weft
from weft import _C
from weft._environment import DEVICES
from weft.utils.pytree import tree_map_only

from .lists import use_lists

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

_SMALL = (weft.bfloat16, weft.float16)


class autocast:
    """Run ops in a smaller dtype inside a ``with`` block, or in a decorated function.

    Products (linear layers, convolutions, attention, ``matmul`` …) are computed in ``dtype``, losses
    and decompositions in float32, all other ops in the dtype they are given; ``weft.amp.lists`` has
    the names. Parameters stay as they are, and so do their gradients: what is cast is a copy with a
    derivative, kept until the outermost block ends. Call ``backward`` outside of the block; it
    computes in the dtypes of the forward pass, wherever it is called.

    Args:
        device_type: whose ops to cast. For a device that is not there it warns, and the block runs
            as it stands, as in PyTorch.
        dtype: bfloat16 (the CPU's default) or float16. Another one warns, and nothing is cast.
        enabled: whether to cast; False inside another block switches that off for a while.
        cache_enabled: whether casts of parameters are kept.

    >>> layer = weft.nn.Linear(4, 2)
    >>> with weft.autocast("cpu", dtype=weft.bfloat16):
    ...     y = layer(weft.ones(1, 4))
    ...     loss = weft.nn.functional.mse_loss(y, weft.zeros(1, 2))
    >>> loss.backward()
    >>> y.dtype, loss.dtype, layer.weight.grad.dtype
    (torch.bfloat16, torch.float32, torch.float32)
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
            enabled = False
        dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if enabled and dtype not in _SMALL:
            warnings.warn(
                f"autocast: on the CPU dtype must be torch.bfloat16 or torch.float16, got {dtype}: "
                "nothing is cast",
                stacklevel=2,
            )
            enabled = False
        self.device, self._enabled, self.fast_dtype = device_type, bool(enabled), dtype
        self._cache_enabled = (
            is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        )
        self._found: list[tuple[bool, weft.dtype, bool]] = []

    def __enter__(self) -> autocast:
        """Enter the block."""
        use_lists()
        on, dtype, cache = _C._autocast_state()
        if self.device == "cpu":
            on, dtype = self._enabled, self.fast_dtype if self._enabled else dtype
            cache = self._cache_enabled
        self._found.append(_C._set_autocast(on, dtype, cache))
        _C._nest_autocast(1)
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the block: what was before holds again."""
        _C._nest_autocast(-1)
        _C._set_autocast(*self._found.pop())

    def __call__(self, func: F) -> F:
        """Return a function whose calls are such blocks."""

        @functools.wraps(func)
        def inside(*args: Any, **kwargs: Any) -> Any:
            block = object.__new__(type(self))  # calls on several threads do not meet
            block.__dict__.update(self.__dict__, _found=[])
            with block:
                return func(*args, **kwargs)

        return inside  # type: ignore[return-value]


# ---- questions and switches ----------------------------------------------------------------------


def _check_device(name: str, device_type: str) -> None:
    if device_type not in DEVICES:
        raise RuntimeError(f"{name}: expected one of {', '.join(DEVICES)}, got {device_type!r}")


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Say whether ops of a device are cast here.

    >>> with weft.autocast("cpu"):
    ...     weft.is_autocast_enabled("cpu")
    True
    """
    _check_device("is_autocast_enabled", device_type)
    return device_type == "cpu" and _C._autocast_enabled()


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Switch casting on or off on this thread, without a block.

    >>> weft.set_autocast_enabled("cpu", False)
    """
    _check_device("set_autocast_enabled", device_type)
    if device_type == "cpu":
        use_lists()
        _C._set_autocast(bool(enabled), *_C._autocast_state()[1:])
    elif enabled:
        raise RuntimeError(f"set_autocast_enabled: {device_type} is not available")


def is_autocast_cpu_enabled() -> bool:
    """Say whether ops are cast on the CPU.

    >>> weft.is_autocast_cpu_enabled()
    False
    """
    return _C._autocast_enabled()


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Switch casting on the CPU on or off on this thread.

    >>> weft.set_autocast_cpu_enabled(False)
    """
    set_autocast_enabled("cpu", enabled)


def is_autocast_cache_enabled() -> bool:
    """Say whether casts of parameters are kept.

    >>> weft.is_autocast_cache_enabled()
    True
    """
    return _C._autocast_state()[2]


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Choose whether casts of parameters are kept.

    >>> weft.set_autocast_cache_enabled(True)
    """
    _C._set_autocast(*_C._autocast_state()[:2], bool(enabled))


def is_autocast_available(device_type: str) -> bool:
    """Say whether weft can cast the ops of a device: those of the CPU.

    >>> weft.amp.is_autocast_available("cpu")
    True
    """
    _check_device("is_autocast_available", device_type)
    return device_type == "cpu"


def get_autocast_dtype(device_type: str) -> weft.dtype:
    """Return the dtype that ops of a device are cast to.

    >>> weft.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    _check_device("get_autocast_dtype", device_type)
    return _C._autocast_state()[1] if device_type == "cpu" else weft.float16


def set_autocast_dtype(device_type: str, dtype: weft.dtype) -> None:
    """Choose what dtype ops of a device are cast to on this thread: bfloat16 or float16.

    >>> weft.set_autocast_dtype("cpu", weft.bfloat16)
    """
    _check_device("set_autocast_dtype", device_type)
    if device_type != "cpu":
        raise RuntimeError(f"set_autocast_dtype: {device_type} is not available")
    if dtype not in _SMALL:
        raise RuntimeError(
            f"set_autocast_dtype: dtype must be torch.bfloat16 or torch.float16, got {dtype}"
        )
    on, _, cache = _C._autocast_state()
    _C._set_autocast(on, dtype, cache)


def get_autocast_cpu_dtype() -> weft.dtype:
    """Return the dtype that ops on the CPU are cast to.

    >>> weft.get_autocast_cpu_dtype()
    torch.bfloat16
    """
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: weft.dtype) -> None:
    """Choose what dtype ops on the CPU are cast to on this thread.

    >>> weft.set_autocast_cpu_dtype(weft.bfloat16)
    """
    set_autocast_dtype("cpu", dtype)


def autocast_increment_nesting() -> int:
    """Count one more block, whose end keeps casts of parameters until then; return how many.

    >>> weft.autocast_increment_nesting(), weft.autocast_decrement_nesting()
    (1, 0)
    """
    return _C._nest_autocast(1)


def autocast_decrement_nesting() -> int:
    """Count one block less; after the outermost, casts of parameters are forgotten.

    >>> weft.autocast_increment_nesting(), weft.autocast_decrement_nesting()
    (1, 0)
    """
    return _C._nest_autocast(-1)


def clear_autocast_cache() -> None:
    """Forget casts of parameters.

    >>> weft.clear_autocast_cache()
    """
    _C._forget_casts()


# ---- custom functions ----------------------------------------------------------------------------


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str = "cuda",
    cast_inputs: weft.dtype | None = None,
) -> Callable[..., Any]:
    """Mark the forward of an ``autograd.Function`` for autocast; ``custom_bwd`` marks its backward.

    Args:
        fwd: the forward.
        device_type: whose autocast is meant.
        cast_inputs: inside autocast, the dtype that floating inputs other than float64 are cast to;
            the forward then runs with autocast off. Without it, it runs in the mode it is called in.

    >>> class Halves(weft.autograd.Function):
    ...     @staticmethod
    ...     @weft.amp.custom_fwd(device_type="cpu", cast_inputs=weft.float32)
    ...     def forward(ctx, x):
    ...         return x / 2
    ...
    ...     @staticmethod
    ...     @weft.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g / 2
    >>> with weft.autocast("cpu"):
    ...     Halves.apply(weft.ones(1, dtype=weft.bfloat16)).dtype
    torch.float32
    """
    _check_device("custom_fwd", device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = on and cast_inputs is None
        if not on or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return forward


def custom_bwd(
    bwd: Callable[..., Any] | None = None, *, device_type: str = "cuda"
) -> Callable[..., Any]:
    """Let the backward of an ``autograd.Function`` run in the mode that its forward ran in.

    Args:
        bwd: the backward.
        device_type: whose autocast is meant.

    >>> @weft.amp.custom_bwd(device_type="cpu")
    ... def backward(ctx, g):
    ...     return g
    """
    _check_device("custom_bwd", device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return backward


def _cast(tree: Any, dtype: weft.dtype) -> Any:
    """Return tensors of floating dtypes but float64 in another one, also those in containers."""

    def cast(x: Any) -> Any:
        return x.to(dtype) if x.is_floating_point() and x.dtype != weft.float64 else x

    return tree_map_only(weft.Tensor, cast, tree)
