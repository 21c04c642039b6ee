"""What weft's own optimisers share.

They only say how a state begins and how *all* parameters of a group are updated, as one function
of lists, such as ``adam(params, grads, exp_avgs, ...)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft
from weft import _C, Tensor

from .optimizer import Optimizer, required

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class ByGroup(Optimizer):
    """An optimiser that updates all parameters of a group by one function of lists."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once, by their gradients.

        Args:
            closure: evaluates the model again and returns the loss.

        Returns:
            What the closure returned, or None.

        >>> x = weft.tensor([1.0], requires_grad=True)
        >>> optimizer = weft.optim.SGD([x], lr=0.25)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.5000], requires_grad=True)
        """
        loss = None
        if closure is not None:
            with weft.enable_grad():
                loss = closure()
        before = _C._grad_enabled()
        _C._set_grad_enabled(bool(self.defaults.get("differentiable")))
        try:
            for group in self.param_groups:
                params, grads = [], []
                for p in group["params"]:
                    g = p.grad
                    if g is not None:
                        params.append(p)
                        grads.append(g)
                if params:
                    self._update(group, params, grads, self._states(group, params))
        finally:
            _C._set_grad_enabled(before)
        return loss

    def _states(self, group: dict[str, Any], params: list[Tensor]) -> list[dict[str, Any]]:
        """Return the state of each parameter, begun where it is empty."""
        state = self.state
        states = [state[p] for p in params]
        for p, s in zip(params, states):
            if not s:
                self._begin(group, p, s)
        return states

    def _begin(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        """Fill the empty state of one parameter."""
        raise NotImplementedError

    def _update(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
    ) -> None:
        """Update parameters and states in place."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a state, also one of an older version: options it lacks get their defaults."""
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in self.defaults.items():
                if default is not required and name != "differentiable":
                    group.setdefault(name, default)
        for value in self.state.values():
            if isinstance(value, dict) and isinstance(value.get("step"), float):
                value["step"] = counter(value["step"])


def counter(value: float = 0.0) -> Tensor:
    """Return a number of steps as a tensor, which is how PyTorch's state dicts hold it."""
    wide = weft.get_default_dtype() == weft.float64
    return weft.tensor(value, dtype=weft.float64 if wide else weft.float32)


def zeros(p: Tensor) -> Tensor:
    """Return zeros laid out like ``p``."""
    return weft.zeros_like(p, memory_format=weft.preserve_format)


def number(x: Any, group: dict[str, Any]) -> Any:
    """Return an option as a Python number, unless derivatives may go through it."""
    if isinstance(x, Tensor) and not group.get("differentiable"):
        return x.item()
    return x


def can_be_native(params: list[Tensor], *options: Any) -> bool:
    """Say whether a step can be native: nothing recorded, no tensor twice, no option a tensor."""
    if _C._grad_enabled() or len({id(p) for p in params}) != len(params):
        return False
    for x in options:  # three times as fast as any()
        if isinstance(x, Tensor):
            return False
    return True


def count(steps: list[Tensor]) -> list[float]:
    """Add one to each counter and return them as numbers."""
    with weft.no_grad():
        return [step.add_(1).item() for step in steps]


def as_real(*lists: list[Any]) -> tuple[list[Any], ...]:
    """Return lists of tensors with complex ones seen as pairs of reals; the first list decides."""
    for p in lists[0]:
        if p.is_complex():
            break
    else:
        return lists
    return tuple(
        [weft.view_as_real(x) if isinstance(x, Tensor) and x.is_complex() else x for x in xs]
        for xs in lists
    )


def add_(p: Tensor, d: Tensor, alpha: Any) -> None:
    """``p += alpha d``, where ``alpha`` may be a tensor that has a derivative."""
    if isinstance(alpha, Tensor):
        p.add_((d * alpha).to(p.dtype))
    else:
        p.add_(d, alpha=alpha)


def addcdiv_(p: Tensor, a: Tensor, b: Tensor, value: Any) -> None:
    """``p += value a / b``, where ``value`` may be a tensor that has a derivative."""
    if isinstance(value, Tensor):
        p.add_((a * value / b).to(p.dtype))
    else:
        p.addcdiv_(a, b, value=value)


def decayed(
    params: list[Tensor], grads: Iterable[Tensor], weight_decay: Any, maximize: bool
) -> list[Tensor]:
    """Return the gradients to descend by: turned for ``maximize``, with ``weight_decay p`` added."""
    grads = list(grads)
    if maximize:
        grads = [g.neg() for g in grads]
    if isinstance(weight_decay, Tensor):
        return [g + weight_decay * p for g, p in zip(grads, params)]
    if weight_decay != 0:
        grads = [g.add(p, alpha=weight_decay) for g, p in zip(grads, params)]
    return grads


# ---- checks of options --------------------------------------------------------------------------


def check_lr(lr: Any, rule: str = "Invalid learning rate") -> None:
    """Refuse a learning rate below zero, and a tensor with several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(f"{rule}: {lr}")


def check(**values: Any) -> None:
    """Refuse options below zero."""
    for name, value in values.items():
        if not 0.0 <= value:
            raise ValueError(f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def check_betas(betas: Any) -> None:
    """Refuse decay rates outside of [0, 1)."""
    for i in (0, 1):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_paths(
    name: str,
    foreach: bool | None = None,
    fused: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
) -> None:
    """Refuse choices of implementation that contradict each other, or that weft has not."""
    if capturable:
        raise NotImplementedError(
            f"{name}(capturable=True): weft runs on the CPU, where no graphs are captured"
        )
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_dense(name: str, grads: list[Tensor], hint: str = "") -> None:
    """Refuse sparse gradients."""
    for g in grads:
        if g.is_sparse:
            raise RuntimeError(f"{name} does not support sparse gradients{hint}")
