"""Gradients averaged over processes while backward still runs.

Parameters are put into buckets, the last ones first, for these get their gradients first. When all
of a bucket have one, its all-reduce is started; buckets go in the same order on all ranks. In the
end the averages are written back.
"""

from __future__ import annotations

import weakref

import weft

from .collectives import all_reduce
from .groups import ProcessGroup
from .reduce_op import ReduceOp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from weft import Tensor

    from .work import Work

__all__ = ["Reducer"]


class Bucket:
    """Parameters whose gradients travel together."""

    def __init__(self, members: list[int]) -> None:
        """Take the numbers of the parameters."""
        self.members = members
        self.missing = len(members)
        self.whole: Tensor | None = None
        self.work: Work | None = None


class Reducer:
    """Averages the gradients of parameters over the ranks of a group.

    Args:
        parameters: names and parameters, in the same order on all ranks.
        group: the ranks.
        limits: bytes of the first bucket and of the others; 0 gives each parameter its own.
        may_miss: some parameters may get no gradient on some ranks; ranks tell each other which.
        as_view: let ``.grad`` be a part of its bucket, instead of a copy.
        waits: do not finish when all gradients are there, but when told to.
    """

    def __init__(
        self,
        parameters: Iterable[tuple[str, Tensor]],
        group: ProcessGroup,
        limits: tuple[int, int] = (0, 0),
        may_miss: bool = False,
        as_view: bool = False,
        waits: bool = False,
    ) -> None:
        """Register a hook on each parameter."""
        self.names, self.parameters = [], []
        for name, p in parameters:
            self.names.append(name)
            self.parameters.append(p)
        self.group, self.may_miss = group, may_miss
        self.as_view, self.waits = as_view, waits
        self.expecting = True
        self.buckets = [Bucket(m) for m in in_buckets(self.parameters, limits)]
        self._home = {i: bucket for bucket in self.buckets for i in bucket.members}
        self._used: set[int] = set()
        self._handles = [
            p.register_post_accumulate_grad_hook(_hook(weakref.ref(self), i))
            for i, p in enumerate(self.parameters)
        ]
        self.reset()

    def reset(self) -> None:
        """Wait for all gradients anew."""
        self._ready: set[int] = set()
        self._started = 0
        for bucket in self.buckets:
            bucket.missing, bucket.work, bucket.whole = len(bucket.members), None, None

    @property
    def missing(self) -> list[str]:
        """The names of the parameters that have no gradient yet, once others have."""
        if not self._ready:
            return []
        return [n for i, n in enumerate(self.names) if i not in self._ready]

    @property
    def complete(self) -> bool:
        """Whether all gradients are there."""
        return len(self._ready) == len(self.parameters)

    def arrived(self, i: int) -> None:
        """Note that a parameter has got its gradient; start what can be started."""
        self._used.add(i)
        if not self.expecting:
            return
        if i in self._ready:
            raise RuntimeError(
                f"{self.names[i]} got a gradient again, while the last one is being averaged over "
                "processes: call step() or synchronize() between backward passes, or sum up "
                "without averaging (no_sync)"
            )
        grad = self.parameters[i].grad
        if grad is not None and grad.layout is not weft.strided:
            raise NotImplementedError(
                f"the gradient of {self.names[i]} is {grad.layout}, and only dense ones can be "
                "averaged over processes: use sparse=False"
            )
        self.skip([i])

    def skip(self, which: Iterable[int]) -> None:
        """Count parameters as there, with the gradients that they have, or none."""
        for i in which:
            if i not in self._ready:
                self._ready.add(i)
                self._home[i].missing -= 1
        while self._started < len(self.buckets) and not self.buckets[self._started].missing:
            self._start(self.buckets[self._started])
            self._started += 1

    def _start(self, bucket: Bucket) -> None:
        with weft.no_grad():
            if len(bucket.members) == 1 and not self.as_view:
                p = self.parameters[bucket.members[0]]
                bucket.whole = weft.zeros_like(p) if p.grad is None else p.grad.detach()
            else:
                bucket.whole = self._gathered(bucket)
            bucket.work = all_reduce(bucket.whole, ReduceOp.AVG, self.group, async_op=True)

    def _gathered(self, bucket: Bucket) -> Tensor:
        """Copy the gradients of a bucket side by side; what has none counts as zero."""
        members = [self.parameters[i] for i in bucket.members]
        whole = weft.zeros(sum(p.numel() for p in members), dtype=members[0].dtype)
        for p, part in zip(members, _parts(whole, members)):
            if p.grad is not None:
                part.copy_(p.grad)
        return whole

    def finish(self) -> None:
        """Wait for what was started, write the averages back, and begin anew."""
        used = self._used_anywhere() if self.may_miss else None
        for bucket in self.buckets:
            if bucket.work is not None:
                bucket.work.wait()
        with weft.no_grad():
            for bucket in self.buckets:
                self._write_back(bucket, used)
        self._used.clear()
        self.reset()

    def _used_anywhere(self) -> set[int]:
        """Return the parameters that have got a gradient on any rank."""
        flags = weft.zeros(len(self.parameters), dtype=weft.uint8)
        if self._used:
            flags[sorted(self._used)] = 1
        all_reduce(flags, ReduceOp.MAX, self.group)
        return {i for i, flag in enumerate(flags.tolist()) if flag}

    def _write_back(self, bucket: Bucket, used: set[int] | None) -> None:
        whole = bucket.whole
        if whole is None:
            return
        members = [self.parameters[i] for i in bucket.members]
        for i, p, part in zip(bucket.members, members, _parts(whole, members)):
            if used is not None and i not in used:
                continue
            if self.as_view or p.grad is None:
                p.grad = part if self.as_view else part.clone()
            elif p.grad.data_ptr() != part.data_ptr():
                p.grad.copy_(part)


