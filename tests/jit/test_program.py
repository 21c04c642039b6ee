"""Graphs as static programs: the same bits as eager, run after run."""

from __future__ import annotations

import copy
import threading
from random import Random
from typing import Any

import pytest
from robustness.growth import assert_linear

import weft
from weft import _C, nn
from weft.nn import functional as F


def as_program(f: Any, *inputs: Any) -> Any:
    """Trace f; its graph must be one that runs as a program."""
    with weft.no_grad():
        traced = weft.jit.trace(f, inputs)
        assert traced.graph._program(inputs) is not None
    return traced


def same(got: Any, want: Any) -> bool:
    """The same bits in the same structure."""
    if isinstance(want, (tuple, list)):
        return len(got) == len(want) and all(map(same, got, want))
    return got.dtype == want.dtype and weft.equal(got, want)


def check(f: Any, *inputs: Any, times: int = 4) -> Any:
    """Runs of the program, each on other values, give what eager gives; results stay as they were."""
    traced, kept = as_program(f, *inputs), []
    for k in range(times):
        given = [t if k == 0 or not t.is_floating_point() else t * (1 - k / 7) for t in inputs]
        mine, theirs = [t.clone() for t in given], [t.clone() for t in given]
        with weft.no_grad():
            want, got = f(*theirs), traced(*mine)
        assert same(got, want) and same(mine, theirs)
        kept.append((got, want))
    for got, want in kept:
        assert same(got, want)
    return traced


def test_memory_is_shared_by_what_is_not_alive_together() -> None:
    """A chain needs room for two values, however long it is."""

    def chain(x: Any) -> Any:
        for _ in range(30):
            x = (x * 1.01).tanh()
        return x

    x = weft.randn(1000)
    traced = check(chain, x)
    assert traced.graph._program((x,)).arena_bytes == 2 * 4032


@pytest.mark.parametrize("later", ["", "shares", "gates", "gradient"])
@pytest.mark.parametrize("size", [(3, 2, 4), (5, 17, 70), (20, 1, 130)])
def test_gates_lie_where_their_shares_lay(later: str, size: tuple[int, int, int]) -> None:
    """An LSTM's gates and their gradients take the place of what nobody reads afterwards, and no other."""
    time, batch, n = size
    forward, backward = map(weft._C._op_function, ("recur", "recur_backward"))

    def f(x: Any, h: Any, c: Any, w: Any) -> Any:
        shares = x * 2
        y, cells, gates = forward(shares, h, c, w, None, None, 3, False)
        dx, states, dw, _ = backward(y, None, h, c, w, y, cells, gates, None, 3, False, True)
        read = {"shares": shares, "gates": gates, "gradient": dx}.get(later)
        return [y * 1, states, dw, dx * 3, *([] if read is None else [read * 3])]

    shapes = [(time, batch, 4 * n), (batch, n), (batch, n), (4 * n, n)]
    inputs = tuple(weft.randn(*shape) / n**0.5 for shape in shapes)
    traced = check(f, *inputs)
    wide = 4 * time * batch * 4 * n
    room = traced.graph._program(inputs).arena_bytes - 2 * time * batch * n * 4
    assert wide <= room < 2 * wide if later in ("", "gradient") else room >= 2 * wide


