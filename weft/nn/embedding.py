"""Rows of a table, looked up by number."""

from __future__ import annotations

import weft
from weft.nn import functional as F
from weft.nn import init
from weft.nn.module import Module
from weft.nn.parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["Embedding", "EmbeddingBag"]


def _row(padding_idx: int | None, rows: int) -> int | None:
    """Return the place of the padding row, counted from the front."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx + rows if padding_idx < 0 else padding_idx


class _Table(Module):
    """What both share: a weight with one row for each number."""

    weight: Any
    padding_idx: int | None

    def _make(
        self,
        num_embeddings: int,
        embedding_dim: int,
        weight: Tensor | None,
        freeze: bool,
        factory: dict[str, Any],
    ) -> None:
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if weight is None:
            made = weft.empty(num_embeddings, embedding_dim, **factory)
            self.weight = Parameter(made, requires_grad=not freeze)
            self.reset_parameters()
        else:
            if list(weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError(
                    "Shape of weight does not match num_embeddings and embedding_dim: "
                    f"{list(weight.shape)} and {[num_embeddings, embedding_dim]}"
                )
            self.weight = Parameter(weight, requires_grad=not freeze)

    def _forget_weight(self) -> None:
        """Keep the given table only as what it became: a converted one would stay alive twice."""
        self._made.kwargs.pop("_weight", None)

    def reset_parameters(self) -> None:
        """Draw the table anew, normally distributed, with zeros in the padding row."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with weft.no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """Looks up rows of a learnt table.

    Args:
        num_embeddings: how many rows there are.
        embedding_dim: how long a row is.
        padding_idx: a row of zeros that is not trained.
        max_norm: rows that are longer than this are shortened, in the table, when looked up.
        norm_type: the p of that length.
        scale_grad_by_freq: divide gradients by how often the row is in the batch.
        sparse: the gradient of the table is sparse, with entries for the rows in use.

    >>> table = weft.nn.Embedding(10, 3)
    >>> table(weft.tensor([[1, 2, 4, 5]])).shape
    torch.Size([1, 4, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.padding_idx = _row(padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        factory = {"device": device, "dtype": dtype}
        self._make(num_embeddings, embedding_dim, _weight, _freeze, factory)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        return text + (", sparse=True" if self.sparse is not False else "")

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """Make a table of given rows.

        Args:
            embeddings: the rows.
            freeze: do not train them.
            padding_idx: see above.
            max_norm: see above.
            norm_type: see above.
            scale_grad_by_freq: see above.
            sparse: see above.

        >>> weft.nn.Embedding.from_pretrained(weft.eye(2))(weft.tensor([1]))
        tensor([[0., 1.]])
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )
        made._forget_weight()
        return made


class EmbeddingBag(_Table):
    """Sums, means or maxima of rows of a learnt table, without keeping the rows.

    Args:
        num_embeddings: how many rows there are.
        embedding_dim: how long a row is.
        max_norm: rows that are longer than this are shortened, in the table, when looked up.
        norm_type: the p of that length.
        scale_grad_by_freq: divide gradients by how often the row is in the batch.
        mode: ``"sum"``, ``"mean"`` or ``"max"``.
        sparse: the gradient of the table is sparse, with entries for the rows in use.
        include_last_offset: offsets have one more element, the size of the input.
        padding_idx: a row that does not count.

    >>> bags = weft.nn.EmbeddingBag(10, 3, mode="sum")
    >>> bags(weft.tensor([1, 2, 4, 5]), weft.tensor([0, 2])).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = _row(padding_idx, num_embeddings)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        factory = {"device": device, "dtype": dtype}
        self._make(num_embeddings, embedding_dim, _weight, False, factory)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        return text + (f", padding_idx={self.padding_idx}" if self.padding_idx is not None else "")

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Make bags of given rows.

        Args:
            embeddings: the rows.
            freeze: do not train them.
            max_norm: see above.
            norm_type: see above.
            scale_grad_by_freq: see above.
            mode: see above.
            sparse: see above.
            include_last_offset: see above.
            padding_idx: see above.

        >>> bags = weft.nn.EmbeddingBag.from_pretrained(weft.eye(2), mode="sum")
        >>> bags(weft.tensor([[0, 1]]))
        tensor([[1., 1.]])
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            _weight=embeddings,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        made.weight.requires_grad_(not freeze)
        made._forget_weight()
        return made
