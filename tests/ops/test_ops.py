"""Every row of samples.py x every property: value, dtype, layout, method, in-place, out=, gradient
twice, errors, thread count, trace. What an op lacks is read from the tensor type and the registry;
tests/project/test_house.py says so if the two disagree."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import (
    FLOATS,
    HALVES,
    LAYOUTS,
    Report,
    array,
    as_function,
    call,
    cast,
    cotangents,
    differentiable,
    differs,
    dtypes_of,
    fits,
    flat,
    grads,
    is_large,
    is_tensor,
    leaves,
    lift,
    raises,
    repeated,
    resolve,
    round_bfloat16,
    stepped,
    swap,
    tensor,
    transposed,
    twin,
)
from samples import ROWS, E, F, N, Row, S

import weft

HERE = [*ROWS.values()]
OWN = [r for r in HERE if not r.alias_of]
METADATA = {
    "squeeze",
    "unsqueeze",
    "transpose",
    "t",
    "swapaxes",
    "swapdims",
    "as_strided",
    "detach",
}
RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def rows(which: Callable[[Row], bool], among: list[Row] = OWN) -> Any:
    """Runs a test once for every row that has the property."""
    chosen = [r for r in among if which(r)]
    return pytest.mark.parametrize("row", chosen, ids=[r.name for r in chosen])


def run(row: Row, sample: S, dtype: str, layout: Any = None) -> Any:
    """The op on a cast sample."""
    if row.stat:
        weft.manual_seed(1)
    return call(resolve(weft, row.name), row, lift(weft, sample, dtype, layout))


def float_dtype(row: Row, result: Any, dtype: str) -> str:
    """A float result has the dtype of float inputs, and the default dtype for integers."""
    want = dtype if dtype in FLOATS + HALVES else "float32"
    for r in flat(result):
        if is_tensor(r) and r.dtype.is_floating_point and not row.wide:
            if r.dtype != getattr(weft, want):
                return f"dtype {r.dtype}, want {want}"
    return ""


# ---- values ------------------------------------------------------------------------------------


@rows(lambda r: r.twin is not None, HERE)
def test_value(row: Row) -> None:
    """Equal to NumPy: float64 1e-12, float32 the row's bound, integers exact. Inputs unchanged."""
    report = Report(row.name)
    for dtype in dtypes_of(row):
        for sample in row.samples():
            if fits(sample, dtype):
                report.attempt(sample, dtype, _value, row, cast(sample, dtype), dtype)
    report.done()


def _value(row: Row, sample: S, dtype: str) -> str:
    if row.stat:
        weft.manual_seed(1)
    inputs = lift(weft, sample, dtype)
    got = call(resolve(weft, row.name), row, inputs)
    problem = differs(got, twin(row, sample), row) or float_dtype(row, got, dtype)
    before, after = list(leaves(sample)), _tensors(inputs)
    if not problem and not row.mutates:
        for i, (a, b) in enumerate(zip(before, after)):
            if not np.array_equal(a, array(b), equal_nan=a.dtype.kind in "fc"):
                return f"changed its input {i}"
    return problem


def _tensors(obj: Any) -> list[Any]:
    if isinstance(obj, S):
        return _tensors(obj.args) + _tensors(tuple(obj.kwargs.values()))
    if isinstance(obj, (list, tuple)):
        return [x for v in obj for x in _tensors(v)]
    return [obj] if is_tensor(obj) else []


@rows(lambda r: "f" in r.dtypes and r.half is not None and r.values)
def test_half(row: Row) -> None:
    """float16 and bfloat16 give the float32 result, rounded."""
    report = Report(row.name)
    for dtype in HALVES:
        for sample in row.samples():
            if any(a.dtype.kind == "f" for a in leaves(sample)):
                report.attempt(sample, dtype, _half, row, cast(sample, dtype), dtype)
    report.done()


