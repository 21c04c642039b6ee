"""Sequences of different lengths in one tensor: padded to the longest, or packed step by step."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from itertools import pairwise

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from weft import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence(
    namedtuple("PackedSequence", ("data", "batch_sizes", "sorted_indices", "unsorted_indices"))
):
    """Sequences packed step by step: first elements, second elements of those that go on, …

    Made by ``pack_padded_sequence`` and ``pack_sequence``; recurrent layers take and return it.

    >>> p = weft.nn.utils.rnn.pack_sequence([weft.tensor([1, 2, 3]), weft.tensor([4])])
    >>> p.data, p.batch_sizes
    (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        """Keep the parts; whichever of the two orders is missing is made from the other."""
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Convert the data, as ``Tensor.to`` does.

        >>> p = weft.nn.utils.rnn.pack_sequence([weft.ones(2)])
        >>> p.to(weft.float64).data.dtype
        torch.float64
        """
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._replace(data=data)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the sequence itself: it is on the CPU already."""
        return self

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Raise: weft has no such device."""
        raise RuntimeError("PackedSequence.cuda: weft has only the device 'cpu'")

    def double(self) -> PackedSequence:
        """Convert the data to float64."""
        return self.to(weft.float64)

    def float(self) -> PackedSequence:
        """Convert the data to float32."""
        return self.to(weft.float32)

    def half(self) -> PackedSequence:
        """Convert the data to float16."""
        return self.to(weft.float16)

    def long(self) -> PackedSequence:
        """Convert the data to int64."""
        return self.to(weft.int64)

    def int(self) -> PackedSequence:
        """Convert the data to int32."""
        return self.to(weft.int32)

    def short(self) -> PackedSequence:
        """Convert the data to int16."""
        return self.to(weft.int16)

    def char(self) -> PackedSequence:
        """Convert the data to int8."""
        return self.to(weft.int8)

    def byte(self) -> PackedSequence:
        """Convert the data to uint8."""
        return self.to(weft.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the data are on a GPU: never, in weft."""
        return False

    def is_pinned(self) -> bool:
        """Say whether the data are in pinned memory: never, in weft."""
        return False

    def pin_memory(self) -> PackedSequence:
        """Raise: weft has no pinned memory."""
        raise NotImplementedError("PackedSequence.pin_memory: weft has no pinned memory")


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the order that undoes another.

    >>> weft.nn.utils.rnn.invert_permutation(weft.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    made = weft.empty_like(permutation)
    made[permutation] = weft.arange(permutation.numel(), dtype=permutation.dtype)
    return made


def _rows(lengths: Tensor, steps: int) -> Tensor:
    """The places, among steps · batch rows, that hold an element."""
    inside = weft.arange(steps).unsqueeze(1) < lengths.unsqueeze(0)
    return inside.reshape(-1).nonzero().squeeze(1)


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | list[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack padded sequences.

    Args:
        input: (T, B, …), or (B, T, …) if ``batch_first``.
        lengths: of the B sequences.
        batch_first: see input.
        enforce_sorted: the lengths are in decreasing order; else they are sorted here.

    >>> x = weft.tensor([[1, 4], [2, 0], [3, 0]])
    >>> weft.nn.utils.rnn.pack_padded_sequence(x, [3, 1]).data
    tensor([1, 4, 2, 3])
    """
    lengths = weft.as_tensor(lengths).to(weft.int64)
    order = None
    batch = input.shape[0 if batch_first else 1]
    if lengths.dim() != 1 or lengths.shape[0] != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.numel()} "
            f"(batch_size={batch})"
        )
    if not enforce_sorted:
        lengths, order = weft.sort(lengths, descending=True, stable=True)
        input = input.index_select(0 if batch_first else 1, order)
    x = input.transpose(0, 1) if batch_first else input
    steps = x.shape[0]
    sizes = lengths.tolist()
    if min(sizes) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if any(a < b for a, b in pairwise(sizes)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if sizes[0] > steps:
        raise RuntimeError(
            f"pack_padded_sequence: the longest length is {sizes[0]}, but input has {steps} steps"
        )
    longest = sizes[0]
    data = x.reshape(steps * batch, *x.shape[2:]).index_select(0, _rows(lengths, longest))
    batch_sizes = (weft.arange(longest).unsqueeze(1) < lengths.unsqueeze(0)).sum(1)
    return PackedSequence(data, batch_sizes, order, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Undo ``pack_padded_sequence``.

    Args:
        sequence: what was packed.
        batch_first: return (B, T, …) instead of (T, B, …).
        padding_value: what to put behind the end of a sequence.
        total_length: make T this, if it is longer than the longest sequence.

    Returns:
        The padded tensor, and the lengths of its sequences.

    >>> p = weft.nn.utils.rnn.pack_sequence([weft.tensor([1, 2, 3]), weft.tensor([4])])
    >>> weft.nn.utils.rnn.pad_packed_sequence(p, batch_first=True)
    (tensor([[1, 2, 3],
            [4, 0, 0]]), tensor([3, 1]))
    """
    data, batch_sizes, _, back = sequence
    longest, batch = batch_sizes.shape[0], int(batch_sizes[0])
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={total_length} and max sequence length being {longest}"
        )
    steps = longest if total_length is None else total_length
    lengths = (batch_sizes.unsqueeze(0) > weft.arange(batch).unsqueeze(1)).sum(1)
    blank = weft.full((steps * batch, *data.shape[1:]), padding_value, dtype=data.dtype)
    padded = blank.index_copy(0, _rows(lengths, steps), data)
    padded = padded.reshape(steps, batch, *data.shape[1:])
    if back is not None:
        padded, lengths = padded.index_select(1, back), lengths[back]
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences, padding them to the longest.

    Args:
        sequences: tensors (L, …) with any L.
        batch_first: return (B, T, …) instead of (T, B, …).
        padding_value: what to add.
        padding_side: ``"right"`` or ``"left"``.

    >>> weft.nn.utils.rnn.pad_sequence([weft.ones(2), weft.ones(3)], batch_first=True)
    tensor([[1., 1., 0.],
            [1., 1., 1.]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    tensors = list(sequences)
    if not tensors:
        raise RuntimeError("received an empty list of sequences")
    for i, t in enumerate(tensors):
        if not isinstance(t, weft.Tensor):
            raise TypeError(f"pad_sequence: element {i} is {type(t).__name__}, not a Tensor")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    steps = max(t.shape[0] for t in tensors)
    made = []
    for t in tensors:
        blank = t.new_full((steps - t.shape[0], *t.shape[1:]), padding_value)
        parts = [t, blank] if padding_side == "right" else [blank, t]
        made.append(weft.cat(parts) if blank.shape[0] else t)
    return weft.stack(made, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """Take padded sequences apart.

    >>> weft.nn.utils.rnn.unpad_sequence(weft.ones(2, 3), weft.tensor([1, 2]), batch_first=True)
    [tensor([1.]), tensor([1., 1.])]
    """
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(x, weft.as_tensor(lengths).tolist())]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths.

    >>> weft.nn.utils.rnn.pack_sequence([weft.tensor([1, 2, 3]), weft.tensor([4])]).data
    tensor([1, 4, 2, 3])
    """
    lengths = weft.tensor([t.shape[0] for t in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Undo ``pack_sequence``.

    >>> p = weft.nn.utils.rnn.pack_sequence([weft.tensor([1, 2, 3]), weft.tensor([4])])
    >>> weft.nn.utils.rnn.unpack_sequence(p)
    [tensor([1, 2, 3]), tensor([4])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
