"""What the loops can do: 1e3 to 1e7 elements, one and two threads, float32 unless named.

Each row is an expression over NumPy-made inputs that every library copies into its own memory.
Budgets: at least as fast as PyTorch in every row, 1.3x in the geometric mean of each group and of
all. Rows in the group ``backward`` are for information.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bench.harness import MEANS, Mean, Row, Setup, Stmt, register

Arrays = dict[str, Any]
Inputs = Callable[..., Arrays]
EVEN = {"torch": 1.0}
THREADS = (1, 2)
SHAPES = {
    "1e3": (25, 40),
    "1e4": (100, 100),
    "1e5": (250, 400),
    "1e6": (1000, 1000),
    "1e7": (2500, 4000),
}
ALL = ("1e3", "1e4", "1e5", "1e6", "1e7")
SPREAD = ("1e3", "1e5", "1e7")
SORTED = ("1e3", "1e5", "1e6")
QUICK = ("1e5", "256", "bmm_64x64x64x64")


def _floats(rows: int, cols: int, seed: int = 0, dtype: str = "float32") -> Any:
    """Values in [0.1, 1.1), so that log, sqrt and products stay tame."""
    import numpy as np

    return np.random.default_rng(seed).random((rows, cols), np.dtype(dtype).type) + 0.1


def one(rows: int, cols: int) -> Arrays:
    """``x``: a matrix."""
    return {"x": _floats(rows, cols)}


def signed(rows: int, cols: int) -> Arrays:
    """``x``: a matrix with values around zero."""
    return {"x": 4 * _floats(rows, cols) - 2.4}


def two(rows: int, cols: int) -> Arrays:
    """``x`` and ``y``: matrices."""
    return {"x": _floats(rows, cols), "y": _floats(rows, cols, 1)}


def masked(rows: int, cols: int) -> Arrays:
    """``x``, ``y`` and a mask ``m`` that is true in half of its places, at random."""
    return {**two(rows, cols), "m": _floats(rows, cols, 2) > 0.6}


def row_column(rows: int, cols: int) -> Arrays:
    """A row ``x`` and a column ``y`` that broadcast to a matrix."""
    return {"x": _floats(1, cols), "y": _floats(rows, 1, 1)}


def matrix_row(rows: int, cols: int) -> Arrays:
    """A matrix ``x`` and a row ``y`` (a bias)."""
    return {"x": _floats(rows, cols), "y": _floats(1, cols, 1)[0]}


def doubles(rows: int, cols: int) -> Arrays:
    """``x``: float64."""
    return {"x": _floats(rows, cols, dtype="float64")}


def integers(rows: int, cols: int) -> Arrays:
    """``x`` and ``y``: int64."""
    return {name: (1000 * array).astype("int64") for name, array in two(rows, cols).items()}


def nothing_true(rows: int, cols: int) -> Arrays:
    """``m``: a mask without a true place, so that ``any`` reads all of it."""
    return {"m": _floats(rows, cols) > 9}


def four(rows: int, cols: int) -> Arrays:
    """``x``: four dimensions."""
    return {"x": _floats(rows, cols).reshape(rows // 5, 5, cols // 4, 4)}


def flat(rows: int, cols: int) -> Arrays:
    """``x``: one dimension, in random order."""
    return {"x": _floats(rows, cols).reshape(-1)}


def places(rows: int, cols: int) -> Arrays:
    """``x``, a source ``y`` and an index ``i`` per element, along the rows."""
    index = (_floats(rows, cols, 2) - 0.1) * cols
    return {**two(rows, cols), "i": index.astype("int64").clip(0, cols - 1)}


def picks(rows: int, cols: int) -> Arrays:
    """``x`` and an index ``i`` of as many rows, at random."""
    index = (_floats(1, rows, 2)[0] - 0.1) * rows
    return {"x": _floats(rows, cols), "i": index.astype("int64").clip(0, rows - 1)}


def product(m: int, k: int, n: int) -> Arrays:
    """Factors ``x`` (m, k) and ``y`` (k, n), and a bias ``c`` (n,)."""
    return {"x": _floats(m, k), "y": _floats(k, n, 1), "c": _floats(1, n, 2)[0]}


def batch(b: int, m: int, k: int, n: int) -> Arrays:
    """``b`` pairs of factors ``x`` and ``y``."""
    return {"x": _floats(b * m, k).reshape(b, m, k), "y": _floats(b * k, n, 1).reshape(b, k, n)}


def in_torch(expression: str, inputs: Inputs, backward: bool) -> Setup:
    """The expression in PyTorch's API (weft's too): ``torch`` is whichever library runs."""

    def setup(lib: Any, mode: str, **size: int) -> Stmt:
        names = {name: lib.from_numpy(array).clone() for name, array in inputs(**size).items()}
        if not backward:
            return Stmt(expression, {**names, "torch": lib})
        leaves = tuple(t.requires_grad_() for t in names.values() if t.dtype == lib.float32)
        g = lib.ones_like(eval(expression, {**names, "torch": lib}).detach())
        names.update(torch=lib, leaves=leaves, g=g, grad=lib.autograd.grad)
        return Stmt(f"grad({expression}, leaves, g)", names)

    return setup


def in_jax(expression: str, inputs: Inputs, backward: bool) -> Setup:
    """The expression in JAX, compiled; a call ends when its result is there."""

    def setup(lib: Any, mode: str, **size: int) -> Stmt:
        import jax.numpy as jnp

        arrays = {name: jnp.asarray(array) for name, array in inputs(**size).items()}
        scope = {"jnp": jnp, "jax": lib}
        forward = eval(f"lambda {', '.join(arrays)}: {expression}", scope)
        function = forward
        if backward:
            g = jnp.ones_like(forward(*arrays.values()))
            floats = [k for k, a in enumerate(arrays.values()) if a.dtype == jnp.float32]

            def gradients(*values: Any) -> Any:
                def of_floats(*chosen: Any) -> Any:
                    full = list(values)
                    for k, array in zip(floats, chosen, strict=True):
                        full[k] = array
                    return forward(*full)

                return lib.vjp(of_floats, *[values[k] for k in floats])[1](g)

            function = gradients
        compiled = lib.jit(function)
        single = hasattr(compiled(*arrays.values()), "block_until_ready")
        names = {**arrays, "f": compiled, "wait": lib.block_until_ready}
        call = f"f({', '.join(arrays)})"
        return Stmt(f"{call}.block_until_ready()" if single else f"wait({call})", names)

    return setup


def kernel(
    group: str,
    name: str,
    expression: str,
    jax: str | None,
    inputs: Inputs,
    sizes: tuple[str, ...] | Mapping[str, Mapping[str, int]] = SPREAD,
    backward: bool = False,
) -> None:
    """Declare one row: the expression for PyTorch and weft, the one for JAX, and its inputs."""
    setups = {"torch": in_torch(expression, inputs, backward)}
    if jax is not None:
        setups["jax"] = in_jax(jax, inputs, backward)
    if isinstance(sizes, tuple):
        sizes = {s: dict(zip(("rows", "cols"), SHAPES[s], strict=True)) for s in sizes}
    quick = tuple(s for s in sizes if s in QUICK)
    budget = {} if backward else EVEN
    modes = {"jax": ("jit",)}
    register(Row("kernels", group, name, setups, sizes, quick, modes, THREADS, budget))


def _pointwise() -> None:
    g = "pointwise"
    kernel(g, "add", "x + y", "x + y", two, ALL)
    kernel(g, "mul", "x * y", "x * y", two)
    kernel(g, "mul_scalar", "x * 1.5", "x * 1.5", one)
    kernel(g, "row_plus_column", "x + y", "x + y", row_column)
    kernel(g, "matrix_plus_row", "x + y", "x + y", matrix_row)
    kernel(g, "exp", "x.exp()", "jnp.exp(x)", signed, ALL)
    kernel(g, "tanh", "x.tanh()", "jnp.tanh(x)", signed, ALL)
    kernel(g, "sigmoid", "x.sigmoid()", "jax.nn.sigmoid(x)", signed)
    kernel(g, "log", "x.log()", "jnp.log(x)", one)
    kernel(g, "sqrt", "x.sqrt()", "jnp.sqrt(x)", one)
    kernel(g, "relu", "x.clamp(min=0)", "jnp.maximum(x, 0)", signed)
    kernel(g, "where", "torch.where(m, x, y)", "jnp.where(m, x, y)", masked)
    kernel(g, "add_int64", "x + y", "x + y", integers)
    kernel(g, "exp_float64", "x.exp()", "jnp.exp(x)", doubles)
    kernel(g, "greater", "x > y", "x > y", two)
    kernel(g, "to_float64", "x.to(torch.float64)", "x.astype(jnp.float64)", one)
    kernel(g, "to_bfloat16", "x.to(torch.bfloat16)", "x.astype(jnp.bfloat16)", one)


def _reductions() -> None:
    g = "reductions"
    kernel(g, "sum", "x.sum()", "x.sum()", one, ALL)
    kernel(g, "sum_0", "x.sum(0)", "x.sum(0)", one, ALL)
    kernel(g, "sum_last", "x.sum(-1)", "x.sum(-1)", one, ALL)
    kernel(g, "mean", "x.mean()", "x.mean()", one)
    kernel(g, "max", "x.max()", "x.max()", one)
    kernel(g, "max_last", "x.max(-1)", "(x.max(-1), x.argmax(-1))", one)
    kernel(g, "argmax_last", "x.argmax(-1)", "x.argmax(-1)", one)
    kernel(g, "argmax_0", "x.argmax(0)", "x.argmax(0)", one)
    kernel(g, "var", "x.var()", "x.var(ddof=1)", one)
    kernel(g, "norm", "x.norm()", "jnp.sqrt((x * x).sum())", one)
    kernel(g, "prod", "x.prod()", "x.prod()", one)
    kernel(g, "any", "m.any()", "m.any()", nothing_true)
    g = "softmax"
    kernel(g, "softmax_last", "x.softmax(-1)", "jax.nn.softmax(x, -1)", signed, ALL)
    kernel(g, "softmax_0", "x.softmax(0)", "jax.nn.softmax(x, 0)", signed)
    kernel(g, "log_softmax_last", "x.log_softmax(-1)", "jax.nn.log_softmax(x, -1)", signed)
    kernel(g, "log_softmax_0", "x.log_softmax(0)", "jax.nn.log_softmax(x, 0)", signed)


def _moves() -> None:
    g = "copies"
    kernel(g, "transpose", "x.t().contiguous()", None, one, ALL)
    kernel(g, "permute", "x.permute(0, 2, 3, 1).contiguous()", None, four)
    kernel(g, "permute_reverse", "x.permute(3, 2, 1, 0).contiguous()", None, four)
    kernel(g, "add_transposed", "x + y.t()", None, _square)
    kernel(g, "clone", "x.clone()", None, one)
    kernel(g, "cat", "torch.cat((x, y))", "jnp.concatenate((x, y))", two)
    kernel(g, "cat_last", "torch.cat((x, y), -1)", "jnp.concatenate((x, y), -1)", two)
    g = "indexing"
    along = "jnp.take_along_axis(x, i, 1)"
    kernel(g, "gather", "x.gather(1, i)", along, places)
    added = "x.at[jnp.arange(x.shape[0])[:, None], i].add(y)"
    kernel(g, "scatter_add", "x.scatter_add(1, i, y)", added, places)
    kernel(g, "index_select", "x.index_select(0, i)", "x[i]", picks)
    kernel(g, "index_rows", "x[i]", "x[i]", picks)
    kernel(g, "masked_fill", "x.masked_fill(m, 0.5)", "jnp.where(m, 0.5, x)", masked)
    kernel(g, "masked_select", "x.masked_select(m)", None, masked)
    g = "sorting"
    kernel(g, "sort", "x.sort()", "(jnp.sort(x), jnp.argsort(x))", flat, SORTED)
    kernel(g, "sort_last", "x.sort(-1)", "(jnp.sort(x), jnp.argsort(x))", one, SORTED)
    kernel(g, "argsort", "x.argsort()", "jnp.argsort(x)", flat, SORTED)
    kernel(g, "topk", "x.topk(10)", "jax.lax.top_k(x, 10)", flat, SORTED)
    kernel(g, "topk_last", "x.topk(10, -1)", "jax.lax.top_k(x, 10)", one, SORTED)
    g = "scans"
    kernel(g, "cumsum_0", "x.cumsum(0)", "jnp.cumsum(x, 0)", one)
    kernel(g, "cumsum_last", "x.cumsum(-1)", "jnp.cumsum(x, -1)", one)
    kernel(g, "cumsum_flat", "x.cumsum(0)", "jnp.cumsum(x, 0)", flat)


def _square(rows: int, cols: int) -> Arrays:
    """``x`` and a ``y`` whose transpose has its shape."""
    return {"x": _floats(rows, cols), "y": _floats(cols, rows, 1)}


def _products() -> None:
    g = "matmul"
    square = {str(n): {"m": n, "k": n, "n": n} for n in (32, 64, 128, 256, 512, 1024)}
    kernel(g, "square", "x @ y", "x @ y", product, square)
    kernel(g, "transposed", "x @ y.t()", "x @ y.T", product, {"256": square["256"]})
    skinny = {
        "matvec_1024": {"m": 1024, "k": 1024, "n": 1},
        "vecmat_1024": {"m": 1, "k": 1024, "n": 1024},
        "32x784x100": {"m": 32, "k": 784, "n": 100},
        "4096x16x4096": {"m": 4096, "k": 16, "n": 4096},
        "16x4096x16": {"m": 16, "k": 4096, "n": 16},
        "10000x64x8": {"m": 10000, "k": 64, "n": 8},
    }
    kernel(g, "skinny", "x @ y", "x @ y", product, skinny)
    linear = {
        "32x10x50": {"m": 32, "k": 10, "n": 50},
        "128x784x1024": {"m": 128, "k": 784, "n": 1024},
    }
    kernel(g, "addmm", "torch.addmm(c, x, y)", "x @ y + c", product, linear)
    batches = {
        "bmm_1000x8x8x8": {"b": 1000, "m": 8, "k": 8, "n": 8},
        "bmm_64x64x64x64": {"b": 64, "m": 64, "k": 64, "n": 64},
        "bmm_128x64x16x64": {"b": 128, "m": 64, "k": 16, "n": 64},
        "bmm_8x256x256x256": {"b": 8, "m": 256, "k": 256, "n": 256},
    }
    kernel(g, "bmm", "torch.bmm(x, y)", "x @ y", batch, batches)


def _backward() -> None:
    g = "backward"
    sizes = ("1e3", "1e6")
    kernel(g, "mul", "x * y", "x * y", two, sizes, True)
    kernel(g, "tanh", "x.tanh()", "jnp.tanh(x)", signed, sizes, True)
    kernel(g, "matrix_plus_row", "x + y", "x + y", matrix_row, sizes, True)
    kernel(g, "sum_last", "x.sum(-1)", "x.sum(-1)", one, sizes, True)
    kernel(g, "softmax_last", "x.softmax(-1)", "jax.nn.softmax(x, -1)", signed, sizes, True)
    kernel(g, "index_select", "x.index_select(0, i)", "x[i]", picks, sizes, True)
    square = {"256": {"m": 256, "k": 256, "n": 256}}
    kernel(g, "addmm", "torch.addmm(c, x, y)", "x @ y + c", product, square, True)


def _declare() -> None:
    for declare in (_pointwise, _reductions, _moves, _products, _backward):
        declare()
    for group in ("pointwise", "reductions", "softmax", "copies", "indexing", "sorting", "scans"):
        MEANS[f"kernels/{group}"] = Mean("torch", 1.3)
    MEANS["kernels/matmul"] = Mean("torch", 1.3)
    MEANS["kernels/backward"] = Mean("torch", None)
    MEANS["kernels"] = Mean("torch", 1.3)


_declare()
