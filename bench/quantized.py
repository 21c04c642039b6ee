"""A linear layer of 1024 by 1024 with int8 weights, beside the same layer of floats.

The scale of the input is found anew in every call. PyTorch may use any of its engines.
"""

from __future__ import annotations

import warnings
from typing import Any

from bench.harness import Row, Stmt, register

SIZES = {"1": {"batch": 1}, "32": {"batch": 32}}
ENGINES = ("x86", "fbgemm", "onednn")


def floats(lib: Any, mode: str, batch: int) -> Stmt:
    """The layer, called without gradients."""
    lib.manual_seed(0)
    lib.set_grad_enabled(False)
    layer, x = lib.nn.Linear(1024, 1024), lib.randn(batch, 1024)
    return Stmt("layer(x)", {"layer": layer, "x": x})


def int8(lib: Any, mode: str, batch: int) -> Stmt:
    """The same layer, quantised; the mode is PyTorch's engine."""
    made = floats(lib, mode, batch)
    lib.backends.quantized.engine = "x86" if mode == "eager" else mode
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lib.nn.Sequential(made.names["layer"])
        small = lib.ao.quantization.quantize_dynamic(model, {lib.nn.Linear}, dtype=lib.qint8)
    return Stmt("layer(x)", {"layer": small[0], "x": made.names["x"]})


for name, setup, modes in (("int8", int8, {"torch": ENGINES}), ("float", floats, {})):
    budget = {"torch": 1.0} if name == "int8" else {}
    register(
        Row("quantized", "linear", name, {"torch": setup}, SIZES, ("1",), modes, (1, 2), budget)
    )