def convolutions() -> nn.Sequential:
    """Whose work spaces are large: by Winograd's way, with steps, for few tiles."""
    weft.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(16, 64, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(64, 128, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(128, 256, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(256, 256, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(256, 256, 3, padding=1),
        nn.BatchNorm2d(256),
    )


@pytest.mark.parametrize("threads", [1, 3])
def test_work_spaces_lie_where_nothing_else_does(threads: int) -> None:
    """Training steps with large work spaces are those of eager, bit for bit."""
    before = weft.get_num_threads()
    weft.set_num_threads(threads)
    try:
        models = [convolutions() for _ in range(2)]
        x = weft.randn(16, 16, 16, 16)
        steps = []
        for model in models:
            optimizer = weft.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

            def step(model: Any = model, optimizer: Any = optimizer) -> Any:
                optimizer.zero_grad()
                loss = (model(x) ** 2).mean()
                loss.backward()
                optimizer.step()
                return loss.detach()

            steps.append(step)
        compiled = weft.compile(steps[1])
        for _ in range(6):
            assert same(compiled(), steps[0]())
        for a, b in zip(*(m.state_dict().values() for m in models)):
            assert same(a, b)
    finally:
        weft.set_num_threads(before)


def test_kernels_that_are_kept_are_not_lent() -> None:
    """Points of a kernel, made in one run, are whole in the next."""
    first, second = nn.Conv2d(16, 64, 3, padding=1), nn.Conv2d(64, 128, 3, padding=1)
    model = nn.Sequential(first, nn.MaxPool2d(2), second, nn.Tanh(), nn.MaxPool2d(2))
    x = weft.randn(16, 16, 32, 32)
    with weft.no_grad():
        compiled = weft.compile(model)
        for _ in range(4):
            compiled(x)
        for p in model.parameters():
            p.mul_(0.5)  # they are made anew, by the program
        want = copy.deepcopy(model)(x)
        for _ in range(3):
            assert same(compiled(x), want)


def test_views_and_changes_in_place() -> None:
    """Of inputs, of constants, and of what the program made."""
    held = weft.zeros(4)

    def f(x: Any, y: Any) -> Any:
        a = x.view(4, 3)[1:, :2].t()
        b = a.clone()
        b[0] += y[2:5]
        x[0] = 7.0
        held.add_(1)
        z = y * 2
        z[::2].mul_(3)
        z.view(-1, 3)[:, 1] = z[:2]
        return b, z, x[3:6] + a.sum(), z[1:3], y.expand(2, 6).sum(0)

    traced = as_program(f, weft.randn(12), weft.randn(6))
    for k in range(3):
        x, y, before = weft.randn(12), weft.randn(6), held.clone()
        x2, y2 = x.clone(), y.clone()
        with weft.no_grad():
            got = traced(x, y)
            assert weft.equal(held, before + 1)
            want = f(x2, y2)
        assert same(got, want) and weft.equal(x, x2) and weft.equal(y, y2), k


def test_inputs_that_are_parts_or_share_memory() -> None:
    """Offsets are followed; the layout is part of what a program is made for."""
    traced = as_program(lambda a, b: (a.t() @ b, a[1] + b[0]), weft.randn(3, 3), weft.randn(3, 3))
    big = weft.randn(10, 3, 3)
    with weft.no_grad():
        for i in range(3):
            a, b = big[i], big[i + 1]
            assert same(traced(a, b), (a.t() @ b, a[1] + b[0]))
        a = big[4].t()
        assert same(traced(a, a), (a.t() @ a, a[1] + a[0]))
    assert len(traced.graph._programs) == 2


def test_results_that_are_inputs_or_constants() -> None:
    """They are the tensors themselves."""
    w = weft.ones(2)
    traced = as_program(lambda x: (x, w, x + w, x[:1]), weft.ones(2))
    with weft.no_grad():
        x = weft.randn(2)
        a, b, c, d = traced(x)
        assert a is x and b is w and same(c, x + w)
        d.fill_(5)
        assert x[0] == 5


def test_parameters_are_seen_as_they_are() -> None:
    """Packed weights notice changes in place, also of weights that the program makes."""
    conv, x = weft.nn.Conv2d(8, 16, 3), weft.randn(2, 8, 12, 12)
    traced = as_program(lambda x: F.relu(conv(x)).mean((2, 3)), x)
    made = as_program(lambda x, s: F.conv2d(x, conv.weight * s, conv.bias), x, weft.ones(1))
    with weft.no_grad():
        for k in range(4):
            assert same(traced(x), F.relu(conv(x)).mean((2, 3)))
            s = weft.tensor([1.0 + k])
            assert same(made(x, s), F.conv2d(x, conv.weight * s, conv.bias))
            conv.weight.mul_(0.5)


def test_parameters_with_other_memory() -> None:
    """What is assigned to .data is seen, also through views."""
    w = weft.ones(2, 3)
    traced = as_program(lambda x: x @ w.t() + w[0, 0], weft.ones(3))
    with weft.no_grad():
        for k in range(3):
            w.data = weft.full((2, 3), float(k))
            assert traced(weft.ones(3)).tolist() == [4.0 * k] * 2


@pytest.mark.parametrize("name", ["cnn", "lstm", "transformer", "dropout"])
def test_networks(name: str) -> None:
    """Whole networks, with random numbers drawn as eager draws them."""
    nn = weft.nn
    nets: dict[str, tuple[Any, Any]] = {
        "cnn": (
            nn.Sequential(
                nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 49, 10),
            ).eval(),
            weft.randn(4, 3, 32, 32),
        ),
        "lstm": (nn.LSTM(6, 8, 2, batch_first=True), weft.randn(3, 5, 6)),
        "transformer": (nn.TransformerEncoderLayer(16, 4, 32).eval(), weft.randn(7, 3, 16)),
        "dropout": (nn.Sequential(nn.Linear(6, 50), nn.Dropout(0.5), nn.GELU()), weft.randn(3, 6)),
    }  # fmt: skip
    net, x = nets[name]
    with weft.no_grad():
        traced = as_program(lambda x: weft_flat(net(x)), x)
        for k in range(3):
            weft.manual_seed(k)
            want = weft_flat(net(x * k))
            weft.manual_seed(k)
            assert same(traced(x * k), want)


def weft_flat(out: Any) -> Any:
    """The tensors of a result."""
    if isinstance(out, weft.Tensor):
        return out
    return tuple(t for part in out for t in ((part,) if isinstance(part, weft.Tensor) else part))


def test_backward_and_steps_inside() -> None:
    """A training step by hand: gradients come from the same loops as in eager."""
    w0, w1 = weft.randn(5, 8), weft.randn(8, 3)

    def step(x: Any, y: Any) -> Any:
        a, b = w0.detach().requires_grad_(), w1.detach().requires_grad_()
        with weft.enable_grad():
            loss = F.cross_entropy(F.gelu(x @ a).tanh() @ b, y)
            ga, gb = weft.autograd.grad(loss, (a, b))
        w0.sub_(ga * 0.1)
        w1.sub_(gb * 0.1)
        return loss.detach()

    x, y = weft.randn(6, 5), weft.tensor([0, 1, 2, 0, 1, 2])
    start = w0.clone(), w1.clone()
    with weft.no_grad():
        want = [step(x, y).item() for _ in range(5)]
        after = w0.clone(), w1.clone()
        w0.copy_(start[0]), w1.copy_(start[1])
        traced = as_program(step, x, y)
        w0.copy_(start[0]), w1.copy_(start[1])
        assert [traced(x, y).item() for _ in range(5)] == want
        assert weft.equal(w0, after[0]) and weft.equal(w1, after[1])
    assert want[-1] < want[0]


def test_what_is_no_program_runs_all_the_same() -> None:
    """Shapes that follow from values; gradients that are wanted."""
    traced = weft.jit.trace(lambda x: x.nonzero().sum() + x.sum(), (weft.tensor([1.0, 0.0]),))
    x = weft.tensor([0.0, 3.0])
    assert traced.graph._program((x,)) is None
    assert traced(x).item() == 4
    held = weft.eye(2).to_sparse()
    f = weft.jit.trace(lambda x: x * 2, (weft.ones(2),))
    value = f.graph.value("held", weft.ones(1))
    value.constant = held
    f.graph.constants.append(value)
    assert f.graph._program((weft.ones(2),)) is None and f(weft.ones(2)).tolist() == [2, 2]
    f = weft.jit.trace(lambda x: (x * x).sum(), (weft.ones(2),))
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    f(x).backward()
    assert x.grad.tolist() == [2, 4]


def test_a_failed_run_leaves_the_program_whole() -> None:
    """An index out of range; then a run that is right."""
    traced = as_program(
        lambda t, i: (t * 2).index_select(0, i) + 1, weft.randn(4), weft.tensor([1])
    )
    t = weft.randn(4)
    for k in range(3):
        with pytest.raises(IndexError, match="out of bounds"):
            traced(t, weft.tensor([9]))
        assert same(traced(t, weft.tensor([k])), t[k : k + 1] * 2 + 1)


def test_threads_that_run_one_program() -> None:
    """Long kernels let others run: each call has an instance of the program."""
    traced = as_program(lambda x: (x @ x).tanh().sum(0), weft.randn(300, 300))
    xs = [weft.randn(300, 300) for _ in range(4)]
    want, wrong = [(x @ x).tanh().sum(0) for x in xs], []

    def work(k: int) -> None:
        for _ in range(20):
            if not weft.equal(traced(xs[k]), want[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# ---- random programs ----------------------------------------------------------------------------


def random_program(seed: int) -> Any:
    """A function of three tensors: pointwise ops, products, sums, views, and changes in place."""
    rng = Random(seed)
    plan = [(rng.randrange(14), rng.random(), rng.random(), rng.random()) for _ in range(25)]

    def f(*inputs: Any) -> Any:
        pool = list(inputs)

        def pick(r: float) -> Any:
            return pool[int(r * len(pool))]

        for kind, r, s, u in plan:
            a, b = pick(r), pick(s)
            if kind == 0:
                pool.append((a + b).tanh())
            elif kind == 1:
                pool.append(a * b - 0.5)
            elif kind == 2:
                pool.append(a @ b)
            elif kind == 3:
                pool.append(a.t())
            elif kind == 4:
                pool.append((a - a.amax(1, keepdim=True)).softmax(int(u * 2)))
            elif kind == 5:
                pool.append(a.sum(0).expand(4, 4) * 0.25)
            elif kind == 6:
                pool.append(weft.cat([a[2:], b[:2]]))
            elif kind == 7:
                a[int(u * 4)] += b[0] * 0.1
            elif kind == 8:
                a.t()[1].mul_(0.5)
            elif kind == 9:
                pool.append(weft.where(a > b, a, b * u))
            elif kind == 10:
                pool.append(a.reshape(2, 8)[:, ::2].reshape(2, 4).repeat(2, 1))
            elif kind == 11:
                pool.append(F.gelu(a).sigmoid_())
            elif kind == 12:
                a.copy_(b.t() * 0.9)
            else:
                pool.append(a.clamp(-1, 1).flip(0).cumsum(1))
        return tuple(pool[-4:])

    return f


@pytest.mark.parametrize("part", range(10))
def test_random_programs(part: int) -> None:
    """Five hundred of them, three runs each."""
    for seed in range(50 * part, 50 * part + 50):
        f = random_program(seed)
        traced = as_program(f, *(weft.randn(4, 4) for _ in range(3)))
        for _ in range(3):
            given = [weft.randn(4, 4) for _ in range(3)]
            mine, theirs = [t.clone() for t in given], [t.clone() for t in given]
            with weft.no_grad():
                got, want = traced(*mine), f(*theirs)
            assert same(got, want) and same(mine, theirs), seed


def plain_gaps(
    pieces: list[tuple[int, int, int, int]], step: int, total: int
) -> set[tuple[int, int]]:
    """Where no piece lies during a step, as (begin, bytes), by looking at each of them."""
    gaps, end = set(), 0
    for at, size in sorted((at, size) for size, at, first, last in pieces if first <= step <= last):
        gaps.add((end, at - end))
        end = max(end, at + size)
    return {g for g in gaps | {(end, total - end)} if g[1] >= 1 << 20}


@pytest.mark.parametrize("seed", range(20))
def test_gaps_between_memories(seed: int) -> None:
    """What is free in each step, against the definition; pieces that are used at the same time lie apart."""
    rng = Random(seed)
    steps, total = rng.randint(1, 40), 64 << 20
    pieces: list[tuple[int, int, int, int]] = []
    for _ in range(rng.randint(0, 80)):
        first = rng.randint(0, steps)
        size, at = rng.choice([0, 64, 1 << 19, rng.randint(1, 8 << 20)]), rng.randint(0, 40 << 20)
        new = (size, rng.choice([0, at]), first, rng.randint(first, steps))
        if all(apart(new, p) for p in pieces):
            pieces.append(new)
    got = _C._gaps_between(pieces, steps, total)
    assert [set(g) for g in got] == [
        plain_gaps([p for p in pieces if p[0]], i, total) for i in range(steps)
    ]
    assert all([size for _, size in g] == sorted(size for _, size in g) for g in got)


def apart(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> bool:
    """Say whether two pieces (bytes, place, first and last step) do not meet."""
    return a[1] + a[0] <= b[1] or b[1] + b[0] <= a[1] or a[3] < b[2] or b[3] < a[2]


def test_gaps_of_many_memories() -> None:
    """A long program: the time is about that of its length."""

    def find(n: int) -> None:
        pieces = [(1 << 20, i << 20, i, 2 * n - i) for i in range(n)]
        gaps = _C._gaps_between(pieces, 2 * n, n << 20)
        assert gaps[0] == [(1 << 20, (n - 1) << 20)]
        assert gaps[n] == []

    assert_linear(find, 200, 20000)
