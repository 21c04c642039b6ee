"""What a call changes besides its results, and what steers layers from outside: seen, or said."""

from __future__ import annotations

import contextlib
import cProfile
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from jit.compile_calls import bits, runs

import weft
import weft.nn.functional as F
from weft import jit, nn
from weft.distributions import Distribution, Normal
from weft.nn.attention import SDPBackend, sdpa_kernel
from weft.nn.utils import parametrize

CALLS = 6  # two are captured, the others replayed
pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.t_(),
        lambda x: x.unsqueeze_(0),
        lambda x: x.squeeze_(),
        lambda x: x.transpose_(0, 1),
    ],
)  # fmt: skip
def test_shapes_of_arguments(change: Any) -> None:
    """A tensor that was given is left with the shape that an eager call leaves."""

    def f(x: Any) -> Any:
        return change(x) * 2

    fast = weft.compile(f)
    for _ in range(CALLS):
        x, y = weft.ones(1, 3), weft.ones(1, 3)
        assert bits(f(x)) == bits(fast(y))
        assert x.shape == y.shape
    assert fast.reasons == ["it changes the shape of a tensor that it was given"]


@pytest.mark.parametrize(
    ("change", "ask", "back"),
    [
        (lambda: weft.set_grad_enabled(False), weft.is_grad_enabled,
         lambda: weft.set_grad_enabled(True)),
        (lambda: weft.set_default_dtype(weft.float64), weft.get_default_dtype,
         lambda: weft.set_default_dtype(weft.float32)),
        (lambda: weft.use_deterministic_algorithms(True), weft.are_deterministic_algorithms_enabled,
         lambda: weft.use_deterministic_algorithms(False)),
        (lambda: weft.backends.winograd.enable(False), weft.backends.winograd.is_enabled,
         lambda: weft.backends.winograd.enable()),
    ],
)  # fmt: skip
def test_settings_that_a_call_changes(change: Any, ask: Any, back: Any) -> None:
    """They are changed after every call."""

    def f(x: Any) -> Any:
        change()
        return x * 2

    fast = weft.compile(f)
    before = ask()
    try:
        for _ in range(CALLS):
            fast(weft.ones(2))
            assert ask() != before
            back()
    finally:
        back()
    assert fast.reasons == ["it changes a mode or setting of weft, and leaves it changed"]


@contextlib.contextmanager
def python_profiler() -> Iterator[None]:
    sys.setprofile(lambda *args: None)
    try:
        yield
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("profiler", [python_profiler, cProfile.Profile])
def test_profilers(profiler: Any) -> None:
    """Calls that a profiler watches are eager, and that is said; from 3.12 on cProfile has its own hook."""
    fast = weft.compile(lambda x: x.sin() * 2)
    with profiler():
        for _ in range(CALLS):
            assert weft.equal(fast(weft.ones(3)), weft.ones(3).sin() * 2)
    if profiler is cProfile.Profile and sys.version_info >= (3, 12):
        assert runs(fast) == CALLS - 2 and not fast.reasons
        return
    assert runs(fast) == 0
    assert "a profiler watches" in fast.reasons[0]


def test_ways_of_attention() -> None:
    """What ``sdpa_kernel`` allows is seen."""

    def f(q: Any) -> Any:
        return F.scaled_dot_product_attention(q, q, q)

    fast, q = weft.compile(f), weft.randn(1, 2, 16, 8)
    for _ in range(CALLS):
        fast(q)
    with sdpa_kernel(SDPBackend.MATH):
        assert bits(fast(q)) == bits(f(q))
    with sdpa_kernel([SDPBackend.CUDNN_ATTENTION]), pytest.raises(RuntimeError, match="No viable"):
        fast(q)


def test_arguments_of_distributions() -> None:
    """Whether they are checked is seen."""

    def f(scale: Any) -> Any:
        return Normal(weft.zeros(2), scale).log_prob(weft.zeros(2))

    fast = weft.compile(f)
    try:
        Distribution.set_default_validate_args(False)
        for _ in range(CALLS):
            fast(weft.ones(2))
        Distribution.set_default_validate_args(True)
        with pytest.raises(ValueError, match="scale"):
            fast(-weft.ones(2))
    finally:
        Distribution.set_default_validate_args(__debug__)


