"""weft.debug.nan_origin: planted faults are named by op, line and module; what is no fault is not."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import weft
import weft.nn.functional as F
from weft.debug import NanError, explain, nan_origin

INF = float("inf")


@pytest.fixture(autouse=True)
def _seed():
    weft.manual_seed(0)
    yield
    assert weft.autograd._checked_backward is None


class Net(weft.nn.Module):
    """Its ``head`` runs a function of the case between two layers."""

    def __init__(self, fault):
        super().__init__()
        self.first = weft.nn.Linear(4, 6)
        self.head = Head(fault)
        self.last = weft.nn.Linear(6, 2)

    def forward(self, x):
        return self.last(self.head(self.first(x).tanh()))


class Head(weft.nn.Module):
    def __init__(self, fault):
        super().__init__()
        self.fault = fault

    def forward(self, h):
        return self.fault(h)


def log(h):
    return (h - 2).log()  # fault


def sqrt_at_zero(h):
    return (h * 0).sqrt()  # fault


def division(h):
    return h / (h * 0)  # fault


def overflow(h):
    return (h * 10 + 200).exp()  # fault


def softmax_of_inf(h):
    big = (h + 100).exp()  # fault
    return big.softmax(-1)


def norm_at_zero(h):
    return h * ((h * 0) ** 2).sum(1, keepdim=True).sqrt()  # fault


def where_sqrt(h):
    return weft.where(h > 5, (h * 0).sqrt(), h)  # fault


def where_log(h):
    safe = h.abs() * 0
    return weft.where(safe > 0, safe.log(), h)  # fault


def half_overflow(h):
    wide = h.half() + 400
    return (wide * wide).float()  # fault


def power(h):
    return (h * 0) ** 0.5  # fault


def arc_cosine(h):
    return (h + 3).acos()  # fault


def part(h):
    a, b = h.chunk(2, 1)
    return weft.cat([a, (b - 2).log()], 1)  # fault


def inner_inplace(h):
    h = h * 2
    h.sub_(9)
    return h.log1p()  # fault


def reciprocal(h):
    return (h * 0).reciprocal()  # fault


FAULTS = [
    (log, "log", "forward"),
    (sqrt_at_zero, "sqrt", "backward"),
    (division, "div", "forward"),
    (overflow, "exp", "forward"),
    (softmax_of_inf, "exp", "forward"),
    (norm_at_zero, "sqrt", "backward"),
    (where_sqrt, "sqrt", "backward"),
    (where_log, "log", "forward"),
    (half_overflow, "mul", "forward"),
    (power, "pow", "backward"),
    (arc_cosine, "acos", "forward"),
    (part, "log", "forward"),
    (inner_inplace, "log1p", "forward"),
    (reciprocal, "reciprocal", "forward"),
]


def line_of(function):
    """Return "file:line" of the comment that marks the fault in a function's source."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    at = next(i for i, text in enumerate(lines) if text.rstrip().endswith("# fault"))
    return f"{os.path.basename(__file__)}:{first + at}"


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("fault, op, phase", FAULTS, ids=[f[0].__name__ for f in FAULTS])
def test_a_planted_fault_is_named(fault, op, phase, compiled):
    net = Net(fault)
    run = weft.compile(net) if compiled else net
    x = weft.rand(5, 4)
    for _ in range(3 if compiled else 0):  # so that the compiled program runs, not its capture
        with weft.no_grad():
            run(x)
        run(x)
    with nan_origin(), pytest.raises(NanError) as caught:
        run(x).sum().backward()
    birth = caught.value.birth
    assert (birth.op, birth.phase) == (op, phase)
    assert line_of(fault) in birth.line
    assert birth.module.startswith("Net.head")
    text = str(caught.value)
    assert op in text and line_of(fault) in text and "Net.head" in text


def test_a_function_compiled_and_fused_is_replayed():
    f = weft.compile(lambda h: ((h - 3).log() * 2).exp().sum())
    x = weft.rand(8, requires_grad=True)
    for _ in range(4):
        f(x + 4).backward()
    with nan_origin(), pytest.raises(NanError) as caught:
        f(x).backward()
    assert caught.value.birth.op == "log"
    assert caught.value.birth.inputs[0].high < 0


