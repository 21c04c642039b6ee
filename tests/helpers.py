"""From a row of samples.py to a call: cast, lift to tensors, lay out in memory, compare.

Every function takes the library as an argument, so that tests/parity can run the same row twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from samples import K, Row, S

FLOATS = ("float64", "float32")
HALVES = ("float16", "bfloat16")
KINDS = {"f": FLOATS, "i": ("int64", "int32", "int16", "int8"), "u": ("uint8",), "b": ("bool",)}
ALL_DTYPES = (*FLOATS, *HALVES, *KINDS["i"], "uint8", "bool")


def dtypes_of(row: Row) -> list[str]:
    """The dtypes a row is tested in."""
    return [d for k in row.dtypes for d in KINDS[k]]


def resolve(lib: Any, name: str) -> Callable[..., Any] | None:
    """The op called `name`: a function of `lib`, else a method or property of its tensors."""
    f: Any = lib
    for part in name.split("."):
        f = getattr(f, part, None)
    if not name.startswith("__") and callable(f) and not isinstance(f, type):
        return f
    for method in (name, name + "_"):  # uniform exists in place only
        m = getattr(lib.Tensor, method, None)
        if m is not None:
            if callable(m):
                return lambda x, *a, **k: getattr(x, method)(*a, **k)
            return lambda x: getattr(x, method)
    return None


# ---- samples -----------------------------------------------------------------------------------


def leaves(obj: Any) -> Iterator[np.ndarray]:
    """The arrays in a sample, in the order of `swap`."""
    if isinstance(obj, S):
        yield from leaves(obj.args)
        yield from leaves(tuple(obj.kwargs.values()))
    elif isinstance(obj, (list, tuple)):
        for v in obj:
            yield from leaves(v)
    elif isinstance(obj, np.ndarray):
        yield obj


def swap(
    obj: Any, new: Callable[[np.ndarray], Any], dtype: Callable[[np.dtype], Any] = lambda d: d
) -> Any:
    """The sample (or part of one) with every array, and every dtype, exchanged."""
    if isinstance(obj, S):
        out = type(obj)(*swap(obj.args, new, dtype))
        out.kwargs = {k: swap(v, new, dtype) for k, v in obj.kwargs.items()}
        return out
    if isinstance(obj, (list, tuple)):
        return type(obj)(swap(v, new, dtype) for v in obj)
    if isinstance(obj, np.ndarray):
        return new(obj)
    return dtype(obj) if isinstance(obj, np.dtype) else obj


def round_bfloat16(x: np.ndarray) -> np.ndarray:
    """float32 values rounded to the nearest bfloat16 (ties to even)."""
    x = np.asarray(x, np.float32)
    with np.errstate(all="ignore"):
        bits = x.view(np.uint32).astype(np.uint64)
        up = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(x), up, x)


def _cast(a: np.ndarray, dtype: str) -> np.ndarray:
    if a.dtype == np.complex128:
        return a.astype(np.complex64) if dtype == "float32" else a
    if a.dtype != np.float64:
        return a
    if dtype == "bfloat16":
        return round_bfloat16(a)
    if dtype == "bool":
        return a > 0
    if "int" in dtype:
        a = np.rint(np.abs(a) if dtype == "uint8" else a)
    with np.errstate(all="ignore"):
        return a.astype(dtype)


def cast(sample: S, dtype: str) -> S:
    """The sample with its values in `dtype` (bfloat16 as float32 arrays that bfloat16 can hold)."""
    return swap(sample, lambda a: np.asarray(_cast(a, dtype)))


def fits(sample: S, dtype: str) -> bool:
    """Whether `dtype` can hold the sample's values: an integer cannot hold inf, nan or 1e30."""
    return dtype in FLOATS + HALVES or all(
        np.isfinite(a).all() and (abs(a) < 100).all() for a in leaves(sample) if a.dtype.kind == "f"
    )


def lift(
    lib: Any, sample: Any, dtype: str = "float64", layout: Callable[..., Any] | None = None
) -> Any:
    """The sample with tensors of `lib` instead of arrays."""

    def new(a: np.ndarray) -> Any:
        return layout(lib, a, dtype) if layout else tensor(lib, a, dtype)

    return swap(sample, new, lambda d: getattr(lib, d.name))


def tensor(lib: Any, a: np.ndarray, dtype: str = "float64") -> Any:
    """A contiguous tensor with a copy of the array."""
    if a.size == 0:  # NumPy gives some empty arrays strides of 0
        x = lib.zeros(tuple(a.shape), dtype=getattr(lib, a.dtype.name))
    else:
        x = lib.from_numpy(np.array(a, order="C", copy=True))
    return x.to(lib.bfloat16) if dtype == "bfloat16" and a.dtype == np.float32 else x