def test_cached_parametrizations() -> None:
    """Inside of ``cached()`` a weight is computed once."""
    model = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
    fast, x = weft.compile(model), weft.ones(1, 3)
    with weft.no_grad():
        for _ in range(CALLS):
            fast(x)
        with parametrize.cached():
            first = fast(x)
            model.parametrizations.weight.original0.mul_(2)
            assert bits(fast(x)) == bits(first)


IDIOMS: dict[str, Any] = {
    "a list as an index": lambda w, x: x[:, [0, 2]] * 2,
    "lists as indices": lambda w, x: x[[0, 1], [[2], [3]]] + 1,
    "a number at places": lambda w, x: put(w, x),
    "a diagonal": lambda w, x: (x @ x.T).fill_diagonal_(-1e9),
    "one_hot": lambda w, x: F.one_hot(w["i"], 7) * x[:, :1].sum(),
    "repeat_interleave": lambda w, x: x.repeat_interleave(2, 0).sin(),
    "soft update": lambda w, x: w["t"].data.copy_(0.9 * w["t"].data + 0.1 * x).sum(),
}


def put(world: Any, x: Any) -> Any:
    """A number where indices say."""
    y = x.clone()
    y[world["i"]] = 0
    return y


@pytest.mark.parametrize("name", IDIOMS)
def test_idioms_stay_compiled(name: str) -> None:
    """What PyTorch programs do every day is one program, with the results of eager calls."""

    def make(wrap: Any) -> Any:
        weft.manual_seed(1)
        world = {"i": weft.tensor([0, 3]), "t": weft.zeros(4, 5, requires_grad=True)}
        return wrap(lambda x: IDIOMS[name](world, x)), world

    (plain, a), (fast, b) = make(lambda f: f), make(weft.compile)
    for turn in range(CALLS):
        weft.manual_seed(turn)
        x = weft.randn(4, 5)
        assert bits(plain(x)) == bits(fast(x))
        assert bits(a["t"]) == bits(b["t"])
    assert runs(fast) == CALLS - 2, fast.reasons


def test_lists_with_tensors_are_looked_at() -> None:
    """A list that holds tensors is no constant."""

    def f(x: Any) -> Any:
        return x[:, [x[0].argmax(), 0]]

    fast = weft.compile(f)
    for turn in range(12):
        weft.manual_seed(turn)
        x = weft.randn(2, 5)
        assert bits(f(x)) == bits(fast(x))


@pytest.mark.parametrize("layer", [nn.LeakyReLU, nn.SiLU, nn.ReLU6, nn.ELU, nn.Hardswish])
def test_activations_in_place_after_convolutions(layer: Any) -> None:
    """Images lie as they do in eager calls: results and gradients have the same bits."""
    found = []
    for wrap in (lambda f: f, weft.compile):
        weft.manual_seed(4)
        net = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), layer(inplace=True), nn.BatchNorm2d(8),
            nn.Conv2d(8, 4, 3, padding=1), layer(inplace=True), nn.GroupNorm(2, 4),
        )  # fmt: skip
        f, made = wrap(net), []
        for turn in range(CALLS):
            weft.manual_seed(turn)
            net.zero_grad()
            y = f(weft.randn(2, 3, 8, 8))
            y.square().mean().backward()
            made += [bits(y), bits([p.grad for p in net.parameters()])]
        found.append(made)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: ~((x + 1) > 3), weft.arange(5)),
        (lambda x: ((x * 2) > 0).sum(), weft.randn(3)),
        (lambda x: weft.where(x > 0, x, x * 2), weft.randn(3)),
        (lambda x: ((x + 1) > 0) * x, weft.randn(3)),
        (lambda x: (x + 1) / 2, weft.arange(3)),
        (nn.PReLU(), weft.randn(3)),
    ],
)  # fmt: skip
def test_frozen_ops_of_other_types(f: Any, x: Any) -> None:
    """A result of another dtype is not written over what it is computed from."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.f = f

        def forward(self, x: Any) -> Any:
            return self.f(x)

    traced = jit.trace(Net().eval(), x)
    with weft.no_grad():
        for made in (jit.freeze(traced), jit.optimize_for_inference(traced)):
            assert bits(made(x)) == bits(f(x))
