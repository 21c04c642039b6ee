"""Layers with int8 weights beside the same layers of floats: linear (1024 by 1024), LSTM, convolution.

The scale of the input is found anew in every call, that of a convolution beforehand. PyTorch may use
any of its engines.
"""

from __future__ import annotations

import warnings
from typing import Any

from bench.harness import Row, Stmt, register

BATCHES = {"1": {"batch": 1}, "32": {"batch": 32}, "128": {"batch": 128}}
IMAGES = {"1": {"batch": 1}, "4": {"batch": 4}}
ENGINES = ("x86", "fbgemm", "onednn")


def linear(lib: Any, mode: str, batch: int) -> Stmt:
    """A linear layer, called without gradients."""
    lib.manual_seed(0)
    lib.set_grad_enabled(False)
    return Stmt("layer(x)", {"layer": lib.nn.Linear(1024, 1024), "x": lib.randn(batch, 1024)})


def lstm(lib: Any, mode: str, batch: int) -> Stmt:
    """An LSTM of 256 units over 32 steps."""
    lib.manual_seed(0)
    lib.set_grad_enabled(False)
    return Stmt("layer(x)", {"layer": lib.nn.LSTM(256, 256), "x": lib.randn(32, batch, 256)})


def convolution(lib: Any, mode: str, batch: int) -> Stmt:
    """A 3x3 convolution of 128 channels and the ReLU behind it, channels last."""
    lib.manual_seed(0)
    lib.set_grad_enabled(False)
    layer = lib.nn.Sequential(lib.nn.Conv2d(128, 128, 3, padding=1), lib.nn.ReLU()).eval()
    x = lib.randn(batch, 128, 28, 28).contiguous(memory_format=lib.channels_last)
    return Stmt("layer(x)", {"layer": layer, "x": x})


def dynamic(floats: Any) -> Any:
    """The same layer, quantised; the mode is PyTorch's engine."""

    def setup(lib: Any, mode: str, batch: int) -> Stmt:
        made = floats(lib, mode, batch)
        lib.backends.quantized.engine = "x86" if mode == "eager" else mode
        layer = made.names["layer"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = lib.nn.Sequential(layer)
            small = lib.ao.quantization.quantize_dynamic(model, {type(layer)}, dtype=lib.qint8)
        return Stmt("layer(x)", {"layer": small[0], "x": made.names["x"]})

    return setup


def static(lib: Any, mode: str, batch: int) -> Stmt:
    """The convolution between two grids, which a batch has shown; its input lies on the first."""
    made = convolution(lib, mode, batch)
    engine = lib.backends.quantized.engine = "x86" if mode == "eager" else mode
    q, x = lib.ao.quantization, made.names["x"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lib.nn.Sequential(q.QuantStub(), *made.names["layer"], q.DeQuantStub()).eval()
        model = q.fuse_modules(model, [["1", "2"]])
        model.qconfig = q.get_default_qconfig(engine)
        prepared = q.prepare(model)
        prepared(x)
        small = q.convert(prepared)
    return Stmt("layer(x)", {"layer": small[1], "x": small[0](x)})


for group, floats, int8, sizes in (
    ("linear", linear, dynamic(linear), BATCHES),
    ("lstm", lstm, dynamic(lstm), {"1": {"batch": 1}, "16": {"batch": 16}}),
    ("conv", convolution, static, IMAGES),
):
    for name, setup in (("int8", int8), ("float", floats)):
        modes = {"torch": ENGINES} if name == "int8" else {}
        budget = {"torch": 1.0} if name == "int8" else {}
        register(
            Row("quantized", group, name, {"torch": setup}, sizes, ("1",), modes, (1, 2), budget)
        )
