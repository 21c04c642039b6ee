"""Tables of rows in bytes, each row on a grid of its own."""

from __future__ import annotations

import weft
from weft import Tensor
from weft.nn import embedding as floats
from weft.nn import functional as F
from weft.nn.module import Module
from weft.quantization.kinds import per_channel_affine_float_qparams, quint8
from weft.quantization.observer import default_float_qparams_observer
from weft.quantization.tensor import QuantizedTensor, quantize_per_channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Embedding", "EmbeddingBag"]


class _ByteTable(Module):
    """What both share: the bytes, and scale and zero point of each row."""

    weight_uint8: Tensor
    weight_scale: Tensor
    weight_zero_point: Tensor

    def _make(self, num_embeddings: int, embedding_dim: int, dtype: Any) -> None:
        if dtype is not quint8:
            name = type(self).__name__
            raise NotImplementedError(f"{name}: dtype {dtype} is not supported, only quint8")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        shape = (num_embeddings, embedding_dim)
        self.register_buffer("weight_uint8", weft.zeros(shape, dtype=weft.uint8))
        self.register_buffer("weight_scale", weft.ones(num_embeddings))
        self.register_buffer("weight_zero_point", weft.zeros(num_embeddings))

    def weight(self) -> QuantizedTensor:
        """Return the table with its scales."""
        grid = self.weight_scale, self.weight_zero_point
        return QuantizedTensor(self.weight_uint8, *grid, quint8, 0)

    def _take_float(self, mod: Any, qconfig: Any) -> None:
        config = qconfig if qconfig is not None else getattr(mod, "qconfig", None)
        observer = (default_float_qparams_observer if config is None else config.weight)()
        if observer.qscheme is not per_channel_affine_float_qparams:
            raise NotImplementedError(
                f"{type(self).__name__}: qscheme {observer.qscheme} is not supported: embeddings "
                "need float_qparams_weight_only_qconfig"
            )
        w = mod.weight.detach().to(weft.float32)
        observer(w)
        scale, zero_point = observer.calculate_qparams()
        table = quantize_per_channel(w, scale, zero_point, 0, quint8)
        self.weight_uint8 = table._ints
        self.weight_scale, self.weight_zero_point = table._scale, table._zero_point

    def _rows(self, places: Tensor) -> Tensor:
        """Return rows as floats."""
        ints = F.embedding(places, self.weight_uint8).to(weft.float32)
        zero, scale = self.weight_zero_point[places], self.weight_scale[places]
        return (ints - zero.unsqueeze(-1)) * scale.unsqueeze(-1)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def extra_repr(self) -> str:
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, "
            f"dtype={quint8}, qscheme={per_channel_affine_float_qparams}"
        )


class Embedding(_ByteTable):
    """Rows of a table of bytes, as floats.

    Args:
        num_embeddings: rows.
        embedding_dim: numbers in a row.
        dtype: ``quint8``.

    >>> weft.quantization.nn.quantized.Embedding.from_float(weft.nn.Embedding(10, 3))
    QuantizedEmbedding(num_embeddings=10, embedding_dim=3, dtype=torch.quint8,
        qscheme=torch.per_channel_affine_float_qparams)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, dtype: Any = quint8) -> None:
        super().__init__()
        self._make(num_embeddings, embedding_dim, dtype)

    @classmethod
    def from_float(cls, mod: floats.Embedding, qconfig: Any = None) -> Embedding:
        """Return the quantised form of a table.

        Args:
            mod: the table.
            qconfig: what observes it (default: its own ``qconfig``, or one grid per row).

        >>> table = weft.nn.Embedding.from_pretrained(weft.tensor([[0.0, 2.55], [1.0, 1.0]]))
        >>> weft.quantization.nn.quantized.Embedding.from_float(table)(weft.tensor([0]))
        tensor([[0.0000, 2.5500]])
        """
        if mod.max_norm is not None:
            raise NotImplementedError("Embedding: max_norm is not supported by quantised tables")
        new = cls(mod.num_embeddings, mod.embedding_dim)
        new._take_float(mod, qconfig)
        return new

    def forward(self, indices: Tensor) -> Tensor:
        return self._rows(indices)


class EmbeddingBag(_ByteTable):
    """Sums, means or maxima of rows of a table of bytes.

    Args:
        num_embeddings: rows.
        embedding_dim: numbers in a row.
        mode: "sum", "mean" or "max".
        include_last_offset: whether offsets name the end of the last bag too.
        padding_idx: a row that does not count.
        dtype: ``quint8``.

    >>> bag = weft.nn.EmbeddingBag(10, 3, mode="sum")
    >>> q = weft.quantization.nn.quantized.EmbeddingBag.from_float(bag)
    >>> q(weft.tensor([1, 2, 4]), weft.tensor([0, 2])).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        mode: str = "sum",
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        dtype: Any = quint8,
    ) -> None:
        super().__init__()
        self.mode, self.include_last_offset, self.padding_idx = (
            mode,
            include_last_offset,
            padding_idx,
        )
        self._make(num_embeddings, embedding_dim, dtype)

    @classmethod
    def from_float(cls, mod: floats.EmbeddingBag, qconfig: Any = None) -> EmbeddingBag:
        """Return the quantised form of a table.

        Args:
            mod: the table.
            qconfig: what observes it (default: its own ``qconfig``, or one grid per row).

        >>> bag = weft.nn.EmbeddingBag(10, 3)
        >>> weft.quantization.nn.quantized.EmbeddingBag.from_float(bag).mode
        'mean'
        """
        if mod.max_norm is not None:
            raise NotImplementedError("EmbeddingBag: max_norm is not supported by quantised tables")
        settings = mod.mode, mod.include_last_offset, mod.padding_idx
        new = cls(mod.num_embeddings, mod.embedding_dim, *settings)
        new._take_float(mod, qconfig)
        return new

    def forward(
        self,
        indices: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        # Only the rows that are asked for become floats, each once.
        used, places = weft.unique(indices, return_inverse=True)
        padding = None
        if self.padding_idx is not None:
            at = (used == self.padding_idx).nonzero()
            padding = int(at[0].item()) if len(at) else None
        return F.embedding_bag(
            places, self._rows(used), offsets, mode=self.mode, padding_idx=padding,
            per_sample_weights=per_sample_weights, include_last_offset=self.include_last_offset,
        )  # fmt: skip
