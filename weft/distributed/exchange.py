"""Collectives on one tensor for each rank: gather, scatter, exchange."""

from __future__ import annotations

from array import array

import weft

from .collectives import finished, returned, staged, told
from .groups import ProcessGroup, checked_tensor, taking_part
from .reduce_op import ReduceOp, checked_op, name_of
from .work import DistError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from weft import Tensor

    from .work import Work

    Steps = Generator[Any, None, None]

__all__ = [
    "all_gather",
    "all_gather_into_tensor",
    "all_to_all",
    "all_to_all_single",
    "gather",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
]


def checked_list(
    given: Any, g: ProcessGroup, like: Tensor | None, what: str, name: str
) -> list[Tensor]:
    """Return a list of one tensor for each rank, of one shape and dtype if ``like`` says so."""
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"{what}: {name} must be a list of tensors, got {type(given).__name__}")
    if len(given) != g.size():
        raise ValueError(f"{what}: {name} must have one tensor for each of {g.size()} ranks, got "
                         f"{len(given)}")  # fmt: skip
    found = [checked_tensor(x, what, f"{name}[{i}]") for i, x in enumerate(given)]
    for i, x in enumerate(found):
        if like is not None and told(x) != told(like):
            raise ValueError(f"{what}: {name}[{i}] must be {told(like)}, got {told(x)}")
    return found


def joined(parts: list[Tensor]) -> Tensor:
    """Return the elements of several tensors, one after the other."""
    return weft.cat([x.reshape(-1) for x in parts])


def parted(whole: Tensor, parts: list[Tensor]) -> None:
    """Fill several tensors with elements that lie one after the other."""
    at = 0
    for x in parts:
        x.copy_(whole[at : at + x.numel()].view(x.shape))
        at += x.numel()