def array(x: Any) -> np.ndarray:
    """A tensor, or a Python value, as a NumPy array."""
    if not hasattr(x, "detach"):
        return np.asarray(x)
    x = x.detach()
    if hasattr(x, "_is_zerotensor") and x._is_zerotensor():  # PyTorch's zeros without memory
        return np.zeros(tuple(x.shape))
    if str(x.dtype).endswith("bfloat16"):
        return x.float().numpy()
    return (x.resolve_conj().resolve_neg() if x.is_complex() else x).numpy()


def flat(result: Any) -> list[Any]:
    """The results of an op as a list."""
    if isinstance(result, (list, tuple)):
        return [v for r in result for v in flat(r)]
    return [] if result is None else [result]


def is_tensor(x: Any) -> bool:
    """Whether x is a tensor of either library."""
    return hasattr(x, "detach")


def call(op: Callable[..., Any], row: Row, sample: S) -> Any:
    """op(*args, **kwargs); of an op that changes its first argument, that argument."""
    if row.warns:
        with pytest.warns(UserWarning, match=row.warns):
            return op(*sample.args, **sample.kwargs)
    result = op(*sample.args, **sample.kwargs)
    return sample.args[0] if row.mutates and result is None else result


def twin(row: Row, sample: S) -> Any:
    """What NumPy makes of a cast sample, in float64, int64 and bool."""
    wide = {"f": np.float64, "i": np.int64, "u": np.int64, "c": np.complex128, "b": np.bool_}
    sample = swap(sample, lambda a: a.astype(wide[a.dtype.kind]))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return row.twin(*sample.args, **sample.kwargs) if row.twin else None


# ---- memory layouts ----------------------------------------------------------------------------


def transposed(lib: Any, a: np.ndarray, dtype: str) -> Any:
    """Strides in the other order."""
    return tensor(lib, a.T, dtype).permute(tuple(range(a.ndim))[::-1])


