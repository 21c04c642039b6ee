"""One module in several processes, each of which trains it on its own part of a batch."""

from __future__ import annotations

import contextlib

import weft
from weft.distributed.groups import ProcessGroup, taking_part
from weft.distributed.objects import all_gather_object
from weft.distributed.reducer import Reducer, broadcast_together
from weft.nn.module import Module
from weft.utils.pytree import find_tensors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from weft import Tensor

__all__ = ["DistributedDataParallel"]

FIRST_BUCKET_MB, BUCKET_MB = 1.0, 25.0


class DistributedDataParallel(Module):
    """Calls a module, and averages its gradients over all processes while backward runs.

    All ranks start with the parameters and buffers of the first one. After each backward pass they
    have the same gradients, so equal optimisers keep them equal. With batches of the same size on
    each rank, and a loss that is a mean, it is as if one process had trained on all of them.

    Args:
        module: what to call; its parameters are below ``module.`` in the state dict.
        device_ids: must be None or empty: there is one device.
        output_device: must be None.
        dim: must be 0.
        broadcast_buffers: before each forward pass, give all ranks the buffers of the first one.
        init_sync: check that parameters agree, and copy them from the first rank.
        process_group: the ranks that train together (default: all).
        bucket_cap_mb: how many megabytes of gradients travel together (default: 25).
        find_unused_parameters: after each forward pass, look for parameters that the outputs do
            not depend on; these count as zero. Without it all must get a gradient.
        check_reduction: must be False.
        gradient_as_bucket_view: let ``.grad`` share the memory in which gradients travel.
        static_graph: must be False.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> model = weft.nn.parallel.DistributedDataParallel(weft.nn.Linear(2, 1))
    >>> model(weft.ones(3, 2)).sum().backward()
    >>> model.module.bias.grad, list(model.state_dict())
    (tensor([3.]), ['module.weight', 'module.bias'])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
    ) -> None:
        super().__init__()
        what = "DistributedDataParallel"
        for name, value in (("device_ids", device_ids or None), ("output_device", output_device),
                            ("dim", dim or None), ("check_reduction", check_reduction or None),
                            ("static_graph", static_graph or None)):  # fmt: skip
            if value is not None:
                raise NotImplementedError(f"{what}: {name} is not supported, got {value!r}")
        if bucket_cap_mb is not None and bucket_cap_mb <= 0:
            raise ValueError(f"{what}: bucket_cap_mb must be positive, got {bucket_cap_mb}")
        group = taking_part(process_group, what)
        if group is None:
            raise ValueError(f"{what}: this process is not in the given group")
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError(f"{what}: the module has no parameter that requires a gradient")
        self.module = module
        self.process_group = group
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        if init_sync:
            _check_equal(module, group, what)
            broadcast_together([*module.parameters(), *module.buffers()], group)
        first, others = (
            (FIRST_BUCKET_MB, BUCKET_MB) if bucket_cap_mb is None else [bucket_cap_mb] * 2
        )
        self._limits = int(first * 2**20), int(others * 2**20)
        self._as_view = gradient_as_bucket_view
        self._watch()

    def _watch(self) -> None:
        trained = [(n, p) for n, p in self.module.named_parameters() if p.requires_grad]
        self._reducer = Reducer(
            trained,
            self.process_group,
            self._limits,
            may_miss=self.find_unused_parameters,
            as_view=self._as_view,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what belongs to this process: a copy trains in the group of all ranks."""
        state = super().__getstate__()
        return {n: x for n, x in state.items() if n not in ("process_group", "_reducer")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a module, and watch its gradients."""
        super().__setstate__(state)
        group = taking_part(None, "DistributedDataParallel")
        assert group is not None
        self.process_group = group
        self._watch()

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        averaging = weft.is_grad_enabled() and self.require_backward_grad_sync
        if averaging:
            self._begin()
        if self.broadcast_buffers and self.require_forward_param_sync:
            broadcast_together(list(self.module.buffers()), self.process_group)
        output = self.module(*inputs, **kwargs)
        if weft.is_grad_enabled():
            self._reducer.expecting = averaging
        self.require_forward_param_sync = averaging
        if averaging and self.find_unused_parameters:
            used = _leaves_of(output)
            parameters = self._reducer.parameters
            self._reducer.skip(i for i, p in enumerate(parameters) if id(p) not in used)
            if self._reducer.complete:
                self._reducer.finish()
        return output

    def _begin(self) -> None:
        """Make ready for a backward pass; the one before must have averaged all gradients."""
        missing = self._reducer.missing
        if missing:
            some = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
            raise RuntimeError(
                f"DistributedDataParallel: {len(missing)} parameters got no gradient since the last "
                f"forward pass ({some}), so gradients were not averaged. If the outputs do not "
                "depend on them pass find_unused_parameters=True; all outputs must take part in "
                "the loss"
            )

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within it, forward and backward passes add to this process's own gradients.

        The first backward pass after it averages what has been added up.

        >>> import weft.distributed as dist
        >>> dist.init_process_group()
        >>> model = weft.nn.parallel.DistributedDataParallel(weft.nn.Linear(2, 1))
        >>> with model.no_sync():
        ...     model(weft.ones(1, 2)).sum().backward()
        >>> model(weft.ones(1, 2)).sum().backward()
        >>> model.module.bias.grad
        tensor([2.])
        >>> dist.destroy_process_group()
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before


def _check_equal(module: Module, group: ProcessGroup, what: str) -> None:
    """Raise, on all ranks, unless all have the same parameters and buffers but for their values."""
    tensors = [*module.named_parameters(), *module.named_buffers()]
    mine = [(n, tuple(x.shape), str(x.dtype), x.requires_grad) for n, x in tensors]
    every: list[Any] = [None] * group.size()
    all_gather_object(every, mine, group)
    for rank, theirs in zip(group.ranks, every):
        if theirs == every[0]:
            continue
        pairs = zip([*every[0], None], [*theirs, None])
        ours, other = next((a, b) for a, b in pairs if a != b)
        raise RuntimeError(
            f"{what}: rank {group.ranks[0]} has {_told(ours)} where rank {rank} has {_told(other)}"
        )


def _told(one: Any) -> str:
    if one is None:
        return "no more tensors"
    name, shape, dtype, trained = one
    return f"{name} of shape {shape} and {dtype}" + (", trained" if trained else "")


def _leaves_of(output: Any) -> set[int]:
    """Return the ids of the leaves that the tensors in an output depend on."""
    found: set[int] = set()
    todo: list[Any] = []
    for x in find_tensors(output):
        if x.requires_grad:
            if x.grad_fn is None:
                found.add(id(x))
            else:
                todo.append(x.grad_fn)
    seen = set(map(id, todo))
    keep = list(todo)  # else a node made for one look could have the id of the next
    while todo:
        node = todo.pop()
        leaf: Tensor | None = getattr(node, "variable", None)
        if leaf is not None:
            found.add(id(leaf))
        for following, _ in node.next_functions:
            if following is not None and id(following) not in seen:
                seen.add(id(following))
                keep.append(following)
                todo.append(following)
    return found
