"""PyTorch's random numbers: after ``weft.random.use("torch")`` the same seed and calls give the same numbers."""

# ruff: noqa: B023 (each function is called at once)
from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import weft

# On CPUs of Intel, PyTorch draws bernoulli_(p) and exponential_ by MKL, from another stream.
INTEL = "GenuineIntel" in Path("/proc/cpuinfo").read_text()
not_by_mkl = pytest.mark.skipif(INTEL, reason="PyTorch draws these by MKL on this CPU")
FLOATS = ["float32", "float64", "bfloat16", "float16"]
SHAPES = [(), (1,), (5,), (15,), (16,), (17,), (37,), (4, 8), (3, 5, 7), (1000,), (0,), (65, 33)]


@pytest.fixture(autouse=True)
def _stream() -> Iterator[None]:
    weft.random.use("torch")
    yield
    weft.random.use("weft")


def numbers(x: Any) -> np.ndarray:
    """As doubles, or as integers."""
    x = x.detach()
    if x.dtype.is_floating_point:
        x = x.double()
    return x.numpy()


def bits(ours: Any, theirs: Any) -> None:
    """Equal to the last bit, in dtype and shape too."""
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert np.array_equal(numbers(ours), numbers(theirs), equal_nan=True)


def near(ours: Any, theirs: Any) -> None:
    """Normal numbers and what is made of them: rounding of logarithms and angles apart."""
    assert tuple(ours.shape) == tuple(theirs.shape)
    eps = {"float64": 1e-15, "float32": 2e-7, "bfloat16": 8e-3, "float16": 1e-3}[
        str(theirs.dtype).split(".")[-1]
    ]
    a, b = numbers(ours), numbers(theirs)
    assert np.all(np.abs(a - b) <= 4 * eps * np.maximum(np.abs(b), 1)), np.abs(a - b).max()


def both(f: Callable[[Any], Any], seed: int) -> tuple[Any, Any]:
    """The same call from the same seed, and the same number after it: no more and no fewer were drawn."""
    weft.manual_seed(seed)
    torch.manual_seed(seed)
    ours, theirs = f(weft), f(torch)
    assert weft.rand(()).item() == torch.rand(()).item(), "drew another count of numbers"
    return ours, theirs


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_and_normal(dtype: str) -> None:
    for seed, shape in enumerate(SHAPES):
        bits(*both(lambda t: t.rand(shape, dtype=getattr(t, dtype)), seed))
        bits(*both(lambda t: t.empty(shape, dtype=getattr(t, dtype)).uniform_(-0.3, 0.7), seed))
        bits(*both(lambda t: t.empty(shape, dtype=getattr(t, dtype)).uniform_(1, 1.0000003), seed))
        near(*both(lambda t: t.randn(shape, dtype=getattr(t, dtype)), seed))
        near(*both(lambda t: t.empty(shape, dtype=getattr(t, dtype)).normal_(2, 3), seed))


def test_complex() -> None:
    bits(*both(lambda t: t.view_as_real(t.rand(7, 3, dtype=t.complex64)), 0))
    near(*both(lambda t: t.view_as_real(t.randn(7, 3, dtype=t.complex64)), 0))
    near(*both(lambda t: t.view_as_real(t.randn(3, dtype=t.complex64)), 0))


RANGES = [(0, 10), (-5, 3), (0, 2**28 - 1), (0, 2**28), (0, 2**31), (-7, 2**40), (0, 2**62)]


@pytest.mark.parametrize("low,high", RANGES)
def test_integers(low: int, high: int) -> None:
    bits(*both(lambda t: t.randint(low, high, (50,)), 3))
    bits(*both(lambda t: t.empty(50, dtype=t.int64).random_(low, high), 4))
    bits(*both(lambda t: t.randint_like(t.zeros(4, 5, dtype=t.int64), low, high), 5))


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8", "bool", *FLOATS])
def test_all_that_a_type_holds(dtype: str) -> None:
    bits(*both(lambda t: t.empty(50, dtype=getattr(t, dtype)).random_(), 1))


