"""Attention with several heads."""

from __future__ import annotations

import weft
from weft._environment import at_line
from weft.nn import functional as F
from weft.nn import init
from weft.nn.functional.attention import map_once
from weft.nn.linear import NonDynamicallyQuantizableLinear
from weft.nn.module import Module
from weft.nn.parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from weft import Tensor

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Several heads attend to keys and values, each in a part of the features.

    Args:
        embed_dim: features of queries and of the result.
        num_heads: how many heads share them.
        dropout: probability to drop a weight of attention.
        bias: whether the projections have biases.
        add_bias_kv: whether one learnt key and value is added.
        add_zero_attn: whether one key and value of zeros is added.
        kdim: features of keys (default: embed_dim).
        vdim: features of values (default: embed_dim).
        batch_first: whether tensors are (batch, length, features) instead of
            (length, batch, features).
        device: the CPU.
        dtype: the type of the parameters.

    >>> x = weft.randn(5, 2, 8)
    >>> y, weights = weft.nn.MultiheadAttention(8, 2)(x, x, x)
    >>> y.shape, weights.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))
    """

    in_proj_weight: Any
    in_proj_bias: Any
    q_proj_weight: Any
    k_proj_weight: Any
    v_proj_weight: Any
    bias_k: Any
    bias_v: Any

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.dropout, self.batch_first = dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(
                at_line(
                    f"{type(self).__name__}: embed_dim must be divisible by num_heads, "
                    f"got {embed_dim} and {num_heads}"
                )
            )
        how = {"device": device, "dtype": dtype}

        def parameter(*shape: int) -> Parameter:
            return Parameter(weft.empty(*shape, **how))

        same = self._qkv_same_embed_dim
        sizes = {"q": embed_dim, "k": self.kdim, "v": self.vdim}
        for name, size in sizes.items():
            value = None if same else parameter(embed_dim, size)
            self.register_parameter(f"{name}_proj_weight", value)
        self.register_parameter(
            "in_proj_weight", parameter(3 * embed_dim, embed_dim) if same else None
        )
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **how)
        self.bias_k = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
            init.xavier_normal_(self.bias_v)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        swap = self.batch_first and query.ndim == 3
        if swap:  # a view: the function works in the order of memory
            query, key, value = map_once(lambda x: x.transpose(0, 1), query, key, value)
        y, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
            self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight, average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )  # fmt: skip
        return (y.transpose(0, 1) if swap else y), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Return both masks as one, and which they were: 0 attention, 1 padding, 2 both.

        >>> weft.nn.MultiheadAttention(2, 1).merge_masks(None, None, weft.ones(1, 1, 2))
        (None, None)
        """
        mask, kind = key_padding_mask, None if key_padding_mask is None else 1
        if attn_mask is not None:
            batch, length = query.shape[0], attn_mask.shape[-1]
            wide = attn_mask.ndim == 3
            mask = attn_mask.reshape(batch if wide else 1, -1 if wide else 1, length, length)
            mask = mask.expand(batch, self.num_heads, -1, -1)
            kind = 2
            if key_padding_mask is not None:
                padding = key_padding_mask.reshape(batch, 1, 1, length)
                mask = mask + padding.expand(-1, self.num_heads, -1, -1)
        return mask, kind


from weft.nn.attention_backend import SDPBackend, sdpa_kernel  # noqa: E402, F401
