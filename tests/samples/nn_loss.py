"""Rows of weft.nn.functional: losses."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from samples import E, S, ints, ix, row, t
from samples.nn import softmax

F = "nn.functional."
LOOSE: dict[str, Any] = {"ulp": 32, "atol": 1e-5, "half": None}


def reduced(y: np.ndarray, reduction: str) -> np.ndarray:
    """The mean, the sum, or all of it."""
    return {"mean": np.mean, "sum": np.sum, "none": lambda v: v}[reduction](y)


def loss(name: str, f: Any, make: Any, errors: Any = list, **more: Any) -> None:
    """A loss of every element, and its reductions."""

    def samples() -> list[S]:
        first = make()
        kinds = [S(*s.args, **s.kwargs, reduction=r) for s in first[:1] for r in ("sum", "none")]
        return first + kinds

    def twin(*args: Any, reduction: str = "mean", **kw: Any) -> Any:
        return reduced(f(*args, **kw), reduction)

    row(F + name, samples, twin, "f", **{**LOOSE, "errors": errors, **more})


def _pair(*shape: int) -> S:
    return S(t(*shape), t(*shape))


def _two(*more: dict[str, Any]) -> Any:
    return lambda: [_pair(2, 3), _pair(4), _pair(), *(S(t(2, 2), t(2, 2), **m) for m in more)]


def share(*shape: int) -> np.ndarray:
    """Values between 0 and 1."""
    return t(*shape, lo=0.1, hi=0.9)


def sign(*shape: int) -> np.ndarray:
    """Ones of both signs; they have no derivative to check."""
    return np.where(t(*shape) > 0, 1.0, -1.0)


def log_sigmoid(x: np.ndarray) -> np.ndarray:
    """log(1 / (1 + exp(-x)))."""
    return -np.logaddexp(0, -x)


loss("l1_loss", lambda x, y: abs(x - y), _two())
loss("mse_loss", lambda x, y: (x - y) ** 2, _two())
loss(
    "smooth_l1_loss",
    lambda x, y, beta=1.0: np.where(
        abs(x - y) < beta, (x - y) ** 2 / (2 * beta), abs(x - y) - beta / 2
    ),
    _two({"beta": 0.7}),
    lambda: [E(RuntimeError, t(2), t(2), beta=-1.0)],
)
loss(
    "huber_loss",
    lambda x, y, delta=1.0: np.where(
        abs(x - y) <= delta, (x - y) ** 2 / 2, delta * (abs(x - y) - delta / 2)
    ),
    _two({"delta": 0.7}),
    lambda: [E(RuntimeError, t(2), t(2), delta=0.0)],
)
loss(
    "binary_cross_entropy",
    lambda x, y, w=1.0: -w * (y * np.log(x) + (1 - y) * np.log(1 - x)),
    lambda: [S(share(2, 3), share(2, 3)), S(share(3), share(3), share(3)), S(share(), share())],
    lambda: [E(ValueError, share(2), share(3)), E(RuntimeError, share(2) + 1, share(2))],
)
loss(
    "binary_cross_entropy_with_logits",
    lambda x, y, w=1.0, pos_weight=1.0: (
        -w * (pos_weight * y * log_sigmoid(x) + (1 - y) * log_sigmoid(-x))
    ),
    lambda: [
        S(t(2, 3), share(2, 3)),
        S(t(3), share(3), share(3)),
        S(t(2, 2), share(2, 2), pos_weight=share(2)),
    ],
    lambda: [E(ValueError, t(2), t(3))],
)
loss(
    "kl_div",
    lambda x, y, log_target=False: np.exp(y) * (y - x) if log_target else y * np.log(y) - y * x,
    lambda: [S(t(2, 3), share(2, 3)), S(t(4), t(4), log_target=True)],
)
loss(
    "poisson_nll_loss",
    lambda x, y, log_input=True: np.exp(x) - y * x if log_input else x - y * np.log(x + 1e-8),
    lambda: [S(t(2, 3), share(2, 3)), S(share(3), share(3), False)],
)
loss(
    "gaussian_nll_loss",
    lambda x, y, v: (np.log(v) + (x - y) ** 2 / v) / 2,
    lambda: [S(t(2, 3), t(2, 3), share(2, 3)), S(t(2, 2), t(2, 2), share(2, 1))],
    lambda: [E(ValueError, t(2), t(2), -share(2))],
)
loss(
    "hinge_embedding_loss",
    lambda x, y, margin=1.0: np.where(y == 1, x, np.maximum(0, margin - x)),
    lambda: [S(t(2, 3), sign(2, 3)), S(t(4), sign(4), 0.7)],
    grad=(0,),
)
loss(
    "margin_ranking_loss",
    lambda a, b, y, margin=0.0: np.maximum(0, margin - y * (a - b)),
    lambda: [S(t(3), t(3), sign(3)), S(t(2, 2), t(2, 2), sign(2, 2), 0.3)],
    lambda: [E(RuntimeError, t(3), t(3), sign(3, 1))],
    grad=(0, 1),
)
loss(
    "soft_margin_loss",
    lambda x, y: np.log1p(np.exp(-y * x)),
    lambda: [S(t(2, 3), sign(2, 3)), S(t(4), sign(4))],
)
loss(
    "cosine_embedding_loss",
    lambda a, b, y, margin=0.0: (lambda c: np.where(y == 1, 1 - c, np.maximum(0, c - margin)))(
        (a * b).sum(-1) / np.sqrt(((a * a).sum(-1) + 1e-12) * ((b * b).sum(-1) + 1e-12))
    ),
    lambda: [S(t(2, 3), t(2, 3), sign(2)), S(t(3), t(3), sign())],
    lambda: [E(RuntimeError, t(2, 3), t(2, 3), sign(2, 3))],
    grad=(0, 1),
)


def _d(a: np.ndarray, b: np.ndarray, p: float = 2.0) -> np.ndarray:
    return (abs(a - b + 1e-6) ** p).sum(-1) ** (1 / p)


loss(
    "triplet_margin_loss",
    lambda a, b, c, margin=1.0, p=2.0: np.maximum(0, margin + _d(a, b, p) - _d(a, c, p)),
    lambda: [S(t(2, 3), t(2, 3), t(2, 3)), S(t(3), t(3), t(3), 2.5, 3.0)],
    lambda: [E(RuntimeError, t(2, 3), t(2, 3), t(3))],
)
loss(
    "triplet_margin_with_distance_loss",
    lambda a, b, c, margin=1.0: np.maximum(0, margin + _d(a, b) - _d(a, c)),
    lambda: [S(t(2, 3), t(2, 3), t(2, 3)), S(t(2, 2), t(2, 2), t(2, 2), margin=2.5)],
    lambda: [E(ValueError, t(2, 3), t(2, 3), t(2, 3), margin=-1.0)],
)


# ---- classes -------------------------------------------------------------------------------------


def _nll(
    logs: Any, y: Any, w: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    d = 0 if logs.ndim == 1 else 1
    kept = y != ignore_index
    safe = np.where(kept, y, 0)
    shares = np.where(kept, 1.0 if w is None else w[safe], 0.0)
    out = -np.take_along_axis(logs, np.expand_dims(safe, d), d).squeeze(d) * shares
    return out.sum() / shares.sum() if reduction == "mean" else reduced(out, reduction)


def _cross_entropy(
    x: Any, y: Any, w: Any = None, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    d = 0 if x.ndim == 1 else 1
    logs = np.log(softmax(x, d))
    if y.shape == x.shape and y.dtype.kind == "f":
        out = -(logs * y).sum(d)
        return out.mean() if reduction == "mean" else reduced(out, reduction)
    even = -logs.mean(d)
    if label_smoothing:
        return (1 - label_smoothing) * _nll(logs, y, w) + label_smoothing * even.mean()
    return _nll(logs, y, w, reduction=reduction)


def _classes(*more: Any) -> Any:
    return lambda: [
        S(t(2, 3), ints(2, hi=3)),
        S(t(3), ints(hi=3)),
        S(t(2, 3, 2), ints(2, 2, hi=3)),
        S(t(2, 3), ints(2, hi=3), share(3)),
        S(t(2, 3), ints(2, hi=3), reduction="none"),
        S(t(2, 3), ints(2, hi=3), reduction="sum"),
        *(m() for m in more),
    ]


def _bad_classes() -> list[E]:
    return [
        E(ValueError, t(2, 3), ints(3, hi=3)),
        E(RuntimeError, t(2, 3), ints(2, hi=3), share(2)),
    ]


row(
    F + "nll_loss",
    _classes(lambda: S(t(3, 2), ix([0, 1, 0]), ignore_index=1)),
    _nll,
    "f",
    **LOOSE,
    grad=(0,),
    errors=_bad_classes,
)
row(
    F + "cross_entropy",
    _classes(
        lambda: S(t(2, 3), share(2, 3)), lambda: S(t(2, 3), ints(2, hi=3), label_smoothing=0.2)
    ),
    _cross_entropy,
    "f",
    **LOOSE,
    grad=(0,),
    errors=_bad_classes,
)
row(
    F + "linear_cross_entropy",
    lambda: [S(t(2, 3), t(2, 3), ints(2, hi=2)), S(t(3), t(2, 3), ints(hi=2), reduction="sum")],
    lambda x, w, y, reduction="mean": _cross_entropy(x @ w.T, y, None, reduction),
    "f",
    **LOOSE,
    grad=(0, 1),
)


def _multi_margin(x: Any, y: Any, p: int = 1, margin: float = 1.0) -> Any:
    x, y = np.atleast_2d(x), np.atleast_1d(y)
    z = np.maximum(0, margin - np.take_along_axis(x, y[:, None], 1) + x) ** p
    z[np.arange(len(y)), y] = 0
    return (z.sum(1) / x.shape[1]).mean()


def _multilabel_margin(x: Any, y: Any) -> Any:
    total = []
    for row_, labels in zip(np.atleast_2d(x), np.atleast_2d(y)):
        chosen = list(itertools.takewhile(lambda v: v >= 0, labels))
        others = [i for i in range(len(row_)) if i not in chosen]
        total.append(sum(max(0, 1 - row_[j] + row_[i]) for j in chosen for i in others) / len(row_))
    return np.mean(total)


row(
    F + "multi_margin_loss",
    lambda: [S(t(2, 3), ints(2, hi=3)), S(t(3), ints(hi=3), 2, 0.7)],
    _multi_margin,
    "f",
    **LOOSE,
    errors=lambda: [
        E(ValueError, t(2, 3), ints(2, hi=3), 3),
        E(RuntimeError, t(2, 3), ints(3, hi=3)),
    ],
)
row(
    F + "multilabel_margin_loss",
    lambda: [S(t(2, 3), ix([[0, -1, 1], [2, 1, -1]])), S(t(3), ix([1, -1, -1]))],
    _multilabel_margin,
    "f",
    **LOOSE,
    strided=False,
    errors=lambda: [E(RuntimeError, t(2, 3), ix([0, 1]))],
)
loss(
    "multilabel_soft_margin_loss",
    lambda x, y, w=1.0: (
        -(w * (y * log_sigmoid(x) + (1 - y) * log_sigmoid(-x))).sum(x.ndim - 1) / x.shape[-1]
    ),
    lambda: [
        S(t(2, 3), share(2, 3)),
        S(t(2, 2), share(2, 2), share(2)),
        S(t(3), share(2, 3)),
        S(t(2, 3), share(3)),
        S(t(2, 3), share(2, 2, 3)),
    ],
)


# ---- sequences -----------------------------------------------------------------------------------


def _ctc(logs: Any, y: Any, frames: Any, counts: Any) -> Any:
    """Minus the log of the sum over all alignments, one by one."""
    out = []
    for n, (time, count) in enumerate(zip(frames, counts)):
        total = 0.0
        for path in itertools.product(range(logs.shape[2]), repeat=int(time)):
            labels = [k for k, _ in itertools.groupby(path) if k != 0]
            if labels == list(y[n, :count]):
                total += np.exp(sum(logs[i, n, c] for i, c in enumerate(path)))
        out.append(-np.log(total) / max(count, 1))
    return np.mean(out)


def _normed(x: Any) -> Any:
    return x.log_softmax(-1)


row(
    F + "ctc_loss",
    lambda: [
        S(np.log(softmax(t(3, 1, 3), 2)), ix([[1, 2]]), ix([3]), ix([2])),
        S(np.log(softmax(t(4, 2, 3), 2)), ix([[1, 1], [2, 0]]), ix([4, 3]), ix([2, 1])),
    ],
    _ctc,
    "f",
    **LOOSE,
    grad=(0,),
    prep=_normed,
    strided=False,
    errors=lambda: [E(RuntimeError, t(3, 1, 3), ix([[1]]), ix([4]), ix([1]))],
)
