"""Rows of weft.nn.functional: activations, products, norms, distances, embeddings, dropout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from samples import E, S, ints, ix, row, t, unary
from samples.random import N, moments

F = "nn.functional."


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)) without overflow."""
    return np.exp(-np.logaddexp(0, -x))


def softmax(x: np.ndarray, dim: int) -> np.ndarray:
    """The softmax along an axis."""
    e = np.exp(x - x.max(dim, keepdims=True)) if x.size else x
    return e / e.sum(dim, keepdims=True) if x.size else x


def elu(x: np.ndarray, alpha: float = 1.0, inplace: bool = False) -> np.ndarray:
    """x above zero, alpha (exp(x) - 1) below."""
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


erf = np.vectorize(math.erf, otypes=[float])


def act(name: str, twin: Any, *more: Any, dtypes: str = "f", **keys: Any) -> None:
    """An activation, also with more arguments."""
    unary(
        F + name,
        twin,
        dtypes=dtypes,
        special=False,
        extra=lambda: [S(t(2, 3), **m) if isinstance(m, dict) else S(t(2, 3), *m) for m in more],
        **{"ulp": 8, "atol": 1e-6, "half": 0, "method": False, **keys},
    )


act("relu", lambda x, inplace=False: np.maximum(x, 0), dtypes="fi")
act("relu6", lambda x, inplace=False: np.clip(x, 0, 6), dtypes="fi")
act("hardtanh", lambda x, a=-1, b=1: np.clip(x, a, b), (-0.7, 0.8))
act("hardsigmoid", lambda x: np.clip(x + 3, 0, 6) / 6)
act("hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6)
act("elu", elu, (0.7,))
act("selu", lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772))
act(
    "celu",
    lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)),
    (0.7,),
)
act("leaky_relu", lambda x, slope=0.01: np.where(x > 0, x, slope * x), (0.3,))
act(
    "gelu",
    lambda x, approximate="none": (
        0.5
        * x
        * (
            1
            + (
                erf(x / np.sqrt(2))
                if approximate == "none"
                else np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
            )
        )
    ),
    {"approximate": "tanh"},
)
act("silu", lambda x: x * sigmoid(x))
act("mish", lambda x: x * np.tanh(np.logaddexp(0, x)))
act(
    "softplus",
    lambda x, beta=1, threshold=20: np.where(
        x * beta > threshold, x, np.logaddexp(0, x * beta) / beta
    ),
    (2.0, 1.5),
)
act("logsigmoid", lambda x: -np.logaddexp(0, -x))
act("softshrink", lambda x, l=0.5: x - np.clip(x, -l, l), (0.7,))
act("hardshrink", lambda x, l=0.5: np.where(abs(x) <= l, 0, x), (0.7,))
act("tanhshrink", lambda x: x - np.tanh(x), half=None)
act("softsign", lambda x: x / (1 + abs(x)), half=2)
act("sigmoid", sigmoid)
act("tanh", np.tanh)


row(
    F + "threshold",
    lambda: [S(t(2, 3), 0.6, 4.0), S(t(), 0.1, -1.0), S(t(0), 0.1, 2.0), S(t(37), 1.1, 0.2)],
    lambda x, at, value: np.where(x > at, x, value),
    "f",
)

for _name, _twin in (
    ("softmax", softmax),
    ("softmin", lambda x, dim: softmax(-x, dim)),
    ("log_softmax", lambda x, dim: np.log(softmax(x, dim))),
):
    row(
        F + _name,
        lambda: [S(t(2, 3), 0), S(t(2, 3), -1), S(t(4), 0), S(t(2, 0), 1), S(t(2, 3, 2), dim=1)],
        _twin,
        "f",
        ulp=8,
        atol=1e-6,
        half=None,
        errors=lambda: [E(IndexError, t(2, 3), 2)],
    )


def _glu(x: np.ndarray, dim: int = -1) -> np.ndarray:
    a, b = np.split(x, 2, dim)
    return a * sigmoid(b)


