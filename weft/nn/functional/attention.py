"""Attention."""

from __future__ import annotations

import math

import weft
from weft import _C
from weft._C import Tensor
from weft.nn.functional.common import NARROW, functional, like, wide
from weft.nn.functional.dropout import dropout
from weft.nn.functional.linear import linear

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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


class AttentionBackends:
    """Which implementations of attention are allowed; ``nn.attention.sdpa_kernel`` sets them."""

    native = True  # whether the op that keeps no scores may be used
    otherwise: Any = staticmethod(plain_attention)


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
    if dropout_p > 0 or not (
        AttentionBackends.native and _fits_native(query, key, value, attn_mask)
    ):
        return AttentionBackends.otherwise(
            query, key, value, attn_mask, dropout_p, is_causal, scale
        )
    if scale is None:
        scale = 1 / math.sqrt(query.size(-1))
    if attn_mask is not None and attn_mask.dtype == weft.bool:
        attn_mask = weft.zeros(attn_mask.shape, dtype=query.dtype).masked_fill_(
            ~attn_mask, -float("inf")
        )
    q, k, v = (_with_rows(wide(x)) for x in (query, key, value))
    mask = None if attn_mask is None else like(attn_mask, q)
    result: Tensor = like(_attend(q, k, v, mask, is_causal, scale)[0], query)
    return result.squeeze(0) if query.ndim == 2 else result


def _fits_native(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    """Say whether the op that keeps no scores can do it: no broadcasting, a mask without gradient."""
    *batch, target, features = query.shape
    *key_batch, source, key_features = key.shape
    *value_batch, values, _ = value.shape
    if not batch == key_batch == value_batch or features != key_features or source != values:
        return False
    if query.dtype not in (weft.float32, weft.float64, *NARROW):
        return False
    if not (query.numel() and key.numel() and value.numel()):
        return False
    if mask is None:
        return True
    full = (*batch, target, source)
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
    columns = x.size(-1)
    plain = x.stride(-1) == 1 or columns == 1
    return x if plain and (x.stride(-2) >= columns or x.size(-2) == 1) else x.contiguous()


# ---- several heads -------------------------------------------------------------------------------


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


def _check_sizes(
    query: Tensor, key: Tensor, value: Tensor, embed: int, heads: int, separate: bool
) -> None:
    if query.size(-1) != embed:
        raise AssertionError(
            f"was expecting embedding dimension of {embed}, but got {query.size(-1)}"
        )
    if embed // heads * heads != embed:
        raise AssertionError(f"embed_dim {embed} not divisible by num_heads {heads}")
    if key.size(1) != query.size(1):
        raise RuntimeError(
            f"multi_head_attention_forward: key must have the batch of query, {query.size(1)}, but "
            f"got {key.size(1)}"
        )
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {tuple(key.shape[:2])} do not match value's "
            f"{tuple(value.shape[:2])}"
        )
    if not separate and key.shape != value.shape:
        raise AssertionError(
            f"key shape {tuple(key.shape)} does not match value shape {tuple(value.shape)}"
        )


def _check_given(
    weight: Any, own: Sequence[Any], bias_k: Any, bias_v: Any, static_k: Any, static_v: Any
) -> None:
    """Raise for arguments that must come together, or must not."""
    for name, w in zip("qkv", own):
        if w is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
    if weight is None and not own:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v must be given together, but one of them is None")
    if bias_k is not None and (static_k is not None or static_v is not None):
        raise AssertionError("bias cannot be added to static key or value.")


