"""Attention."""

from __future__ import annotations

import math

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import functional, like, wide
from weft.nn.functional.dropout import dropout
from weft.nn.functional.linear import linear

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_attend = _C._op_function("attend")


def _safe_softmax(scores: Tensor) -> Tensor:
    """Return the softmax along the last dim; where nothing may be attended to, zeros."""
    dead = scores.detach().amax(-1, keepdim=True) == -float("inf")
    y = weft.softmax(weft.where(dead, 0.0, scores), -1)
    return weft.where(dead, 0.0, y)


def _check_attention(query: Tensor, key: Tensor, value: Tensor) -> None:
    name = "scaled_dot_product_attention"
    for x in (query, key, value):
        if x.ndim < 2:
            raise RuntimeError(
                f"{name}: Expected query, key, and value to all be at least 2 dimensional, but got "
                f"{query.ndim}, {key.ndim} and {value.ndim}"
            )
        if x.dtype != query.dtype:
            raise RuntimeError(
                f"{name}: Expected query, key, and value to have the same dtype, but got "
                f"{query.dtype}, {key.dtype} and {value.dtype}"
            )


def plain_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float,
    is_causal: bool, scale: float | None,
) -> Tensor:  # fmt: skip
    """Return softmax(q k^T scale + mask) v, with the scores in memory."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None and query.shape[-1] else scale
    q, k, v = wide(query), wide(key), wide(value)
    scores = weft.matmul(q * (scale if scale is not None else 1.0), k.transpose(-2, -1))
    if is_causal:
        later = weft.ones(scores.shape[-2:], dtype=weft.bool).triu(1)
        scores = scores.masked_fill(later, -float("inf"))
    if attn_mask is None:
        weights = weft.softmax(scores, -1)
    elif attn_mask.dtype == weft.bool:
        weights = _safe_softmax(weft.where(attn_mask, scores, -float("inf")))
    else:
        weights = _safe_softmax(scores + wide(attn_mask))
    if dropout_p > 0:
        weights = dropout(weights, dropout_p)
    return like(weft.matmul(weights, v), query)


@functional
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return means of values, weighted by how well each key fits the query.

    softmax(q k^T / sqrt(E)) v. A mask of bool says what may be attended to, another one is added.

    >>> q, v = weft.zeros(1, 2), weft.tensor([[1.0], [3.0]])
    >>> weft.nn.functional.scaled_dot_product_attention(q, weft.zeros(2, 2), v)
    tensor([[2.]])
    """
    _check_attention(query, key, value)
    if attn_mask is not None and is_causal:
        raise RuntimeError(
            "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        )
    if attn_mask is not None and attn_mask.dtype not in (weft.bool, weft.float32, query.dtype):
        raise RuntimeError(
            "scaled_dot_product_attention: Expected attn_mask dtype to be bool or float or to match "
            f"query dtype, but got {attn_mask.dtype} and query {query.dtype}"
        )
    if enable_gqa:
        heads = query.shape[-3]
        if heads % key.shape[-3] or heads % value.shape[-3]:
            raise RuntimeError(
                "scaled_dot_product_attention: the number of heads in key and value must divide "
                f"that of query, got {key.shape[-3]}, {value.shape[-3]} and {heads}"
            )
        key = key.repeat_interleave(heads // key.shape[-3], -3)
        value = value.repeat_interleave(heads // value.shape[-3], -3)
    if dropout_p > 0 or not _fits_native(query, key, value, attn_mask):
        return plain_attention(query, key, value, attn_mask, dropout_p, is_causal, scale)
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    if attn_mask is not None and attn_mask.dtype == weft.bool:
        attn_mask = weft.zeros(attn_mask.shape, dtype=query.dtype).masked_fill_(
            ~attn_mask, -float("inf")
        )
    q, k, v = _with_rows(query), _with_rows(key), _with_rows(value)
    result: Tensor = _attend(q, k, v, attn_mask, is_causal, scale)[0]
    return result.squeeze(0) if query.ndim == 2 else result


def _fits_native(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    """Say whether the op that keeps no scores can do it: no broadcasting, a mask without gradient."""
    batch = query.shape[:-2]
    if query.dtype not in (weft.float32, weft.float64) or key.shape[:-2] != batch:
        return False
    if value.shape[:-2] != batch or query.shape[-1] != key.shape[-1]:
        return False
    if key.shape[-2] != value.shape[-2] or not (query.numel() and key.numel() and value.numel()):
        return False
    if mask is None:
        return True
    full = (*batch, query.shape[-2], key.shape[-2])
    return (
        not mask.requires_grad
        and 2 <= mask.ndim <= len(full)
        and mask.dtype in (weft.bool, query.dtype)
        and all(m in (1, n) for m, n in zip(reversed(mask.shape), reversed(full)))
    )


def _with_rows(x: Tensor) -> Tensor:
    """Return ``x`` with a batch and with contiguous rows that do not overlap."""
    if x.ndim == 2:
        x = x.unsqueeze(0)
    rows, columns = x.shape[-2:]
    step, one = x.stride()[-2:]
    return x if (one == 1 or columns == 1) and (step >= columns or rows == 1) else x.contiguous()


# ---- several heads -------------------------------------------------------------------------------


def _additive(mask: Tensor | None, other: Any, name: str, dtype: Any) -> Tensor | None:
    """Return a mask that is added to scores: minus infinity where a bool mask is True."""
    if mask is None:
        return None
    if mask.dtype != weft.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if mask.dtype == weft.bool:
        return weft.zeros(mask.shape, dtype=dtype).masked_fill(mask, -float("inf"))
    return mask


def _check_shapes(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None,
    attn_mask: Tensor | None, num_heads: int,
) -> bool:  # fmt: skip
    """Return whether there is a batch."""
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query "
            "tensor"
        )
    batched = query.ndim == 3
    if key.ndim != query.ndim or value.ndim != query.ndim:
        raise AssertionError(
            f"For {'batched' if batched else 'unbatched'} ({query.ndim}-D) `query`, expected `key` "
            f"and `value` to be {query.ndim}-D but found {key.ndim}-D and {value.ndim}-D tensors "
            "respectively"
        )
    if key_padding_mask is not None and key_padding_mask.ndim != query.ndim - 1:
        raise AssertionError(
            f"expected `key_padding_mask` to be `None` or {query.ndim - 1}-D but found "
            f"{key_padding_mask.ndim}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.ndim not in (2, 3):
        raise AssertionError(
            f"expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D tensor "
            "instead"
        )
    if not batched and attn_mask is not None and attn_mask.ndim == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != expected:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {expected} but got {tuple(attn_mask.shape)}"
            )
    return batched


def _projected(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, ...]:
    """Return the three projections by one weight of all, with as few products as can be."""
    e = query.shape[-1]
    if query is key and key is value:
        return tuple(linear(query, weight, bias).chunk(3, -1))
    wq, wkv = weight.split([e, 2 * e])
    bq, bkv = bias.split([e, 2 * e]) if bias is not None else (None, None)
    if key is value:
        return (linear(query, wq, bq), *linear(key, wkv, bkv).chunk(2, -1))
    wk, wv = wkv.chunk(2)
    bk, bv = bkv.chunk(2) if bkv is not None else (None, None)
    return linear(query, wq, bq), linear(key, wk, bk), linear(value, wv, bv)


def _separate(
    query: Tensor, key: Tensor, value: Tensor, weights: tuple[Any, ...], bias: Tensor | None
) -> tuple[Tensor, ...]:
    """Return the three projections by weights of their own."""
    for which, w in zip(("q", "k", "v"), weights):
        if w is None:
            raise AssertionError(
                f"use_separate_proj_weight is True but {which}_proj_weight is None"
            )
    biases = bias.chunk(3) if bias is not None else (None, None, None)
    return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))


def _merged_mask(
    attn_mask: Tensor | None, padding: Tensor | None, batch: int, heads: int, source: int
) -> Tensor | None:
    """Return both masks as one, of shape (batch * heads or 1, target, source)."""
    if padding is None:
        return attn_mask
    p = padding.reshape(batch, 1, 1, source).expand(-1, heads, -1, -1)
    p = p.reshape(batch * heads, 1, source)
    return p if attn_mask is None else attn_mask + p


def _widen(mask: Tensor | None) -> Tensor | None:
    """Let a mask allow one more key."""
    return None if mask is None else weft.constant_pad_nd(mask, (0, 1))


def _heads(x: Tensor, heads: int, size: int) -> Tensor:
    """Turn (length, batch, heads * size) to (batch * heads, length, size)."""
    return x.reshape(x.shape[0], -1, size).transpose(0, 1)


@functional
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Project query, key and value, let several heads attend, join them, project again.

    Inputs have (length, batch, features). Also returns the weights if they are needed.

    >>> F, x, eye = weft.nn.functional, weft.ones(1, 1, 2), weft.eye(2)
    >>> w, none = weft.cat([eye, eye, eye]), weft.zeros(2)
    >>> args = (2, 1, w, None, None, None, False, 0.0, eye, none)
    >>> F.multi_head_attention_forward(x, x, x, *args)[0]
    tensor([[[1., 1.]]])
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = query is key, key is value
        query = query.unsqueeze(1)
        key = query if same[0] else key.unsqueeze(1)
        value = key if same[1] else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    target, batch, embed = query.shape
    source = key.shape[0]
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "multi_head_attention_forward: Need attn_mask if specifying the is_causal hint."
        )
    padding = _additive(key_padding_mask, attn_mask, "key_padding_mask", query.dtype)
    if is_causal and padding is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = _additive(attn_mask, None, "attn_mask", query.dtype)
        is_causal = is_causal and padding is None and attn_mask is None
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    size = embed // num_heads
    if use_separate_proj_weight:
        own = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _separate(query, key, value, own, in_proj_bias)
    else:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    attn_mask = _mask_of_heads(attn_mask, batch, num_heads, target, source)
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k = weft.cat([k, bias_k.expand(1, batch, -1)])
        v = weft.cat([v, bias_v.expand(1, batch, -1)])
        attn_mask, padding = _widen(attn_mask), _widen(padding)
    q = _heads(q, num_heads, size)
    k = (
        _heads(k, num_heads, size)
        if static_k is None
        else _static(static_k, batch, num_heads, size)
    )
    v = (
        _heads(v, num_heads, size)
        if static_v is None
        else _static(static_v, batch, num_heads, size)
    )
    if add_zero_attn:
        zeros = k.new_zeros(batch * num_heads, 1, size)
        k, v = weft.cat([k, zeros], 1), weft.cat([v, zeros], 1)
        attn_mask, padding = _widen(attn_mask), _widen(padding)
    if padding is not None and tuple(padding.shape) != (batch, k.shape[1]):
        raise AssertionError(
            f"expecting key_padding_mask shape of {(batch, k.shape[1])}, but got "
            f"{tuple(padding.shape)}"
        )
    mask = _merged_mask(attn_mask, padding, batch, num_heads, k.shape[1])
    p = dropout_p if training else 0.0
    weights = None
    if need_weights:
        scores = weft.matmul(q * math.sqrt(1.0 / size), k.transpose(-2, -1))
        weights = weft.softmax(scores if mask is None else scores + mask, -1)
        weights = dropout(weights, p) if p > 0 else weights
        y = weft.matmul(weights, v)
    else:
        q4, k4, v4 = (x.reshape(batch, num_heads, -1, size) for x in (q, k, v))
        if mask is not None:
            wide_mask = mask if mask.shape[0] > 1 else mask.expand(batch * num_heads, -1, -1)
            mask = wide_mask.reshape(batch, num_heads, -1, k.shape[1])
        y = scaled_dot_product_attention(q4, k4, v4, mask, p, is_causal)
        y = y.reshape(batch * num_heads, target, size)
    y = y.transpose(0, 1).reshape(target * batch, embed)
    y = linear(y, out_proj_weight, out_proj_bias).reshape(target, batch, -1)
    if weights is not None:
        weights = weights.reshape(batch, num_heads, target, k.shape[1])
        weights = weights.mean(1) if average_attn_weights else weights
    if not batched:
        y, weights = y.squeeze(1), None if weights is None else weights.squeeze(0)
    return y, weights


