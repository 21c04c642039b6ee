"""A formula of ten pointwise ops with its gradient, as one loop: weft traced and fused, PyTorch's
compiler, JAX's jit. Budget: at least as fast as the best of them. Rows in the group ``first`` are
the time from the first call to the first result, in a fresh process: nothing compiled yet, and
kernels on the disk (for weft).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.harness import Row, Setup, Stmt, Value, register

FORMULA = "(sigmoid(x) * tanh(x * w + 0.5) + exp(-x * x) * log(w * w + 1.0)).sum()"
SIZES = {"1e6": {"n": 1_000_000}, "1.6e7": {"n": 16_000_000}}


def _arrays(n: int) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    return rng.standard_normal(n, np.float32), rng.random(n, np.float32) + 0.1


def _function(lib: Any) -> Any:
    names = {name: getattr(lib, name) for name in ("sigmoid", "tanh", "exp", "log")}
    return eval(f"lambda x, w: {FORMULA}", names)


def _with_gradient(lib: Any, f: Any) -> Any:
    def both(x: Any, w: Any) -> Any:
        y = f(x, w)
        return y, lib.autograd.grad(y, x)[0]

    return both


def in_weft(lib: Any, mode: str, n: int) -> Stmt:
    """Forward and backward traced together; ``fused`` with the pass, ``program`` without."""
    x, w = map(lib.from_numpy, _arrays(n))
    f = _with_gradient(lib, _function(lib))
    graph = lib.jit.trace(f, (x.clone().requires_grad_(), w)).graph
    if mode == "fused":
        graph = lib.jit.passes.fuse(graph)
    return Stmt("f(x, w)", {"f": graph.run, "x": x, "w": w})


def in_torch(lib: Any, mode: str, n: int) -> Stmt:
    """Eager, or the forward compiled, and with it the backward."""
    x, w = map(lib.from_numpy, _arrays(n))
    f = _function(lib)
    both = _with_gradient(lib, lib.compile(f) if mode == "compile" else f)
    return Stmt("f(x, w)", {"f": both, "x": x.clone().requires_grad_(), "w": w})


def in_jax(lib: Any, mode: str, n: int) -> Stmt:
    """``value_and_grad`` under ``jit``."""
    import jax.numpy as jnp

    class Names:
        sigmoid, tanh, exp, log = lib.nn.sigmoid, jnp.tanh, jnp.exp, jnp.log

    f = lib.jit(lib.value_and_grad(_function(Names)))
    x, w = map(jnp.asarray, _arrays(n))
    return Stmt("wait(f(x, w))", {"f": f, "x": x, "w": w, "wait": lib.block_until_ready})


FIRST = """
import sys, time
sys.path[:0] = {path!r}
import {module}
from bench import fused
import numpy
begin = time.perf_counter()
stmt = fused.{setup}({module}, {mode!r}, 1000)
eval(stmt.source, dict(stmt.names))
print(time.perf_counter() - begin)
"""


def first(setup: str, mode: str) -> Setup:
    """Seconds of the first call in a process of its own; ``cache``: ``cold``, or ``disk`` with kernels there."""

    def prepare(lib: Any, _mode: str, cache: str) -> Value:
        path = [str(Path(lib.__file__).parent.parent), str(Path(__file__).parent.parent)]
        program = FIRST.format(path=path, module=lib.__name__, setup=setup, mode=mode)
        place = tempfile.mkdtemp(prefix="weft-bench-kernels-")

        def measure() -> float:
            where = place if cache == "disk" else tempfile.mkdtemp(dir=place)
            env = {**os.environ, "WEFT_CACHE": os.path.join(where, "kernels")}
            done = subprocess.run(
                [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
            )
            return float(done.stdout.split()[-1])

        measure()
        return Value(measure)

    return prepare


register(
    Row(
        "fused",
        "formula",
        "with_gradient",
        {"weft": in_weft, "torch": in_torch, "jax": in_jax},
        sizes=SIZES,
        quick=("1e6",),
        modes={"weft": ("fused",), "torch": ("compile", "eager"), "jax": ("jit",)},
        threads=(1, 2),
        budget={"best": 1.0},
    )
)
register(
    Row(
        "fused",
        "first",
        "call",
        {"weft": first("in_weft", "fused"), "jax": first("in_jax", "jit")},
        sizes={"cold": {"cache": "cold"}, "disk": {"cache": "disk"}},
        modes={"weft": ("fused",), "jax": ("jit",)},
        budget={"jax": 1.0},
    )
)
