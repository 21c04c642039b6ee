"""Ops of the registry, hidden ones included, called as a graph or a file may call them.

Each case is a valid call with one to three arguments changed. It must be refused with an exception
or give a result, the same whether the op is called by name or runs in a static program. Where there is
a result, its derivatives of first and second order are asked for: they too exist or are refused.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

from robustness import boundary
from robustness.crashes import limit_memory

import weft
from weft import _C

COUNTS: Counter[str] = Counter()  # for the tally
SHARE = 1000
# Results that are random, or not set.
NO_VALUE = (
    "rand",
    "bernoulli",
    "normal",
    "uniform",
    "exponential",
    "cauchy",
    "geometric",
    "poisson",
)
NO_VALUE += ("binomial", "multinomial", "dropout", "empty", "gamma", "dirichlet", "rrelu")


def prepare() -> None:
    """Refuse what takes much memory."""
    limit_memory(1 << 30)


def generate(rng: random.Random) -> Any:
    """A valid call with something changed; hidden ops more often than others."""
    calls = boundary.valid_calls()
    known = boundary.ops()
    names = sorted(calls)
    if rng.random() < 0.6:
        names = [n for n in names if known[n]["hidden"]]
    return boundary.mutant(rng.choice(calls[rng.choice(names)]), rng)


def check(case: Any) -> None:
    """Call it in three ways; where it runs in two of them, all bits are the same."""
    eager = boundary.outcome(case)
    for constant in (False, True):
        static = boundary.outcome_in_program(case, constant)
        if static[0] == "ran" and not any(word in case["op"] for word in NO_VALUE):
            assert eager[0] == "ran", f"only a program runs {case}: eager says {eager[1]}"
            assert static[1] == eager[1], f"a program gives something else: {case}"
    if eager[0] == "ran" and not case["inplace"]:
        _differentiate(case)


def _differentiate(case: Any) -> None:
    """Walk back from all results to all arguments, and from what comes out once more."""
    args = tuple(boundary.decode(case["args"]))
    inputs = [t.requires_grad_() for t in _leaves(args)]
    found: Any = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _C._call_op(case["op"], args, False)
            for create_graph in (True, False):
                sums = [t.abs().sum() for t in _leaves(found) if t.requires_grad]
                if sums and inputs:
                    found = weft.autograd.grad(
                        sum(sums), inputs, create_graph=create_graph, allow_unused=True
                    )
                    COUNTS["derivatives of first order" if create_graph else "of second"] += 1
    except boundary.REFUSALS:
        pass


def _leaves(x: Any) -> list[weft.Tensor]:
    """The tensors that may have a derivative."""
    tensors = [t for t in boundary._tensors(x) if not t.is_sparse]
    return [t for t in tensors if t.dtype.is_floating_point or t.dtype.is_complex]


def shrink(case: Any) -> Iterator[Any]:
    """Calls nearer to a valid one: arguments put back, tensors made plain."""
    for valid in boundary.valid_calls().get(case["op"], ()):
        if len(valid["args"]) != len(case["args"]):
            continue
        for i, (now, was) in enumerate(zip(case["args"], valid["args"])):
            if now != was:
                args = [*case["args"][:i], was, *case["args"][i + 1 :]]
                yield {**case, "args": args}