@pytest.mark.parametrize("n", [0, 1, 2, 5, 100, 70_000])
def test_permutations(n: int) -> None:
    bits(*both(lambda t: t.randperm(n), 7))


def test_permutations_of_other_types() -> None:
    for dtype in ("int32", "float32", "int16"):
        bits(*both(lambda t: t.randperm(30, dtype=getattr(t, dtype)), 8))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_choices(dtype: str) -> None:
    w = [[0.1, 0.2, 0.0, 5.0, 0.7], [1.0, 1.0, 1.0, 1.0, 0.0]]
    for n in (1, 3, 50):
        bits(*both(lambda t: t.multinomial(t.tensor(w, dtype=getattr(t, dtype)), n, True), n))


@not_by_mkl
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_choices_without_replacement(dtype: str) -> None:
    w = np.random.RandomState(0).rand(4, 30)
    for n in (1, 2, 30):
        bits(*both(lambda t: t.multinomial(t.tensor(w, dtype=getattr(t, dtype)), n), n))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_each_its_own_probability(dtype: str) -> None:
    p = np.random.RandomState(0).rand(4, 30)
    bits(*both(lambda t: t.bernoulli(t.tensor(p, dtype=getattr(t, dtype))), 0))


@not_by_mkl
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
def test_bernoulli(p: float) -> None:
    for dtype in ("float32", "float64", "int64", "bool", "uint8", "bfloat16"):
        bits(*both(lambda t: t.empty(6, 7, dtype=getattr(t, dtype)).bernoulli_(p), 0))


@not_by_mkl
def test_dropout() -> None:
    x = np.random.RandomState(0).randn(6, 50).astype(np.float32)
    for p in (0.1, 0.5, 0.9):
        bits(*both(lambda t: t.nn.functional.dropout(t.tensor(x), p), 1))
        ours, theirs = both(
            lambda t: t.nn.functional.dropout(t.tensor(x, requires_grad=True), p), 2
        )
        bits(ours, theirs)
    image = x.reshape(2, 3, 5, 10)
    bits(*both(lambda t: t.nn.functional.dropout2d(t.tensor(image), 0.5), 3))
    near(*both(lambda t: t.nn.functional.alpha_dropout(t.tensor(x), 0.5, training=True), 3))


DISTRIBUTIONS = {
    "exponential_": (2.0,),
    "log_normal_": (0.5, 0.7),
    "cauchy_": (1.0, 2.0),
    "geometric_": (0.3,),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name: str) -> None:
    if INTEL and name == "exponential_":
        pytest.skip("PyTorch draws these by MKL on this CPU")
    for dtype in ("float32", "float64"):
        for shape in SHAPES:
            near(
                *both(
                    lambda t: getattr(t.empty(shape, dtype=getattr(t, dtype)), name)(
                        *DISTRIBUTIONS[name]
                    ),
                    5,
                )
            )


def test_poisson() -> None:
    means = np.array([0, 0.5, 3, 9.9, 10, 20, 200, 1e4] * 10)
    for dtype in ("float32", "float64"):
        bits(*both(lambda t: t.poisson(t.tensor(means, dtype=getattr(t, dtype))), 0))