def _static(x: Tensor, batch: int, heads: int, size: int) -> Tensor:
    if x.shape[0] != batch * heads or x.shape[2] != size:
        raise AssertionError(
            f"expecting a static key or value of shape ({batch * heads}, *, {size}), but got "
            f"{tuple(x.shape)}"
        )
    return x


def _check_sizes(
    query: Tensor, key: Tensor, value: Tensor, embed: int, heads: int, separate: bool
) -> None:
    if query.shape[-1] != embed:
        raise AssertionError(
            f"was expecting embedding dimension of {embed}, but got {query.shape[-1]}"
        )
    if embed // heads * heads != embed:
        raise AssertionError(f"embed_dim {embed} not divisible by num_heads {heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {tuple(key.shape[:2])} do not match value's "
            f"{tuple(value.shape[:2])}"
        )
    if not separate and key.shape != value.shape:
        raise AssertionError(
            f"key shape {tuple(key.shape)} does not match value shape {tuple(value.shape)}"
        )


def _mask_of_heads(
    mask: Tensor | None, batch: int, heads: int, target: int, source: int
) -> Tensor | None:
    if mask is None:
        return None
    lead = () if mask.ndim == 2 else (batch * heads,)
    if tuple(mask.shape) != (*lead, target, source):
        raise RuntimeError(
            f"multi_head_attention_forward: The shape of the {mask.ndim}D attn_mask is "
            f"{tuple(mask.shape)}, but should be {(*lead, target, source)}."
        )
    return mask.unsqueeze(0) if mask.ndim == 2 else mask
