"""The rows of samples.py through weft and PyTorch in one interpreter.

Values, dtypes, shapes, errors, aliasing and gradients; then type promotion and printing. What
PyTorch itself cannot run is left out.
"""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from helpers import (
    ALL_DTYPES,
    HALVES,
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
    is_tensor,
    lift,
    resolve,
    tensor,
)
from samples import ROWS, N, Row, S

import weft

# PyTorch's series for these end early: weft's values are the true ones (to 1e-14, by mpmath), PyTorch's this far off.
PYTORCH_IS_OFF: dict[str, float] = {
    "special.bessel_j0": 1e-4,
    "special.bessel_j1": 1e-4,
    "special.bessel_y0": 1e-4,
    "special.bessel_y1": 1e-4,
    "special.airy_ai": 1e-6,
    "polygamma": 1e-8,
    "digamma": 1e-8,
    "special.digamma": 1e-8,
    "nn.functional.celu": 1e-8,  # its 1 / alpha is a float
    "nn.functional.hardsigmoid": 1e-7,  # its 1 / 6 is a float
}
# PyTorch's derivative fails its own gradcheck: it passes the gradient on where src was written.
PYTORCH_IS_WRONG = {"as_strided_scatter"}
# PyTorch conjugates lazily and so shares memory; weft has no lazy conjugation.
COPIED_HERE = {"conj", "conj_physical"}

BOTH = [r for r in ROWS.values() if resolve(weft, r.name) and resolve(torch, r.name)]
each_row = pytest.mark.parametrize("row", BOTH, ids=[r.name for r in BOTH])


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def name_of(dtype: Any) -> str:
    """float32 for weft.float32 and torch.float32."""
    return str(dtype).split(".")[-1]


def kind_of(x: Any) -> Any:
    """What must be equal apart from values: type, dtype, shape."""
    if not is_tensor(x):
        return type(x).__name__
    return name_of(x.dtype), tuple(x.shape)


def compare(got: Any, want: Any, row: Row, dtype: str) -> str:
    """'' if both libraries agree."""
    if isinstance(got, tuple) != isinstance(want, tuple):
        return f"{type(got).__name__}, PyTorch {type(want).__name__}"
    for field in getattr(type(want), "__match_args__", ()) if isinstance(want, tuple) else ():
        if not hasattr(got, field):
            return f"the result has no field {field}"
    g, w = flat(got), flat(want)
    if [kind_of(x) for x in g] != [kind_of(x) for x in w]:
        return f"{[kind_of(x) for x in g]}, PyTorch {[kind_of(x) for x in w]}"
    if dtype not in HALVES:
        slack = PYTORCH_IS_OFF.get(row.name, 0.0)
        return differs(g, [array(x) for x in w], row, ulp=2 * row.ulp, slack=slack)
    for a, b in zip(g, w):
        x, y = array(a).astype(np.complex128), array(b).astype(np.complex128)
        if row.values and not np.allclose(x, y, rtol=3e-2, atol=3e-2, equal_nan=True):
            return f"{x.real}, PyTorch {y.real}"
    return ""


def outcome(lib: Any, row: Row, sample: S, dtype: str) -> Any:
    """The result, or the exception."""
    try:
        return call(resolve(lib, row.name), row, lift(lib, sample, dtype))
    except Exception as e:
        return e


@each_row
def test_forward(row: Row) -> None:
    """The same values, dtypes and shapes."""
    report = Report(row.name)

    def check(sample: S, dtype: str) -> str:
        want = outcome(torch, row, sample, dtype)
        if isinstance(want, Exception):
            return ""
        got = outcome(weft, row, sample, dtype)
        if isinstance(got, Exception):
            return f"{type(got).__name__}: {str(got)[:200]}"
        return compare(got, want, row, dtype)

    for dtype in [*dtypes_of(row), *(HALVES if "f" in row.dtypes and row.half is not None else ())]:
        for sample in row.samples():
            if fits(sample, dtype):
                report.attempt(sample, dtype, check, cast(sample, dtype), dtype)
    report.done()