def stepped(lib: Any, a: np.ndarray, dtype: str) -> Any:
    """Every second element of a wider tensor."""
    if a.ndim == 0:
        return offset(lib, a, dtype)
    wide = np.ones((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    wide[..., ::2] = a
    return tensor(lib, wide, dtype)[..., ::2]


def offset(lib: Any, a: np.ndarray, dtype: str) -> Any:
    """A view that starts inside its storage."""
    more = np.concatenate([np.ones_like(np.atleast_1d(a)[:1]), np.atleast_1d(a)])
    if a.shape[:1] == (0,):
        more = np.ones((1, *a.shape[1:]), a.dtype)
    view = tensor(lib, more, dtype)[1:]
    return view[0] if a.ndim == 0 else view


def expanded(lib: Any, a: np.ndarray, dtype: str) -> Any:
    """Stride 0 in the first dim."""
    return tensor(lib, a[:1], dtype).expand(a.shape) if a.ndim and len(a) else tensor(lib, a, dtype)


def repeated(sample: S) -> S:
    """The values that `expanded` gives a sample."""
    return swap(
        sample, lambda a: np.broadcast_to(a[:1], a.shape).copy() if a.ndim and len(a) else a
    )


LAYOUTS = {"transposed": transposed, "stepped": stepped, "offset": offset, "expanded": expanded}


# ---- gradients ---------------------------------------------------------------------------------


def differentiable(row: Row) -> list[S]:
    """The samples that finite differences can check: small, finite, not at a kink."""

    def ok(s: S) -> bool:
        arrays = list(leaves(s))
        finite = all(np.isfinite(a).all() for a in arrays)
        return finite and not isinstance(s, K) and 0 < sum(a.size for a in arrays) <= 30

    return [s for s in row.samples() if ok(s)]


def is_large(sample: S) -> bool:
    """Whether to prefer another sample for the second derivative."""
    return sum(a.size for a in leaves(sample)) > 16


def as_function(
    lib: Any, row: Row, sample: S, layout: Any = None, op: Any = None
) -> tuple[Any, list[Any]]:
    """The op as a function of its differentiable inputs (complex as pairs of reals), and these."""
    wanted = range(len(sample.args)) if row.grad is True else row.grad or ()
    chosen = [a for i in wanted if i < len(sample.args) for a in leaves([sample.args[i]])]
    if row.grad is True:
        chosen += leaves(tuple(sample.kwargs.values()))
    inputs: list[Any] = []
    slots: dict[int, int] = {}
    for a in chosen:
        if a.dtype.kind in "fc" and id(a) not in slots:
            slots[id(a)] = len(inputs)
            real = a if a.dtype.kind == "f" else np.stack([a.real, a.imag], -1)
            strided = layout and a.dtype.kind == "f"
            x = layout(lib, real, "float64") if strided else tensor(lib, real)
            inputs.append(x.detach().requires_grad_())
    op = op or resolve(lib, row.name)

    def f(*xs: Any) -> tuple[Any, ...]:
        def new(a: np.ndarray) -> Any:
            if id(a) not in slots:
                return tensor(lib, a)
            x = xs[slots[id(a)]]
            x = lib.view_as_complex(x) if a.dtype.kind == "c" else x
            return row.prep(x) if row.prep else x

        s = swap(sample, new, lambda d: getattr(lib, d.name))
        outs = [r for r in flat(call(op, row, s)) if is_tensor(r) and r.requires_grad]
        outs = [row.canon(r) if row.canon else r for r in outs]
        return tuple(lib.view_as_real(r.resolve_conj()) if r.is_complex() else r for r in outs)

    return f, inputs


def cotangents(outs: Any) -> list[np.ndarray]:
    """Incoming gradients for the outputs, all different."""
    return [np.cos(np.arange(r.numel()) + 1.0).reshape(tuple(r.shape)) for r in outs]


def grads(lib: Any, outs: Any, inputs: list[Any], g: list[Any]) -> list[Any]:
    """The gradients of the inputs; zeros for one that the outputs do not depend on."""
    got = lib.autograd.grad(outs, inputs, g, allow_unused=True)
    return [lib.zeros_like(x) if r is None else r for r, x in zip(got, inputs)]


# ---- comparison --------------------------------------------------------------------------------


def far(
    got: np.ndarray, want: np.ndarray, ulp: float, atol: float, slack: float = 0.0
) -> np.ndarray:
    """Where two float or complex arrays differ by more than the bound: see `Row`."""
    narrow = got.dtype in (np.float32, np.complex64, np.float16)
    with np.errstate(all="ignore"):
        want = want.astype(got.dtype).astype(want.dtype) if narrow else want
        if narrow:
            bound = ulp * np.spacing(abs(want).astype(abs(got).dtype)).astype(float) + atol
        else:
            bound = 1e-12 + 1e-12 * abs(want)
        bound = bound + slack
        error = abs(got.astype(want.dtype) - want)
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        return ~(same | (error <= bound))


def differs(got: Any, want: Any, row: Row, *, ulp: float | None = None, slack: float = 0.0) -> str:
    """'' if the results agree within the row's bound and the slack, else what is wrong."""
    if isinstance(want, (list, tuple)) or isinstance(got, (list, tuple)):
        g, w = flat(got), flat(want)
        if len(g) != len(w):
            return f"{len(g)} results, want {len(w)}"
        return next(
            (
                f"result {i}: {d}"
                for i in range(len(g))
                if (d := differs(g[i], w[i], row, ulp=ulp, slack=slack))
            ),
            "",
        )
    g, w = array(got), array(want)
    if g.shape != w.shape:
        return f"shape {g.shape}, want {w.shape}"
    kind = {"u": "i"}
    if kind.get(g.dtype.kind, g.dtype.kind) != kind.get(w.dtype.kind, w.dtype.kind):
        return f"dtype {g.dtype}, want kind of {w.dtype}"
    if not row.values:
        return ""
    if row.canon:
        g, w = row.canon(g), row.canon(w)
    if g.dtype.kind in "fc":
        bad = far(g, w, row.ulp if ulp is None else ulp, row.atol, slack)
    else:
        bad = g != w.astype(g.dtype)
    if not bad.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"at {list(at)}: {g[at]!r}, want {w[at]!r} ({int(bad.sum())} of {bad.size} wrong)"


def raises(exc: Any, f: Callable[[], Any]) -> str:
    """'' if f raises `exc`, else what it did instead."""
    try:
        f()
    except exc:
        return ""
    return f"did not raise {exc}"


class Report:
    """Collects the failures of one op, so that one test can name them all."""

    def __init__(self, name: str) -> None:
        self.name, self.lines, self.count = name, list[str](), 0

    def add(self, sample: Any, where: str, problem: str) -> None:
        """Counts a check; notes its problem, if there is one."""
        self.count += 1
        if problem:
            self.lines.append(f"{self.name}{sample} {where}: {problem}")

    def attempt(self, sample: Any, where: str, check: Callable[..., str], *args: Any) -> None:
        """Runs check(*args); an exception is a failure that names the sample."""
        try:
            self.add(sample, where, check(*args))
        except Exception as e:
            self.add(sample, where, f"{type(e).__name__}: {str(e).strip()[:200]}")

    def done(self) -> None:
        """Fails if anything was noted."""
        if self.lines:
            more = f"\n... and {len(self.lines) - 12} more" if len(self.lines) > 12 else ""
            raise AssertionError(
                f"{len(self.lines)} of {self.count} checks failed\n"
                + "\n".join(self.lines[:12])
                + more
            )
