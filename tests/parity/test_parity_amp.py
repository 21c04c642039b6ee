"""Mixed precision in weft and PyTorch: dtypes, values, gradients, scales, a network that is trained."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from helpers import array, call, cast, flat, is_tensor, lift, resolve
from samples import ROWS, Row

import weft

# Ops for which PyTorch's result is in the small dtype, or raises: weft goes on in float32.
WIDER = {"linalg.det", "det", "linalg.pinv", "linalg.matrix_exp", "matrix_exp", "linalg.lu"}
BOTH = [
    r
    for r in ROWS.values()
    if "f" in r.dtypes and r.name not in WIDER and resolve(weft, r.name) and resolve(torch, r.name)
]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """No warnings, and one thread: idle ones of one library that spin take time from the other."""
    counts = [lib.get_num_threads() for lib in (weft, torch)]
    for lib in (weft, torch):
        lib.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    for lib, count in zip((weft, torch), counts):
        lib.set_num_threads(count)


def kind(x: Any) -> str:
    """The dtype of a tensor, or the type of something else."""
    return str(x.dtype).rpartition(".")[2] if is_tensor(x) else type(x).__name__


def outcome(lib: Any, row: Row, sample: Any, given: str, small: str) -> Any:
    """What an op returns under autocast, or the exception."""
    try:
        with lib.autocast("cpu", dtype=getattr(lib, small)):
            return call(resolve(lib, row.name), row, lift(lib, cast(sample, given), given))
    except Exception as e:
        return e


def near(ours: Any, theirs: Any, tolerance: float = 6e-2) -> bool:
    """Whether two tensors are equal but for the rounding of small dtypes."""
    x, y = array(ours).astype(complex), array(theirs).astype(complex)
    return x.shape == y.shape and np.allclose(
        x, y, rtol=tolerance, atol=tolerance * max(1.0, np.abs(y).max(initial=0.0)), equal_nan=True
    )


@pytest.mark.parametrize("row", BOTH, ids=[r.name for r in BOTH])
def test_op(row: Row) -> None:
    """Every op, given float32 and the small dtype: the dtypes and values of its results."""
    for given, small in (("float32", "bfloat16"), ("bfloat16", "bfloat16"), ("float32", "float16")):
        for sample in row.samples()[:2]:
            ours, theirs = (outcome(lib, row, sample, given, small) for lib in (weft, torch))
            if isinstance(theirs, Exception):
                continue
            assert not isinstance(ours, Exception), f"{given} in {small}: {ours}"
            got, expected = flat(ours), flat(theirs)
            assert [kind(x) for x in got] == [kind(x) for x in expected], f"{given} in {small}"
            if row.values and not row.canon:
                assert all(near(a, b) for a, b in zip(got, expected)), f"{given} in {small}"


# How to make a module, and the shapes of its arguments.
MODULES: dict[str, list[Any]] = {
    "Linear(3, 2)": [(4, 3)],
    "Bilinear(3, 2, 4)": [(5, 3), (5, 2)],
    "PReLU(3)": [(2, 3)],
    "Conv1d(2, 3, 3, padding='same')": [(2, 2, 7)],
    "Conv2d(4, 6, 3, stride=2, padding=1, groups=2)": [(2, 4, 7, 7)],
    "Conv2d(2, 3, 3, padding=1, padding_mode='reflect')": [(2, 2, 7, 7)],
    "Conv3d(2, 3, 2)": [(1, 2, 4, 4, 4)],
    "ConvTranspose1d(2, 3, 3, stride=2, output_padding=1)": [(2, 2, 5)],
    "ConvTranspose2d(2, 3, 3, stride=2)": [(2, 2, 5, 5)],
    "ConvTranspose3d(2, 3, 2)": [(1, 2, 3, 3, 3)],
    "Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 2))": [(5, 3)],
    "Sequential(nn.Linear(3, 4), nn.SiLU(), nn.Linear(4, 4), nn.Tanh(), nn.Sigmoid())": [(5, 3)],
    "Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Softmax(-1))": [(5, 3)],
    "Sequential(nn.Linear(3, 4), nn.RMSNorm(4), nn.LogSoftmax(-1))": [(5, 3)],
    "Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))": [(2, 1, 8, 8)],
    "Sequential(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.AvgPool2d(2))": [(2, 1, 8, 8)],
    "Sequential(nn.Conv2d(1, 4, 3), nn.InstanceNorm2d(4, affine=True))": [(2, 1, 8, 8)],
    "Sequential(nn.Conv3d(1, 2, 2), nn.AvgPool3d(2), nn.Flatten())": [(2, 1, 5, 5, 5)],
    "LSTM(3, 4, num_layers=2)": [(5, 2, 3)],
    "LSTM(3, 4, proj_size=2)": [(5, 2, 3)],
    "GRU(3, 4, bidirectional=True)": [(5, 2, 3)],
    "RNN(3, 4, nonlinearity='relu')": [(5, 2, 3)],
    "LSTMCell(3, 4)": [(2, 3)],
    "GRUCell(3, 4)": [(2, 3)],
    "RNNCell(3, 4)": [(2, 3)],
    "MultiheadAttention(4, 2, batch_first=True)": [(2, 3, 4)] * 3,
    "MultiheadAttention(4, 2, add_bias_kv=True)": [(3, 2, 4)] * 3,
    "TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True)": [(2, 3, 4)],
    "TransformerDecoderLayer(4, 2, 6, dropout=0.0)": [(3, 2, 4), (5, 2, 4)],
    "MSELoss()": [(2, 3), (2, 3)],
    "L1Loss(reduction='none')": [(2, 3), (2, 3)],
    "SmoothL1Loss()": [(2, 3), (2, 3)],
    "BCEWithLogitsLoss()": [(2, 3), (2, 3)],
    "KLDivLoss(reduction='batchmean')": [(2, 3), (2, 3)],
    "TripletMarginLoss()": [(2, 3)] * 3,
    "CosineEmbeddingLoss()": [(2, 3), (2, 3), (2,)],
    "CrossEntropyLoss()": [(3, 3), (3, 3)],
    "Embedding(5, 3)": ["indices"],
}


def run_module(lib: Any, module: Any, arrays: list[np.ndarray]) -> tuple[list[Any], list[Any]]:
    """Results, and the gradients of inputs and parameters; backward is called outside."""
    inputs = [lib.from_numpy(a.copy()) for a in arrays]
    leaves = [t.requires_grad_() for t in inputs if t.is_floating_point()]
    with lib.autocast("cpu", dtype=lib.bfloat16):
        results = [t for t in flat(module(*inputs)) if t is not None]
    sum((t.float() * t.float()).sum() for t in results).backward()
    return results, [t.grad for t in (*leaves, *(p for _, p in sorted(module.named_parameters())))]


def run_torch(module: Any, arrays: list[np.ndarray]) -> tuple[list[Any], list[Any]]:
    """PyTorch where its library has no loop for this CPU, too: LSTMs in bfloat16.

    Its own loops give float32 then; rounded, that is what the library gives elsewhere.
    """
    try:
        return run_module(torch, module, arrays)
    except RuntimeError as e:
        if "could not create a primitive" not in str(e):
            raise
    module.zero_grad()
    with torch.backends.mkldnn.flags(enabled=False):
        results, slopes = run_module(torch, module, arrays)
    return [t.bfloat16() for t in results], slopes


@pytest.mark.parametrize("code", MODULES)
def test_module(code: str) -> None:
    """Dtypes and values of results and of all gradients."""
    theirs, ours = eval("nn." + code, {"nn": torch.nn}), eval("nn." + code, {"nn": weft.nn})
    ours.load_state_dict({k: weft.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()})
    rng = np.random.default_rng(0)
    arrays = [
        np.array([0, 2, 1]) if s == "indices" else rng.standard_normal(s).astype(np.float32)
        for s in MODULES[code]
    ]
    expected, slopes = run_torch(theirs, arrays)
    got, ours_slopes = run_module(weft, ours, arrays)
    assert [kind(x) for x in got] == [kind(x) for x in expected]
    assert all(near(a, b, 3e-2) for a, b in zip(got, expected))
    for a, b in zip(ours_slopes, slopes):
        if b is None:
            assert a is None or not a.any()
        else:
            assert kind(a) == kind(b) == "float32"
            assert near(a, b, 6e-2)


def network(lib: Any) -> Any:
    """A small convolutional network."""
    nn = lib.nn
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4),
    )  # fmt: skip


@pytest.mark.parametrize("scaled", [False, True])
def test_training_follows_that_of_pytorch(scaled: bool) -> None:
    """The losses of forty steps, with and without a scaler; weights stay in float32."""
    rng = np.random.default_rng(1)
    images = rng.standard_normal((32, 1, 12, 12)).astype(np.float32)
    labels = rng.integers(0, 4, 32)
    images += labels[:, None, None, None] * 0.3
    theirs, ours = network(torch), network(weft)
    ours.load_state_dict({k: weft.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()})
    curves = []
    for lib, model in ((torch, theirs), (weft, ours)):
        optimizer = lib.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        scaler = lib.amp.GradScaler("cpu", init_scale=256.0, growth_interval=10, enabled=scaled)
        x, y = lib.from_numpy(images), lib.from_numpy(labels)
        losses = []
        for _ in range(40):
            optimizer.zero_grad()
            with lib.autocast("cpu", dtype=lib.bfloat16):
                loss = lib.nn.functional.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        assert all(p.dtype == lib.float32 for p in model.parameters())
        assert scaler.get_scale() == (4096.0 if scaled else 1.0)
        curves.append(losses)
    expected, got = map(np.array, curves)
    assert expected[-1] < 0.5 * expected[0]
    np.testing.assert_allclose(got[:10], expected[:10], rtol=3e-2)
    np.testing.assert_allclose(got, expected, rtol=0.15, atol=5e-2)


def test_scaler_follows_that_of_pytorch() -> None:
    """Scales, weights, state and errors over steps of which some overflow."""
    logs = []
    for lib in (torch, weft):
        p = lib.nn.Parameter(lib.ones(2))
        sgd = lib.optim.SGD([p], lr=0.25)
        scaler = lib.amp.GradScaler("cpu", init_scale=2.0**14, growth_interval=3)
        log: list[Any] = []
        for g in (1.0, 2.0, float("inf"), 0.5, float("nan"), 1.0, 1.0, 1.0, 3e38, 1.0):
            sgd.zero_grad()
            scaler.scale((p * g).sum()).backward()
            scaler.unscale_(sgd)
            with pytest.raises(RuntimeError):
                scaler.unscale_(sgd)
            scaler.step(sgd)
            with pytest.raises(RuntimeError):
                scaler.step(sgd)
            scaler.update()
            log.append((scaler.get_scale(), p.tolist(), scaler.state_dict()))
        with pytest.raises(AssertionError):
            scaler.update()
        sgd.zero_grad()
        with pytest.raises(AssertionError):
            scaler.step(sgd)
        with pytest.raises(RuntimeError):
            scaler.step(sgd, closure=lambda: None)
        half = lib.tensor(1.0, dtype=lib.float16)
        log.append((kind(scaler.scale(half)), scaler.scale(half).item()))
        logs.append(log)
    assert logs[0] == logs[1]


@pytest.mark.parametrize("lib", [torch, weft])
def test_modes_are_those_of_pytorch(lib: Any) -> None:
    """Nesting, questions, switches, decorators: the same assertions hold for both."""
    a = lib.ones(2, 2)
    assert not lib.is_autocast_enabled("cpu") and lib.get_autocast_dtype("cpu") == lib.bfloat16
    with lib.autocast("cpu", dtype=lib.float16):
        assert lib.is_autocast_enabled("cpu") and (a @ a).dtype == lib.float16
        assert lib.get_autocast_dtype("cpu") == lib.float16
        with lib.autocast("cpu", enabled=False):
            assert not lib.is_autocast_enabled("cpu") and (a @ a).dtype == lib.float32
            with lib.autocast("cpu", dtype=lib.bfloat16):
                assert (a @ a).dtype == lib.bfloat16
        assert (a.double() @ a.double()).dtype == lib.float64
        assert lib.addmm(a, a, a, out=lib.empty(2, 2)).dtype == lib.float32
    assert not lib.is_autocast_enabled("cpu") and lib.get_autocast_dtype("cpu") == lib.bfloat16
    with lib.cpu.amp.autocast():
        assert (a @ a).dtype == lib.bfloat16
        assert lib.cat([a, a.bfloat16()]).dtype == lib.float32
        assert lib.stack([a.bfloat16(), a.bfloat16()]).dtype == lib.bfloat16

    @lib.autocast("cpu", dtype=lib.bfloat16)
    def f() -> Any:
        return a @ a

    assert f().dtype == lib.bfloat16 and f.__name__ == "f" and (a @ a).dtype == lib.float32
    lib.set_autocast_enabled("cpu", True)
    try:
        assert (a @ a).dtype == lib.bfloat16
        lib.set_autocast_dtype("cpu", lib.float16)
        assert (a @ a).dtype == lib.float16
    finally:
        lib.set_autocast_dtype("cpu", lib.bfloat16)
        lib.set_autocast_enabled("cpu", False)
        lib.clear_autocast_cache()
    with pytest.warns(UserWarning), lib.autocast("cpu", dtype=lib.float64):
        assert (a @ a).dtype == lib.float32


@pytest.mark.parametrize("cast_inputs", [None, "float32"])
def test_custom_functions(cast_inputs: str | None) -> None:
    """``custom_fwd`` and ``custom_bwd``: the dtypes that forward and backward see."""
    logs = []
    for lib in (torch, weft):
        seen: list[str] = []

        class Product(lib.autograd.Function):  # type: ignore[name-defined, misc]
            @staticmethod
            @lib.amp.custom_fwd(
                device_type="cpu", cast_inputs=cast_inputs and getattr(lib, cast_inputs)
            )
            def forward(ctx: Any, x: Any, w: Any) -> Any:
                ctx.save_for_backward(x, w)
                seen.extend([kind(x), kind(w), kind(x @ w)])  # noqa: B023
                return x @ w

            @staticmethod
            @lib.amp.custom_bwd(device_type="cpu")
            def backward(ctx: Any, g: Any) -> Any:
                x, w = ctx.saved_tensors
                seen.extend([kind(g), kind(g.float() @ w.float().t())])  # noqa: B023
                return (g.float() @ w.float().t()).float(), (x.float().t() @ g.float()).float()

        x, w = lib.ones(2, 2).bfloat16(), lib.ones(2, 2, requires_grad=True)
        with lib.autocast("cpu", dtype=lib.bfloat16):
            y = Product.apply(x, w)
        y.float().sum().backward()
        logs.append((seen, kind(y), kind(w.grad), w.grad.tolist()))
    assert logs[0] == logs[1]
