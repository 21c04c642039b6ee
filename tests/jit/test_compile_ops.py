"""Every row of samples.py, compiled: four calls with fresh inputs give the bits of eager calls."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import (
    array,
    cast,
    differentiable,
    fits,
    flat,
    is_tensor,
    leaves,
    lift,
    resolve,
    swap,
    transposed,
)
from samples import ROWS, Row, S

import weft

CALLS = 4  # two are captured, two replayed


def has_inputs(row: Row) -> bool:
    return any(len(list(leaves(s))) > 0 for s in row.samples())


def rows(which: Callable[[Row], bool]) -> Any:
    """Runs a test once for every row that has the property."""
    chosen = [r for r in ROWS.values() if not r.alias_of and has_inputs(r) and which(r)]
    return pytest.mark.parametrize("row", chosen, ids=[r.name for r in chosen])


class Hole:
    """Where a tensor goes in a call."""

    def __init__(self, number: int) -> None:
        self.number = number


def filled(part: Any, tensors: tuple[Any, ...]) -> Any:
    """A call, or a part of one, with its tensors."""
    if isinstance(part, Hole):
        return tensors[part.number]
    if isinstance(part, (list, tuple)):
        return type(part)([filled(p, tensors) for p in part])
    return part


def function_of(row: Row, sample: S) -> Callable[..., Any]:
    """The op as a function of the tensors of a sample; what it closes over can be watched."""
    op, mutates = resolve(weft, row.name), row.mutates
    numbers = iter(range(1000))
    template = swap(sample, lambda a: Hole(next(numbers)), lambda d: getattr(weft, d.name))
    args, kwargs = template.args, template.kwargs

    def f(*tensors: Any) -> Any:
        given = filled(args, tensors)
        result = op(*given, **{k: filled(v, tensors) for k, v in kwargs.items()})  # type: ignore[misc]
        return given[0] if mutates and result is None else result

    return f


def fresh(inputs: list[Any], turn: int) -> list[Any]:
    """Other numbers of the same signs, order and kind; the same indices."""
    factor = 1 - turn / 64
    return [
        scaled(x, factor) if x.dtype.is_floating_point or x.is_complex() else alike(x)
        for x in inputs
    ]


def alike(x: Any) -> Any:
    """A copy with the same strides."""
    if not x.numel() or 0 in x.stride():
        return x.clone()
    return weft.empty_strided(tuple(x.shape), x.stride(), dtype=x.dtype).copy_(x)


def scaled(x: Any, factor: float) -> Any:
    y = alike(x)
    return y.mul_(factor) if y.numel() else y


def bits(x: Any) -> Any:
    """What must be the same of a result."""
    if not is_tensor(x):
        return type(x), repr(x)
    found = array(x.resolve_neg() if x.is_complex() else x)
    return str(x.dtype), tuple(x.shape), x.requires_grad, np.ascontiguousarray(found).tobytes()


def tensors_of(x: Any) -> list[Any]:
    if isinstance(x, S):
        return tensors_of(x.args) + tensors_of(tuple(x.kwargs.values()))
    if isinstance(x, (list, tuple)):
        return [t for v in x for t in tensors_of(v)]
    return [x] if is_tensor(x) else []


def as_it_is(results: Any, inputs: list[Any]) -> Any:
    return results


def gradients(results: Any, inputs: list[Any]) -> Any:
    """The results, and the gradients of the inputs after a backward pass."""
    loss = total(results)
    if loss.requires_grad:
        loss.backward()
    return [*flat(results), loss, *[x.grad for x in inputs if x.grad is not None]]


def total(results: Any) -> Any:
    """A number that depends on all results that have a gradient."""
    parts = [r for r in flat(results) if is_tensor(r) and r.requires_grad]
    parts = [weft.view_as_real(r.resolve_conj()) if r.is_complex() else r for r in parts]
    return sum(((p * p).sum() for p in parts), start=weft.zeros(()))


def outcome(f: Any, after: Any, inputs: list[Any], seed: int, values: bool) -> Any:
    """The bits of results and inputs after a call, or its error; and of the generator."""
    weft.manual_seed(seed)
    try:
        found = [bits(r) for r in flat(after(f(*inputs), inputs))]
    except Exception as e:
        return type(e), str(e)
    if not values:
        found = [b[:3] for b in found]
    return found, [bits(x) for x in inputs], weft.get_rng_state().tolist()


def check(row: Row, f: Any, inputs: list[Any], grad: bool = False, after: Any = as_it_is) -> str:
    """'' if compiled calls are eager calls, bit for bit, and were made from what was captured.

    `after`: what is done with the results, outside.
    """
    compiled, values = weft.compile(f), row.values or row.stat is not None
    for turn in range(CALLS):
        given = [fresh(inputs, turn) for _ in range(2)]
        for x in [x for xs in given for x in xs if grad]:
            if x.dtype.is_floating_point or x.is_complex():
                x.requires_grad_()
        want, got = (outcome(g, after, xs, turn, values) for g, xs in zip((f, compiled), given))
        if want != got:
            return f"call {turn}: {got}, want {want}"
    facts = compiled.report().specializations
    if isinstance(want[0], type) or sum(v["calls"] for v in facts) >= CALLS - 2:
        return ""
    EAGER.setdefault(row.name, [v["eager"] or v["pending"] for v in facts])
    return "" if all(EAGER[row.name]) else "it was never replayed, and nobody said why"


EAGER: dict[str, list[str]] = {}  # rows that run eagerly, and why


def few(samples: list[S]) -> list[S]:
    """One of each kind of arguments, at most two."""
    kinds = {}
    for s in samples:
        ranks = tuple(a.ndim for a in leaves(s))
        kinds.setdefault((ranks, len(s.args), tuple(s.kwargs)), s)
    return list(kinds.values())[:2]


@rows(lambda r: True)
def test_forward(row: Row) -> None:
    """Values, dtypes, what is changed in place, what is drawn; also of strided inputs."""
    dtype = "float32" if "f" in row.dtypes else "int64"
    layouts = (None, transposed) if row.strided else (None,)
    problems = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, sample in enumerate(few([s for s in row.samples() if fits(s, dtype)])):
            sample = cast(sample, dtype)
            for layout in layouts if i == 0 else (None,):
                inputs = tensors_of(lift(weft, sample, dtype, layout))
                if inputs and (problem := check(row, function_of(row, sample), inputs)):
                    problems.append(f"{sample} {layout and layout.__name__}: {problem}")
    assert not problems, "\n".join(problems)


@rows(lambda r: bool(r.grad))
def test_backward(row: Row) -> None:
    """Gradients where the backward pass is inside, and where it is outside."""
    problems = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in few(differentiable(row))[:1]:
            sample = cast(sample, "float32")
            op, inputs = function_of(row, sample), tensors_of(lift(weft, sample, "float32"))

            def forward(*inputs: Any, op: Any = op) -> Any:
                return op(*[x.clone() for x in inputs])

            def inside(*inputs: Any, op: Any = op) -> Any:
                return gradients(op(*[x.clone() for x in inputs]), list(inputs))

            for f, after in ((forward, gradients), (inside, as_it_is)):
                if problem := check(row, f, inputs, grad=True, after=after):
                    problems.append(f"{sample} {f.__name__}: {problem}")
    assert not problems, "\n".join(problems)