def map_once(
    f: Callable[[Tensor], Tensor], query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Apply f to all three; those that were one tensor stay one, so that one product projects it."""
    q = f(query)
    k = q if key is query else f(key)
    return q, k, k if value is key else f(value)


def _heads(x: Tensor, count: int, heads: int, order: tuple[int, ...]) -> list[Tensor]:
    """View (…, count * heads * size) as so many tensors (batch, heads, length, size)."""
    a, b, features = x.shape
    if count == 1:
        return [x.view(a, b, heads, features // heads).permute(order)]
    parts = x.view(a, b, count, heads, features // (count * heads)).unbind(2)
    return [part.permute(order) for part in parts]


def _projected(
    xs: Sequence[Tensor], weight: Any, bias: Tensor | None, own: Sequence[Any], heads: int,
    order: tuple[int, ...],
) -> list[Tensor]:  # fmt: skip
    """Return the heads of query, key and value, projected with as few products as can be."""
    query, key, value = xs
    if query is key and key is value and not own:
        return _heads(linear(query, weight, bias), 3, heads, order)
    counts = (1, 2) if key is value and not own else (1, 1, 1)
    rows = [n * query.size(-1) for n in counts]
    biases = [None] * 3 if bias is None else bias.split(rows)
    jobs = zip(xs, own or weight.split(rows), biases, counts)
    return [y for x, w, b, n in jobs for y in _heads(linear(x, w, b), n, heads, order)]


def _additive(mask: Tensor | None, name: str, dtype: Any) -> Tensor | None:
    """Return a mask that is added to scores: minus infinity where a bool mask is True."""
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype != weft.bool:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return weft.zeros(mask.shape, dtype=dtype).masked_fill_(mask, -float("inf"))


def _merged_mask(
    mask: Tensor | None, padding: Tensor | None, q: Tensor, source: int, keys: int, more: int
) -> Tensor | None:
    """Return both masks as one that can be added to the scores; it allows ``more`` keys."""
    batch, heads, target, _ = q.shape
    if mask is not None:
        full = (*(() if mask.ndim == 2 else (batch * heads,)), target, source)
        if tuple(mask.shape) != full:
            raise RuntimeError(
                f"multi_head_attention_forward: The shape of the {mask.ndim}D attn_mask is "
                f"{tuple(mask.shape)}, but should be {full}."
            )
        mask = mask if mask.ndim == 2 else mask.reshape(batch, heads, target, source)
    if padding is not None:
        if tuple(padding.shape) != (batch, keys - more):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(batch, keys - more)}, but got "
                f"{tuple(padding.shape)}"
            )
        padding = padding.reshape(batch, 1, 1, keys - more)
        mask = padding if mask is None else mask + padding
    return mask if mask is None or not more else weft.constant_pad_nd(mask, (0, more))


def _static(x: Tensor, like: Tensor) -> Tensor:
    batch, heads, _, size = like.shape
    if x.shape[0] != batch * heads or x.shape[2] != size:
        raise AssertionError(
            f"expecting a static key or value of shape ({batch * heads}, *, {size}), but got "
            f"{tuple(x.shape)}"
        )
    return x.reshape(batch, heads, x.shape[1], size)


def _with_more(x: Tensor, bias: Tensor | None, zero: bool) -> Tensor:
    """Add a learnt key or value, and one of zeros."""
    batch, heads, _, size = x.shape
    parts = [x] if bias is None else [x, bias.reshape(1, heads, 1, size).expand(batch, -1, -1, -1)]
    if zero:
        parts.append(x.new_zeros(batch, heads, 1, size))
    return weft.cat(parts, 2) if len(parts) > 1 else x


def _attended(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, p: float
) -> tuple[Tensor, Tensor]:
    """Return what the heads make of the values, and their weights."""
    scores = weft.matmul(q * math.sqrt(1.0 / q.shape[-1]), k.transpose(-2, -1))
    weights = weft.softmax(scores if mask is None else scores + like(mask, scores), -1)
    weights = dropout(weights, p) if p > 0 else weights
    return weft.matmul(weights, v), weights


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
        query, key, value = map_once(lambda x: x.unsqueeze(1), query, key, value)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "multi_head_attention_forward: Need attn_mask if specifying the is_causal hint."
        )
    padding = _additive(key_padding_mask, "key_padding_mask", query.dtype)
    is_causal = is_causal and padding is None and not need_weights  # then it says all of the mask
    mask = None if is_causal else _additive(attn_mask, "attn_mask", query.dtype)
    own = [q_proj_weight, k_proj_weight, v_proj_weight] if use_separate_proj_weight else []
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    _check_given(in_proj_weight, own, bias_k, bias_v, static_k, static_v)
    source = key.size(0)
    turned = query.stride(0) < query.stride(1)  # in memory the batch is first: there it stays
    if turned:
        query, key, value = map_once(lambda x: x.transpose(0, 1), query, key, value)
    order, back = ((0, 2, 1, 3), (0, 2, 1, 3)) if turned else ((1, 2, 0, 3), (2, 0, 1, 3))
    xs = query, key, value
    q, k, v = _projected(xs, in_proj_weight, in_proj_bias, own, num_heads, order)
    k = _with_more(k if static_k is None else _static(static_k, k), bias_k, add_zero_attn)
    v = _with_more(v if static_v is None else _static(static_v, v), bias_v, add_zero_attn)
    more = (bias_k is not None) + bool(add_zero_attn)
    mask = _merged_mask(mask, padding, q, source, k.size(2), more)
    p = dropout_p if training else 0.0
    weights = None
    if need_weights:
        y, weights = _attended(q, k, v, mask, p)
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        y = scaled_dot_product_attention(q, k, v, mask, p, is_causal)
    y = y.permute(back).reshape(query.shape).contiguous()
    y = linear(y, out_proj_weight, out_proj_bias)
    y = y.transpose(0, 1) if turned else y
    if not batched:
        y, weights = y.squeeze(1), None if weights is None else weights.squeeze(0)
    return y, weights