@each_row
def test_errors(row: Row) -> None:
    """The same type of exception."""
    report = Report(row.name)
    for e in row.error_samples():
        sample = cast(e.sample, "float32" if "f" in row.dtypes else "int64")
        want, got = outcome(torch, row, sample, "float32"), outcome(weft, row, sample, "float32")
        ok = (
            not isinstance(want, Exception) or isinstance(got, type(want)) or isinstance(got, e.exc)
        )
        report.add(e.sample, "error", "" if ok else f"{got!r}, PyTorch {type(want).__name__}"[:300])
    report.done()


@each_row
def test_aliasing(row: Row) -> None:
    """Each result lies in the memory of the inputs that PyTorch's lies in."""
    if row.name in COPIED_HERE:
        return
    report = Report(row.name)

    def shared(lib: Any, sample: S) -> Any:
        s = lift(lib, sample, dtype)
        given = [x for x in flat([*s.args, *s.kwargs.values()]) if is_tensor(x)]
        made = flat(call(resolve(lib, row.name), row, s))
        at = [x.untyped_storage().data_ptr() for x in given]
        return [
            x.numel() and [i for i, p in enumerate(at) if p == x.untyped_storage().data_ptr()]
            for x in made
            if is_tensor(x)
        ]

    def check(sample: S) -> str:
        try:
            want = shared(torch, sample)
        except Exception:  # what PyTorch itself cannot run
            return ""
        got = shared(weft, sample)
        return "" if got == want else f"results in the memory of inputs {got}, PyTorch {want}"

    dtype = "float32" if "f" in row.dtypes else dtypes_of(row)[0]
    for sample in row.samples():
        if fits(sample, dtype):
            report.attempt(sample, "aliasing", check, cast(sample, dtype))
    report.done()


@each_row
def test_forms(row: Row) -> None:
    """Function, method, in-place and out= exist where PyTorch has them."""
    problems = []
    for owner, name in (("", row.name), ("Tensor", row.name), ("Tensor", row.name + "_")):
        if (owner and "." in row.name) or (not owner and row.name.startswith("__")):
            continue
        has = [callable(_dig(lib, owner, name)) for lib in (weft, torch)]
        if has == [False, True] and not (not owner and row.mutates):
            problems.append(f"weft has no {owner + '.' if owner else ''}{name}")
    if _dig(torch, "", row.name) and _takes_out(torch, row) and not _takes_out(weft, row):
        problems.append(f"weft.{row.name} has no out=")
    assert not problems, ", ".join(problems)


def _dig(lib: Any, owner: str, name: str) -> Any:
    f = getattr(lib, owner) if owner else lib
    for part in name.split("."):
        f = getattr(f, part, None)
    return f


def _takes_out(lib: Any, row: Row) -> bool:
    sample = cast(
        next(s for s in row.samples() if not isinstance(s, N)),
        "float32" if "f" in row.dtypes else "int64",
    )
    want = outcome(lib, row, sample, "float32")
    if row.mutates or isinstance(want, Exception) or not all(map(is_tensor, flat(want))):
        return False
    outs = [lib.empty_like(x) for x in flat(want)]
    s = lift(lib, sample, "float32")
    try:
        _dig(lib, "", row.name)(
            *s.args, **s.kwargs, out=outs[0] if is_tensor(want) else tuple(outs)
        )
    except TypeError:
        return False
    return True


GRAD = [r for r in BOTH if r.grad and r.name not in PYTORCH_IS_WRONG]


@pytest.mark.parametrize("row", GRAD, ids=[r.name for r in GRAD])
def test_grad(row: Row) -> None:
    """The same gradients."""
    report = Report(row.name)

    def gradients(lib: Any, sample: S) -> list[Any]:
        f, inputs = as_function(lib, row, sample)
        outs = f(*inputs) if inputs else ()
        return grads(lib, outs, inputs, [tensor(lib, a) for a in cotangents(outs)]) if outs else []

    def check(sample: S) -> str:
        try:
            want = [x + torch.zeros(()) for x in gradients(torch, sample)]
        except (RuntimeError, NotImplementedError):
            return ""
        slack = PYTORCH_IS_OFF.get(row.name, 0.0)
        return differs(gradients(weft, sample), [array(x) for x in want], row, slack=slack)

    samples = differentiable(row)
    assert samples, f"{row.name}: no sample is small, finite and differentiable"
    for sample in samples:
        report.attempt(sample, "gradient", check, sample)
    report.done()


