"""Tensors in memory that several processes share, and how such a tensor goes from one to another.

The memory is a file without a name (``memfd``) that each process maps: what travels is its descriptor, so nothing is
left behind when the last process is gone, however it ends.
"""

from __future__ import annotations

import mmap
import os
import weakref
from multiprocessing.reduction import DupFd, ForkingPickler

import weft
from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = [
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "is_shared",
    "register",
    "set_sharing_strategy",
    "share",
]

_STRATEGY = "file_descriptor"


class _Memory(mmap.mmap):
    """A mapped file. It lives as long as a tensor's memory lies in it."""

    fd: int

    @classmethod
    def of(cls, fd: int, size: int) -> _Memory:
        """Map a file, whose descriptor belongs to the result from now on."""
        made = cls(fd, size)
        made.fd = fd
        weakref.finalize(made, os.close, fd)
        return made

    def identity(self) -> tuple[int, int]:
        """What tells files apart."""
        stat = os.fstat(self.fd)
        return stat.st_dev, stat.st_ino


# The memory that tensors of this process share with others: by the address of its first byte, and by file.
_by_address: weakref.WeakValueDictionary[int, _Memory] = weakref.WeakValueDictionary()
_by_file: weakref.WeakValueDictionary[tuple[int, int], _Memory] = weakref.WeakValueDictionary()


def _whole(memory: _Memory) -> Tensor:
    """The bytes of a mapped file, as a tensor that keeps it alive."""
    whole = _C._from_buffer(memory)
    _by_address[whole.data_ptr()] = memory
    _by_file[memory.identity()] = memory
    return whole


def _memory_of(t: Tensor) -> _Memory | None:
    return _by_address.get(t.data_ptr() - t.storage_offset() * t.element_size())


def is_shared(t: Tensor) -> bool:
    """Say whether a tensor's memory can be seen by other processes.

    >>> from weft.multiprocessing import sharing
    >>> x = weft.zeros(2)
    >>> sharing.is_shared(x), sharing.is_shared(x.share_memory_())
    (False, True)
    """
    return t.layout is weft.strided and t.numel() > 0 and _memory_of(t) is not None


def share(t: Tensor) -> Tensor:
    """Move a tensor's memory, with all its views, to where other processes can see it.

    >>> from weft.multiprocessing import sharing
    >>> x = weft.arange(3)
    >>> sharing.share(x[1:]).tolist(), x.is_shared()
    ([1, 2], True)
    """
    if t.layout is not weft.strided:
        raise NotImplementedError(
            f"share_memory_: a tensor of layout {t.layout} has no single memory; share its parts"
        )
    if t.numel() == 0 or _memory_of(t) is not None:
        return t
    size = t.detach()._storage_bytes()
    fd = os.memfd_create("weft", os.MFD_CLOEXEC)
    try:
        os.posix_fallocate(fd, 0, size)  # or an error now, not a signal later
        memory = _Memory.of(fd, size)
    except OSError as e:
        os.close(fd)
        raise RuntimeError(f"share_memory_: no {size} bytes of shared memory: {e}") from e
    _C._move_memory(t, memory)
    _by_address[t.data_ptr() - t.storage_offset() * t.element_size()] = memory
    _by_file[memory.identity()] = memory
    return t


# ---- on the way --------------------------------------------------------------------------------


def _reduce(t: Tensor) -> Any:
    """How a tensor is pickled for another process of this machine."""
    if t.requires_grad and not t.is_leaf:
        raise RuntimeError(
            "a tensor that requires gradients and is no leaf cannot go to another process, which would not know its "
            "history: send x.detach()"
        )
    if t.layout is not weft.strided or t.numel() == 0:
        return t.__reduce_ex__(4)
    memory = _memory_of(share(t))
    assert memory is not None
    kind = None if type(t) is weft.Tensor else type(t)
    state = getattr(t, "__dict__", None) or None
    dtype = str(t.dtype).rpartition(".")[2]
    place = (t.storage_offset(), tuple(t.shape), t.stride())
    return _rebuild, (DupFd(memory.fd), len(memory), dtype, place, t.requires_grad, kind, state)


def _rebuild(
    sent: Any, size: int, dtype: str, place: Any, requires_grad: bool, kind: Any, state: Any
) -> Tensor:
    """Make the tensor again, over the same memory."""
    fd = sent.detach()
    stat = os.fstat(fd)
    memory = _by_file.get((stat.st_dev, stat.st_ino))
    if memory is None:
        memory = _Memory.of(fd, size)
    else:  # another tensor over it has arrived before
        os.close(fd)
    offset, shape, stride = place
    flat = _whole(memory).view(getattr(weft, dtype))
    made = flat.as_strided(shape, stride, offset).detach()
    from weft.tensor import _dressed

    return _dressed(made, requires_grad, kind, state)


def register() -> None:
    """Let Python's queues, pipes and processes send tensors and parameters by their memory.

    >>> from weft.multiprocessing import sharing
    >>> sharing.register()
    """
    for kind in (weft.Tensor, weft.nn.Parameter):
        ForkingPickler.register(kind, _reduce)


# ---- what PyTorch lets programs choose ---------------------------------------------------------


def get_all_sharing_strategies() -> set[str]:
    """Return the ways to share memory: one.

    >>> weft.multiprocessing.get_all_sharing_strategies()
    {'file_descriptor'}
    """
    return {_STRATEGY}


def get_sharing_strategy() -> str:
    """Return how memory is shared.

    >>> weft.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return _STRATEGY


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how memory is shared: only ``"file_descriptor"`` is there.

    >>> weft.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    if new_strategy != _STRATEGY:
        raise NotImplementedError(
            f"set_sharing_strategy: weft shares memory by 'file_descriptor' only, not by {new_strategy!r}. "
            "Too many open files? Raise the limit: ulimit -n"
        )
