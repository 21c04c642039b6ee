"""A trace that was given examples of other sizes: it takes other sizes bit for bit, or refuses them."""

from __future__ import annotations

import copy
import random
import warnings
from typing import Any

import pytest
from jit.compile_lockstep import bits
from jit.test_compile_sizes import FREE, ROWS

import weft
import weft.nn.functional as F
from weft import nn
from weft.jit import trace

SIZES = (2, 3, 4, 5, 7, 8, 16, 31)


def other(f: Any, n: int = 6, m: int = 13) -> Any:
    """Trace a function with an example of n rows, and one of m."""
    return trace(f, (weft.randn(n, 4),), check_inputs=[(weft.randn(m, 4),)])


@pytest.mark.parametrize("name", FREE)
def test_other_sizes_equal_eager(name: str) -> None:
    f = FREE[name]
    traced = other(f)
    for n in SIZES:
        x = weft.randn(n, 4)
        state = weft.get_rng_state()
        want = bits(f(x))
        weft.set_rng_state(state)
        assert bits(traced(x)) == want, n


def test_what_is_computed_from_sizes_is_computed_anew() -> None:
    traced = other(lambda x: x[: x.shape[0] // 4].sum() + min(x.shape[0], 99))
    assert traced(weft.ones(40, 4)).item() == 80
    assert traced(weft.ones(6, 4)).item() == 10  # the example's own: by the graph


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 2 if x.shape[0] > 5 else x,
        lambda x: x * min(x.shape[0], 5),
        lambda x: [x * 2, x][x.shape[0] < 6],
    ],
    ids=["if", "min", "index"],
)
def test_decisions_by_sizes_are_refused(f: Any) -> None:
    traced = other(f)
    assert bits(traced(x := weft.randn(20, 4))) == bits(f(x))
    with pytest.raises(
        RuntimeError, match=r"trace: inputs of shapes \[3, 4\] are refused: .* no longer"
    ):
        traced(weft.randn(3, 4))
    with pytest.raises(RuntimeError, match="trace: no program for the sizes of check_inputs"):
        other(f, 6, 3)


def test_a_size_that_c_code_reads_is_refused() -> None:
    with pytest.raises(RuntimeError, match="trace: no program for the sizes of check_inputs"):
        other(lambda x: x * len(range(5, x.shape[0])[:1]))


def test_only_what_was_seen_to_differ_may_differ() -> None:
    traced = other(lambda x: x @ x.t())
    with pytest.raises(RuntimeError, match="a size that was the same in all examples differs"):
        traced(weft.randn(5, 3))
    with pytest.raises(RuntimeError, match="a dtype"):
        traced(weft.randn(5, 4).double())
    with pytest.raises(TypeError, match="takes 1 tensors, got 2"):
        traced(weft.randn(5, 4), weft.randn(5, 4))
    with pytest.raises(RuntimeError, match=r"was traced as float32\[6, 4\], got float32\[5, 4\]"):
        trace(lambda x: x + 1, (weft.randn(6, 4),))(weft.randn(5, 4))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.norm, self.scale = nn.Linear(4, 3), nn.BatchNorm1d(3), 2.0

    def forward(self, x: Any) -> Any:
        return self.norm(self.fc(x)).relu() * self.scale + x.shape[0]


def test_a_module() -> None:
    """Its buffers stay as one call leaves them; it learns, with gradients and without."""
    net, alone = Net(), Net()
    alone.load_state_dict(net.state_dict())
    x, y = weft.randn(6, 4), weft.randn(9, 4)
    before = weft.get_rng_state().tolist()
    traced = trace(net, (x,), check_inputs=[(y,)])
    alone(x)
    assert weft.get_rng_state().tolist() == before
    assert bits(net.state_dict()) == bits(alone.state_dict())
    optimizer, own = weft.optim.SGD(net.parameters(), 0.1), weft.optim.SGD(alone.parameters(), 0.1)
    for n in SIZES[1:]:
        z = weft.randn(n, 4)
        for f, o in ((traced, optimizer), (alone, own)):
            o.zero_grad()
            f(z).square().sum().backward()
            o.step()
        with weft.no_grad():
            assert bits(traced(z)) == bits(alone(z))
        assert bits(net.state_dict()) == bits(alone.state_dict())


def test_what_has_changed_since_is_refused() -> None:
    net = Net().eval()
    traced = trace(net, (weft.randn(6, 4),), check_inputs=[(weft.randn(9, 4),)])
    x = weft.randn(5, 4)
    assert bits(traced(x)) == bits(net(x))
    net.scale = 3.0
    with pytest.raises(RuntimeError, match=r"scale has changed since the trace"):
        traced(x)
    net.scale = 2.0
    assert bits(traced(x)) == bits(net(x))
    traced.fc.weight = nn.Parameter(weft.zeros(3, 4))  # no longer that of the module
    with pytest.raises(RuntimeError, match="was traced as"):
        traced(x)