def _half(row: Row, sample: S, dtype: str) -> str:
    small = flat(run(row, sample, dtype))
    big = flat(
        run(
            row,
            swap(sample, lambda a: a.astype("float32") if a.dtype.kind == "f" else a),
            "float32",
        )
    )
    for a, b in zip(small, big):
        if not is_tensor(a) or a.dtype == b.dtype:
            same = np.array_equal(array(a), array(b), equal_nan=array(a).dtype.kind == "f")
            if not same:
                return f"{array(a)}, want {array(b)}"
            continue
        x, y = array(a).astype(np.float64), array(b).astype(np.float64)
        with np.errstate(all="ignore"):
            y = round_bfloat16(array(b)) if dtype == "bfloat16" else array(b).astype(np.float16)
            y = y.astype(np.float64)
            places = 8 if dtype == "bfloat16" else 11
            least = 2.0**-133 if dtype == "bfloat16" else 2.0**-24
            ulp = np.maximum(
                np.exp2(np.floor(np.log2(np.maximum(abs(y), 1e-300))) - places + 1), least
            )
            bad = ~((x == y) | (np.isnan(x) & np.isnan(y)) | (abs(x - y) <= row.half * ulp))
        if x.shape != y.shape or bad.any():
            return f"{x[bad].ravel()[:3]}, the rounded float32 result is {y[bad].ravel()[:3]}"
    return ""


@rows(lambda r: r.strided and any(any(True for _ in leaves(s)) for s in r.samples()))
def test_layout(row: Row) -> None:
    """Strides do not matter: transposed, every second element, inside a storage, expanded."""
    report = Report(row.name)
    for dtype in [d for d in ("float64", "float32", "int64") if d[0] in row.dtypes]:
        for sample in row.samples():
            if fits(sample, dtype):
                report.attempt(sample, dtype, _layouts, row, sample, dtype)
    report.done()


def _layouts(row: Row, sample: S, dtype: str) -> str:
    want = run(row, cast(sample, dtype), dtype)
    for name, layout in LAYOUTS.items():
        if name != "expanded":
            got = run(row, cast(sample, dtype), dtype, layout)
            if problem := differs(got, want, row):
                return f"{name}: {problem}"
    if row.mutates or (row.matrix and any(a.ndim < 3 for a in leaves(sample))):
        return ""  # expanded: no place to write; equal rows are singular
    same = cast(repeated(sample), dtype)
    try:
        want = run(row, same, dtype)
    except RuntimeError as e:  # e.g. a window of zeros
        return raises(type(e), lambda: run(row, same, dtype, LAYOUTS["expanded"]))
    problem = differs(run(row, same, dtype, LAYOUTS["expanded"]), want, row)
    return f"expanded: {problem}" if problem else ""


@rows(lambda r: r.stat is not None)
def test_random(row: Row) -> None:
    """The distribution is right; the same seed gives the same numbers, another seed others."""
    report = Report(row.name)

    def check(sample: S, dtype: str) -> str:
        op, draws = resolve(weft, row.name), []
        for seed in (3, 3, 4):
            weft.manual_seed(seed)
            draws.append(array(call(op, row, lift(weft, sample, dtype))))
        row.stat(
            draws[0].astype(float) if draws[0].dtype.kind == "f" else draws[0],
            *sample.args,
            **{k: v for k, v in sample.kwargs.items() if k != "dtype"},
        )
        if not np.array_equal(draws[0], draws[1]):
            return "the same seed gave other numbers"
        return (
            "another seed gave the same numbers"
            if draws[0].size > 30 and np.array_equal(draws[0], draws[2])
            else ""
        )

    for dtype in FLOATS:
        for sample in row.samples():
            report.attempt(sample, dtype, check, cast(sample, dtype), dtype)
    report.done()


# ---- the other forms ---------------------------------------------------------------------------


def _is_method(row: Row) -> bool:
    f = getattr(weft.Tensor, row.name, None)
    return row.method and callable(f) and not row.mutates and not row.name.startswith("__")


