"""Calls of ops as graphs make them, valid ones and ones with hostile arguments.

Valid calls come from the rows of samples.py: each is run under a recorder together with its
derivative, which shows every op that it is made of, hidden ones included. Calls are data (JSON's
types), so that they can be changed, saved to a file and repeated.
"""

from __future__ import annotations

import copy
import functools
import gc
import math
import random
import re
import warnings
from typing import Any

import numpy as np

import weft
from weft import _C

REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, MemoryError)
REFUSALS += (OverflowError,)
DTYPES = {
    str(d).removeprefix("torch."): d
    for d in (weft.float32, weft.float64, weft.float16, weft.bfloat16, weft.complex64,
              weft.complex128, weft.int64, weft.int32, weft.int16, weft.int8, weft.uint8, weft.bool)
}  # fmt: skip
LARGEST = 4096  # elements of a tensor in a recorded call
NUMBERS = (-(2**63), -(2**62), -(2**31), -2, -1, 0, 1, 2, 3, 7, 64, 65, 2**31 - 1, 2**31, 2**32)
NUMBERS += (2**40, 2**62, 2**63 - 1)
WORDS = (
    "add",
    "bounds",
    "silu",
    "tanh",
    "mul",
    "return",
    "float32",
    "int64",
    "bool",
    "v0",
    "v1",
    "v2",
    ";",
    "",
)
WORDS += (
    "reflect",
    "replicate",
    "circular",
    "nearest",
    "linear",
    "cubic",
    "area",
    "zeros",
    "border",
)
REALS = (math.nan, math.inf, -math.inf, 0.0, -0.0, -1.0, 0.5, 1e-300, 1e300, 2.0**63)
LAYOUTS = ("plain", "turned", "apart", "expanded", "behind")
ODD = (math.nan, math.inf, -math.inf, -0.0, 1e30, -1e30, 1e-42, -0.5, 2.0**31)  # elements of floats

Call = dict[str, Any]  # {"op": name, "args": [...], "inplace": bool}


def ops() -> dict[str, dict[str, Any]]:
    """All ops that the core knows by name, hidden ones too."""
    return {op["name"]: op for op in _C._ops()}


def params(op: str) -> list[str]:
    """The types of an op's parameters, as its signature writes them."""
    inside = ops()[op]["signature"].partition("(")[2].rpartition(") ->")[0]
    parts, depth = [""], 0
    for ch in inside:
        depth += (ch in "[(") - (ch in ")]")
        if ch == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += ch
    return [p.split()[0] for p in parts if p.strip() not in ("", "*")]


# ---- data and back ------------------------------------------------------------------------------


def encode(x: Any) -> Any:
    """An argument as data."""
    if isinstance(x, weft.Tensor) and x.is_sparse:
        return {"sparse": encode(x.to_dense())}
    if isinstance(x, weft.Tensor):
        dtype = str(x.dtype).removeprefix("torch.")
        whole = not x.dtype.is_floating_point and not x.dtype.is_complex
        values = x.flatten().tolist() if whole and x.numel() <= 64 else None
        return {"tensor": [dtype, list(x.shape), "plain", values]}
    if isinstance(x, weft.dtype):
        return {"dtype": str(x).removeprefix("torch.")}
    if isinstance(x, complex):
        return {"complex": [x.real, x.imag]}
    if isinstance(x, float):
        return {"float": repr(x)}
    if isinstance(x, (list, tuple)):
        return [encode(v) for v in x]
    return x if isinstance(x, (bool, int, str, dict, type(None))) else {"object": 0}


def decode(x: Any, seed: int = 1) -> Any:
    """The argument that data describes, a new one each time."""
    if isinstance(x, list):
        return [decode(v, seed + i + 1) for i, v in enumerate(x)]
    if not isinstance(x, dict):
        return x
    ((kind, inside),) = x.items()
    if kind == "tensor":
        return tensor(*inside, seed)
    if kind == "sparse":
        return decode(inside, seed).to_sparse()
    if kind == "dtype":
        return DTYPES[inside]
    if kind == "complex":
        return complex(*inside)
    return float(inside) if kind == "float" else object()


