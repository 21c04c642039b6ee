"""An optimiser whose gradients are averaged over processes as they arrive."""

from __future__ import annotations

import weft
from weft.optim.optimizer import Optimizer

from .groups import ProcessGroup, taking_part
from .reducer import Reducer, broadcast_together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["DistributedOptimizer"]


class DistributedOptimizer(Optimizer):
    """Lets an optimiser step with gradients that are averages over all processes.

    The all-reduce of each gradient is started when backward has computed it; ``step`` waits for
    all of them, unless ``synchronize`` has done so. All ranks start from the parameters of the
    first one. A parameter that got a gradient on some ranks only counts as zero on the others; one
    that got none anywhere is left alone.

    Args:
        optimizer: what makes the steps; its groups and state stay where they are.
        group: the ranks that train together (default: all).

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> x = weft.tensor([1.0], requires_grad=True)
    >>> optimizer = dist.DistributedOptimizer(weft.optim.SGD([x], lr=0.1))
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.8000], requires_grad=True)
    >>> dist.destroy_process_group()
    """

    def __init__(self, optimizer: Optimizer, group: ProcessGroup | None = None) -> None:
        """Start from the same parameters, and watch their gradients."""
        what = "DistributedOptimizer"
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{what}: optimizer must be an Optimizer, got {optimizer!r}")
        g = taking_part(group, what)
        if g is None:
            raise ValueError(f"{what}: this process is not in the given group")
        self.optimizer = optimizer
        named = [
            (f"group {i}, parameter {j}", p)
            for i, one in enumerate(optimizer.param_groups)
            for j, p in enumerate(one["params"])
        ]
        broadcast_together([p for _, p in named], g)
        trained = [(name, p) for name, p in named if p.requires_grad]
        self._reducer = Reducer(trained, g, may_miss=True, waits=True)
        self._synchronized = False

    def __getattr__(self, name: str) -> Any:
        """Take all else from the optimiser inside."""
        if name == "optimizer":
            raise AttributeError(name)
        return getattr(self.optimizer, name)

    def __repr__(self) -> str:
        """Show the optimiser inside."""
        return f"DistributedOptimizer({self.optimizer!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Raise: a copy could not watch the same gradients."""
        raise TypeError("DistributedOptimizer: cannot be copied; use state_dict()")

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the optimiser inside.

        >>> import weft.distributed as dist
        >>> dist.init_process_group()
        >>> x = weft.tensor([1.0], requires_grad=True)
        >>> sorted(dist.DistributedOptimizer(weft.optim.SGD([x], lr=0.1)).state_dict())
        ['param_groups', 'state']
        >>> dist.destroy_process_group()
        """
        return self.optimizer.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave, which must be the same on all ranks.

        >>> import weft.distributed as dist
        >>> dist.init_process_group()
        >>> x = weft.tensor([1.0], requires_grad=True)
        >>> optimizer = dist.DistributedOptimizer(weft.optim.SGD([x], lr=0.1))
        >>> optimizer.load_state_dict(weft.optim.SGD([x], lr=0.2).state_dict())
        >>> optimizer.param_groups[0]["lr"]
        0.2
        >>> dist.destroy_process_group()
        """
        self.optimizer.load_state_dict(state_dict)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Raise: add groups to an optimiser before it is made distributed.

        >>> import weft.distributed as dist
        >>> dist.init_process_group()
        >>> x = weft.tensor([1.0], requires_grad=True)
        >>> dist.DistributedOptimizer(weft.optim.SGD([x])).add_param_group({"params": []})
        Traceback (most recent call last):
        NotImplementedError: DistributedOptimizer.add_param_group: add groups to the optimizer ...
        >>> dist.destroy_process_group()
        """
        raise NotImplementedError(
            "DistributedOptimizer.add_param_group: add groups to the optimizer before it is "
            "wrapped, so that the gradients of all parameters are watched"
        )

    def synchronize(self) -> None:
        """Wait until all gradients are averages over all processes.

        >>> import weft.distributed as dist
        >>> dist.init_process_group()
        >>> x = weft.tensor([1.0], requires_grad=True)
        >>> optimizer = dist.DistributedOptimizer(weft.optim.SGD([x], lr=0.1))
        >>> (x * x).sum().backward()
        >>> optimizer.synchronize()
        >>> x.grad
        tensor([2.])
        >>> dist.destroy_process_group()
        """
        reducer = self._reducer
        reducer.skip(range(len(reducer.parameters)))
        reducer.finish()
        self._synchronized = True

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make a step, after ``synchronize`` unless that was done since the last backward.

        Args:
            closure: computes the loss and its gradients, and returns the loss.

        >>> import weft.distributed as dist
        >>> dist.init_process_group()
        >>> x = weft.tensor([1.0], requires_grad=True)
        >>> dist.DistributedOptimizer(weft.optim.SGD([x], lr=0.1)).step()
        >>> dist.destroy_process_group()
        """
        if closure is not None:
            return self.optimizer.step(lambda: self._loss(closure))
        if not self._synchronized or self._reducer._ready:
            self.synchronize()
        self._synchronized = False
        return self.optimizer.step()

    def _loss(self, closure: Callable[[], Any]) -> Any:
        with weft.enable_grad():
            loss = closure()
        self.synchronize()
        self._synchronized = False
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, which must not be under way.

        >>> import weft.distributed as dist
        >>> dist.init_process_group()
        >>> x = weft.tensor([1.0], requires_grad=True)
        >>> dist.DistributedOptimizer(weft.optim.SGD([x], lr=0.1)).zero_grad()
        >>> dist.destroy_process_group()
        """
        if self._reducer._ready:
            raise RuntimeError(
                "DistributedOptimizer.zero_grad: gradients are being averaged over processes: call "
                "step() or synchronize() first"
            )
        self.optimizer.zero_grad(set_to_none)