def test_copies_and_files_take_the_example_only(tmp_path: Any) -> None:
    net = Net().eval()
    traced = trace(net, (weft.randn(6, 4),), check_inputs=[(weft.randn(9, 4),)])
    traced.save(tmp_path / "net.pt")
    for kept in (weft.jit.load(tmp_path / "net.pt"), copy.deepcopy(traced), traced.optimize()):
        assert kept(weft.randn(6, 4)).shape == (6, 3)
        with pytest.raises(RuntimeError, match="was traced as"):
            kept(weft.randn(5, 4))


def test_calls_that_change_python_are_refused() -> None:
    seen = {"calls": 0}

    def count(x: Any) -> Any:
        seen["calls"] += 1
        return x * seen["calls"]

    with pytest.raises(RuntimeError, match=r"no program for the sizes of check_inputs: .*calls"):
        other(count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="may depend on it"):
            other(lambda x: x if x.sum() > 0 else -x)


def test_traced_without_gradients() -> None:
    with weft.no_grad():
        traced = other(lambda x: x.exp())
        assert traced(weft.zeros(3, 4)).sum().item() == 12
    with pytest.raises(RuntimeError, match="traced without gradients"):
        traced(weft.zeros(3, 4))


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_random_functions_equal_eager_or_are_refused(first: int) -> None:
    """Functions of sizes: where a trace takes a size at all, it gives eager's bits."""
    taken = 0
    for seed in range(first, first + 20):
        rng = random.Random(seed)
        rows = [rng.choice(ROWS) for _ in range(rng.randint(1, 4))]
        body = [
            f"t{k} = {row.format(f't{k - 1}' if k else 'x', 'y', n='x.shape[0]')}"
            for k, row in enumerate(rows)
        ]
        source = "\n    ".join(["def f(x, y):", *body, f"return t{len(rows) - 1}"])
        scope = {"weft": weft, "F": F, "lin": nn.Linear(4, 4)}
        exec(source, scope)
        f: Any = scope["f"]

        def run(g: Any, n: int, seed: int = seed) -> Any:
            weft.manual_seed(seed)
            try:
                return bits(g(weft.randn(n, 4), weft.randn(n, 4)))
            except (RuntimeError, ValueError, IndexError) as e:
                return str(e)

        try:
            n, m = rng.sample(range(3, 20), 2)
            example, more = [(weft.randn(k, 4), weft.randn(k, 4)) for k in (n, m)]
            traced = trace(f, example, check_inputs=[more])
        except (RuntimeError, ValueError, IndexError):
            continue  # sizes that do not fit, or decide
        for n in range(1, 24):
            got = run(traced, n)
            refused = isinstance(got, str) and got.startswith("trace: ")
            assert refused or got == run(f, n), f"{seed}: {n} rows\n{source}"
            taken += not isinstance(got, str)
    assert taken > 100


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (weft.ones(2, 4), TypeError, "check_inputs must be a list of examples"),
        ("ab", TypeError, "check_inputs must be a list of examples"),
        (["ab"], TypeError, r"check_inputs\[0\] must be a tensor or a tuple of tensors, not str"),
        ([(3,)], TypeError, r"check_inputs\[0\]\[0\] must be a Tensor, not int"),
        ([(weft.ones(2, 4),) * 2], ValueError, r"check_inputs\[0\] must have as many tensors"),
        ([weft.ones(3, 4), weft.ones(7)], ValueError, r"check_inputs\[1\] .* is float32\[7\]"),
        ([weft.ones(2, 4).double()], ValueError, r"is float64\[2, 4\], in the example float32"),
    ],
)
def test_check_inputs_that_are_no_examples(given: Any, error: type, says: str) -> None:
    """The error says which one, and how it differs."""
    with pytest.raises(error, match=says):
        trace(lambda x: x + 1, weft.ones(3, 4), check_inputs=given)


def test_check_inputs_of_the_same_sizes_name_themselves() -> None:
    """A graph keeps the branch of its example."""
    with (
        pytest.warns(weft.jit.TracerWarning),
        pytest.raises(RuntimeError, match=r"for check_inputs\[1\]"),
    ):
        trace(
            lambda x: x + 1 if x.sum() > 0 else x - 1,
            weft.ones(2),
            check_inputs=[weft.ones(2), -weft.ones(2)],
        )


def test_unknown_arguments_are_refused() -> None:
    """None is accepted and ignored."""
    with pytest.raises(TypeError, match="foo"):
        trace(lambda x: x, weft.ones(2), foo=True)
    with pytest.raises(NotImplementedError, match="example_kwarg_inputs"):
        trace(lambda x: x, weft.ones(2), example_kwarg_inputs={"x": weft.ones(2)})
