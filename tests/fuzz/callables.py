"""Calls every public callable: a call that is known to succeed with up to two arguments changed, or nasty arguments.

Nothing may crash, hang beyond Ctrl-C or take all memory; exceptions are right. Where a call succeeds, the same elements
laid out with other strides must give the same elements.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from fuzz._arguments import SAME_ELEMENTS, a_tensor, anything, fitting, value_of
from fuzz._targets import Parameter, overloads, targets
from fuzz._valid_calls import valid_calls
from robustness import boundary

import weft
from weft.nn.module_hooks import RemovableHandle
from weft.quantization.tensor import QuantizedTensor

SHARE = 2000  # cases in `make test`
COUNTS: Counter[str] = Counter()  # for the tally
REFUSED = object()
# Results that follow from how elements lie, from memory that was never written, or from a choice that the mathematics
# leaves open (signs and order of vectors, rank next to a tolerance): another layout may differ in these.
LAYOUT_DEPENDENT = (
    "empty",
    "as_strided",
    "resize",
    "set_",
    "storage",
    "stride",
    "data_ptr",
    "is_contiguous",
    "contiguous",
    "rand",
    "dropout",
    "svd",
    "eig",
    "qr",
    "lu",
    "lobpcg",
    "pca",
    "lstsq",
    "ldl",
    "rank",
    "pinv",
    "cholesky_ex",
    "inv_ex",
    "solve",
    "det",
    "cond",
    "geqrf",
    "ormqr",
    "householder",
    "multinomial",
    "bernoulli",
    "poisson",
    "normal",
    "gumbel",
    "rrelu",
    "version",
    "hash",
    "numpy",
    "dlpack",
    "buffer",
    "shares",
    "may_share",
    "is_set_to",
    "dim_order",
    "is_",
    "format",
    "unsafe",
    "kl_div_",
    "inverse",
    "matrix_power",
    "triangular",
    "layout",
    "memory",
    "element",
    "repr",
    "unfold_copy",
    "lerp_",
    "gradcheck",
)


# ---- cases --------------------------------------------------------------------------------------


def _argument(p: Parameter, rng: random.Random, shape: Any) -> Any:
    return anything(rng) if rng.random() < 0.12 else fitting(p.name, p.kind, rng, shape)


def _call(name: str, rng: random.Random, shape: Any) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by the signature; at times any at all."""
    ways = overloads(name)
    if not ways or rng.random() < 0.05:
        return [anything(rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 5]))], {}
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for p in rng.choice(ways):
        if p.optional and rng.random() < 0.6:
            if not p.keyword:
                break
            continue
        if p.keyword:
            kwargs[p.name] = _argument(p, rng, shape)
        else:
            args.append(_argument(p, rng, shape))
    if rng.random() < 0.05:
        kwargs["out"] = ["same", 0] if rng.random() < 0.5 else a_tensor(rng, shape)
    return args, kwargs


def _known_call(name: str, rng: random.Random) -> tuple[list[Any], dict[str, Any], list[Any]]:
    """A call that succeeds with none, one or two of its arguments changed."""
    call = rng.choice(valid_calls(name))
    args: list[Any] = list(call["args"])
    kwargs, then = dict(call["kwargs"]), list(call["then"])
    places: list[tuple[Any, Any]] = [(args, i) for i in range(len(args))]
    places += [(kwargs, key) for key in kwargs]
    places += [(then, i) for i in range(len(then))]
    for _ in range(rng.choice((0, 1, 1, 1, 2)) if places else 0):
        part, key = rng.choice(places)
        part[key] = boundary.hostile(part[key], rng)
    grad, start = rng.random() < 0.3, rng.randrange(1000)

    def described(x: Any, i: int) -> Any:
        if not isinstance(x, (list, dict)):
            return x
        return {"call": x, "seed": start + i, "grad": grad}

    made = [described(x, i) for i, x in enumerate(args)]
    named = {k: described(x, 50 + i) for i, (k, x) in enumerate(kwargs.items())}
    return made, named, [described(x, 100 + i) for i, x in enumerate(then)]


def generate(rng: random.Random) -> Any:
    """A callable and its arguments, and what is done with an object that it makes."""
    name = rng.choice(sorted(targets()))
    first = a_tensor(rng)
    shape = first[1]
    then: list[Any] = []
    if valid_calls(name) and rng.random() < 0.6:
        args, kwargs, then = _known_call(name, rng)
    else:
        args, kwargs = _call(name, rng, shape)
        if name.startswith("QuantizedTensor."):
            first[3] = rng.choice(("quantized", "by channel"))
        if name.startswith(("Tensor.", "QuantizedTensor.")):
            args.insert(0, first)
    then = then or [
        a_tensor(rng) if rng.random() < 0.9 else anything(rng)
        for _ in range(rng.choice([1, 1, 2, 3]))
    ]
    return {
        "target": name,
        "args": args,
        "kwargs": kwargs,
        "then": then,
        "backward": rng.random() < 0.4,
        "layout": rng.choice(SAME_ELEMENTS) if rng.random() < 0.4 else None,
    }


# ---- what a case does ---------------------------------------------------------------------------