def test_normal_with_tensors() -> None:
    mean, std = np.arange(30.0), np.linspace(0, 2, 30)
    near(*both(lambda t: t.normal(t.tensor(mean), t.tensor(std)), 0))
    near(*both(lambda t: t.normal(t.tensor(mean), 2.0), 0))
    near(*both(lambda t: t.normal(1.0, t.tensor(std)), 0))
    near(*both(lambda t: t.normal(1.0, 2.0, (4, 5)), 0))


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda t: t.zeros(6, 9).t(),
    "slice": lambda t: t.zeros(6, 9)[:, ::2],
    "transposed slice": lambda t: t.zeros(6, 9)[1:, 2:].t(),
    "channels last": lambda t: t.zeros(2, 3, 4, 5).contiguous(memory_format=t.channels_last),
    "permuted": lambda t: t.zeros(4, 5, 6).permute(1, 2, 0),
    "permuted slice": lambda t: t.zeros(4, 5, 6)[:, 1:4].permute(2, 0, 1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str) -> None:
    made = LAYOUTS[layout]
    bits(*both(lambda t: made(t).uniform_(), 0))
    near(*both(lambda t: made(t).normal_(), 0))
    bits(*both(lambda t: made(t).random_(0, 100), 0))
    bits(*both(lambda t: t.rand_like(made(t)), 0))
    if not INTEL:
        bits(*both(lambda t: made(t).bernoulli_(0.3), 0))


INITS: dict[str, Callable[[Any, Any], Any]] = {
    "uniform_": lambda i, w: i.uniform_(w, -1, 2),
    "normal_": lambda i, w: i.normal_(w, 1, 2),
    "trunc_normal_": lambda i, w: i.trunc_normal_(w, 0.1, 0.5, -1, 1),
    "trunc_normal_ of a tail": lambda i, w: i.trunc_normal_(w, 0, 1, 1.5, 2),
    "xavier_uniform_": lambda i, w: i.xavier_uniform_(w, 1.5),
    "xavier_normal_": lambda i, w: i.xavier_normal_(w),
    "kaiming_uniform_": lambda i, w: i.kaiming_uniform_(w, a=math.sqrt(5)),
    "kaiming_normal_": lambda i, w: i.kaiming_normal_(w, mode="fan_out"),
    "sparse_": lambda i, w: i.sparse_(w, 0.3),
    "orthogonal_": lambda i, w: i.orthogonal_(w),
}


@pytest.mark.parametrize("name", INITS)
def test_init(name: str) -> None:
    near(*both(lambda t: INITS[name](t.nn.init, t.empty(20, 30)), 0))


LAYERS: dict[str, Callable[[Any], Any]] = {
    "Linear": lambda nn: nn.Linear(7, 11),
    "Bilinear": lambda nn: nn.Bilinear(3, 4, 5),
    "Conv2d": lambda nn: nn.Conv2d(4, 8, 3, groups=2),
    "ConvTranspose1d": lambda nn: nn.ConvTranspose1d(4, 6, 3),
    "Embedding": lambda nn: nn.Embedding(10, 6, padding_idx=2),
    "EmbeddingBag": lambda nn: nn.EmbeddingBag(10, 6),
    "LSTM": lambda nn: nn.LSTM(5, 7, 2, bidirectional=True),
    "GRUCell": lambda nn: nn.GRUCell(5, 7),
    "MultiheadAttention": lambda nn: nn.MultiheadAttention(8, 2, kdim=4, vdim=6, add_bias_kv=True),
    "TransformerEncoderLayer": lambda nn: nn.TransformerEncoderLayer(8, 2, 16),
    "Transformer": lambda nn: nn.Transformer(8, 2, 1, 1, 16),
    "GroupNorm": lambda nn: nn.GroupNorm(2, 8),
}


@pytest.mark.parametrize("name", LAYERS)
def test_initial_weights(name: str) -> None:
    def weights(t: Any) -> Any:
        state = LAYERS[name](t.nn).state_dict()
        return t.cat([state[k].reshape(-1) for k in sorted(state)])

    near(*both(weights, 1))


def test_loaders_shuffle_alike() -> None:
    from torch.utils.data import DataLoader, RandomSampler, WeightedRandomSampler, random_split

    from weft.utils import data

    def orders(t: Any) -> list[Any]:
        loader = (data.DataLoader if t is weft else DataLoader)(range(30), 4, shuffle=True)
        split = (data.random_split if t is weft else random_split)(range(20), [13, 7])
        some = (data.RandomSampler if t is weft else RandomSampler)(range(9), True, 20)
        heavy = data.WeightedRandomSampler if t is weft else WeightedRandomSampler
        return [
            [b.tolist() for _ in range(2) for b in loader],
            [list(s.indices) for s in split],
            list(some),
            list(heavy([0.1, 0.5, 2.0], 9)),
        ]

    ours, theirs = both(orders, 0)
    assert ours == theirs


