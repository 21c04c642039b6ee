"""Rows of weft.nn.functional: convolutions, pooling, folding, images in other sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from samples import E, K, S, ix, perm, row, t

F = "nn.functional."
LOOSE: dict[str, Any] = {"ulp": 32, "atol": 2e-5, "half": None}


def many(v: Any, n: int) -> tuple[Any, ...]:
    """One number for all dims, or one for each."""
    return tuple(v) if isinstance(v, (list, tuple)) else (v,) * n


def windows(
    x: np.ndarray, kernel: Any, stride: Any, dilation: Any
) -> Iterator[tuple[Any, np.ndarray]]:
    """Each place of a window, and what it sees of the last dims."""
    n = len(kernel)
    count = [
        (s - d * (k - 1) - 1) // st + 1
        for s, k, st, d in zip(x.shape[-n:], kernel, stride, dilation)
    ]
    for at in itertools.product(*map(range, count)):
        cut = [
            slice(a * st, a * st + d * (k - 1) + 1, d)
            for a, k, st, d in zip(at, kernel, stride, dilation)
        ]
        yield at, x[(..., *cut)]


def padded(x: np.ndarray, before: Any, after: Any, value: float = 0.0) -> np.ndarray:
    """x with more elements around its last dims."""
    widths = [(0, 0)] * (x.ndim - len(before)) + list(zip(before, after))
    return np.pad(x, widths, constant_values=value)


def conv(n: int) -> Any:
    """A convolution, window by window."""

    def twin(
        x: Any,
        w: Any,
        b: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        stride, dilation, kernel = many(stride, n), many(dilation, n), w.shape[2:]
        if padding == "same":
            total = [d * (k - 1) for d, k in zip(dilation, kernel)]
            before, after = [v // 2 for v in total], [v - v // 2 for v in total]
        else:
            before = after = many(0 if padding == "valid" else padding, n)
        one = x.ndim == n + 1
        x = padded(x[None] if one else x, before, after)
        found = list(windows(x, kernel, stride, dilation))
        y = np.zeros((len(x), len(w), *np.add(found[-1][0], 1)))
        for g in range(groups):
            o, c = len(w) // groups, x.shape[1] // groups
            for at, part in found:
                y[(slice(None), slice(g * o, (g + 1) * o), *at)] = np.einsum(
                    "ncs,ocs->no",
                    part[:, g * c : (g + 1) * c].reshape(len(x), c, math.prod(kernel)),
                    w[g * o : (g + 1) * o].reshape(o, c, -1),
                )
        y = y if b is None else y + b.reshape(-1, *[1] * n)
        return y[0] if one else y

    return twin


def conv_transpose(n: int) -> Any:
    """A transposed convolution, element by element."""

    def twin(
        x: Any,
        w: Any,
        b: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        stride, padding, extra, dilation = (
            many(v, n) for v in (stride, padding, output_padding, dilation)
        )
        one = x.ndim == n + 1
        x = x[None] if one else x
        kernel, c, o = w.shape[2:], x.shape[1] // groups, w.shape[1]
        size = [
            (s - 1) * st + d * (k - 1) + 1 + e
            for s, st, d, k, e in zip(x.shape[2:], stride, dilation, kernel, extra)
        ]
        y = np.zeros((len(x), o * groups, *size))
        for at in itertools.product(*map(range, x.shape[2:])):
            cut = [
                slice(a * st, a * st + d * (k - 1) + 1, d)
                for a, st, d, k in zip(at, stride, dilation, kernel)
            ]
            for g in range(groups):
                v = x[(slice(None), slice(g * c, (g + 1) * c), *at)]
                part = np.tensordot(v, w[g * c : (g + 1) * c], 1)
                y[(slice(None), slice(g * o, (g + 1) * o), *cut)] += part
        y = y[(..., *[slice(p, s - p) for p, s in zip(padding, size)])]
        y = y if b is None else y + b.reshape(-1, *[1] * n)
        return y[0] if one else y

    return twin


def _w(n: int, *lead: int, k: int = 2) -> np.ndarray:
    return t(*lead, *(k,) * n)


for _n in (1, 2, 3):
    row(
        F + f"conv{_n}d",
        lambda n=_n: [
            S(t(1, 1, *(3,) * n), _w(n, 1, 1)),
            S(t(1, 2, *(2,) * n), _w(n, 2, 1, k=1), t(2), 1, 0, 1, 2),
            S(t(2, 2, *(5,) * n), _w(n, 4, 2), t(4), 2, 1, 2),
            S(t(2, *(4,) * n), _w(n, 2, 1, k=3), None, 1, "same", 1, 2),
            S(t(0, 1, *(3,) * n), _w(n, 1, 1)),
            S(t(1, 1, *(4,) * n), _w(n, 1, 1), padding="valid"),
        ],
        conv(_n),
        "f",
        **LOOSE,
        errors=lambda n=_n: [
            E(RuntimeError, t(1, 2, *(3,) * n), _w(n, 1, 1)),
            E(RuntimeError, t(1, 1, *(1,) * n), _w(n, 1, 1)),
            E(RuntimeError, t(3), _w(n, 1, 1)),
            E(RuntimeError, t(1, 1, *(3,) * n), _w(n, 1, 1), None, 0),
        ],
        big=lambda n=_n: [
            S(t(4, 6, *((400,), (30, 30), (9, 9, 9))[n - 1]), _w(n, 8, 6, k=3), t(8))
        ],
    )
    row(
        F + f"conv_transpose{_n}d",
        lambda n=_n: [
            S(t(1, 1, *(2,) * n), _w(n, 1, 1)),
            S(t(1, 2, *(2,) * n), _w(n, 2, 1, k=1), t(2), 1, 0, 0, 2),
            S(t(2, 2, *(3,) * n), _w(n, 2, 2, k=3), t(4), 2, 1, 1, 2, 1),
            S(t(1, *(3,) * n), _w(n, 1, 2), None, 2, 0, 1, 1, 2),
        ],
        conv_transpose(_n),
        "f",
        **LOOSE,
        errors=lambda n=_n: [
            E(RuntimeError, t(1, 2, *(3,) * n), _w(n, 1, 1)),
            E(RuntimeError, t(1, 1, *(3,) * n), _w(n, 1, 1), None, 1, 0, 2),
        ],
    )


def _tbc(x: Any, w: Any, b: Any, pad: int = 0) -> Any:
    return conv(1)(x.transpose(1, 2, 0), w.transpose(2, 1, 0), b, 1, pad).transpose(2, 0, 1)


row(
    F + "conv_tbc",
    lambda: [S(t(3, 2, 1), t(2, 1, 2), t(2)), S(t(3, 1, 2), t(3, 2, 1), t(1), 1)],
    _tbc,
    "f",
    **LOOSE,
)


# ---- pooling -------------------------------------------------------------------------------------


def pool(n: int, f: Any, value: float) -> Any:
    """f of every window."""

    def twin(x: Any, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Any:
        kernel, padding, dilation = many(kernel, n), many(padding, n), many(dilation, n)
        stride = kernel if stride is None else many(stride, n)
        found = list(windows(padded(x, padding, padding, value), kernel, stride, dilation))
        y = np.zeros((*x.shape[:-n], *np.add(found[-1][0], 1)))
        for at, part in found:
            y[(..., *at)] = f(part.reshape(*part.shape[:-n], math.prod(part.shape[-n:])), -1)
        return y

    return twin


def adaptive(n: int, f: Any) -> Any:
    """f of windows as equal as can be."""

    def twin(x: Any, out: Any) -> Any:
        sizes = [s if o is None else o for o, s in zip(many(out, n), x.shape[-n:])]
        y = np.zeros((*x.shape[:-n], *sizes))
        for at in itertools.product(*map(range, sizes)):
            cut = [
                slice(a * s // o, -(-(a + 1) * s // o)) for a, s, o in zip(at, x.shape[-n:], sizes)
            ]
            part = x[(..., *cut)]
            y[(..., *at)] = f(part.reshape(*part.shape[:-n], math.prod(part.shape[-n:])), -1)
        return y

    return twin


def lp(n: int) -> Any:
    """The p-norm of every window."""
    return lambda x, p, kernel, stride=None: pool(n, lambda v, d: (v**p).sum(d) ** (1 / p), 0)(
        x, kernel, stride
    )


for _n in (1, 2, 3):
    row(
        F + f"max_pool{_n}d",
        lambda n=_n: [
            S(perm(1, *(3,) * n), 2),
            S(perm(2, 2, *(4,) * n), 3, 1, 1),
            S(perm(1, 1, *(5,) * n), 2, 2, 0, 2),
            S(perm(0, 1, *(2,) * n), 2),
        ],
        pool(_n, np.max, -np.inf),
        "f",
        half=0,
        strided=False,
        errors=lambda n=_n: [
            E(RuntimeError, t(1, *(1,) * n), 2),
            E(RuntimeError, t(1, *(3,) * n), 2, 0),
            E(RuntimeError, t(1, *(3,) * n), 2, 1, 2),
        ],
        big=lambda n=_n: [S(t(4, 6, *((400,), (30, 30), (9, 9, 9))[n - 1]), 3, 2)],
    )
    row(
        F + f"avg_pool{_n}d",
        lambda n=_n: [
            S(t(1, *(3,) * n), 2),
            S(t(2, 2, *(4,) * n), 3, 1, 1),
            S(t(1, 1, *(5,) * n), 2, 3),
            S(t(0, 1, *(2,) * n), 2),
        ],
        pool(_n, np.mean, 0),
        "f",
        **LOOSE,
        errors=lambda n=_n: [
            E(RuntimeError, t(1, *(1,) * n), 2),
            E(RuntimeError, t(1, *(3,) * n), 2, 1, 2),
        ],
    )
    row(
        F + f"lp_pool{_n}d",
        lambda n=_n: [
            S(abs(t(1, *(3,) * n)) + 0.1, 2, 2),
            S(abs(t(1, 2, *(4,) * n)) + 0.1, 3.0, 2, 1),
        ],
        lp(_n),
        "f",
        **LOOSE,
    )
    row(
        F + f"adaptive_avg_pool{_n}d",
        lambda n=_n: [S(t(1, *(3,) * n), 2), S(t(2, 2, *(4,) * n), 2), S(t(1, 1, *(5,) * n), 3)],
        adaptive(_n, np.mean),
        "f",
        **LOOSE,
        errors=lambda n=_n: [E(RuntimeError, t(3), 2), E(RuntimeError, t(1, *(3,) * n), -1)],
    )
    row(
        F + f"adaptive_max_pool{_n}d",
        lambda n=_n: [
            S(perm(1, *(3,) * n), 2),
            S(perm(2, 2, *(4,) * n), 2),
            S(perm(1, 1, *(5,) * n), 3),
            S(perm(2, 36, *(2,) * (n - 1)), 1),
        ],
        adaptive(_n, np.max),
        "f",
        half=0,
        strided=False,
        errors=lambda n=_n: [E(RuntimeError, t(3), 2)],
    )
    row(
        F + f"max_unpool{_n}d",
        lambda n=_n: [
            S(t(1, *(1,) * n), ix(np.ones((1, *(1,) * n))), 2),
            S(t(1, 1, 2, *(1,) * (n - 1)), ix([0, 2]).reshape(1, 1, 2, *(1,) * (n - 1)), 2),
        ],
        lambda x, at, k, n=_n: _unpool(x, at, k, n),
        "f",
        grad=(0,),
        strided=False,
        errors=lambda n=_n: [E(RuntimeError, t(1, *(1,) * n), ix(np.full((1, *(1,) * n), 99)), 2)],
    )


def _unpool(x: np.ndarray, at: np.ndarray, k: int, n: int) -> np.ndarray:
    sizes = [s * k for s in x.shape[-n:]]
    y = np.zeros((int(np.prod(x.shape[:-n])), int(np.prod(sizes))))
    np.put_along_axis(y, at.reshape(len(y), -1), x.reshape(len(y), -1), 1)
    return y.reshape(*x.shape[:-n], *sizes)


def _from_input(y: np.ndarray, x: np.ndarray, *args: Any, **kw: Any) -> None:
    assert np.isin(y, np.asarray(x, y.dtype)).all()


for _n in (2, 3):
    row(
        F + f"fractional_max_pool{_n}d",
        lambda n=_n: [S(perm(2, 2, *(5,) * n), 2, 3), S(perm(1, *(6,) * n), 2, None, (0.5,) * n)],
        lambda x, k, out=None, ratio=None, n=_n: np.empty(
            (*x.shape[:-n], *[out or int(s * ratio[0]) for s in x.shape[-n:]])
        ),
        "f",
        values=False,
        stat=_from_input,
        half=None,
        grad=False,
        strided=False,
        errors=lambda n=_n: [
            E(ValueError, t(1, *(3,) * n), 2),
            E(RuntimeError, t(1, *(3,) * n), 4, 2),
        ],
    )


# ---- space, channels, columns --------------------------------------------------------------------


def _unfold(x: Any, kernel: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    kernel, dilation, padding, stride = (many(v, 2) for v in (kernel, dilation, padding, stride))
    x = padded(x, padding, padding)
    return np.stack(
        [p.reshape(*p.shape[:-3], -1) for _, p in windows(x, kernel, stride, dilation)], -1
    )


def _fold(
    x: Any, size: Any, kernel: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    kernel, dilation, padding, stride = (many(v, 2) for v in (kernel, dilation, padding, stride))
    c = x.shape[-2] // (kernel[0] * kernel[1])
    y = np.zeros((*x.shape[:-2], c, *np.add(many(size, 2), np.multiply(2, padding))))
    for i, (_, part) in enumerate(windows(y, kernel, stride, dilation)):
        part += x[..., i].reshape(part.shape)
    return y[..., padding[0] : y.shape[-2] - padding[0], padding[1] : y.shape[-1] - padding[1]]


row(
    F + "unfold",
    lambda: [S(t(1, 1, 3, 3), 2), S(t(2, 2, 4, 4), (2, 3), 1, 1, 2), S(t(1, 3, 3), 2, 2)],
    _unfold,
    "f",
    errors=lambda: [E(RuntimeError, t(3, 3), 2), E(RuntimeError, t(1, 1, 2, 2), 3)],
)
row(
    F + "fold",
    lambda: [S(t(1, 4, 4), 3, 2), S(t(2, 12, 6), (4, 4), (2, 3), 1, 1, (2, 3)), S(t(4, 4), 3, 2)],
    _fold,
    "f",
    **LOOSE,
    errors=lambda: [E(RuntimeError, t(1, 3, 4), 3, 2), E(RuntimeError, t(1, 4, 5), 3, 2)],
)


def _shuffle(x: np.ndarray, r: int) -> np.ndarray:
    *b, c, h, w = x.shape
    y = np.moveaxis(x.reshape(*b, c // r**2, r, r, h, w), (-4, -3), (-3, -1))
    return y.reshape(*b, c // r**2, h * r, w * r)


def _unshuffle(x: np.ndarray, r: int) -> np.ndarray:
    *b, c, h, w = x.shape
    y = np.moveaxis(x.reshape(*b, c, h // r, r, w // r, r), (-3, -1), (-4, -3))
    return y.reshape(*b, c * r * r, h // r, w // r)


row(
    F + "pixel_shuffle",
    lambda: [S(t(4, 2, 1), 2), S(t(2, 9, 1, 2), 3)],
    _shuffle,
    errors=lambda: [E(RuntimeError, t(3, 1, 1), 2), E(RuntimeError, t(4, 4), 2)],
)
row(
    F + "pixel_unshuffle",
    lambda: [S(t(1, 2, 4), 2), S(t(2, 1, 3, 6), 3)],
    _unshuffle,
    errors=lambda: [E(RuntimeError, t(1, 3, 2), 2)],
)
row(
    F + "channel_shuffle",
    lambda: [S(t(1, 4, 2), 2), S(t(2, 6, 1, 2), 3)],
    lambda x, g: x.reshape(len(x), g, -1, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape),
    "f",
    errors=lambda: [E(RuntimeError, t(1, 3, 1), 2)],
)


# ---- other sizes ---------------------------------------------------------------------------------


def _taps(size: int, out: int, mode: str, corners: bool) -> np.ndarray:
    """The matrix that resizes a line."""
    m = np.zeros((out, size))
    for i in range(out):
        if mode == "nearest":
            m[i, min(int(i * size / out), size - 1)] = 1
            continue
        at = i * (size - 1) / max(out - 1, 1) if corners else (i + 0.5) * size / out - 0.5
        at = max(at, 0) if mode == "linear" else at
        low = int(np.floor(at))
        for k in range(-1, 3):
            d = abs(at - low - k)
            if mode == "linear":
                w = max(1 - d, 0)
            else:
                w = (
                    (1.25 * d - 2.25) * d * d + 1
                    if d <= 1
                    else ((-0.75 * d + 3.75) * d - 6) * d + 3
                )
            m[i, min(max(low + k, 0), size - 1)] += w
    return m


def interpolate(
    x: Any, size: Any = None, scale: Any = None, mode: str = "nearest", corners: Any = None
) -> Any:
    """One matrix along each dim."""
    n = x.ndim - 2
    sizes = many(size, n) if size else [int(s * f) for s, f in zip(x.shape[2:], many(scale, n))]
    kind = {"nearest": "nearest", "bicubic": "cubic"}.get(mode, "linear")
    for d, out in enumerate(sizes, 2):
        x = np.moveaxis(
            np.moveaxis(x, d, -1) @ _taps(x.shape[d], out, kind, bool(corners)).T, -1, d
        )
    return x


row(
    F + "interpolate",
    lambda: [
        S(t(1, 1, 3), 5),
        S(t(1, 2, 2, 3), None, 2.0),
        S(t(1, 1, 3), 5, None, "linear"),
        S(t(1, 1, 2, 3), (3, 2), None, "bilinear", True),
        S(t(1, 1, 3, 2), (4, 5), None, "bicubic"),
        S(t(1, 1, 2, 2, 2), 3, None, "trilinear"),
    ],
    interpolate,
    "f",
    **LOOSE,
    errors=lambda: [
        E(ValueError, t(1, 1, 3)),
        E(ValueError, t(1, 1, 3), 5, None, "nearest", True),
        E(NotImplementedError, t(1, 1, 3), 5, None, "bilinear", match="mode"),
    ],
)
row(
    F + "upsample",
    lambda: [S(t(1, 1, 3), 5), S(t(1, 1, 3), 5, None, "linear")],
    interpolate,
    "f",
    warns="deprecated",
    **LOOSE,
)
row(
    F + "upsample_nearest",
    lambda: [S(t(1, 1, 3), 5), S(t(1, 1, 2, 2), None, 2)],
    interpolate,
    "f",
    warns="deprecated",
    **LOOSE,
)
row(
    F + "upsample_bilinear",
    lambda: [S(t(1, 1, 2, 3), (3, 4))],
    lambda x, size=None, scale=None: interpolate(x, size, scale, "bilinear", True),
    "f",
    warns="deprecated",
    **LOOSE,
)


def _grid_sample(
    x: Any, grid: Any, mode: str = "bilinear", padding: str = "zeros", corners: Any = None
) -> Any:
    n, c, h, w = x.shape
    y = np.zeros((n, c, *grid.shape[1:3]))

    def inside(v: float, size: int) -> float:
        return min(max(v, 0), size - 1) if padding == "border" else v

    def pick(b: int, i: int, j: int) -> Any:
        return x[b, :, i, j] if 0 <= i < h and 0 <= j < w else np.zeros(c)

    for b, p, q in itertools.product(range(n), *map(range, grid.shape[1:3])):
        g = [
            (v + 1) / 2 * (s - 1) if corners else ((v + 1) * s - 1) / 2
            for v, s in zip(grid[b, p, q], (w, h))
        ]
        gx, gy = inside(g[0], w), inside(g[1], h)
        if mode == "nearest":
            y[b, :, p, q] = pick(b, int(np.rint(gy)), int(np.rint(gx)))
            continue
        i, j = int(np.floor(gy)), int(np.floor(gx))
        for di, dj in itertools.product((0, 1), (0, 1)):
            y[b, :, p, q] += (
                pick(b, i + di, j + dj) * (1 - abs(gy - i - di)) * (1 - abs(gx - j - dj))
            )
    return y


def _g(*shape: int) -> np.ndarray:
    return t(*shape, lo=-0.9, hi=0.9) * 0.97 + 0.013


row(
    F + "grid_sample",
    lambda: [
        S(t(1, 1, 2, 3), _g(1, 2, 1, 2), align_corners=True),
        S(t(1, 2, 3, 2), _g(1, 1, 2, 2), "bilinear", "zeros", False),
        S(t(1, 1, 3, 3), _g(1, 2, 2, 2) * 1.5, "bilinear", "border", False),
        K(t(2, 1, 3, 3), _g(2, 2, 2, 2), "nearest", "zeros", True),
    ],
    lambda x, g, mode="bilinear", padding="zeros", align_corners=None: _grid_sample(
        x, g, mode, padding, align_corners
    ),
    "f",
    **LOOSE,
    errors=lambda: [
        E(ValueError, t(1, 1, 2, 2), t(1, 1, 1, 2), "other"),
        E(RuntimeError, t(1, 1, 2, 2), t(2, 1, 1, 2)),
    ],
)


def _affine_grid(theta: Any, size: Any, corners: Any = None) -> Any:
    lines = [
        np.linspace(-1, 1, s) * (1 if corners else (s - 1) / s) if s > 1 else np.zeros(1)
        for s in size[2:]
    ]
    mesh = np.meshgrid(*lines, indexing="ij")[::-1]
    return np.einsum("...k,nik->n...i", np.stack([*mesh, np.ones_like(mesh[0])], -1), theta)


row(
    F + "affine_grid",
    lambda: [
        S(t(1, 2, 3), (1, 1, 2, 3)),
        S(t(2, 2, 3), (2, 1, 2, 2), True),
        S(t(1, 3, 4), (1, 1, 2, 1, 2)),
    ],
    _affine_grid,
    "f",
    **LOOSE,
    errors=lambda: [
        E(ValueError, t(1, 2, 2), (1, 1, 2, 2)),
        E(ValueError, t(1, 2, 3), (1, 1, 2, 0)),
    ],
)