row(
    F + "glu",
    lambda: [S(t(4)), S(t(2, 3), 0), S(t(2, 4, 3), 1), S(t(0, 2))],
    _glu,
    "f",
    ulp=8,
    atol=1e-6,
    half=None,
    errors=lambda: [E(RuntimeError, t(3)), E(RuntimeError, t())],
)
row(
    "prelu",
    lambda: [S(t(2, 3), t(1)), S(t(2, 3), t(3)), S(t(2, 3, 2), t(3)), S(t(3), t(1)), S(t(), t())],
    lambda x, w: np.where(
        x > 0, x, x * (w.reshape(-1, *[1] * (x.ndim - 2)) if w.size > 1 else w.reshape(()))
    ),
    "f",
    errors=lambda: [E(RuntimeError, t(2, 3), t(2)), E(RuntimeError, t(2, 3), t(3, 1))],
)
row(
    F + "rrelu",
    lambda: [S(t(2, 3)), S(t(4), 0.1, 0.3), S(t(0))],
    lambda x, a=1 / 8, b=1 / 3: np.where(x > 0, x, x * (a + b) / 2),
    "f",
    errors=lambda: [E(ValueError, t(2), 0.5, 0.1)],
)


# ---- products ------------------------------------------------------------------------------------


def _plus(y: np.ndarray, b: Any) -> np.ndarray:
    return y if b is None else y + b


row(
    F + "linear",
    lambda: [
        S(t(2, 3), t(4, 3)),
        S(t(2, 3), t(4, 3), t(4)),
        S(t(3), t(2, 3), t(2)),
        S(t(2, 2, 3), t(1, 3), t(1)),
        S(t(2, 3), t(3)),
        S(t(0, 3), t(2, 3), t(2)),
        S(t(2, 0), t(3, 0), t(3)),
    ],
    lambda x, w, b=None: _plus(x @ w.T, b),
    "f",
    atol=5e-6,
    half=None,
    errors=lambda: [
        E(RuntimeError, t(2, 3), t(4, 2), match="linear|addmm|matmul"),
        E(RuntimeError, t(2, 3), t(2, 2, 3)),
    ],
)
row(
    F + "bilinear",
    lambda: [
        S(t(2, 3), t(2, 2), t(2, 3, 2)),
        S(t(1, 2), t(1, 2), t(1, 2, 2), t(1)),
        S(t(2), t(2), t(1, 2, 2)),
    ],
    lambda a, b, w, c=None: _plus(np.einsum("...n,anm,...m->...a", a, w, b), c),
    "f",
    atol=2e-5,
    half=None,
    errors=lambda: [E(RuntimeError, t(2, 3), t(3, 2), t(2, 3, 2))],
)


def _grouped(a: np.ndarray, b: np.ndarray, offs: Any = None) -> np.ndarray:
    if offs is None:
        return a @ b
    cuts = list(zip([0, *offs], offs))
    if a.ndim == b.ndim:
        return np.stack([a[:, i:j] @ b[i:j] for i, j in cuts])
    if a.ndim == 2:
        return np.concatenate([a[i:j] @ b[k] for k, (i, j) in enumerate(cuts)])
    return np.concatenate([a[k] @ b[:, i:j] for k, (i, j) in enumerate(cuts)], 1)


row(
    F + "grouped_mm",
    lambda: [
        S(t(2, 2, 3), t(2, 3, 2)),
        S(t(3, 2), t(2, 2, 2), offs=ix([1, 3])),
        S(t(2, 2, 3), t(3, 4), offs=ix([1, 4])),
        S(t(2, 3), t(3, 2), offs=ix([2, 3])),
    ],
    _grouped,
    "f",
    atol=5e-6,
    half=None,
    strided=False,
    errors=lambda: [E(RuntimeError, t(2, 3), t(3, 2)), E(RuntimeError, t(3), t(3, 2))],
)


# ---- norms ---------------------------------------------------------------------------------------