def test_the_report_shows_ranges_place_and_values():
    x = weft.tensor([[4.0, 1.0], [9.0, -2.0]], requires_grad=True)
    birth = explain(x.sqrt().sum())
    assert birth.op == "sqrt"
    assert (birth.inputs[0].low, birth.inputs[0].high) == (-2.0, 9.0)
    assert birth.index == (1, 1)
    assert birth.values == [("input", "-2"), ("output", "nan")]
    assert birth.output.nans == 1


def test_an_overflow_shows_the_growing_maxima():
    x = weft.tensor([2.0, 1.0], requires_grad=True)
    h = x
    with nan_origin(), pytest.raises(NanError) as caught:
        for _ in range(8):
            h = h * h
        h.sum().backward()
    birth = caught.value.birth
    assert [link.largest for link in birth.chain] == [2.0 ** (2**i) for i in range(1, 7)] + [INF]
    assert all(link.op == "mul" for link in birth.chain)


def test_a_gradient_that_overflows_shows_its_chain():
    x = weft.ones(3, requires_grad=True)
    h = x * 1e-30
    with nan_origin(), pytest.raises(NanError) as caught:
        ((h * 1e20) * 1e20 * 1e10 * 1e-20 * 1e30).sum().backward()
    birth = caught.value.birth
    assert birth.phase == "forward" or [c.largest for c in birth.chain][-1] == INF


def test_gradients_that_add_up_to_infinity_are_named():
    x = weft.ones(1, requires_grad=True)
    h = x * 1.0
    loss = (h * 3e38).sum() * 0.1 + (h * 3e38).sum() * 0.1
    with nan_origin(), pytest.raises(NanError) as caught:
        loss.backward(weft.tensor(10.0))
    assert "sum of the gradients" in caught.value.birth.op


def test_the_names_of_what_it_reached():
    net = Net(sqrt_at_zero)
    with nan_origin(), pytest.raises(NanError) as caught:
        net(weft.rand(2, 4)).sum().backward()
    assert "the gradient of first.weight" in caught.value.birth.reached


def test_deliberate_infinities_are_no_faults():
    q = weft.nn.Linear(4, 4)
    x = weft.rand(6, 4)
    later = weft.ones(6, 6).triu(1).bool()
    with nan_origin():
        s = q(x) @ x.t()
        (s.masked_fill(later, -INF).softmax(-1) @ x).sum().backward()
        (s.detach() + weft.zeros(6, 6).masked_fill(later, -INF) + q(x).sum()).softmax(
            -1
        ).sum().backward()
        q(x).clamp(max=INF).sum().backward()
        weft.where(later[0], -INF, q(x)[:, 0]).max().backward()
        F.scaled_dot_product_attention(
            q(x)[None, None], x[None, None], x[None, None], is_causal=True
        ).sum().backward()
        weft.full((3,), INF).log()
        x.log().sub(INF)


def test_a_row_that_is_masked_altogether_names_the_mask_and_the_softmax():
    q = weft.nn.Linear(4, 4)
    with nan_origin(), pytest.raises(NanError) as caught:
        s = q(weft.rand(3, 4)).masked_fill(weft.ones(3, 4).bool(), -INF)
        s.softmax(-1).sum().backward()
    birth = caught.value.birth
    assert birth.op == "masked_fill" and birth.became.startswith("softmax at ")


def test_a_fault_beside_a_mask_is_told_apart_from_it():
    q = weft.nn.Linear(4, 4)
    with nan_origin(), pytest.raises(NanError) as caught:
        h = q(weft.rand(3, 4))
        masked = h.masked_fill(weft.eye(3, 4).bool(), -INF)
        (masked + (h - 9).log()).sum().backward()
    assert caught.value.birth.op == "log"


def test_what_comes_in_from_outside_is_said_so():
    q = weft.nn.Linear(4, 4)
    with nan_origin(), pytest.raises(NanError) as caught:
        q(weft.full((2, 4), float("nan"))).sum().backward()
    assert caught.value.birth.phase == "input" and caught.value.birth.op == "linear"


