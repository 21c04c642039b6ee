"""The memory of a tensor as an object: ``untyped_storage()``, a row of bytes that views share."""

from __future__ import annotations

import weft
from weft._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["TypedStorage", "UntypedStorage", "from_file", "is_storage"]


class UntypedStorage:
    """The bytes that a tensor and all its views lie in.

    >>> x = weft.zeros(2, 3)
    >>> x[1].untyped_storage().nbytes()
    24
    >>> x[1].untyped_storage() == x.untyped_storage()
    True
    """

    def __init__(self, size: int = 0) -> None:
        """Make new memory of ``size`` bytes, all zero."""
        self._bytes = weft.zeros(size, dtype=weft.uint8)

    @classmethod
    def _of(cls, t: Tensor) -> UntypedStorage:
        if t.layout is not weft.strided:
            raise NotImplementedError(f"untyped_storage: a tensor of layout {t.layout} has none")
        made = cls.__new__(cls)
        own = t.detach()
        whole = own._storage_bytes() // own.itemsize
        made._bytes = own.as_strided((whole,), (1,), 0).view(weft.uint8)
        return made

    device = property(lambda self: self._bytes.device, doc="Where the memory is: the CPU.")
    is_cuda = property(lambda self: False, doc="Whether it is on a GPU: never.")

    def data_ptr(self) -> int:
        """Return the address of the first byte.

        >>> x = weft.zeros(2)
        >>> x.untyped_storage().data_ptr() == x.data_ptr()
        True
        """
        return self._bytes.data_ptr()

    def nbytes(self) -> int:
        """Return how many bytes there are.

        >>> weft.zeros(3).untyped_storage().nbytes()
        12
        """
        return self._bytes.numel()

    size = __len__ = nbytes

    def __getitem__(self, key: Any) -> Any:
        """Return a byte, or a slice as another storage on the same memory."""
        if not isinstance(key, slice):
            return int(self._bytes[key].item())
        if key.step not in (None, 1):
            raise ValueError(f"UntypedStorage: a slice must have step 1, got {key.step}")
        part = type(self)(0)
        part._bytes = self._bytes[key]
        return part

    def __setitem__(self, key: Any, value: int) -> None:
        """Set a byte, or all bytes of a slice."""
        self._bytes[key] = value

    def __iter__(self) -> Iterator[int]:
        """Iterate over the bytes."""
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        """Storages are equal if they are the same memory."""
        same = isinstance(other, type(self)) and self.data_ptr() == other.data_ptr()
        return same and len(self) == len(other)  # type: ignore[arg-type]

    def __hash__(self) -> int:
        """Hash by address."""
        return hash(self.data_ptr())

    def tolist(self) -> list[int]:
        """Return the bytes as numbers.

        >>> weft.tensor([1, 2], dtype=weft.uint8).untyped_storage().tolist()
        [1, 2]
        """
        return self._bytes.tolist()

    def fill_(self, value: int) -> UntypedStorage:
        """Set all bytes.

        >>> x = weft.tensor([7], dtype=weft.uint8)
        >>> x.untyped_storage().fill_(0).tolist()
        [0]
        """
        self._bytes.fill_(value)
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Take the bytes of another storage of the same size.

        >>> weft.UntypedStorage(2).copy_(weft.ones(2, dtype=weft.uint8).untyped_storage()).tolist()
        [1, 1]
        """
        self._bytes.copy_(source._bytes)
        return self

    def clone(self) -> UntypedStorage:
        """Return a copy in memory of its own.

        >>> weft.tensor([7], dtype=weft.uint8).untyped_storage().clone().tolist()
        [7]
        """
        made = type(self)(0)
        made._bytes = self._bytes.clone()
        return made

    def cpu(self) -> UntypedStorage:
        """Return the storage itself: it is on the CPU.

        >>> len(weft.UntypedStorage(3).cpu())
        3
        """
        return self

    def is_shared(self) -> bool:
        """Say whether other processes can see this memory.

        >>> weft.UntypedStorage(3).is_shared()
        False
        """
        return self._bytes.is_shared()

    def share_memory_(self) -> UntypedStorage:
        """Move the memory to where processes can share it.

        >>> weft.UntypedStorage(3).share_memory_().is_shared()
        True
        """
        self._bytes.share_memory_()
        return self

    def element_size(self) -> int:
        """Return the bytes of an element: one.

        >>> weft.UntypedStorage(3).element_size()
        1
        """
        return 1


class TypedStorage:
    """The memory of a tensor, counted in elements of its dtype: an older form of storages.

    >>> x = weft.arange(6).reshape(2, 3)
    >>> x.t().storage().tolist()
    [0, 1, 2, 3, 4, 5]
    """

    def __init__(self, *, wrap_storage: UntypedStorage, dtype: Any) -> None:
        """See the bytes of ``wrap_storage`` as elements of ``dtype``."""
        self._untyped, self.dtype = wrap_storage, dtype
        self._elements = wrap_storage._bytes.view(dtype)

    def untyped(self) -> UntypedStorage:
        """Return the bytes.

        >>> weft.zeros(2).storage().untyped().nbytes()
        8
        """
        return self._untyped

    def data_ptr(self) -> int:
        """Return the address of the first element.

        >>> x = weft.zeros(2)
        >>> x.storage().data_ptr() == x.data_ptr()
        True
        """
        return self._untyped.data_ptr()

    def size(self) -> int:
        """Return how many elements there are.

        >>> len(weft.zeros(2, 3)[0].storage())
        6
        """
        return self._elements.numel()

    __len__ = size

    def nbytes(self) -> int:
        """Return how many bytes there are.

        >>> weft.zeros(2).storage().nbytes()
        8
        """
        return self._untyped.nbytes()

    def element_size(self) -> int:
        """Return the bytes of an element.

        >>> weft.zeros(2).storage().element_size()
        4
        """
        return self._elements.itemsize

    def tolist(self) -> list[Any]:
        """Return the elements as numbers.

        >>> weft.ones(2).storage().tolist()
        [1.0, 1.0]
        """
        return self._elements.tolist()

    def __getitem__(self, key: int) -> Any:
        """Return an element."""
        return self._elements[key].item()

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set an element, or all of a slice."""
        self._elements[key] = value

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the elements."""
        return iter(self.tolist())


def is_storage(obj: object) -> bool:
    """Say whether ``obj`` is a storage.

    >>> weft.is_storage(weft.zeros(1).untyped_storage()), weft.is_storage(weft.zeros(1))
    (True, False)
    """
    return isinstance(obj, (UntypedStorage, TypedStorage))


def from_file(
    filename: str, shared: bool | None = None, size: int | None = 0, *, dtype: Any = None
) -> Tensor:
    """Return a tensor over the bytes of a file, read as they are asked for.

    Args:
        filename: the file.
        shared: changes go to the file, which is made longer where needed; else they stay here.
        size: the number of elements.
        dtype: of the elements; the default dtype if it is not given.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "numbers")
    ...     _ = path.write_bytes(bytes([1, 2, 3]))
    ...     weft.from_file(path, size=3, dtype=weft.uint8)
    tensor([1, 2, 3], dtype=torch.uint8)
    """
    import os

    import numpy

    dtype = weft.get_default_dtype() if dtype is None else dtype
    if not size:
        return weft.empty(0, dtype=dtype)
    wanted = size * weft.empty(0, dtype=dtype).itemsize
    if shared and (not os.path.exists(filename) or os.path.getsize(filename) < wanted):
        with open(filename, "ab") as file:
            file.truncate(wanted)
    if os.path.getsize(filename) < wanted:
        raise RuntimeError(
            f"from_file: {filename} has {os.path.getsize(filename)} bytes, {wanted} are needed for "
            f"{size} elements of {dtype}"
        )
    mode: Any = "r+" if shared else "c"
    return weft.from_numpy(numpy.memmap(filename, numpy.uint8, mode, shape=(wanted,))).view(dtype)


# ---- methods of Tensor ------------------------------------------------------------------------


def untyped_storage(self: Tensor) -> UntypedStorage:
    """Return the bytes that the tensor lies in.

    >>> weft.zeros(2).untyped_storage().nbytes()
    8
    """
    return UntypedStorage._of(self)


def storage(self: Tensor) -> TypedStorage:
    """Return the memory that the tensor lies in, counted in elements.

    >>> weft.zeros(2, 2)[0].storage().size()
    4
    """
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self.dtype)


def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Let a tensor be another view: of a tensor's memory, of a storage, or of nothing.

    >>> x, y = weft.zeros(1), weft.arange(4.0)
    >>> x.set_(y.untyped_storage(), 1, (2,))
    tensor([1., 2.])
    """
    if source is None:
        self.data = weft.empty(0, dtype=self.dtype)
        return self
    if isinstance(source, Tensor):
        if source.dtype != self.dtype:
            raise RuntimeError(f"set_: expected a source of {self.dtype}, got {source.dtype}")
        whole = source.detach()
    elif is_storage(source):
        raw = source.untyped() if isinstance(source, TypedStorage) else source
        whole = raw._bytes.view(self.dtype)
    else:
        raise TypeError(f"set_: expected a tensor or a storage, got {type(source).__name__}")
    if size is not None or not isinstance(source, Tensor):
        shape = (whole.numel() - storage_offset,) if size is None else tuple(size)
        if stride is None:
            stride = weft.empty(shape, dtype=weft.uint8).stride() if 0 not in shape else shape
        whole = whole.as_strided(shape, tuple(stride), storage_offset)
    self.data = whole
    return self