def all_gather(
    tensor_list: list[Tensor],
    tensor: Tensor,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Give every rank the tensors of all.

    Args:
        tensor_list: what to fill: one tensor for each rank.
        tensor: of the same shape and dtype on all ranks.
        group: the ranks that take part (default: all).
        async_op: return a ``Work`` at once, to wait for later.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> all_of_them = [weft.zeros(2)]
    >>> dist.all_gather(all_of_them, weft.ones(2))
    >>> all_of_them
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    what = "all_gather"
    g = taking_part(group, what)
    if g is None:
        return None
    x = checked_tensor(tensor, what)
    outs = checked_list(tensor_list, g, x, what, "tensor_list")
    return g.run(text := f"{what} {told(x)}", _all_gather(g, text, outs, x), async_op)


def _all_gather(g: ProcessGroup, text: str, outs: list[Tensor], x: Tensor) -> Steps:
    yield from g.agree(text)
    mine, whole = x.contiguous(), x.new_empty(g.size() * x.numel())
    yield g.wire.gather_all(whole, mine.view(-1))
    parted(whole, outs)


def all_gather_into_tensor(
    output_tensor: Tensor,
    input_tensor: Tensor,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Give every rank the tensors of all as one, joined along the first dimension or stacked.

    Args:
        output_tensor: what to fill: as many times the input's size as there are ranks.
        input_tensor: of the same shape and dtype on all ranks.
        group: the ranks that take part (default: all).
        async_op: return a ``Work`` at once, to wait for later.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> out = weft.zeros(2)
    >>> dist.all_gather_into_tensor(out, weft.ones(2))
    >>> out
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    what = "all_gather_into_tensor"
    g = taking_part(group, what)
    if g is None:
        return None
    x = checked_tensor(input_tensor, what, "input_tensor")
    out = checked_tensor(output_tensor, what, "output_tensor")
    _check_whole(out, x, g, what, "output_tensor")
    return g.run(text := f"{what} {told(x)}", _gather_whole(g, text, out, x), async_op)


def _gather_whole(g: ProcessGroup, text: str, out: Tensor, x: Tensor) -> Steps:
    yield from g.agree(text)
    mine, whole = x.contiguous(), out.contiguous()
    yield g.wire.gather_all(whole.view(-1), mine.view(-1))
    returned(out, whole)


def _check_whole(whole: Tensor, part: Tensor, g: ProcessGroup, what: str, name: str) -> None:
    """Raise unless a tensor is one of the parts for each rank, joined or stacked."""
    shape, n = tuple(part.shape), g.size()
    allowed = [(n, *shape), (n * shape[0], *shape[1:]) if shape else (n,)]
    if whole.dtype != part.dtype or tuple(whole.shape) not in allowed:
        raise ValueError(
            f"{what}: {name} must be {name_of(part.dtype)} of shape {allowed[1]} or {allowed[0]} "
            f"for {n} ranks, got {told(whole)}"
        )


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Give one rank the tensors of all.

    Args:
        tensor: of the same shape and dtype on all ranks.
        gather_list: what to fill, on that rank only: one tensor for each rank.
        dst: the global number of that rank (default: 0).
        group: the ranks that take part (default: all).
        async_op: return a ``Work`` at once, to wait for later.
        group_dst: instead of ``dst``, the number in the group.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> all_of_them = [weft.zeros(2)]
    >>> dist.gather(weft.ones(2), all_of_them)
    >>> dist.destroy_process_group()
    """
    what = "gather"
    g = taking_part(group, what)
    if g is None:
        return None
    root = g.local(0 if dst is None and group_dst is None else dst, group_dst, what, "dst")
    x = checked_tensor(tensor, what)
    outs = _only_on(g, root, gather_list, x, what, "gather_list")
    text = f"{what} {told(x)} dst={g.ranks[root]}"
    return g.run(text, _gather(g, text, outs, x, root), async_op)


def _only_on(
    g: ProcessGroup, root: int, given: Any, like: Tensor, what: str, name: str
) -> list[Tensor] | None:
    """Return the list that one rank must give, and the others must not."""
    if g.rank() == root:
        return checked_list(given, g, like, what, name)
    if given:
        raise ValueError(
            f"{what}: {name} is for rank {g.ranks[root]} only, but rank {g.global_rank} gives one"
        )
    return None


def _gather(g: ProcessGroup, text: str, outs: Any, x: Tensor, root: int) -> Steps:
    yield from g.agree(text)
    mine = x.contiguous()
    whole = None if outs is None else x.new_empty(g.size() * x.numel())
    yield g.wire.gather(whole, mine.view(-1), root)
    if whole is not None:
        parted(whole, outs)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give each rank one of the tensors that one rank has.

    Args:
        tensor: what to fill: of the same shape and dtype on all ranks.
        scatter_list: on that one rank only: a tensor for each rank.
        src: the global number of that rank (default: 0).
        group: the ranks that take part (default: all).
        async_op: return a ``Work`` at once, to wait for later.
        group_src: instead of ``src``, the number in the group.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> mine = weft.zeros(2)
    >>> dist.scatter(mine, [weft.ones(2)])
    >>> mine
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    what = "scatter"
    g = taking_part(group, what)
    if g is None:
        return None
    root = g.local(0 if src is None and group_src is None else src, group_src, what, "src")
    x = checked_tensor(tensor, what)
    parts = _only_on(g, root, scatter_list, x, what, "scatter_list")
    text = f"{what} {told(x)} src={g.ranks[root]}"
    return g.run(text, _scatter(g, text, x, parts, root), async_op)


def _scatter(g: ProcessGroup, text: str, x: Tensor, parts: Any, root: int) -> Steps:
    yield from g.agree(text)
    memory = x.contiguous()
    whole = None if parts is None else joined(parts)
    yield g.wire.scatter(memory.view(-1), whole, root)
    returned(x, memory)


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce lists of tensors, and give each rank one tensor of the result.

    Args:
        output: what to fill: of the same shape and dtype on all ranks.
        input_list: a tensor for each rank.
        op: what to do with the elements.
        group: the ranks that take part (default: all).
        async_op: return a ``Work`` at once, to wait for later.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> mine = weft.zeros(2)
    >>> dist.reduce_scatter(mine, [weft.ones(2)])
    >>> mine
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    what = "reduce_scatter"
    g = taking_part(group, what)
    if g is None:
        return None
    out = checked_tensor(output, what, "output")
    parts = checked_list(input_list, g, out, what, "input_list")
    text = f"{what} {told(out)} {checked_op(op, out.dtype, what).name}"
    return g.run(text, _reduce_scatter(g, text, out, parts, op), async_op)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce tensors, and give each rank its part of the result along the first dimension.

    Args:
        output: what to fill: of the same shape and dtype on all ranks.
        input: as many times its size as there are ranks, joined or stacked.
        op: what to do with the elements.
        group: the ranks that take part (default: all).
        async_op: return a ``Work`` at once, to wait for later.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> mine = weft.zeros(2)
    >>> dist.reduce_scatter_tensor(mine, weft.ones(2))
    >>> mine
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    what = "reduce_scatter_tensor"
    g = taking_part(group, what)
    if g is None:
        return None
    out, x = checked_tensor(output, what, "output"), checked_tensor(input, what, "input")
    _check_whole(x, out, g, what, "input")
    text = f"{what} {told(out)} {checked_op(op, out.dtype, what).name}"
    return g.run(text, _reduce_scatter(g, text, out, [x], op), async_op)


def _reduce_scatter(
    g: ProcessGroup, text: str, out: Tensor, parts: list[Tensor], op: ReduceOp
) -> Steps:
    yield from g.agree(text)
    whole = staged(joined(parts))
    memory = whole.new_empty(out.shape)
    yield g.wire.reduce_scatter(memory.view(-1), whole.view(-1), op)
    finished(out, memory, op, g.size())


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Send a tensor to each rank, and get one from each.

    Args:
        output_tensor_list: what to fill: a tensor for each rank.
        input_tensor_list: what to send: a tensor for each rank; sizes may differ.
        group: the ranks that take part (default: all).
        async_op: return a ``Work`` at once, to wait for later.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> got = [weft.zeros(2)]
    >>> dist.all_to_all(got, [weft.ones(2)])
    >>> got
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    what = "all_to_all"
    g = taking_part(group, what)
    if g is None:
        return None
    outs = checked_list(output_tensor_list, g, None, what, "output_tensor_list")
    parts = checked_list(input_tensor_list, g, None, what, "input_tensor_list")
    dtypes = {x.dtype for x in (*outs, *parts)}
    if len(dtypes) > 1:
        names = sorted(map(name_of, dtypes))
        raise ValueError(f"{what}: all tensors must have one dtype, got {' and '.join(names)}")
    text = f"{what} {name_of(parts[0].dtype)}"
    return g.run(text, _all_to_all(g, text, outs, parts), async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Send rows of a tensor to each rank, and get rows from each.

    Args:
        output: what to fill.
        input: what to send.
        output_split_sizes: how many rows come from each rank (default: all alike).
        input_split_sizes: how many rows go to each rank (default: all alike).
        group: the ranks that take part (default: all).
        async_op: return a ``Work`` at once, to wait for later.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> got = weft.zeros(2)
    >>> dist.all_to_all_single(got, weft.ones(2))
    >>> got
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    what = "all_to_all_single"
    g = taking_part(group, what)
    if g is None:
        return None
    out, x = checked_tensor(output, what, "output"), checked_tensor(input, what, "input")
    if out.dtype != x.dtype or out.shape[1:] != x.shape[1:]:
        raise ValueError(f"{what}: output and input must have one dtype and rows of one shape, got "
                         f"{told(out)} and {told(x)}")  # fmt: skip
    outs = _rows(out, output_split_sizes, g, what, "output_split_sizes")
    parts = _rows(x, input_split_sizes, g, what, "input_split_sizes")
    text = f"{what} {name_of(x.dtype)} rows of {tuple(x.shape[1:])}"
    return g.run(text, _all_to_all(g, text, outs, parts), async_op)


def _rows(x: Tensor, sizes: Any, g: ProcessGroup, what: str, name: str) -> list[Tensor]:
    """Cut a tensor into rows for each rank."""
    if x.dim() == 0:
        raise ValueError(f"{what}: tensors must have a first dimension to cut, got a scalar")
    rows, n = x.shape[0], g.size()
    if not sizes:
        if rows % n:
            raise ValueError(
                f"{what}: {rows} rows cannot be shared evenly by {n} ranks: give {name}"
            )
        sizes = [rows // n] * n
    if len(sizes) != n or sum(sizes) != rows or min(sizes) < 0:
        raise ValueError(
            f"{what}: {name} must be {n} numbers that add up to {rows}, got {list(sizes)}"
        )
    return list(x.split(list(sizes)))


def _all_to_all(g: ProcessGroup, text: str, outs: list[Tensor], parts: list[Tensor]) -> Steps:
    yield from g.agree(text)
    sends, gets = [x.numel() for x in parts], [x.numel() for x in outs]
    request, notes = g.wire.exchange(array("q", [*sends, *gets]).tobytes())
    yield request
    _check_counts(g, text, array("q", bytes(notes)))
    mine, whole = joined(parts), joined(outs)
    yield g.wire.all_to_all(whole, gets, mine, sends)
    parted(whole, outs)


def _check_counts(g: ProcessGroup, text: str, counts: Any) -> None:
    """Raise, on all ranks alike, unless each rank expects what the others send it."""
    n = g.size()
    for a in range(n):
        for b in range(n):
            sent, expected = counts[2 * n * a + b], counts[2 * n * b + n + a]
            if sent != expected:
                raise DistError(
                    f"{text}: rank {g.ranks[a]} sends {sent} elements to rank {g.ranks[b]}, which "
                    f"expects {expected}"
                )