def test_nothing_changes_while_all_is_finite():
    def step():
        weft.manual_seed(1)
        net = weft.nn.Sequential(weft.nn.Linear(8, 16), weft.nn.Dropout(0.3), weft.nn.Linear(16, 3))
        opt = weft.optim.Adam(net.parameters(), lr=0.01)
        for _ in range(5):
            loss = F.cross_entropy(net(weft.rand(7, 8)), weft.arange(7) % 3)
            opt.zero_grad()
            loss.backward()
            opt.step()
        with pytest.raises(RuntimeError, match=r"second time|freed"):
            loss.backward()
        return weft.cat([p.detach().reshape(-1) for p in net.parameters()])

    plain = step()
    with nan_origin():
        watched = step()
    assert weft.equal(plain, watched)


def test_random_ops_and_the_generator_are_left_as_they_were():
    x = weft.ones(50, requires_grad=True)
    with nan_origin(action="warn"), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        loss = (F.dropout(x, 0.5) - 1).log().sum()
        before = weft.get_rng_state()
        loss.backward()
        assert weft.equal(before, weft.get_rng_state())
        (x - 1).log().sum().backward()  # it warns once
    assert len(told) == 1 and "made by log" in str(told[0].message)


def test_loss_scaling_expects_infinite_gradients():
    net = weft.nn.Linear(2, 1)
    scaler = weft.amp.GradScaler("cpu", init_scale=2.0**126)
    opt = weft.optim.SGD(net.parameters(), lr=0.1)
    with nan_origin():
        loss = (net.weight * 0 * 1e3).sum() + (net.weight - net.weight.detach()).sum() * 1e3
        scaler.scale(loss).backward()
        assert not bool(net.weight.grad.isfinite().all())
        scaler.step(opt)
        scaler.update()
    assert scaler.get_scale() < 2.0**126


def test_switching_on_and_off():
    x = weft.zeros(1, requires_grad=True)
    nan_origin()
    with pytest.raises(NanError):
        x.log().sum().backward()
    with nan_origin(False):
        x.log().sum().backward()
    with pytest.raises(NanError):
        x.log().sum().backward()
    nan_origin(False)
    x.log().sum().backward()
    with pytest.raises(ValueError, match="action"):
        nan_origin(action="print")
    with pytest.raises(ValueError, match="no graph"):
        explain(weft.tensor(float("nan")))
    assert explain(x.exp()) is None


def test_a_start_gradient_and_retained_graphs():
    x = weft.ones(2, requires_grad=True)
    with nan_origin():
        y = x * 2
        with pytest.raises(NanError, match="gradient that it is given"):
            y.backward(weft.tensor([1.0, INF]))
        y.backward(weft.ones(2), retain_graph=True)
        y.backward(weft.ones(2))
    assert x.grad.tolist() == [4.0, 4.0]


def test_a_gradient_edge_as_a_root():
    x = weft.zeros(2, requires_grad=True)
    edge = weft.autograd.graph.get_gradient_edge((x * 1).sqrt())
    with nan_origin(), pytest.raises(NanError) as caught:
        weft.autograd.backward(edge, weft.ones(2))
    assert (caught.value.birth.op, caught.value.birth.phase) == ("sqrt", "backward")