# ---- type promotion ----------------------------------------------------------------------------

OPS: dict[str, Callable[..., Any]] = {
    "add": lambda lib, a, b: a + b,
    "div": lambda lib, a, b: a / b,
    "pow": lambda lib, a, b: a**b,
    "lt": lambda lib, a, b: a < b,
    "where": lambda lib, a, b: lib.where(lib.ones(2, dtype=lib.bool), a, b),
    "add_": lambda lib, a, b: operator.iadd(a, b),
    "div_": lambda lib, a, b: operator.itruediv(a, b),
    "pow_": lambda lib, a, b: operator.ipow(a, b),
}
SCALARS = (True, 2, 2.5)


def operands(lib: Any) -> Iterator[tuple[str, Any]]:
    """Tensors and 0-d tensors of every dtype, and Python scalars, with their names."""
    for d in ALL_DTYPES:
        yield f"{d}[2]", lib.ones(2, dtype=getattr(lib, d))
        yield f"{d}[]", lib.ones((), dtype=getattr(lib, d))
    for v in SCALARS:
        yield repr(v), v


@pytest.mark.parametrize("op", OPS)
def test_promotion(op: str) -> None:
    """Every pair of dtypes x {tensor, 0-d tensor, Python scalar}: the same dtype, or both raise."""
    report = Report(op)

    def result(lib: Any, i: int, j: int) -> str:
        (_, a), (_, b) = list(operands(lib))[i], list(operands(lib))[j]
        try:
            r = OPS[op](lib, a, b)
        except (RuntimeError, TypeError):
            return "raises"
        return f"{name_of(r.dtype)}{list(r.shape)}" if is_tensor(r) else type(r).__name__

    names = [n for n, _ in operands(torch)]
    for i, j in itertools.product(range(len(names)), repeat=2):
        if "[" in names[i] or "[" in names[j]:
            got, want = result(weft, i, j), result(torch, i, j)
            report.add(
                f"({names[i]}, {names[j]})",
                "promotion",
                "" if got == want else f"{got}, PyTorch {want}",
            )
    report.done()


# ---- printing ----------------------------------------------------------------------------------

