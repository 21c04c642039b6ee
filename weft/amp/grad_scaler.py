"""``GradScaler``: losses scaled up, so that small gradients survive in a small dtype."""

from __future__ import annotations

import warnings

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["GradScaler"]


def unscale(grads: list[Tensor], scale: float) -> bool:
    """Divide gradients by a scale, in place; return whether one is not finite."""
    overflowed = False
    with weft.no_grad():
        for grad in grads:
            values = grad._values() if grad.is_sparse else grad
            values.mul_(1.0 / scale)
            overflowed = overflowed or not bool(weft.isfinite(values).all())
    return overflowed


class GradScaler:
    """Scale losses, unscale gradients, and leave out steps whose gradients overflowed.

    After ``growth_interval`` good steps the scale grows; after a bad one it shrinks.

    Args:
        device: ``"cpu"``. For a device that is not there it warns and does nothing.
        init_scale: the first scale.
        growth_factor: how the scale grows.
        backoff_factor: how it shrinks.
        growth_interval: good steps until it grows.
        enabled: whether to do anything.

    >>> p = weft.nn.Parameter(weft.ones(1))
    >>> sgd = weft.optim.SGD([p], lr=0.5)
    >>> scaler = weft.amp.GradScaler("cpu", init_scale=4.0)
    >>> scaler.scale(p.sum()).backward()
    >>> scaler.step(sgd)
    >>> scaler.update()
    >>> p.item()
    0.5
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        """Check and keep the settings."""
        kind = weft.device(device).type
        if enabled and kind != "cpu":
            warnings.warn(f"GradScaler: {kind} is not available: nothing is scaled", stacklevel=2)
            enabled = False
        if enabled and not (growth_factor > 1.0 and backoff_factor < 1.0):
            raise AssertionError(
                "GradScaler: growth_factor must be above 1 and backoff_factor below it, got "
                f"{growth_factor} and {backoff_factor}"
            )
        self._device, self._enabled = device, enabled
        self._scale, self._growth_tracker = float(init_scale), 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._seen: dict[int, str] = {}  # an optimiser: "unscaled" or "stepped"
        self._overflowed: dict[int, bool] = {}  # those whose gradients were checked

    def scale(self, outputs: Any) -> Any:
        """Return a tensor, or each of several, times the scale; a small loss becomes float32.

        >>> weft.amp.GradScaler("cpu", init_scale=2.0).scale([weft.ones(1)])
        [tensor([2.])]
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, weft.Tensor):
            scaled = outputs * weft.tensor(self._scale, dtype=weft.float32)
            scaled._scaled_loss = True  # debug.nan_origin: infinite gradients are expected
            return scaled
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(x) for x in outputs)
        if hasattr(outputs, "__iter__"):
            return map(self.scale, outputs)
        raise ValueError(
            f"GradScaler.scale: expected tensors or iterables of them, got {type(outputs).__name__}"
        )

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimiser's parameters by the scale, e.g. before clipping.

        >>> p = weft.nn.Parameter(weft.ones(1))
        >>> scaler, sgd = weft.amp.GradScaler("cpu"), weft.optim.SGD([p], lr=0.1)
        >>> scaler.scale(p.sum()).backward()
        >>> scaler.unscale_(sgd)
        >>> p.grad
        tensor([1.])
        """
        if not self._enabled:
            return
        state = self._seen.get(id(optimizer))
        if state is not None:
            raise RuntimeError(
                "GradScaler.unscale_: "
                + (
                    "it has already been called on this optimizer since the last update()"
                    if state == "unscaled"
                    else "it is being called after step()"
                )
            )
        grads = [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        if any(grad.dtype == weft.float16 for grad in grads):
            raise ValueError(
                "GradScaler.unscale_: Attempting to unscale FP16 gradients, which are too coarse: "
                "keep parameters in float32 and let autocast cast them"
            )
        self._seen[id(optimizer)] = "unscaled"
        if grads:
            self._overflowed[id(optimizer)] = unscale(grads, self._scale)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale, unless done already, and step the optimiser if all gradients are finite.

        Args:
            optimizer: the optimiser.
            args, kwargs: for its ``step``. A closure is refused.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or (args and callable(args[0])):
            raise RuntimeError("GradScaler.step: closures are not supported while scaling")
        if self._seen.get(id(optimizer)) == "stepped":
            raise RuntimeError(
                "GradScaler.step: it has already been called since the last update()"
            )
        if id(optimizer) not in self._seen:
            self.unscale_(optimizer)
        if id(optimizer) not in self._overflowed:
            raise AssertionError(
                "GradScaler.step: No inf checks were recorded for this optimizer: none of its "
                "parameters has a gradient"
            )
        result = None if self._overflowed[id(optimizer)] else optimizer.step(*args, **kwargs)
        self._seen[id(optimizer)] = "stepped"
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the scale to what the steps since the last update met, or set it.

        Args:
            new_scale: the scale to use from now on.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._overflowed:
            raise AssertionError(
                "GradScaler.update: No inf checks were recorded prior to update: no optimizer was "
                "stepped or unscaled since the last one"
            )
        elif any(self._overflowed.values()):
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._growth_tracker = 0
                if self._scale * self._growth_factor < weft.finfo(weft.float32).max:
                    self._scale *= self._growth_factor
        self._seen.clear()
        self._overflowed.clear()

    def is_enabled(self) -> bool:
        """Say whether it does anything.

        >>> weft.amp.GradScaler("cpu").is_enabled()
        True
        """
        return self._enabled

    def get_scale(self) -> float:
        """Return the scale; 1 if switched off.

        >>> weft.amp.GradScaler("cpu").get_scale()
        65536.0
        """
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """Return how the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set how the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return how the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set how the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return how many good steps make the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set how many good steps make the scale grow."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """Return the scale and the settings; an empty dict if switched off.

        >>> weft.amp.GradScaler("cpu").state_dict()["scale"]
        65536.0
        """
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what ``state_dict`` gave.

        >>> scaler = weft.amp.GradScaler("cpu")
        >>> scaler.load_state_dict(weft.amp.GradScaler("cpu", init_scale=2.0).state_dict())
        >>> scaler.get_scale()
        2.0
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "GradScaler.load_state_dict: the state is empty: it was saved by a scaler that "
                "was switched off"
            )
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: only between two iterations."""
        if self._seen:
            raise AssertionError(
                "GradScaler: it can be pickled before an iteration or after update(), not between"
            )
        return self.__dict__.copy()
