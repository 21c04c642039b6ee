"""``Batch``: the tensors of several examples, as attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .dataset import Dataset
    from .example import Example

__all__ = ["Batch"]


class Batch:
    """The tensors of several examples, one attribute for each field.

    Unpacking gives the inputs and the targets: ``text, label = batch``.

    Args:
        data: the examples.
        dataset: the data set that they are from.
        device: where the tensors go.

    >>> from weft.text.data import Batch, Dataset, Example, Field
    >>> text = Field()
    >>> rows = Dataset([Example.fromlist(["a b"], [("text", text)])], [("text", text)])
    >>> text.build_vocab(rows)
    >>> Batch(rows.examples, rows).text
    tensor([[2],
            [3]])
    """

    batch_size: int
    dataset: Any
    fields: list[str]
    input_fields: list[str]
    target_fields: list[str]

    def __init__(
        self,
        data: list[Example] | None = None,
        dataset: Dataset | None = None,
        device: Any = None,
    ) -> None:
        if data is None:
            return
        if dataset is None:
            raise ValueError("Batch: examples need the data set that they are from")
        self._describe(dataset, len(data))
        for name, field in dataset.fields.items():
            if field is not None:
                values = [getattr(x, name) for x in data]
                setattr(self, name, field.process(values, device=device))

    def _describe(self, dataset: Dataset, batch_size: int) -> None:
        self.batch_size, self.dataset = batch_size, dataset
        self.fields = list(dataset.fields)
        given = [(n, f) for n, f in dataset.fields.items() if f is not None]
        self.input_fields = [n for n, f in given if not f.is_target]
        self.target_fields = [n for n, f in given if f.is_target]

    @classmethod
    def fromvars(
        cls, dataset: Dataset, batch_size: int, train: bool | None = None, **kwargs: Any
    ) -> Batch:
        """Make one of tensors.

        >>> from weft.text.data import Batch, Dataset, Field
        >>> rows = Dataset([], [("text", Field())])
        >>> Batch.fromvars(rows, 1, text=weft.ones(2, 1)).text.shape
        torch.Size([2, 1])
        """
        batch = cls()
        batch._describe(dataset, batch_size)
        for name, value in kwargs.items():
            setattr(batch, name, value)
        return batch

    def __len__(self) -> int:
        """Return how many examples there are."""
        return self.batch_size

    def _values(self, names: list[str]) -> Any:
        values = tuple(getattr(self, name) for name in names)
        return None if not values else values[0] if len(values) == 1 else values

    def __iter__(self) -> Iterator[Any]:
        """Iterate over two: the inputs and the targets."""
        yield self._values(self.input_fields)
        yield self._values(self.target_fields)

    def __repr__(self) -> str:
        """Return what the batch has, with the shapes."""
        lines = [f"[weft.text.data.Batch of size {self.batch_size}]"]
        for name in self.input_fields + self.target_fields:
            lines.append(f"\t[.{name}]:{_shape(getattr(self, name))}")
        return "\n".join(lines)


def _shape(value: Any) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_shape, value)) + ")"
    if isinstance(value, Tensor):
        return f"[{value.dtype} of size {'x'.join(map(str, value.shape)) or '()'}]"
    return str(value)