PRINTED: dict[str, Callable[[Any], Any]] = {
    "0-d": lambda t: t.tensor(1.5),
    "0-d whole": lambda t: t.tensor(3.0),
    "0-d int": lambda t: t.tensor(7),
    "0-d bool": lambda t: t.tensor(True),
    "0-d double": lambda t: t.tensor(1 / 3, dtype=t.float64),
    "0-d inf": lambda t: t.tensor(float("-inf")),
    "ints": lambda t: t.arange(5),
    "negative ints": lambda t: t.tensor([[-1, 20], [300, -4000]]),
    "int32": lambda t: t.arange(3, dtype=t.int32),
    "uint8": lambda t: t.tensor([1, 255], dtype=t.uint8),
    "int8": lambda t: t.tensor([-128, 127], dtype=t.int8),
    "bools": lambda t: t.tensor([[True, False], [False, True]]),
    "whole floats": lambda t: t.arange(4.0),
    "floats": lambda t: t.tensor([1.5, -2.25, 1 / 3]),
    "double": lambda t: t.tensor([1.5, 2.0], dtype=t.float64),
    "half": lambda t: t.tensor([1.5, 0.1], dtype=t.float16),
    "bfloat16": lambda t: t.tensor([1.5, 0.1], dtype=t.bfloat16),
    "large": lambda t: t.tensor([1e10, 1.0, -2.5e7]),
    "small": lambda t: t.tensor([1e-5, 1.0]),
    "wide range": lambda t: t.tensor([1e-8, 1e8]),
    "large whole": lambda t: t.tensor([1e9, 2.0]),
    "99999999": lambda t: t.tensor([99999999.0, 1.0]),
    "ratio 1000": lambda t: t.tensor([0.001, 1.5]),
    "ratio over 1000": lambda t: t.tensor([0.001, 1.5, 1001.5]),
    "nan and inf": lambda t: t.tensor([float("nan"), float("inf"), -float("inf"), 1.0]),
    "only nan": lambda t: t.tensor([float("nan")] * 2),
    "nan and fraction": lambda t: t.tensor([float("nan"), 0.25]),
    "zeros": lambda t: t.zeros(2, 3),
    "negative zero": lambda t: t.tensor([-0.0, 0.0]),
    "matrix": lambda t: t.arange(12.0).reshape(3, 4) / 7,
    "3-d": lambda t: t.arange(12).reshape(2, 2, 3),
    "4-d": lambda t: t.arange(16.0).reshape(2, 2, 2, 2),
    "long": lambda t: t.arange(100),
    "long floats": lambda t: t.arange(40.0) / 3,
    "summarised": lambda t: t.arange(2000),
    "summarised matrix": lambda t: t.arange(10000).reshape(100, 100),
    "summarised floats": lambda t: t.arange(5000.0).reshape(50, 100) / 3,
    "summarised 3-d": lambda t: t.zeros(20, 20, 20),
    "tall": lambda t: t.zeros(1001, 2),
    "empty": lambda t: t.tensor([]),
    "empty int": lambda t: t.zeros(0, dtype=t.int64),
    "empty matrix": lambda t: t.zeros(2, 0),
    "empty 3-d": lambda t: t.zeros(2, 0, 3, dtype=t.int32),
    "one": lambda t: t.tensor([[5.0]]),
    "strided": lambda t: t.arange(12).reshape(3, 4).t()[::2],
    "expanded": lambda t: t.tensor([1.0]).expand(2, 3),
    "requires grad": lambda t: t.ones(2, requires_grad=True),
    "0-d requires grad": lambda t: t.tensor(2.0, requires_grad=True),
    "grad_fn add": lambda t: t.ones(2, requires_grad=True) + 1,
    "grad_fn mul": lambda t: t.ones(2, requires_grad=True) * 2,
    "grad_fn sum": lambda t: t.ones(2, requires_grad=True).sum(),
    "grad_fn view": lambda t: t.ones(4, requires_grad=True).view(2, 2),
    "detached": lambda t: t.ones(2, requires_grad=True).detach(),
    "Size": lambda t: t.zeros(2, 3).shape,
    "dtype": lambda t: name_of(t.float32),
    "tuple of max": lambda t: tuple(t.tensor([[1.0, 2.0]]).max(1)),
    "list": lambda t: [t.tensor(1), t.tensor([2.0])],
    "device": lambda t: t.device("cpu"),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"precision": 2},
    {"threshold": 10, "edgeitems": 2},
    {"linewidth": 40},
    {"sci_mode": True},
    {"sci_mode": False},
]


def _ids(o: dict[str, Any]) -> str:
    return ",".join(f"{k}={v}" for k, v in o.items()) or "default"


def _print(make: Callable[[Any], Any], form: Callable[[Any], str]) -> str:
    got, want = form(make(weft)), form(make(torch))
    return "" if got == want else f"\n{got}\nPyTorch\n{want}"


@pytest.mark.parametrize("options", OPTIONS, ids=_ids)
def test_printing(options: dict[str, Any]) -> None:
    """repr, str and format print exactly what PyTorch prints."""
    report = Report("repr")
    try:
        for lib in (weft, torch):
            lib.set_printoptions(**options)
        for name, make in PRINTED.items():
            for form in (repr, str, "{}".format):
                report.attempt(f" {name}", f"{options}", _print, make, form)
    finally:
        for lib in (weft, torch):
            lib.set_printoptions(profile="default")
    report.done()