def _use(made: Any, then: list[Any]) -> Any:
    """What an object does that a class made: layers are called, optimisers step, distributions draw."""
    if isinstance(made, weft.optim.Optimizer):
        for group in made.param_groups:
            for p in group["params"]:
                p.grad = weft.ones_like(p)
        made.step()
        return None
    if isinstance(made, weft.distributions.Distribution):
        made.log_prob(then[0])
        return None
    return made(*then) if callable(made) else made


def _arguments(case: Any, layout: str | None) -> tuple[list[Any], dict[str, Any], list[Any]]:
    args: list[Any] = []
    for d in case["args"]:
        args.append(value_of(d, args, layout))
    kwargs = {k: value_of(d, args, layout) for k, d in case["kwargs"].items()}
    return args, kwargs, [value_of(d, args, layout) for d in case["then"]]


def _run(case: Any, layout: str | None, seed: int) -> Any:
    """The result of a call; ``REFUSED`` where it is refused."""
    f = targets()[case["target"]]
    try:
        weft.manual_seed(0)  # modules among the arguments are always the same
        args, kwargs, then = _arguments(case, layout)
        weft.manual_seed(seed)
        made = f(*args, **kwargs)
        if isinstance(made, RemovableHandle):  # of a hook, which may be one of all modules
            made.remove()
        return _use(made, then) if isinstance(f, type) else made
    except SystemError as e:
        raise AssertionError(f"SystemError: {e}") from e
    except Exception:
        return REFUSED


def _tensors(result: Any, depth: int = 0) -> list[weft.Tensor]:
    if isinstance(result, weft.Tensor):
        return [] if weft.nn.parameter.is_lazy(result) else [result]
    if isinstance(result, QuantizedTensor):
        try:
            repr(result)
            return [result.int_repr(), result.dequantize()]
        except Exception:  # its class takes any integers, scales and zero points
            return []
    if isinstance(result, (list, tuple)) and depth < 4:  # one may contain itself
        return [t for part in result[:8] for t in _tensors(part, depth + 1)]
    return []


def _elements(t: weft.Tensor) -> np.ndarray:
    t = t.detach()
    t = t.to_dense() if t.layout != weft.strided else t
    return t.to(weft.complex128 if t.dtype.is_complex else weft.float64).numpy().copy()


def _walk_back(tensors: list[weft.Tensor]) -> None:
    for t in tensors:
        if t.requires_grad and 0 < t.numel() < 1 << 16:
            try:
                t.abs().sum().backward()
            except Exception:
                return


def _differ(a: list[np.ndarray], b: list[np.ndarray], close: float) -> bool:
    if [x.shape for x in a] != [x.shape for x in b]:
        return True
    return any(not np.allclose(x, y, rtol=close, atol=close, equal_nan=True) for x, y in zip(a, b))


def _compare(case: Any, tensors: list[weft.Tensor]) -> None:
    """The same call with elements that lie otherwise."""
    if any(part in case["target"] for part in LAYOUT_DEPENDENT) or not tensors:
        return
    if any(t.numel() > 1 << 16 for t in tensors):
        return
    ours = [_elements(t) for t in tensors]
    again = [_elements(t) for t in _tensors(_run(case, None, 2))]
    drawn = ["object", "generator"] in [*case["args"], *case["kwargs"].values()]
    if drawn or _differ(ours, again, 0):  # random, or not the same twice
        return
    result = _run(case, case["layout"], 1)
    theirs = [_elements(t) for t in _tensors(result)]
    narrow = {weft.float16: 2e-2, weft.bfloat16: 1e-1}
    close = max([narrow.get(t.dtype, 1e-4) for t in tensors])
    if theirs and _differ(ours, theirs, close):
        raise AssertionError(
            f"{case['target']} differs when its input is {case['layout']}: {ours} and {theirs}"
        )


def check(case: Any) -> None:
    """Make the call, walk back, make it again with another layout."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = _run(case, None, 1)
        COUNTS["returned a result" if result is not REFUSED else "were refused"] += 1
        tensors = _tensors(result)
        for t in tensors:
            if t.numel() < 1 << 16:
                repr(t)
        if case["layout"]:
            _compare(case, tensors)
        if case["backward"]:
            _walk_back(tensors)


def shrink(case: Any) -> Iterator[Any]:
    """Fewer arguments, then plainer ones."""
    yield {**case, "layout": None}
    yield {**case, "backward": False}
    for key in case["kwargs"]:
        yield {**case, "kwargs": {k: v for k, v in case["kwargs"].items() if k != key}}
    for i in range(len(case["args"]) - 1, -1, -1):
        yield {**case, "args": case["args"][:i]}
    for i, d in enumerate(case["args"]):
        if isinstance(d, list) and d[0] == "tensor":
            for plainer in (
                ["tensor", d[1], d[2], "plain", d[4], False],
                ["tensor", d[1][1:], *d[2:]],
                ["tensor", d[1], "float32", *d[3:]],
            ):
                if plainer != d:
                    yield {**case, "args": [*case["args"][:i], plainer, *case["args"][i + 1 :]]}