def tensor(dtype: str, shape: list[int], layout: str, values: Any, seed: int) -> weft.Tensor:
    """A tensor with the given values (repeated as needed) or random ones, which lies as asked."""
    n = math.prod(shape)
    if values:
        flat = np.resize(np.array(values), n)
    else:
        flat = np.random.default_rng(seed).uniform(0.1, 3.0, n)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        x = weft.from_numpy(np.ascontiguousarray(flat).reshape(shape)).to(DTYPES[dtype]).clone()
    if layout == "turned" and x.dim() > 1:
        return x.transpose(0, -1).contiguous().transpose(0, -1)
    if layout == "apart" and x.dim():
        wide = weft.zeros([*shape[:-1], 2 * shape[-1]], dtype=x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    if layout == "expanded" and x.dim() and x.numel():
        return x[:1].expand(shape)
    if layout == "behind":
        flat_x = weft.cat([weft.zeros(3, dtype=x.dtype), x.flatten()])
        return flat_x[3:].view(shape)
    return x


# ---- valid calls --------------------------------------------------------------------------------


class Listener:
    """Is called for every op that runs, in the backward pass too: see PyRecorder in bind/trace.cpp."""

    traces = False

    def __init__(self, calls: dict[str, list[Call]]) -> None:
        self.calls = calls

    def record(self, op: str, args: tuple[Any, ...], outs: Any, inplace: bool, *_: Any) -> None:
        kept = self.calls.setdefault(op, [])
        if len(kept) < 12 and all(t.numel() <= LARGEST and not t.is_sparse for t in _tensors(args)):
            call = {"op": op, "args": [encode(a) for a in args], "inplace": inplace}
            if call not in kept:
                kept.append(call)

    def custom_function(self, *_: Any) -> None: ...
    def became(self, *_: Any) -> None: ...
    def read(self, *_: Any) -> None: ...
    def lost(self, *_: Any) -> None: ...
    def hooked(self, *_: Any) -> None: ...
    def grad_read(self, *_: Any) -> None: ...
    def grad_set(self, *_: Any) -> None: ...
    def walks(self, *_: Any) -> None: ...


def _tensors(x: Any) -> list[weft.Tensor]:
    if isinstance(x, weft.Tensor):
        return [x]
    return [t for v in x for t in _tensors(v)] if isinstance(x, (list, tuple)) else []


def _differentiated(f: Any, args: Any, kwargs: Any) -> None:
    for t in _tensors(args):
        if t.dtype.is_floating_point:
            t.requires_grad_()
    made = [t for t in _tensors(f(*args, **kwargs)) if t.requires_grad]
    if made:
        sum(t.abs().sum() for t in made).backward()


def _listen(calls: dict[str, list[Call]], f: Any, *args: Any, **kwargs: Any) -> None:
    _C._start_recording(Listener(calls))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _differentiated(f, args, kwargs)
    except Exception:  # what a row cannot do in this dtype is no call
        pass
    finally:
        _C._stop_recording()


@functools.cache
def valid_calls() -> dict[str, list[Call]]:
    """Calls that succeed, by op: up to a dozen of each."""
    import samples
    from helpers import cast, lift, resolve

    calls: dict[str, list[Call]] = {}
    state = weft.get_rng_state()
    for name, row in samples.ROWS.items():
        f = resolve(weft, name)
        for sample in row.samples()[:4] if f else ():
            dtype = "float64" if "f" in row.dtypes else "int64"
            lifted = lift(weft, cast(sample, dtype), dtype)
            _listen(calls, f, *lifted.args, **lifted.kwargs)
    for more in _further():
        _listen(calls, more)
    for op, kept in _by_hand().items():
        calls[op] = kept + calls.get(op, [])
    weft.set_rng_state(state)
    gc.collect()
    return {
        op: good for op, kept in calls.items()
        if (good := [c for c in kept if outcome(c)[0] == "ran"])
    }  # fmt: skip


def _further() -> list[Any]:
    """Programs whose ops no row shows."""
    from weft import nn

    F = nn.functional
    x, image = weft.rand(3, 4), weft.rand(2, 4, 6, 6)

    def grad(t: weft.Tensor) -> weft.Tensor:
        return t.clone().requires_grad_()

    def layer(m: nn.Module, *args: weft.Tensor) -> Any:
        return lambda: m(*map(grad, args))

    def step(kind: Any, **options: Any) -> Any:
        def run() -> None:
            p = nn.Parameter(weft.rand(3))
            optimizer = kind([p], lr=0.1, **options)
            for _ in range(2):
                p.grad = weft.rand(3)
                optimizer.step()

        return run

    packed = nn.utils.rnn.pack_padded_sequence(weft.rand(4, 3, 5), [4, 2, 1])
    cells = [
        lambda m=m, d=d: m(5, 6, bidirectional=d)(weft.rand(4, 3, 5).requires_grad_())
        for m in (nn.LSTM, nn.GRU, nn.RNN) for d in (False, True)
    ]  # fmt: skip
    return [
        *cells,
        lambda: nn.LSTM(5, 6)(packed),
        lambda: nn.GRU(5, 6)(packed)[0].data,
        lambda: nn.RNN(5, 6, nonlinearity="relu")(weft.rand(4, 3, 5)),
        layer(nn.BatchNorm2d(4), image), layer(nn.BatchNorm2d(4).eval(), image),
        layer(nn.GroupNorm(2, 4), image), layer(nn.LayerNorm(4), x),
        layer(nn.Conv2d(4, 2, 3, padding=1), image), layer(nn.ConvTranspose2d(4, 2, 3), image),
        layer(nn.Conv1d(4, 4, 2, groups=2), image[0]), layer(nn.MaxPool2d(2), image),
        layer(nn.AvgPool2d(3, 2, 1), image), layer(nn.AdaptiveAvgPool2d(3), image),
        layer(nn.MaxPool2d(2, return_indices=True), image),
        lambda: F.max_unpool2d(*F.max_pool2d(grad(image), 2, return_indices=True), 2),
        lambda: F.embedding(weft.tensor([[1, 0], [2, 1]]), grad(x), padding_idx=1),
        lambda: F.cross_entropy(grad(x), weft.tensor([1, 0, 3])),
        lambda: F.cross_entropy(grad(x), weft.tensor([1, 0, 3]), reduction="none"),
        lambda: F.scaled_dot_product_attention(*(grad(image) for _ in range(3))),
        lambda: F.scaled_dot_product_attention(
            *(grad(image) for _ in range(3)), attn_mask=weft.rand(6, 6)
        ),
        lambda: F.scaled_dot_product_attention(*(grad(image) for _ in range(3)), is_causal=True),
        lambda: F.dropout(grad(x), 0.5), lambda: F.linear(grad(x), grad(x), weft.rand(3)),
        lambda: grad(x)[1:, None, ::2], lambda: grad(x)[weft.tensor([0, 2])],
        lambda: grad(x)[:, weft.tensor([0, 2])], lambda: grad(x)[x > 0.5],
        lambda: weft.searchsorted(x.sort().values, x), lambda: weft.histc(x, 5, 0.0, 1.0),
        lambda: weft.unique(x, return_inverse=True), lambda: weft.repeat_interleave(x, 2),
        lambda: grad(x).as_strided((2, 2), (2, 1)), lambda: weft.roll(grad(x), 1, 0),
        lambda: weft.select_scatter(grad(x), weft.rand(4), 0, 1),
        lambda: grad(x).softmax(1), lambda: grad(x).log_softmax(0), lambda: grad(x).logsumexp(1),
        lambda: grad(x).to(weft.float64), lambda: weft.cat([grad(x), grad(x)], 1),
        lambda: grad(image).contiguous(memory_format=weft.channels_last),
        step(weft.optim.SGD), step(weft.optim.SGD, momentum=0.9), step(weft.optim.Adam),
        step(weft.optim.AdamW, amsgrad=True),
    ]  # fmt: skip


def _by_hand() -> dict[str, list[Call]]:
    """Ops that only the compiler writes, or that the recorder does not show."""
    x, w, b = weft.rand(3, 4), weft.rand(2, 4), weft.rand(2)
    image, kernel = weft.rand(1, 2, 5, 5), weft.rand(3, 2, 3, 3)
    one, none = (1, 1), (0, 0)
    text = "v0: float32; v1: float32 = mul(v0, 2.0); v2: float32 = tanh(v1); return v2"
    byte = weft.randint(-5, 5, (2, 4), dtype=weft.int8)
    indices = weft.tensor([[0, 2], [1, 3]])
    made: list[tuple[Any, ...]] = [
        *((f"linear{a}", x, w, b) for a in ("", "_relu", "_tanh", "_sigmoid", "_gelu", "_gelu_tanh",
                                             "_silu", "_mish", "_hardswish")),
        ("convolve_relu", image, kernel, None, one, none, one, 1),
        ("convolve_ending", image, kernel, None, one, none, one, 1, "silu add bounds 0 6",
         weft.rand(1, 3, 3, 3)),
        ("convolve_chain", image, [weft.rand(4, 2, 1, 1), weft.rand(4, 1, 3, 3)], [None, weft.rand(4)],
         one, one, one, 4, 1, "silu;add", weft.rand(1, 4, 5, 5)),
        ("without_nan", x),
        ("fused", [x], text),
        ("quantized_linear", x, byte, weft.rand(2), b, False, 0.1, 3, None, 0, True),
        ("quantized_round", x, x, 0.5, 3, True),
        ("quantized_recur", weft.rand(2, 3, 8), weft.rand(3, 2), weft.rand(3, 2),
         weft.randint(-5, 5, (8, 2), dtype=weft.int8), weft.rand(8), weft.rand(8), False, 3, False),
        ("quantized_convolve", image, weft.randint(-5, 5, (3, 2, 3, 3), dtype=weft.int8),
         weft.rand(3), None, one, none, one, 1, False, None, 0, 0.5, 3, False),
        ("pass_positive", x, x - 0.5),
        ("layout_as", x, (1, 3)),
        ("trunc_divide", x, 2.0),
        ("pointwise_gradient", "mul", 0, x, None, x),
        ("pointwise_gradient", "tanh", 0, x, None, x),
        ("repeat_index", weft.tensor([1, 0, 2])),
        ("ctc_symbols", weft.rand(3, 2, 4), weft.tensor([[1, 2], [3, 0]]), weft.tensor([3, 2]),
         weft.tensor([2, 1]), 0),
        ("sparse_make", indices, weft.rand(2), (3, 4), True),
        ("sparse_take", x, indices),
        ("search_sorted", weft.rand(2, 4).sort().values, weft.rand(2, 3), True,
         weft.tensor([[0, 1, 2, 3], [3, 2, 1, 0]])),
        ("diagonal_backward", weft.rand(3), (3, 4), 0, 0, 1),
        ("as_strided_backward", weft.rand(2, 2), (3, 4), (4, 1), (2, 2), (2, 1), 1),
        ("slice_backward", weft.rand(2, 4), (3, 4), 0, 1, None, 1),
        ("select_backward", weft.rand(4), (3, 4), 0, 1),
        ("index_put.places", x, [None, weft.tensor([1, 2])], weft.rand(3, 2), True),
        ("index.places", x, [weft.tensor([1, 2])]),
        ("nonzero.columns", x), ("gelu_tanh", x), ("median", x), ("view.dtype", x, weft.int32),
        ("pool_pick", weft.rand(2, 4), weft.tensor([[0, 3], [1, 1]]), 1),
        ("_grid_sample_backward", weft.rand(1, 2, 2, 3), weft.rand(1, 2, 4, 4), weft.rand(1, 2, 3, 2),
         "bilinear", "zeros", False),
        ("adam_step_", *([weft.rand(3)] for _ in range(4)), [], [weft.rand(1)], 0.1, 0.9, 0.99, 0.1,
         0.1, True, False),
        ("_linalg_pinv", weft.rand(2, 2), weft.tensor(0.1), weft.tensor(0.1), False),
        ("_linalg_eigvals", weft.rand(2, 2)), ("_linalg_eigvalsh", weft.rand(2, 2), "L"),
        ("to_sparse", x, 2), ("sparse_layout", x.to_sparse(), "torch.sparse_csr"), ("to_dense", x),
        ("sparse_values", x.to_sparse(), x.to_sparse().indices(), 1),
        ("sparse_join", x.to_sparse()), ("sparse_clone", x.to_sparse()),
        ("sparse_as", x.to_sparse(), 1, 1), ("sparse_mask", x, x.to_sparse()),
        ("coalesce", x.to_sparse()), ("values", x.to_sparse()),
        ("zero_", x), ("normal_", x, 0.0, 1.0), ("random_", x), ("random_.to", x, 5),
        ("random_.from", x, 1, 5), ("cauchy_", x), ("log_normal_", x), ("geometric_", x, 0.5),
        ("bernoulli.p", x, 0.5), ("bernoulli_.tensor", x, {"tensor": ["float32", [3, 4], "plain", [1]]}),
        *((op, weft.tensor([6, 4]), weft.tensor([2, 3])) for op in
          ("gcd", "lcm", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift")),
    ]  # fmt: skip
    calls: dict[str, list[Call]] = {}
    for op, *args in made:
        call = {"op": op, "args": [encode(a) for a in args], "inplace": False}
        calls.setdefault(op, []).append(call)
    return calls


# ---- hostile ones -------------------------------------------------------------------------------


def hostile_tensor(x: dict[str, Any], rng: random.Random) -> Any:
    """A tensor of another shape, dtype, layout or, of whole numbers, other values."""
    dtype, shape, layout, values = x["tensor"]
    shape = list(shape)
    kind = rng.randrange(10)
    if kind == 0:
        dtype = rng.choice(list(DTYPES))
    elif kind == 1:
        layout = rng.choice(LAYOUTS)
    elif kind == 2 and values:
        values = list(values)
        values[rng.randrange(len(values))] = rng.choice(NUMBERS)
        dtype = "int64" if dtype != "bool" else dtype
    elif kind == 3 and shape:
        shape[rng.randrange(len(shape))] = rng.choice((0, 1, 2, 3, 5, 8))
    elif kind == 4:
        shape.insert(rng.randint(0, len(shape)), rng.choice((0, 1, 2)))
    elif kind == 5 and shape:
        del shape[rng.randrange(len(shape))]
    elif kind == 6:
        rng.shuffle(shape)
    elif kind == 7:
        shape = [rng.choice((0, 1, 1, 2, 3)) for _ in range(rng.randrange(7))]
    elif kind == 8:
        shape = [n + rng.choice((-1, 1)) if n else 1 for n in shape]
    elif kind == 9 and not values and dtype in ("float32", "float64", "float16", "bfloat16"):
        values = [rng.choice((*ODD, 0.5, 1.5)) for _ in range(rng.choice((1, 3, 7)))]
    return {"tensor": [dtype, shape, layout, values]}


def hostile_numbers(x: list[Any], rng: random.Random) -> list[Any]:
    """A list with one thing changed."""
    x = list(x)
    kind, at = rng.randrange(5), rng.randrange(len(x) + 1)
    if kind == 0:
        x.insert(at, rng.choice(NUMBERS))
    elif kind == 1:
        del x[at:]
    elif x:
        at = min(at, len(x) - 1)
        number = isinstance(x[at], int) and rng.random() < 0.5
        x[at] = x[at] + rng.choice((-2, -1, 1, 2)) if number else rng.choice(NUMBERS)
    return x


def hostile_text(x: str, rng: random.Random) -> str:
    """A text with a word or a letter changed; words such as those of fused programs, modes and endings."""
    words = re.split(r"(\W+)", x)
    at = rng.randrange(len(words))
    kind = rng.randrange(6)
    if kind == 0:
        del words[at]
    elif kind == 1:
        words.insert(at, rng.choice(words))
    elif kind == 2:
        other = rng.randrange(len(words))
        words[at], words[other] = words[other], words[at]
    elif kind == 3:
        words[at] = rng.choice(WORDS)
    elif kind == 4:
        words[at] = str(rng.choice((*NUMBERS, *REALS)))
    else:
        at = rng.randrange(len(x) + 1)
        return x[:at] + rng.choice(("", " ", ";", "v9", "\0", "\udc80", "-", "e")) + x[at + 1 :]
    return "".join(words)


def any_value(rng: random.Random) -> Any:
    """Something of any kind."""
    shape = [rng.randrange(4) for _ in range(rng.randrange(7))]
    plain = {"tensor": [rng.choice(list(DTYPES)), shape, rng.choice(LAYOUTS), None]}
    return rng.choice(
        (None, True, rng.choice(NUMBERS), {"float": repr(rng.choice(REALS))}, "x", "", "mul", [],
         [1, 2], [plain], [None], plain, {"dtype": rng.choice(list(DTYPES))}, {"object": 0},
         {"complex": [1.0, 2.0]}, [plain, None], "\udc80", {"sparse": plain})
    )  # fmt: skip


def hostile(x: Any, rng: random.Random) -> Any:
    """An argument in place of a valid one."""
    if rng.random() < 0.15:
        return any_value(rng)
    if isinstance(x, bool):
        return not x
    if isinstance(x, int):
        return x + rng.choice((-2, -1, 1, 2)) if rng.random() < 0.3 else rng.choice(NUMBERS)
    if isinstance(x, str):
        return hostile_text(x, rng)
    if isinstance(x, dict) and "tensor" in x:
        return hostile_tensor(x, rng)
    if isinstance(x, dict) and "float" in x:
        return {"float": repr(rng.choice(REALS))}
    if isinstance(x, dict) and "dtype" in x:
        return {"dtype": rng.choice(list(DTYPES))}
    if isinstance(x, list) and x and isinstance(x[0], dict):
        x, at = copy.deepcopy(x), rng.randrange(len(x))
        if rng.random() < 0.3:
            return x[:at]
        x[at] = hostile(x[at], rng) if rng.random() < 0.7 else None
        return x
    return hostile_numbers(x, rng) if isinstance(x, list) else any_value(rng)


def mutant(call: Call, rng: random.Random) -> Call:
    """A call with one to three things changed."""
    call = copy.deepcopy(call)
    args = call["args"]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(args)) if args else 0
        kind = rng.random()
        if kind < 0.03:
            call["inplace"] = not call["inplace"]
        elif kind < 0.05:
            del args[at:]
        elif kind < 0.07:
            args.append(any_value(rng))
        elif kind < 0.1 and len(args) > 1:
            other = rng.randrange(len(args))
            args[at], args[other] = args[other], args[at]
        elif args:
            args[at] = hostile(args[at], rng)
    return call


# ---- running them -------------------------------------------------------------------------------


Outcome = tuple[str, Any]  # ("ran", results) or ("refused", exception)


def outcome(call: Call) -> Outcome:
    """What an op gives when it is called by name."""
    try:
        args = tuple(decode(call["args"]))
        return "ran", _bits(_C._call_op(call["op"], args, call["inplace"]), args)
    except REFUSALS as e:
        return "refused", e


def outcome_in_program(call: Call, constant: bool = False) -> Outcome:
    """What it gives as the only op of a static program, on inputs or on constants."""
    try:
        args = decode(call["args"])
        program, given = _C.Program(), []

        def place(x: Any) -> Any:
            if isinstance(x, weft.Tensor):
                if constant:
                    return program.add_constant(x)
                given.append(x)
                return program.add_input(x)
            if isinstance(x, list) and any(isinstance(v, weft.Tensor) for v in x):
                places = [-1 if v is None else place(v) for v in x]
                return places if all(isinstance(p, int) for p in places) else None
            return None

        where = tuple(place(a) for a in args)
        plain = tuple(a if w is None else None for a, w in zip(args, where))
        results = program.add(call["op"], plain, where, call["inplace"], False)
        program.finish(results)
        made = program.run(tuple(given))
        if made is None:  # inputs that begin inside of what they are seen as, read-only memory
            return "refused", None
        return "ran", _bits(made, args)
    except REFUSALS as e:
        return "refused", e


def _bits(outs: Any, args: Any) -> list[Any]:
    """Results, and arguments as they are by then, to compare bit by bit."""
    return [
        (str(t.dtype), tuple(t.shape), t.detach().numpy(force=True).tobytes())
        if not t.is_sparse and t.dtype != weft.bfloat16
        else (str(t.dtype), tuple(t.shape), repr(t.tolist()) if not t.is_sparse else "")
        for t in (*outs, *_tensors(args))
    ]
