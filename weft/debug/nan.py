"""``nan_origin``: names the op that made the first NaN or infinity of a training step.

While it is on, ``backward`` looks at the loss before it begins and at the gradient of each leaf as
it arrives: one scan of what there is to scan anyway. The graph is kept until the walk has ended.
Only when something is not finite is the step computed again from the graph, op by op: see
``nan_replay.py``.
"""

from __future__ import annotations

import weft
from weft import _C, autograd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from weft import Tensor

    from .nan_report import Birth

__all__ = ["NanError", "explain", "nan_origin"]


class NanError(FloatingPointError):
    """A loss or a gradient is NaN or infinite.

    Attributes:
        birth: where the first NaN or infinity was made, as a ``weft.debug.Birth``; None if it could
            not be found.
    """

    def __init__(self, message: str, birth: Birth | None = None) -> None:
        super().__init__(message)
        self.birth = birth


class nan_origin:
    """Name the op that made the first NaN or infinity of a step: from now on, or in a ``with`` block.

    A step is checked in ``backward``: the loss before it, the gradients of leaves in it. An infinity
    that reaches neither, such as that of a mask, is none. ``WEFT_NAN=1`` in the environment switches
    it on for a program.

    Args:
        mode: True to switch it on, False to switch it off.
        action: "raise" raises a ``NanError``; "warn" warns once, and then no more.

    >>> x = weft.tensor([1.0, 0.0], requires_grad=True)
    >>> with weft.debug.nan_origin():
    ...     x.log().sum().backward()
    Traceback (most recent call last):
    weft.debug.nan.NanError: The loss is -inf.
    The first infinity was made by log at ...
    """

    __slots__ = ("_before", "action", "mode")

    def __init__(self, mode: bool = True, *, action: str = "raise") -> None:
        if action not in ("raise", "warn"):
            raise ValueError(f"nan_origin: action must be 'raise' or 'warn', got {action!r}")
        self.mode, self.action = bool(mode), action
        self._before: Any = autograd._checked_backward
        _switch(_Check(action) if self.mode else None)

    def __enter__(self) -> nan_origin:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _switch(self._before)


def explain(t: Tensor) -> Birth | None:
    """Return where a tensor with a graph became NaN or infinite; None if it did not.

    Made while ``nan_origin`` is on, its graph keeps all that is needed; else what backward keeps.

    >>> x = weft.tensor([1.0, -1.0], requires_grad=True)
    >>> weft.debug.explain(x.sqrt() * 2).op
    'sqrt'
    """
    if _C._all_finite(t.detach()):
        return None
    if t.grad_fn is None:
        raise ValueError("explain: the tensor has no graph: compute it with gradients enabled")
    from .nan_replay import birth_of_value

    return _replayed(birth_of_value, t)


def _switch(check: Any) -> None:
    autograd._checked_backward = check
    _C._keep_inputs(check is not None)


def _replayed(find: Any, *args: Any) -> Any:
    """Find something in a graph, where compiled calls leave nodes that keep their inputs."""
    keeps, autograd._checked_backward = autograd._checked_backward, None
    _C._keep_inputs(True)
    try:
        return find(*args)
    finally:
        _switch(keeps)


class _Check:
    """What runs instead of the native walk, and looks at what goes in and comes out."""

    def __init__(self, action: str) -> None:
        self.action = action

    def __call__(
        self, roots: Any, grads: Any, retain: bool, create: bool, inputs: Any, *rest: bool
    ) -> None:
        if _C._recorder() is None:  # a call that is being captured has no values yet
            found = _C._run_backward_checked(roots, grads, retain, create, inputs, *rest)
            if not found or self._explained(found, roots, grads):
                return
        _C._run_backward(roots, grads, retain, create, inputs, *rest)

    def _explained(self, found: str, roots: Any, grads: Any) -> bool:
        """Tell what was not finite, and return whether the walk has been taken."""
        tensors = [t for t in roots if isinstance(t, weft.Tensor)]
        if any(getattr(t, "_scaled_loss", False) for t in tensors):
            return found == "leaf"  # GradScaler looks at the gradients itself
        if found == "leaf":
            self._report_gradient(roots, grads)
            return True
        if found == "root":
            self._report_value(next(t for t in tensors if not _C._all_finite(t)))
        else:
            self._tell("backward: the gradient that it is given is NaN or infinite.", None)
        return False

    def _report_value(self, t: Tensor) -> None:
        value = f" is {t.item()}" if t.numel() == 1 else " holds NaN or infinity"
        birth = explain(t) if t.grad_fn is not None else None
        if birth is not None:
            birth.reached = ["the loss"]
        self._tell(f"The loss{value}.", birth)

    def _report_gradient(self, roots: Any, grads: Any) -> None:
        from .nan_replay import birth_of_gradient

        birth = _replayed(birth_of_gradient, list(roots), list(grads))
        self._tell("A gradient is NaN or infinite, and the loss is finite.", birth)

    def _tell(self, what: str, birth: Birth | None) -> None:
        if birth is None:
            what += " Where it comes from cannot be found in the graph."
        else:
            what += f"\n{birth}"
        if self.action == "raise":
            raise NanError(what, birth)
        import warnings

        _switch(None)  # what follows is NaN as well
        warnings.warn(what, RuntimeWarning, stacklevel=4)