def _standard(x: np.ndarray, axes: Any, eps: float) -> np.ndarray:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def _col(w: Any, x: np.ndarray) -> Any:
    return w.reshape(1, -1, *[1] * (x.ndim - 2))


def _affine(y: np.ndarray, w: Any, b: Any) -> np.ndarray:
    y = y if w is None else y * _col(w, y)
    return y if b is None else y + _col(b, y)


def _batch_norm(
    x: Any,
    mean: Any,
    var: Any,
    w: Any = None,
    b: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> np.ndarray:
    if training:
        return _affine(_standard(x, (0, *range(2, x.ndim)), eps), w, b)
    return _affine((x - _col(mean, x)) / np.sqrt(_col(var, x) + eps), w, b)


def _p(*shape: int) -> np.ndarray:
    return abs(t(*shape)) + 0.5


LOOSE: dict[str, Any] = {"ulp": 32, "atol": 1e-5, "half": None}

row(
    F + "batch_norm",
    lambda: [
        S(t(3, 2), None, None, training=True),
        S(t(2, 2, 3), None, None, t(2), t(2), True, 0.1, 1e-3),
        S(t(2, 3), t(3), _p(3)),
        S(t(2, 2, 2), t(2), _p(2), t(2), t(2)),
    ],
    _batch_norm,
    "f",
    **LOOSE,
    grad=(0, 3, 4),
    errors=lambda: [
        E(ValueError, t(1, 3), None, None, training=True),
        E(RuntimeError, t(2, 3), None, None),
    ],
)
row(
    F + "instance_norm",
    lambda: [S(t(2, 2, 3)), S(t(1, 2, 2, 2), None, None, t(2), t(2))],
    lambda x, m=None, v=None, w=None, b=None: _affine(
        _standard(x, tuple(range(2, x.ndim)), 1e-5), w, b
    ),
    "f",
    **LOOSE,
    errors=lambda: [E(ValueError, t(2, 3, 1)), E(ValueError, t(2, 3, 4), t(3))],
)
row(
    F + "layer_norm",
    lambda: [
        S(t(2, 3), (3,)),
        S(t(2, 3), (3,), t(3), t(3)),
        S(t(2, 2, 3), (2, 3), None, None, 1e-3),
        S(t(0, 3), (3,)),
    ],
    lambda x, shape, w=None, b=None, eps=1e-5: _plus(
        _standard(x, tuple(range(x.ndim - len(shape), x.ndim)), eps) * (1 if w is None else w), b
    ),
    "f",
    **LOOSE,
    errors=lambda: [E(RuntimeError, t(2, 3), (2,)), E(RuntimeError, t(2, 3), ())],
)
row(
    F + "rms_norm",
    lambda: [
        S(t(2, 3), (3,), None, 1e-3),
        S(t(2, 3), (3,), t(3), 1e-3),
        S(t(2, 2, 3), (2, 3), t(2, 3), 1e-5),
    ],
    lambda x, shape, w=None, eps=0.0: (
        x
        / np.sqrt((x * x).mean(tuple(range(x.ndim - len(shape), x.ndim)), keepdims=True) + eps)
        * (1 if w is None else w)
    ),
    "f",
    **LOOSE,
    errors=lambda: [E(RuntimeError, t(2, 3), (2,))],
)
row(
    F + "group_norm",
    lambda: [S(t(2, 4), 2), S(t(1, 4, 3), 2, t(4), t(4)), S(t(2, 2, 2, 2), 1)],
    lambda x, g, w=None, b=None: _affine(
        _standard(x.reshape(len(x), g, -1), 2, 1e-5).reshape(x.shape), w, b
    ),
    "f",
    **LOOSE,
    errors=lambda: [E(RuntimeError, t(2, 3), 2)],
)


def _lrn(
    x: np.ndarray, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> np.ndarray:
    wide = np.pad(x * x, [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 2))
    mean = sum(wide[:, i : i + x.shape[1]] for i in range(size)) / size
    return x / (mean * alpha + k) ** beta


row(
    F + "local_response_norm",
    lambda: [S(t(1, 3, 2), 2, 0.5), S(t(2, 4, 1, 2), 3, 0.1, 0.5, 2.0)],
    _lrn,
    "f",
    **LOOSE,
    errors=lambda: [E(ValueError, t(2, 3), 2)],
)
row(
    F + "normalize",
    lambda: [S(t(2, 3)), S(t(2, 3), 1.0, 0), S(t(4), dim=0)],
    lambda x, p=2.0, dim=1: x / np.maximum((abs(x) ** p).sum(dim, keepdims=True) ** (1 / p), 1e-12),
    "f",
    **LOOSE,
    errors=lambda: [E(IndexError, t(2), match="")],
)


# ---- distances -----------------------------------------------------------------------------------


def _cosine(a: np.ndarray, b: np.ndarray, dim: int = 1, eps: float = 1e-8) -> np.ndarray:
    n = [np.maximum(np.sqrt((x * x).sum(dim)), eps) for x in np.broadcast_arrays(a, b)]
    return (a * b).sum(dim) / n[0] / n[1]


def _pdist(x: np.ndarray, p: float = 2.0) -> np.ndarray:
    i, j = np.triu_indices(len(x), 1)
    return (abs(x[i] - x[j]) ** p).sum(1) ** (1 / p)


row(
    F + "cosine_similarity",
    lambda: [S(t(2, 3), t(2, 3)), S(t(2, 3), t(1, 3)), S(t(4), t(4), dim=0)],
    _cosine,
    "f",
    **LOOSE,
    errors=lambda: [E(RuntimeError, t(2, 3), t(2, 4), match="")],
)
row(
    F + "pairwise_distance",
    lambda: [S(t(2, 3), t(2, 3)), S(t(3), t(3), 1.0), S(t(2, 3), t(2, 3), 3.0, 1e-6, True)],
    lambda a, b, p=2.0, eps=1e-6, keepdim=False: (
        (abs(a - b + eps) ** p).sum(-1, keepdims=keepdim) ** (1 / p)
    ),
    "f",
    **LOOSE,
)
row(
    F + "pdist",
    lambda: [S(t(3, 2)), S(t(4, 3), 1.0), S(t(1, 2))],
    _pdist,
    "f",
    **LOOSE,
    errors=lambda: [E(RuntimeError, t(3)), E(RuntimeError, t(3, 2), -1.0)],
)


# ---- embeddings ----------------------------------------------------------------------------------


def _bag(i: np.ndarray, w: np.ndarray, offsets: Any = None, mode: str = "mean") -> np.ndarray:
    rows = list(i) if i.ndim == 2 else np.split(i, offsets[1:])
    f = {"mean": np.mean, "sum": np.sum, "max": np.max}[mode]
    return np.stack([f(w[r], 0) if len(r) else np.zeros(w.shape[1]) for r in rows])


row(
    F + "embedding",
    lambda: [
        S(ints(2, 3, hi=4), t(4, 2)),
        S(ix(1), t(2, 2)),
        S(ints(0, hi=1), t(3, 2)),
        S(ints(3, hi=2), t(3, 1), 2),
    ],
    lambda i, w, pad=None: w[i],
    "f",
    grad=(1,),
    errors=lambda: [E(RuntimeError, t(2), t(3, 2)), E(RuntimeError, ints(2, hi=2), t(3))],
)
row(
    F + "embedding_bag",
    lambda: [
        S(ints(2, 3, hi=4), t(4, 2)),
        S(ints(4, hi=3), t(3, 2), ix([0, 1, 1])),
        S(ints(2, 2, hi=3), t(3, 2), mode="sum"),
        S(ints(4, hi=3), t(3, 2), ix([0, 3]), mode="max"),
    ],
    _bag,
    "f",
    **LOOSE,
    strided=False,
    grad=(1,),
    errors=lambda: [
        E(ValueError, ints(2, hi=2), t(3, 2)),
        E(ValueError, ints(2, 2, hi=2), t(3, 2), mode="last"),
    ],
)
row(
    F + "one_hot",
    lambda: [S(ix([0, 2, 1])), S(ix([[0], [1]]), 3), S(ix(1), 2)],
    lambda i, n=-1: np.eye(n if n > 0 else i.max() + 1, dtype=np.int64)[i],
    "i",
    grad=False,
    errors=lambda: [E(RuntimeError, ix([-1])), E(RuntimeError, ix([3]), 2)],
)


# ---- padding -------------------------------------------------------------------------------------


def _pad(x: np.ndarray, pad: Any, mode: str = "constant", value: float = 0.0) -> np.ndarray:
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + list(zip(pad[::2], pad[1::2]))[::-1]
    names = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode == "constant":
        return np.pad(x, widths, constant_values=value)
    return np.pad(x, widths, mode=names[mode])


row(
    F + "pad",
    lambda: [
        S(t(2, 3), (1, 2)),
        S(t(2, 3), (0, 1, 2, 0), "constant", 1.5),
        S(t(1, 3), (2, 1), "reflect"),
        S(t(1, 2, 3), (2, 1), "replicate"),
        S(t(1, 2, 3), (1, 2, 1, 0), "circular"),
        S(t(1, 2, 2, 2), (1, 1, 0, 1), "reflect"),
    ],
    _pad,
    "f",
    half=0,
    errors=lambda: [
        E(RuntimeError, t(2), (1,)),
        E(RuntimeError, t(1, 3), (3, 0), "reflect"),
        E(NotImplementedError, t(1, 3), (1, 0), "other", match="mode"),
    ],
)


# ---- random --------------------------------------------------------------------------------------


def _drop(name: str, shapes: Any, stat: Any, tail: Any = (0.5,)) -> None:
    row(
        F + name,
        lambda: [S(np.ones(s), *tail) for s in shapes],
        lambda x, *a, **k: np.empty_like(x),
        "f",
        stat=stat,
        values=False,
        half=None,
        grad=False,
        errors=lambda: [E(ValueError, t(*shapes[-1]), 1.5)],
    )


def _features(x: np.ndarray, *args: Any, **kw: Any) -> None:
    flat = x.reshape(*x.shape[:2], -1)
    assert ((flat == 0).all(2) | (flat == 2).all(2)).all()


_drop("dropout", [(N,), (2, 3)], moments(1, 1, 0, 2))
_drop("dropout1d", [(20, 30, 3), (2, 3, 2)], _features)
_drop("dropout2d", [(20, 30, 2, 2), (2, 3, 2, 2)], _features)
_drop("dropout3d", [(20, 30, 2, 1, 2), (2, 3, 2, 1, 1)], _features)
_low, _a = -1.7580993408473766, (0.5 * (1 + 0.5 * 1.7580993408473766**2)) ** -0.5
_drop(
    "alpha_dropout",
    [(N,), (2, 3)],
    moments(_a * (1 + _low) / 2 - _a * 0.5 * _low, _a * (1 - _low) / 2),
    (0.5, True),
)
_drop(
    "feature_alpha_dropout",
    [(20, 30, 3), (2, 3, 2)],
    lambda x, *a, **k: _same_features(x),
    (0.5, True),
)


def _same_features(x: np.ndarray) -> None:
    assert (x == x[:, :, :1]).all() and len(np.unique(x)) == 2


def _one_hot_draw(x: np.ndarray, *args: Any, **kw: Any) -> None:
    assert np.allclose(x.sum(-1), 1, atol=1e-3) and (x >= 0).all()


row(
    F + "gumbel_softmax",
    lambda: [S(t(20, 5)), S(t(3, 4), 0.5, True)],
    lambda x, *a: np.empty_like(x),
    "f",
    stat=_one_hot_draw,
    values=False,
    half=None,
    grad=False,
)