def _hook(reducer: weakref.ref[Reducer], i: int) -> Callable[[Tensor], None]:
    """A hook that lets the reducer go: without it, gradients stay with their process."""

    def arrived(p: Tensor) -> None:
        alive = reducer()
        if alive is not None:
            alive.arrived(i)
            if alive.complete and not alive.waits:
                alive.finish()

    return arrived


def _parts(whole: Tensor, members: list[Tensor]) -> list[Tensor]:
    """Return the parts of a bucket, in the shapes of its parameters."""
    if len(members) == 1:
        return [whole.view(members[0].shape) if whole.is_contiguous() else whole]
    pieces = whole.split([p.numel() for p in members])
    return [piece.view(p.shape) for piece, p in zip(pieces, members)]


def in_buckets(parameters: list[Tensor], limits: tuple[int, int]) -> list[list[int]]:
    """Put the numbers of parameters into buckets of one dtype, the last ones first.

    >>> from weft.distributed.reducer import in_buckets
    >>> in_buckets([weft.zeros(2), weft.zeros(2), weft.zeros(2)], (8, 16))
    [[2], [1, 0]]
    """
    done: list[list[int]] = []
    filling: dict[weft.dtype, tuple[list[int], int]] = {}
    for i in reversed(range(len(parameters))):
        p = parameters[i]
        members, bytes_before = filling.pop(p.dtype, ([], 0))
        members.append(i)
        size = bytes_before + p.numel() * p.element_size()
        if size >= limits[bool(done)]:
            done.append(members)
        else:
            filling[p.dtype] = (members, size)
    return done + [members for members, _ in filling.values()]


def broadcast_together(tensors: list[Tensor], group: Any) -> None:
    """Give all ranks the tensors of the first, those of one dtype in one message."""
    from .collectives import broadcast

    by_dtype: dict[weft.dtype, list[Tensor]] = {}
    for x in tensors:
        by_dtype.setdefault(x.dtype, []).append(x.detach())
    with weft.no_grad():
        for some in by_dtype.values():
            whole = weft.cat([x.reshape(-1) for x in some])
            broadcast(whole, group=group, group_src=0)
            for x, piece in zip(some, whole.split([x.numel() for x in some])):
                x.copy_(piece.view(x.shape))