class Inner(weft.autograd.Function):
    """A user's function whose backward walks a graph of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with weft.enable_grad():
            own = x.detach().requires_grad_()
            own.sqrt().sum().backward()
        return own.grad * g


def test_a_backward_inside_of_one():
    x = weft.zeros(2, requires_grad=True)
    with nan_origin(), pytest.raises(NanError) as caught:
        (Inner.apply(x * 1) * 2).sum().backward()
    assert caught.value.birth.phase == "backward" and caught.value.birth.op.startswith("Inner")
    y = weft.ones(2, requires_grad=True)
    with nan_origin():
        (Inner.apply(y * 1) * 2).sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]


def test_checkpointed_segments_and_graphs_of_gradients():
    from weft.utils.checkpoint import checkpoint

    net = Net(sqrt_at_zero)
    x = weft.rand(3, 4)
    with nan_origin():
        fine = checkpoint(net.first, x, use_reentrant=False).square().sum()
        fine.backward()
        (g,) = weft.autograd.grad(net.first(x).square().sum(), net.first.weight, create_graph=True)
        g.square().sum().backward()
        with pytest.raises(NanError) as caught:
            checkpoint(net, x, use_reentrant=False).sum().backward()
    assert "sqrt" in caught.value.birth.op


def test_the_environment_variable(tmp_path):
    script = tmp_path / "step.py"
    script.write_text(
        "import weft\nx = weft.ones(3, requires_grad=True)\n((x - 2).log() * 2).sum().backward()\n"
    )
    env = {**os.environ, "WEFT_NAN": "1", "PYTHONPATH": os.path.dirname(weft.__path__[0])}
    done = subprocess.run(
        [sys.executable, str(script)], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert "NanError" in done.stderr and "made by log at" in done.stderr
    assert "step.py:3" in done.stderr
    env["WEFT_NAN"] = "0"
    assert subprocess.run([sys.executable, str(script)], env=env, timeout=120).returncode == 0


@pytest.mark.parametrize("fault, op, phase", FAULTS[:3], ids=[f[0].__name__ for f in FAULTS[:3]])
def test_the_trainer_explains(fault, op, phase):
    trainer = weft.train.Trainer(Net(fault), loss="mse", progress=False, nan="explain")
    with pytest.raises(NanError, match="epoch 1, batch 0") as caught:
        trainer.fit((weft.rand(8, 4), weft.rand(8, 2)))
    assert (caught.value.birth.op, caught.value.birth.phase) == (op, phase)
    assert line_of(fault) in str(caught.value)
    with pytest.raises(ValueError, match="nan must be"):
        weft.train.Trainer(Net(fault), loss="mse", nan="yes")


# ---- random programs: NumPy says which step is the first that is not finite

SAFE = {
    "tanh": np.tanh,
    "sin": np.sin,
    "abs": np.abs,
    "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    "neg": np.negative,
    "square": np.square,
}
RISKY = {
    "log": (lambda v: v + 0.7, np.log),
    "sqrt": (lambda v: v + 0.7, np.sqrt),
    "exp": (lambda v: v * 110, np.exp),
    "asin": (lambda v: v * 1.1, np.arcsin),
    "log1p": (lambda v: v - 0.3, np.log1p),
    "reciprocal": (lambda v: (v * 3 + 2) - (v * 3 + 2), lambda v: 1 / v),
}


def planned(seed):
    """Return a start and steps (op, number of an earlier value to add, or None)."""
    rng = np.random.default_rng(seed)
    steps = []
    for i in range(int(rng.integers(4, 11))):
        name = str(rng.choice(list(SAFE if rng.random() < 0.75 else RISKY)))
        steps.append((name, int(rng.integers(0, i + 1)) if rng.random() < 0.3 else None))
    return rng.uniform(-2, 2, (3, 4)).astype(np.float32), steps


def by_numpy(start, steps):
    """Return the last value, and the numbers of the steps its NaN and infinities come from."""
    values, origins = [start], [set()]
    with np.errstate(all="ignore"):
        for i, (name, other) in enumerate(steps):
            v, found = np.tanh(values[-1]), origins[-1]
            if not np.isfinite(values[-1]).all() and np.isfinite(v).all():
                found = set()
            before, function = RISKY.get(name, (lambda v: v, SAFE.get(name)))
            v = before(v)
            out = function(v).astype(np.float32)
            if np.isfinite(out).all():
                found = set()
            elif np.isfinite(v).all():
                found = {i}
            if other is not None:
                out, found = out + values[other], found | origins[other]
            values.append(out)
            origins.append(found)
    return values[-1], origins[-1]


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_random_programs_against_numpy(compiled):
    named = clean = healed = 0
    for seed in range(40 if compiled else 200):
        start, steps = planned(seed)
        value, origins = by_numpy(start, steps)
        x = weft.tensor(start, requires_grad=True)

        def program(x, steps=steps):
            made = [x]
            for name, other in steps:
                v = made[-1].tanh()
                if name in RISKY:
                    v = RISKY[name][0](v)
                out = getattr(v, name)()
                made.append(out if other is None else out + made[other])
            return made[-1]

        run = weft.compile(program) if compiled else program
        with nan_origin():
            try:
                for _ in range(3 if compiled else 1):
                    run(x).sum().backward()
            except NanError as e:
                birth = e.birth
            else:
                birth = None
        if np.isfinite(value).all():
            if birth is None:
                clean += 1
            else:  # it met the gradients only
                healed += 1
                assert birth.op in RISKY and birth.reached[0].startswith("the gradient of ")
        else:
            named += 1
            assert birth is not None, seed
            assert birth.op == steps[min(origins)][0], (seed, str(birth))
            assert np.isfinite([birth.inputs[0].low, birth.inputs[0].high]).all()
            assert not birth.inputs[0].nans and not birth.inputs[0].infinities
    assert named > 10 and clean > 5 and (compiled or healed)


def test_the_page_shows_what_is_said(tmp_path):
    """The programs of docs/nan.md raise the errors that stand below them, except for places."""
    import pathlib
    import re

    page = pathlib.Path(weft.__path__[0]).parent / "docs" / "nan.md"
    blocks = re.findall(r"```(python|text)\n(.*?)```", page.read_text(), re.DOTALL)
    scope = {}
    for (kind, code), (_, text) in zip(blocks[:4:2], blocks[1:4:2]):
        assert kind == "python"
        with pytest.raises(NanError) as caught:
            exec(compile(code, "net.py", "exec"), scope)  # the page's own program
        said = str(caught.value)
        for place in (r"net\.py:\d+(, in \w+)?", r"<module>"):
            said, text = re.sub(place, "…", said), re.sub(place, "…", text)
        assert said == text.removeprefix("weft.debug.nan.NanError: ").rstrip()


def test_random_backward_programs_against_numpy():
    """The first derivative, from the end, that is not finite for a finite gradient."""
    ops = {
        "tanh": (np.tanh, lambda v: 1 - np.tanh(v) ** 2),
        "sin": (np.sin, np.cos),
        "square": (np.square, lambda v: 2 * v),
        "sqrt": (np.sqrt, lambda v: 0.5 / np.sqrt(v)),
    }
    for seed in range(60):
        rng = np.random.default_rng(seed)
        names = [str(n) for n in rng.choice(["tanh", "sin", "square"], int(rng.integers(2, 7)))]
        for at in sorted(rng.choice(len(names), 2, replace=False))[::-1]:
            names.insert(int(at) + 1, "sqrt")
        zeros = int(rng.integers(0, 2))  # sqrt is of the value times 0, or of its square plus 1
        v, kept = rng.uniform(-1, 1, 3), []
        for i, name in enumerate(names):
            scale = 0.0 if name == "sqrt" and (i % 2 == zeros) else 1.0
            inner = v**2 * scale + (1 - (scale == 0)) if name == "sqrt" else v
            kept.append((v, inner, scale))
            v = ops[name][0](inner)
        g, expected = np.ones(3), None
        with np.errstate(all="ignore"):
            for i in reversed(range(len(names))):
                before, inner, scale = kept[i]
                g = g * ops[names[i]][1](inner)
                if not np.isfinite(g).all():
                    expected = i
                    break
                g = g * 2 * before * scale if names[i] == "sqrt" else g
        x = weft.tensor(kept[0][0], requires_grad=True)
        t = x
        for i, name in enumerate(names):
            inner = t.square() * kept[i][2] + float(kept[i][2] != 0) if name == "sqrt" else t
            t = getattr(inner, name)()
        with nan_origin():
            try:
                t.sum().backward()
            except NanError as e:
                assert expected is not None, seed
                assert (e.birth.op, e.birth.phase) == (names[expected], "backward"), seed
            else:
                assert expected is None, seed