def test_states_are_exchanged() -> None:
    rng = random.Random(0)
    for _ in range(20):
        seed = rng.randrange(2**63)
        weft.manual_seed(seed)
        torch.manual_seed(seed)
        for _ in range(rng.randrange(3)):
            n = rng.choice([1, 3, 20, 700])
            weft.randn(n), torch.randn(n)
        assert weft.get_rng_state().tolist() == torch.get_rng_state().tolist()
        state = torch.get_rng_state().numpy()
        weft.manual_seed(1)
        weft.set_rng_state(weft.from_numpy(state))
        near(weft.randn(3), torch.randn(3))
        bits(weft.rand(3), torch.rand(3))
        assert weft.initial_seed() == torch.initial_seed() == seed
        torch.manual_seed(1)
        torch.set_rng_state(torch.from_numpy(weft.get_rng_state().numpy()))
        bits(weft.rand(3), torch.rand(3))


def test_generators_of_ones_own() -> None:
    ours, theirs = weft.Generator().manual_seed(5), torch.Generator().manual_seed(5)
    bits(weft.rand(4, generator=ours), torch.rand(4, generator=theirs))
    near(weft.randn(3, generator=ours), torch.randn(3, generator=theirs))
    again = pickle.loads(pickle.dumps(ours))
    near(weft.randn(5, generator=again), torch.randn(5, generator=theirs))
    copy = ours.clone_state()
    assert weft.equal(weft.rand(9, generator=ours), weft.rand(9, generator=copy))


CALLS: list[Callable[[Any, tuple[int, ...]], Any]] = [
    lambda t, s: t.rand(s),
    lambda t, s: t.rand(s, dtype=t.float64),
    lambda t, s: t.randn(s),
    lambda t, s: t.randn(s, dtype=t.float64),
    lambda t, s: t.randint(0, 1000, s),
    lambda t, s: t.randint(0, 2**40, s),
    lambda t, s: t.randperm(math.prod(s)),
    lambda t, s: t.bernoulli(t.full(s, 0.4)),
    lambda t, s: t.empty(s).log_normal_(),
    lambda t, s: t.empty(s, dtype=t.float64).cauchy_(),
    lambda t, s: t.multinomial(t.ones(7), math.prod(s) + 1, True),
    lambda t, s: t.poisson(t.full(s, 4.0)),
    lambda t, s: t.empty(s, dtype=t.int32).random_(),
    lambda t, s: t.rand(s, dtype=t.float16),
]


@pytest.mark.parametrize("seed", range(10))
def test_random_sequences_of_calls(seed: int) -> None:
    """Twenty calls in a row from one seed, of random kinds and shapes."""
    rng = random.Random(seed)
    weft.manual_seed(seed)
    torch.manual_seed(seed)
    for _ in range(20):
        call = rng.choice(CALLS)
        shape = tuple(rng.choice([1, 2, 3, 5, 8, 17]) for _ in range(rng.randrange(4)))
        ours, theirs = call(weft, shape), call(torch, shape)
        (near if theirs.dtype.is_floating_point else bits)(ours, theirs)


def test_errors() -> None:
    with pytest.raises(ValueError, match="stream must be 'weft' or 'torch', got 'numpy'"):
        weft.random.use("numpy")
    with pytest.raises(RuntimeError, match="no state of PyTorch's generator"):
        weft.set_rng_state(weft.full((5056,), 255, dtype=weft.uint8))
    with pytest.raises(RuntimeError, match="wrong size: got 7 bytes"):
        weft.set_rng_state(weft.zeros(7, dtype=weft.uint8))