@rows(_is_method, HERE)
def test_method(row: Row) -> None:
    """x.op(...) is op(x, ...)."""
    report = Report(row.name)

    def check(sample: S) -> str:
        want = run(row, sample, "float64" if "f" in row.dtypes else "int64")
        s = lift(weft, sample)
        if row.stat:
            weft.manual_seed(1)
        return differs(getattr(s.args[0], row.name)(*s.args[1:], **s.kwargs), want, row, ulp=0)

    for sample in row.samples():
        sample = cast(sample, "float64" if "f" in row.dtypes else "int64")
        if sample.args and isinstance(sample.args[0], np.ndarray) and not isinstance(sample, F):
            report.attempt(sample, "method", check, sample)
    report.done()


@rows(
    lambda r: r.method and not r.stat and not r.mutates and hasattr(weft.Tensor, r.name + "_"), HERE
)
def test_inplace(row: Row) -> None:
    """x.op_(...) leaves op(x, ...) in x, returns x, counts the change; or raises and says why."""
    report = Report(row.name + "_")
    for dtype in [d for d in ("float64", "int64") if d[0] in row.dtypes]:
        for sample in row.samples():
            if fits(sample, dtype) and sample.args and isinstance(sample.args[0], np.ndarray):
                report.attempt(sample, dtype, _inplace, row, cast(sample, dtype), dtype)
    report.done()


def _inplace(row: Row, sample: S, dtype: str) -> str:
    out = run(row, sample, dtype)
    if not is_tensor(out):
        return ""
    s = lift(weft, sample, dtype)
    x = s.args[0]
    old, kinds = x._version, [array(v).dtype.kind for v in (out, x)]
    op = getattr(x, row.name + "_")
    if RANK[kinds[0]] > RANK[kinds[1]] or (out.shape != x.shape and row.name not in METADATA):
        return raises(RuntimeError, lambda: op(*s.args[1:], **s.kwargs))
    back = op(*s.args[1:], **s.kwargs)
    if back is not x:
        return "did not return its tensor"
    if x._version <= old and row.name != "detach":
        return f"_version stayed {old}"
    return differs(x, out.to(x.dtype) if kinds[0] != kinds[1] else out, row, ulp=0)


def _takes_out(row: Row) -> bool:
    info = weft.ops.registry().get(row.name)
    return bool(info and info.out) and not row.mutates and callable(getattr(weft, row.name, None))


@rows(_takes_out)
def test_out(row: Row) -> None:
    """op(..., out=o) fills o, of any strides; sizes an empty o; refuses a dtype too small."""
    report, dtype = Report(row.name), "float64" if "f" in row.dtypes else "int64"
    for sample in row.samples():
        if not isinstance(sample, N):
            report.attempt(sample, "out=", _out, row, cast(sample, dtype), dtype)
    report.done()


def _out(row: Row, sample: S, dtype: str) -> str:
    want = run(row, sample, dtype)
    if not all(map(is_tensor, flat(want))):
        return ""
    op, many = resolve(weft, row.name), isinstance(want, (list, tuple))

    def into(make: Callable[[Any], Any]) -> tuple[Any, Any]:
        outs = tuple(make(r) for r in want) if many else make(want)
        if row.stat:
            weft.manual_seed(1)
        s = lift(weft, sample, dtype)
        return outs, op(*s.args, **s.kwargs, out=outs)

    for make in (
        lambda r: weft.ones_like(r),
        lambda r: weft.empty(0, dtype=r.dtype),
        lambda r: stepped(weft, np.ones(tuple(r.shape)), dtype).to(r.dtype),
    ):
        outs, back = into(make)
        if any(a is not b for a, b in zip(flat(back), flat(outs))):
            return "did not return out"
        if problem := differs(outs, want, row, ulp=0):
            return problem
    if many or row.wide or array(want).dtype.kind != "f":
        return ""
    return raises(
        (RuntimeError, TypeError),
        lambda: into(lambda r: weft.empty(tuple(r.shape), dtype=weft.int64)),
    )


