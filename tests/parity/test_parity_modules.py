"""Modules in weft and PyTorch: the same text, state, outputs, gradients, errors and distributions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import weft

# How to make a module, and the shapes of its arguments ("i5" is one of whole numbers below 5).
ROWS: dict[str, list[Any]] = {
    "Linear(3, 2)": [(4, 3)],
    "Linear(3, 2, bias=False)": [(3,)],
    "Bilinear(3, 2, 4)": [(5, 3), (5, 2)],
    "Identity(1, a=2)": [(3,)],
    "Embedding(5, 3)": ["i5"],
    "Embedding(5, 3, padding_idx=1, max_norm=1.0)": ["i5"],
    "EmbeddingBag(5, 3, mode='sum', padding_idx=2)": ["i5 rows"],
    "Flatten()": [(2, 3, 4)],
    "Unflatten(1, (2, 3))": [(2, 6)],
    "PReLU(3)": [(2, 3)],
    "RReLU(inplace=True).eval()": [(2, 3)],
    "Threshold(0.1, 2.0)": [(2, 3)],
    "Hardtanh(-0.5, 0.7, inplace=True)": [(2, 3)],
    "GELU('tanh')": [(2, 3)],
    "Softmax2d()": [(2, 3, 4, 4)],
    "Softmin(dim=1)": [(2, 3)],
    "Dropout(0.3).eval()": [(2, 3)],
    "AlphaDropout().eval()": [(2, 3)],
    "ConstantPad2d((1, 2, 0, 1), 3.5)": [(1, 2, 3, 3)],
    "ZeroPad3d(1)": [(1, 2, 3, 3)],
    "ReflectionPad2d((1, 1, 0, 1))": [(1, 2, 3, 3)],
    "ReplicationPad1d(2)": [(1, 2, 3)],
    "CircularPad3d(1)": [(1, 2, 3, 3, 3)],
    "CosineSimilarity(dim=0)": [(2, 3), (2, 3)],
    "PairwiseDistance(p=1.0, keepdim=True)": [(2, 3), (2, 3)],
    "MSELoss(size_average=False)": [(2, 3), (2, 3)],
    "HuberLoss(reduction='none', delta=0.5)": [(2, 3), (2, 3)],
    "GaussianNLLLoss(full=True)": [(2, 3), (2, 3), (2, 3, "+")],
    "TripletMarginLoss(swap=True)": [(2, 3), (2, 3), (2, 3)],
    "CrossEntropyLoss(label_smoothing=0.1)": [(6, 5), "i5"],
    "AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)": [(6, 8), "i5"],
    "Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 2), nn.Tanh()))": [(5, 3)],
    "ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU(), nn.ModuleList()])": [],
    "ModuleDict({'b': nn.ReLU(), 'a': nn.Linear(1, 1)})": [],
    "utils.weight_norm(nn.Linear(3, 2), dim=1)": [(4, 3)],
    "utils.parametrizations.weight_norm(nn.Linear(3, 2))": [(4, 3)],
    "utils.spectral_norm(nn.Linear(3, 2))": [(4, 3)],
    "utils.parametrizations.spectral_norm(nn.Linear(3, 2)).eval()": [(4, 3)],
    "utils.parametrizations.orthogonal(nn.Linear(3, 3))": [(4, 3)],
    "utils.parametrizations.orthogonal(nn.Linear(2, 4), orthogonal_map='cayley')": [(4, 2)],
    "utils.parametrizations.orthogonal(nn.Linear(4, 2), use_trivialization=False)": [(5, 4)],
    "LazyLinear(4)": [(3, 2)],
    "MultiheadAttention(4, 2)": [(3, 2, 4), (5, 2, 4), (5, 2, 4)],
    "MultiheadAttention(4, 2, batch_first=True)": [(2, 3, 4), (2, 5, 4), (2, 5, 4)],
    "MultiheadAttention(4, 2, bias=False, kdim=3, vdim=5)": [(3, 4), (5, 3), (5, 5)],
    "MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True)": [(3, 2, 4)] * 3,
    "TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True)": [(2, 3, 4)],
    "TransformerDecoderLayer(4, 2, 6, dropout=0.0, norm_first=True)": [(3, 2, 4), (5, 2, 4)],
}


def make(lib: Any, code: str) -> Any:
    """Make a module from its row."""
    nn = lib.nn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval("nn." + code, {"nn": nn})


def arguments(specs: list[Any]) -> list[np.ndarray]:
    """The arguments of a row."""
    rng = np.random.default_rng(0)
    made = []
    for spec in specs:
        if isinstance(spec, str):
            numbers = np.array([0, 1, 4, 2, 1, 3])
            made.append(numbers.reshape(2, 3) if "rows" in spec else numbers)
        elif spec[-1] == "+":
            made.append(rng.uniform(0.5, 2, spec[:-1]).astype(np.float32))
        else:
            made.append(rng.standard_normal(spec).astype(np.float32))
    return made


def run(lib: Any, m: Any, arrays: list[np.ndarray]) -> tuple[list[Any], list[Any]]:
    """Outputs, and gradients by inputs and parameters."""
    inputs = [lib.tensor(a.tolist(), dtype=getattr(lib, a.dtype.name)) for a in arrays]
    leaves = [t.requires_grad_() for t in inputs if t.is_floating_point()]
    out = m(*[t * 1 if t.requires_grad else t for t in inputs])
    outputs = list(out) if isinstance(out, tuple) else [out]
    params = [p for _, p in sorted(m.named_parameters())]
    wanted = [t for t in [*leaves, *params] if t.requires_grad]
    total = sum((t * t).sum() for t in outputs)
    grads: Any = [None] * len(wanted)
    if total.requires_grad:
        grads = lib.autograd.grad(total, wanted, allow_unused=True)
    values = [np.asarray(t.detach().numpy()) for t in outputs]
    return values, [None if g is None else np.asarray(g.numpy()) for g in grads]


def load(ours: Any, theirs: Any) -> None:
    """Give weft's module the numbers of PyTorch's."""
    state = {k: weft.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()}
    ours.load_state_dict(state)


def close(a: Any, b: Any) -> None:
    """Equal but for rounding; a missing gradient is zero."""
    if a is None or b is None:
        assert (0 if a is None else abs(a).max()) == (0 if b is None else abs(b).max())
    else:
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("code", ROWS)
def test_module(code: str) -> None:
    """Text, state, outputs and gradients."""
    ours, theirs = make(weft, code), make(torch, code)
    assert repr(ours) == repr(theirs)
    arrays = arguments(ROWS[code])
    if code.startswith("Lazy"):
        run(torch, theirs, arrays)
        run(weft, ours, arrays)
        assert repr(ours) == repr(theirs)
    shapes = [(k, tuple(v.shape)) for k, v in theirs.state_dict().items()]
    assert [(k, tuple(v.shape)) for k, v in ours.state_dict().items()] == shapes
    load(ours, theirs)
    if not arrays:
        return
    expected, got = run(torch, theirs, arrays), run(weft, ours, arrays)
    for kind in (0, 1):
        assert len(expected[kind]) == len(got[kind])
        for a, b in zip(expected[kind], got[kind]):
            close(a, b)
    for (k, a), b in zip(theirs.state_dict().items(), ours.state_dict().values()):
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=2e-4, atol=2e-5, err_msg=k)


@pytest.mark.parametrize(
    "code",
    [
        "Module(1)",
        "Module().zzz",
        "Module()(1)",
        "Sequential(3)",
        "Sequential(nn.ReLU())[3]",
        "Sequential(nn.ReLU()) * 0",
        "ModuleList([nn.ReLU()]).extend(3)",
        "Linear(2, 2).load_state_dict({'weight': nn.Linear(2, 3).weight, 'q': 1})",
        "Linear(2, 2).get_submodule('a.b')",
        "Linear(2, 2).register_parameter('a.b', None)",
        "Linear(2, 2).register_buffer('weight', None)",
        "Linear(2, 2).__setattr__('weight', 3)",
        "Linear(2, 2).train(3)",
        "Dropout(2)",
        "Hardtanh(2, 1)",
        "Embedding(3, 2, padding_idx=7)",
        "HuberLoss(delta=1j)",
        "utils.remove_weight_norm(nn.Linear(2, 2))",
        "utils.parametrize.remove_parametrizations(nn.Linear(2, 2), 'weight')",
        "utils.parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map='zz')",
        "init.calculate_gain('zz')",
        "utils.rnn.pad_sequence([])",
    ],
)
def test_errors(code: str) -> None:
    """The same exception, in the same words; weft may add the layer in front and the line behind."""
    found = []
    for lib in (torch, weft):
        with pytest.raises(Exception) as e:
            make(lib, code)
        text = str(e.value).replace("weft.nn.container", "torch.nn.modules.container")
        found.append((type(e.value).__name__, text))
    (kind, words), (own_kind, own_words) = found
    assert own_kind == kind and words in own_words


@pytest.mark.parametrize(
    "code",
    [
        "uniform_(x, -1, 2)",
        "normal_(x, 1, 2)",
        "trunc_normal_(x, 0.5, 2, -1, 3)",
        "xavier_uniform_(x, 2)",
        "xavier_normal_(x)",
        "kaiming_uniform_(x, a=5**0.5)",
        "kaiming_normal_(x, mode='fan_out', nonlinearity='relu')",
        "orthogonal_(x)",
        "sparse_(x, 0.3)",
    ],
)
def test_distributions(code: str) -> None:
    """Quantiles of large samples agree."""
    quantiles = []
    for lib in (torch, weft):
        lib.manual_seed(0)
        x = eval("init." + code, {"init": lib.nn.init, "x": lib.empty(300, 400)})
        quantiles.append(np.quantile(x.numpy(), np.linspace(0, 1, 21)[1:-1]))
    scale = np.abs(quantiles[0]).max()
    np.testing.assert_allclose(quantiles[1], quantiles[0], atol=0.02 * scale)


def test_packing() -> None:
    """Packed sequences, step for step."""
    data = np.arange(24, dtype=np.float32).reshape(3, 4, 2)
    found = []
    for lib in (torch, weft):
        rnn = lib.nn.utils.rnn
        x = lib.tensor(data.tolist())
        p = rnn.pack_padded_sequence(x, [2, 4, 1], batch_first=True, enforce_sorted=False)
        padded, lengths = rnn.pad_packed_sequence(p, padding_value=-1.0, total_length=5)
        found.append([t.numpy() for t in (*p, padded, lengths)])
    for a, b in zip(*found):
        np.testing.assert_array_equal(a, b)


def test_hooks() -> None:
    """The same calls of hooks, in the same order, with the same gradients."""
    logs = []
    for lib in (torch, weft):
        log: list[Any] = []
        net = lib.nn.Sequential(lib.nn.Tanh(), lib.nn.Sigmoid())

        def note(kind: str, log: list[Any] = log) -> Any:
            def hook(module: Any, *rest: Any) -> None:
                sizes = [len(r) if isinstance(r, tuple) else tuple(r.shape) for r in rest]
                log.append((kind, type(module).__name__, sizes))

            return hook

        for m in net.modules():
            m.register_forward_pre_hook(note("pre"))
            m.register_forward_hook(note("post"))
            m.register_full_backward_pre_hook(note("back pre"))
            m.register_full_backward_hook(note("back"))
        x = lib.ones(3, requires_grad=True)
        net(x).sum().backward()
        log.append([round(v, 5) for v in x.grad.tolist()])
        logs.append(log)
    assert logs[0] == logs[1]
