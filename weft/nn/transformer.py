"""The Transformer."""

from __future__ import annotations

import copy

import weft
from weft._C import _linear_then
from weft.nn import functional as F
from weft.nn import init
from weft.nn.attention import MultiheadAttention
from weft.nn.container import ModuleList
from weft.nn.dropout import Dropout
from weft.nn.linear import Linear
from weft.nn.module import Module
from weft.nn.normalization import LayerNorm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from weft import Tensor

    Activation = str | Callable[[Tensor], Tensor]

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _activation(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return F.relu if given == "relu" else F.gelu


def _clones(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _causal(size: int, dtype: Any = None) -> Tensor:
    """Return a mask that is minus infinity where a place would see a later one."""
    return weft.full((size, size), -float("inf"), dtype=dtype).triu(1)


def _is_causal(layers: ModuleList, mask: Tensor | None, given: bool | None, x: Tensor) -> bool:
    """Say whether a mask of x hides exactly what comes later."""
    if given is not None:
        return given
    if mask is None or not len(layers) or not mask.is_floating_point():
        return False
    attention = getattr(layers[0], "self_attn", None)
    batch_first = x.ndim == 3 and getattr(attention, "batch_first", False)
    size = x.size(1 if batch_first else 0)
    return tuple(mask.shape) == (size, size) and weft.equal(mask, _causal(size, mask.dtype))


class _Layer(Module):
    """What encoder and decoder layers share: attention, feed-forward, residual connections."""

    def _parts(
        self, d_model: int, nhead: int, dim_feedforward: int, dropout: float, activation: Any,
        eps: float, batch_first: bool, norm_first: bool, bias: bool, device: Any, dtype: Any,
        cross: bool,
    ) -> None:  # fmt: skip
        how = {"device": device, "dtype": dtype}
        heads = {"dropout": dropout, "bias": bias, "batch_first": batch_first, **how}
        self.self_attn = MultiheadAttention(d_model, nhead, **heads)
        if cross:
            self.multihead_attn = MultiheadAttention(d_model, nhead, **heads)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **how)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **how)
        self.norm_first = norm_first
        count = 3 if cross else 2
        for k in range(1, count + 1):
            setattr(self, f"norm{k}", LayerNorm(d_model, eps=eps, bias=bias, **how))
        for k in range(1, count + 1):
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _activation(activation)

    def _attend(
        self, attention: Any, drop: Any, x: Tensor, memory: Tensor, mask: Any, padding: Any,
        is_causal: bool,
    ) -> Tensor:  # fmt: skip
        y = attention(
            x, memory, memory, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal,
            need_weights=False,
        )[0]  # fmt: skip
        return drop(y)

    def _feed(self, x: Tensor, drop: Any) -> Tensor:
        return drop(self.linear2(self.dropout(_linear_then(self.linear1, self.activation, x))))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take up a pickled state; old ones had no activation."""
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu


class TransformerEncoderLayer(_Layer):
    """Self-attention, then two linear maps; each with a residual connection and a norm.

    Args:
        d_model: features of the input.
        nhead: heads of the attention.
        dim_feedforward: features between the two linear maps.
        dropout: probability to drop an element.
        activation: "relu", "gelu" or a function.
        layer_norm_eps: added to the variance in the norms.
        batch_first: whether tensors are (batch, length, features).
        norm_first: whether the norms come before attention and linear maps.
        bias: whether linear maps and norms have biases.
        device: the CPU.
        dtype: the type of the parameters.

    >>> weft.nn.TransformerEncoderLayer(8, 2)(weft.rand(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    norm1: Any
    norm2: Any
    dropout1: Any
    dropout2: Any

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._parts(
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype, False,
        )  # fmt: skip

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self._attend(
                self.self_attn, self.dropout1, x, x, src_mask, src_key_padding_mask, is_causal
            )

        x = src
        if self.norm_first:
            x = x + attend(self.norm1(x))
            return x + self._feed(self.norm2(x), self.dropout2)
        x = self.norm1(x + attend(x))
        return self.norm2(x + self._feed(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the memory of an encoder, then two linear maps.

    Args:
        d_model: features of the input.
        nhead: heads of the attention.
        dim_feedforward: features between the two linear maps.
        dropout: probability to drop an element.
        activation: "relu", "gelu" or a function.
        layer_norm_eps: added to the variance in the norms.
        batch_first: whether tensors are (batch, length, features).
        norm_first: whether the norms come before attention and linear maps.
        bias: whether linear maps and norms have biases.
        device: the CPU.
        dtype: the type of the parameters.

    >>> layer = weft.nn.TransformerDecoderLayer(8, 2)
    >>> layer(weft.rand(4, 3, 8), weft.rand(5, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    norm1: Any
    norm2: Any
    norm3: Any
    dropout1: Any
    dropout2: Any
    dropout3: Any

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._parts(
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype, True,
        )  # fmt: skip

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self._attend(
                self.self_attn, self.dropout1, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal
            )

        def recall(x: Tensor) -> Tensor:
            return self._attend(
                self.multihead_attn, self.dropout2, x, memory, memory_mask, memory_key_padding_mask,
                memory_is_causal,
            )  # fmt: skip

        x = tgt
        if self.norm_first:
            x = x + attend(self.norm1(x))
            x = x + recall(self.norm2(x))
            return x + self._feed(self.norm3(x), self.dropout3)
        x = self.norm1(x + attend(x))
        x = self.norm2(x + recall(x))
        return self.norm3(x + self._feed(x, self.dropout3))


class TransformerEncoder(Module):
    """Encoder layers, one after another.

    Args:
        encoder_layer: copied for every layer.
        num_layers: how many.
        norm: a norm of the result.
        enable_nested_tensor: without effect; weft has no nested tensors.
        mask_check: without effect.

    >>> layer = weft.nn.TransformerEncoderLayer(8, 2)
    >>> weft.nn.TransformerEncoder(layer, 2)(weft.rand(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        x = src
        causal = _is_causal(self.layers, mask, is_causal, src)
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(Module):
    """Decoder layers, one after another.

    Args:
        decoder_layer: copied for every layer.
        num_layers: how many.
        norm: a norm of the result.

    >>> layer = weft.nn.TransformerDecoderLayer(8, 2)
    >>> weft.nn.TransformerDecoder(layer, 2)(weft.rand(4, 3, 8), weft.rand(5, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        x = tgt
        causal = _is_causal(self.layers, tgt_mask, tgt_is_causal, tgt)
        for layer in self.layers:
            x = layer(
                x, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder, and a decoder that attends to what it made.

    Args:
        d_model: features of the inputs.
        nhead: heads of the attention.
        num_encoder_layers: layers of the encoder.
        num_decoder_layers: layers of the decoder.
        dim_feedforward: features between two linear maps.
        dropout: probability to drop an element.
        activation: "relu", "gelu" or a function.
        custom_encoder: an encoder of your own.
        custom_decoder: a decoder of your own.
        layer_norm_eps: added to the variance in the norms.
        batch_first: whether tensors are (batch, length, features).
        norm_first: whether the norms come before attention and linear maps.
        bias: whether linear maps and norms have biases.
        device: the CPU.
        dtype: the type of the parameters.

    >>> net = weft.nn.Transformer(8, 2, 1, 1, 16)
    >>> net(weft.rand(5, 3, 8), weft.rand(4, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        settings = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip
        how = {"eps": layer_norm_eps, "bias": bias, "device": device, "dtype": dtype}
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*settings), num_encoder_layers, LayerNorm(d_model, **how)
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*settings), num_decoder_layers, LayerNorm(d_model, **how)
        )
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        if src.ndim == 3:
            d = 0 if self.batch_first else 1
            if src.size(d) != tgt.size(d):
                raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return a mask that is minus infinity where a place would see a later one.

        >>> weft.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _causal(sz, dtype)

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)