# ---- gradients ---------------------------------------------------------------------------------


def _prepared(row: Row) -> list[S]:
    """The samples to differentiate; none would be a test that passes by doing nothing."""
    samples = differentiable(row)
    found = [s for s in samples if (fi := as_function(weft, row, s))[1] and fi[0](*fi[1])]
    assert found, (
        f"{row.name}: no sample of {len(row.samples())} is small, finite and differentiable"
    )
    return found


@rows(lambda r: bool(r.grad))
def test_gradcheck(row: Row) -> None:
    """The derivative is that of finite differences, in float64, also for strided inputs."""
    report = Report(row.name)

    def check(sample: S, layout: Any) -> str:
        f, inputs = as_function(weft, row, sample, layout)
        return "" if weft.autograd.gradcheck(f, inputs) else "wrong gradient"

    samples = _prepared(row)
    for sample in samples[:6]:
        report.attempt(sample, "gradcheck", check, sample, None)
    for layout in (transposed, stepped) if row.strided else ():
        report.attempt(samples[0], f"gradcheck {layout.__name__}", check, samples[0], layout)
    report.done()


@rows(lambda r: bool(r.grad) and r.gradgrad is True)
def test_gradgradcheck(row: Row) -> None:
    """The second derivative too."""
    report = Report(row.name)

    def check(sample: S) -> str:
        f, inputs = as_function(weft, row, sample)
        return "" if weft.autograd.gradgradcheck(f, inputs) else "wrong second derivative"

    for sample in sorted(_prepared(row), key=is_large)[:4]:
        report.attempt(sample, "gradgradcheck", check, sample)
    report.done()


@rows(lambda r: bool(r.grad))
def test_grad_forms(row: Row) -> None:
    """The gradient is the same for a strided incoming gradient, one used output, and in place."""
    report = Report(row.name)
    for sample in _prepared(row)[:4]:
        report.attempt(sample, "gradient", _grad_forms, row, sample)
    report.done()


def _grad_forms(row: Row, sample: S) -> str:
    f, inputs = as_function(weft, row, sample)
    outs = f(*inputs)
    g = cotangents(outs)
    want = grads(weft, outs, inputs, [tensor(weft, a) for a in g])
    for layout in (transposed, stepped):
        got = grads(weft, f(*inputs), inputs, [layout(weft, a, "float64") for a in g])
        if problem := differs(got, want, row):
            return f"incoming gradient {layout.__name__}: {problem}"
    if len(outs) > 1:
        only = grads(weft, f(*inputs)[:1], inputs, [tensor(weft, g[0])])
        rest = [tensor(weft, a if i == 0 else np.zeros_like(a)) for i, a in enumerate(g)]
        if problem := differs(only, grads(weft, f(*inputs), inputs, rest), row):
            return f"only the first output used: {problem}"
    name, first = row.name + "_", sample.args[0]
    alike = (
        isinstance(first, np.ndarray)
        and first.shape == tuple(outs[0].shape)
        and first.dtype == float
    )
    if row.method and alike and len(outs) == 1 and not row.mutates and hasattr(weft.Tensor, name):
        f, inputs = as_function(
            weft, row, sample, op=lambda x, *a, **k: getattr(x.clone(), name)(*a, **k)
        )
        got = grads(weft, f(*inputs), inputs, [tensor(weft, g[0])])
        if problem := differs(got, want, row):
            return f"in place: {problem}"
    return ""


# ---- errors, threads, trace --------------------------------------------------------------------


def check_message(row: Row, e: E, message: str) -> str:
    """The message names the op, or what the sample says."""
    name = row.name.split(".")[-1]
    if name.startswith("__"):  # an operator's message names its function
        name = name.strip("_").removeprefix("r").replace("true", "")
    want = rf"\b{re.escape(name)}" if e.match is None else e.match
    return (
        ""
        if re.search(want, message)
        else f"the message does not match {want!r}: {message[:200]!r}"
    )


