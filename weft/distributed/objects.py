"""Collectives on Python objects, which travel as pickles: for small things, among processes that
trust each other. Tensors have faster ways of their own.
"""

from __future__ import annotations

import pickle

import weft

from .collectives import broadcast
from .exchange import all_gather_into_tensor, scatter
from .groups import ProcessGroup, taking_part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "scatter_object_list",
]


def _packed(thing: Any) -> Tensor:
    return weft.frombuffer(bytearray(pickle.dumps(thing)), dtype=weft.uint8)


def _unpacked(x: Tensor) -> Any:
    return pickle.loads(x.numpy().tobytes())


def _check_list(given: Any, what: str, name: str, count: int | None = None) -> None:
    if not isinstance(given, list) or (count is not None and len(given) != count):
        many = "" if count is None else f" of {count} places, one for each rank"
        raise ValueError(f"{what}: {name} must be a list{many}, got {given!r}")


def _gathered(thing: Any, g: ProcessGroup) -> list[Any]:
    """Return the objects of all ranks."""
    mine = _packed(thing)
    sizes = weft.zeros(g.size(), dtype=weft.int64)
    all_gather_into_tensor(sizes, weft.tensor([mine.numel()]), g)
    longest = int(sizes.max())
    box = weft.zeros(longest, dtype=weft.uint8)
    box[: mine.numel()] = mine
    boxes = weft.empty(g.size(), longest, dtype=weft.uint8)
    all_gather_into_tensor(boxes, box, g)
    return [_unpacked(x[:n]) for x, n in zip(boxes, sizes.tolist())]


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Give every rank the objects of all.

    Args:
        object_list: what to fill: a place for each rank.
        obj: what this rank gives; it must be possible to pickle it.
        group: the ranks that take part (default: all).

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> all_of_them = [None]
    >>> dist.all_gather_object(all_of_them, {"loss": 0.5})
    >>> all_of_them
    [{'loss': 0.5}]
    >>> dist.destroy_process_group()
    """
    g = taking_part(group, "all_gather_object")
    if g is None:
        return
    _check_list(object_list, "all_gather_object", "object_list", g.size())
    object_list[:] = _gathered(obj, g)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    group_dst: int | None = None,
) -> None:
    """Give one rank the objects of all.

    Args:
        obj: what this rank gives; it must be possible to pickle it.
        object_gather_list: what to fill, on that rank only: a place for each rank.
        dst: the global number of that rank (default: 0).
        group: the ranks that take part (default: all).
        group_dst: instead of ``dst``, the number in the group.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> all_of_them = [None]
    >>> dist.gather_object("here", all_of_them)
    >>> all_of_them
    ['here']
    >>> dist.destroy_process_group()
    """
    what = "gather_object"
    g = taking_part(group, what)
    if g is None:
        return
    root = g.local(0 if dst is None and group_dst is None else dst, group_dst, what, "dst")
    if g.rank() == root:
        _check_list(object_gather_list, what, "object_gather_list", g.size())
    found = _gathered(obj, g)
    if g.rank() == root and object_gather_list is not None:
        object_gather_list[:] = found


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Copy the objects of one rank to all others.

    Args:
        object_list: what to send on one rank, what to fill on the others: of one length.
        src: the global number of the rank that sends (default: 0).
        group: the ranks that take part (default: all).
        device: must be the CPU or None.
        group_src: instead of ``src``, the number in the group.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> dist.broadcast_object_list(["a", 1], src=0)
    >>> dist.destroy_process_group()
    """
    what = "broadcast_object_list"
    g = taking_part(group, what)
    if g is None:
        return
    if device is not None and weft.device(device).type != "cpu":
        raise NotImplementedError(f"{what}: device must be the CPU, got {device!r}")
    _check_list(object_list, what, "object_list")
    root = g.local(0 if src is None and group_src is None else src, group_src, what, "src")
    packed = [_packed(x) for x in object_list] if g.rank() == root else []
    sizes = weft.tensor([x.numel() for x in packed] or [0] * len(object_list), dtype=weft.int64)
    broadcast(sizes, group=g, group_src=root)
    whole = weft.cat(packed) if packed else weft.empty(int(sizes.sum()), dtype=weft.uint8)
    broadcast(whole, group=g, group_src=root)
    if g.rank() != root:
        object_list[:] = [_unpacked(x) for x in whole.split(sizes.tolist())]


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """Give each rank one of the objects that one rank has.

    Args:
        scatter_object_output_list: its first place is filled.
        scatter_object_input_list: on that one rank only: an object for each rank.
        src: the global number of that rank (default: 0).
        group: the ranks that take part (default: all).
        group_src: instead of ``src``, the number in the group.

    >>> import weft.distributed as dist
    >>> dist.init_process_group()
    >>> mine = [None]
    >>> dist.scatter_object_list(mine, ["part"])
    >>> mine
    ['part']
    >>> dist.destroy_process_group()
    """
    what = "scatter_object_list"
    g = taking_part(group, what)
    if g is None:
        return
    _check_list(scatter_object_output_list, what, "scatter_object_output_list")
    if not scatter_object_output_list:
        raise ValueError(f"{what}: scatter_object_output_list must have a place to fill, got []")
    root = g.local(0 if src is None and group_src is None else src, group_src, what, "src")
    packed = None
    sizes = weft.zeros(g.size(), dtype=weft.int64)
    if g.rank() == root:
        _check_list(scatter_object_input_list, what, "scatter_object_input_list", g.size())
        packed = [_packed(x) for x in scatter_object_input_list or []]
        sizes = weft.tensor([x.numel() for x in packed], dtype=weft.int64)
    broadcast(sizes, group=g, group_src=root)
    box = weft.zeros(int(sizes.max()), dtype=weft.uint8)
    if packed is not None:
        packed = [weft.cat([x, box[x.numel() :]]) for x in packed]
    scatter(box, packed, group=g, group_src=root)
    scatter_object_output_list[0] = _unpacked(box[: int(sizes[g.rank()])])