@rows(lambda r: bool(r.error_samples()))
def test_errors(row: Row) -> None:
    """A bad call raises PyTorch's exception type, with a message that names the op."""
    report = Report(row.name)
    for e in row.error_samples():
        report.attempt(e.sample, "error", _error, row, e)
    report.done()


def _error(row: Row, e: E) -> str:
    dtype = "float32" if "f" in row.dtypes else "int64"
    s = lift(weft, cast(e.sample, dtype), dtype)
    try:
        resolve(weft, row.name)(*s.args, **s.kwargs)
    except e.exc as error:
        return check_message(row, e, str(error))
    return "did not raise"


@rows(lambda r: r.big is not None)
def test_threads(row: Row) -> None:
    """Bit for bit the same on 1, 2 and 4 threads."""
    report, before = Report(row.name), weft.get_num_threads()
    dtype = "float32" if "f" in row.dtypes else "int64"

    def check(sample: S) -> str:
        results = []
        for n in (1, 2, 4):
            weft.set_num_threads(n)
            results.append([array(r) for r in flat(run(row, sample, dtype))])
        for n, r in zip((2, 4), results[1:]):
            if not all(
                np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(results[0], r)
            ):
                return f"{n} threads give other bits than one"
        return ""

    try:
        for sample in row.big_samples():
            report.attempt(sample, "threads", check, cast(sample, dtype))
    finally:
        weft.set_num_threads(before)
    report.done()


# What some samples of these compute depends on values, which a trace cannot follow and warns of.
LOOKS_AT_VALUES = {
    *("__getitem__", "histogram", "histogramdd", "istft", "nanquantile", "quantile"),
    *("linalg.cond", "segment_reduce"),
    *(
        f"nn.functional.{name}"
        for name in (
            *(
                "binary_cross_entropy",
                "embedding_bag",
                "gaussian_nll_loss",
                "grouped_mm",
                "one_hot",
            ),
        )
    ),
}


@rows(lambda r: not r.mutates and any(any(True for _ in leaves(s)) for s in r.samples()))
def test_trace(row: Row) -> None:
    """A trace, run again on new inputs of the same shapes, gives what eager gives."""
    report, dtype = Report(row.name), "float32" if "f" in row.dtypes else "int64"
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", weft.jit.TracerWarning)
        for sample in row.samples():
            if any(True for _ in leaves(sample)) and fits(sample, dtype):
                report.attempt(sample, "trace", _trace, row, cast(sample, dtype), dtype)
    report.done()
    warned = any(issubclass(w.category, weft.jit.TracerWarning) for w in seen)
    assert warned == (row.name in LOOKS_AT_VALUES)


def _trace(row: Row, sample: S, dtype: str) -> str:
    def f(*xs: Any) -> Any:
        it = iter(xs)
        s = swap(sample, lambda a: next(it), lambda d: getattr(weft, d.name))
        out = flat(call(resolve(weft, row.name), row, s))
        return tuple(out) if len(out) != 1 else out[0]

    first = _tensors(lift(weft, sample, dtype))
    second = [
        x * 0.875 if x.dtype.is_floating_point else x for x in first
    ]  # same signs, same order
    if not all(map(is_tensor, flat(f(*first)))) or not flat(f(*first)):
        return ""  # equal, item, ...: a Python value, nothing to trace
    traced = weft.jit.trace(f, tuple(first))
    weft.manual_seed(5)
    want = f(*second)
    weft.manual_seed(5)
    got = traced(*second)
    if not row.values and not row.stat:
        return ""
    same = all(
        np.array_equal(array(a), array(b), equal_nan=array(a).dtype.kind in "fc")
        for a, b in zip(flat(got), flat(want))
    )
    return "" if same else "replay differs from eager"
