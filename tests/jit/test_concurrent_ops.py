"""Ops of a program that run at the same time: only those that may, and with the same bits."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import _C, nn

pytestmark = pytest.mark.usefixtures("two_threads")
FEW = 3e-6  # what it takes until two threads have met, at most


# ---- which ones --------------------------------------------------------------------------------


def slots(*steps: tuple[bool, int, float, float], threads: int = 2) -> list[list[int]]:
    """Return the slots of steps: (may run beside another, after which one, shared, alone)."""
    return _C._concurrent_ops(list(steps), threads)


def test_independent_steps_that_gain() -> None:
    """Two that take as long alone as with both threads run at the same time."""
    assert slots((True, -1, 1e-4, 1e-4), (True, -1, 1e-4, 1e-4)) == [[0, 1]]


def test_steps_that_share_well_stay() -> None:
    """Where all threads together are as quick, nothing is changed."""
    assert slots((True, -1, 1e-4, 2e-4), (True, -1, 1e-4, 2e-4)) == [[0], [1]]


def test_short_steps_stay() -> None:
    """Meeting takes longer than they do."""
    assert slots((True, -1, FEW / 3, FEW / 3), (True, -1, FEW / 3, FEW / 3)) == [[0], [1]]


def test_dependent_steps_stay_in_order() -> None:
    """A step never runs beside one that it needs, nor before it."""
    assert slots((True, -1, 1e-4, 1e-4), (True, 0, 1e-4, 1e-4)) == [[0], [1]]


def test_a_step_moves_forward_only() -> None:
    """The third runs beside the first; the second, which may not, stays behind."""
    steps = [(True, -1, 1e-4, 1e-4), (False, -1, 1e-4, 1e-4), (True, -1, 1e-4, 1e-4)]
    assert slots(*steps) == [[0, 2], [1]]


def test_as_many_as_there_are_threads() -> None:
    """No slot is longer."""
    assert slots(*[(True, -1, 1e-4, 1e-4)] * 5, threads=3) == [[0, 1, 2], [3, 4]]


def test_the_best_partner_is_taken() -> None:
    """Beside a long step a long one saves most."""
    long, short = (True, -1, 1e-4, 1e-4), (True, -1, 2e-5, 2e-5)
    assert slots(long, short, long, short) == [[0, 2], [1, 3]]


# ---- what comes of it --------------------------------------------------------------------------


def spread(fast: Any) -> None:
    """Let ops of a compiled function run side by side from now on, quicker or not."""
    for v in fast.specializations:
        for program, *_ in v.programs():
            program.spread()


def beside(fast: Any) -> int:
    """Return how many ops do."""
    return sum(p[0].concurrent_ops for v in fast.specializations for p in v.programs())


class Towers(nn.Module):
    """Networks that do not know of each other until the end."""

    def __init__(self, width: int = 24) -> None:
        """Make three."""
        super().__init__()
        made = [
            nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, 4)) for _ in range(3)
        ]
        self.towers = nn.ModuleList(made)

    def forward(self, x: Any) -> Any:
        """Return the sum of what they say."""
        return sum(t(x) for t in self.towers)


def training(net: Any) -> Any:
    optimizer = weft.optim.Adam(net.parameters(), lr=0.01)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def test_training_keeps_its_bits() -> None:
    """Twenty steps with ops side by side are twenty eager ones, bit for bit."""
    nets = []
    for _ in range(2):
        weft.manual_seed(0)
        nets.append(Towers())
    eager, fast = training(nets[0]), weft.compile(training(nets[1]))
    for i in range(20):
        if i == 6:
            spread(fast)
        x = weft.randn(16, 8)
        assert weft.equal(eager(x), fast(x))
        assert all(weft.equal(p, q) for p, q in zip(*[n.parameters() for n in nets]))
    assert beside(fast) >= 6


def test_one_thread_runs_them_in_a_row() -> None:
    """The order is fine for one thread too."""
    net = Towers().eval()
    fast = weft.compile(lambda x: net(x))
    x = weft.randn(5, 8)
    with weft.no_grad():
        for _ in range(3):
            want = fast(x)
        spread(fast)
        assert weft.equal(fast(x), want) and beside(fast)
        weft.set_num_threads(1)
        assert weft.equal(fast(x), want)


def test_in_place_and_views_keep_their_order() -> None:
    """What is written is written after all that read it before, and before all that read it after."""

    def f(x: Any, w: Any) -> Any:
        a = x @ w
        first = a.view(-1)[:8].clone()
        b = a @ w
        a.mul_(2)
        c = a @ w
        a.add_(first.sum())
        return b + c, a @ w, first

    fast = weft.compile(f)
    x, w = weft.randn(8, 8), weft.randn(8, 8)
    for i in range(8):
        if i == 4:
            spread(fast)
        assert all(weft.equal(p, q) for p, q in zip(f(x, w), fast(x, w)))


def test_an_error_leaves_what_eager_leaves() -> None:
    """Gradients are not set by ops that come after one that fails, though those ran before."""
    table, w, v = weft.randn(4, 8), weft.randn(8, 8), weft.randn(8, 8)
    w.requires_grad_(), v.requires_grad_()

    def f(x: Any, index: Any) -> Any:
        (x @ w).sum().backward()
        seen = table[index]
        (x.exp() @ v + (x * 2) @ v).sum().backward()
        return seen * 1

    fast = weft.compile(f)
    x, good, bad = weft.randn(3, 8), weft.tensor([0, 3]), weft.tensor([0, 4])
    for i in range(7):
        if i == 5:
            spread(fast)
        w.grad = v.grad = None
        fast(x, good)
    assert beside(fast)
    for call in (f, fast):
        w.grad = v.grad = None
        with pytest.raises(IndexError):
            call(x, bad)
        assert weft.equal(w.grad, x.sum(0, keepdim=True).t().expand(8, 8)) and v.grad is None


def test_channels_last_images_among_them() -> None:
    """Images that lie channels last are read as they should by ops at the same time."""
    conv = nn.Conv2d(4, 16, 3, padding=1)

    def f(x: Any) -> Any:
        y = conv(x)
        return (y * 2).exp().flatten(1) @ a, (y + 1).tanh().flatten(1) @ a

    a, x = weft.randn(16 * 64, 8), weft.randn(8, 4, 8, 8)
    fast = weft.compile(f)
    with weft.no_grad():
        for i in range(6):
            if i == 3:
                spread(fast)
            assert all(weft.equal(p, q) for p, q in zip(f(x), fast(x)))
    assert beside(fast)


@pytest.mark.parametrize("kind", [weft.optim.SGD, weft.optim.Adam])
def test_no_product_runs_before_the_step_that_changes_its_weights(kind: Any) -> None:
    """What reads weights after an optimiser's step sees them changed."""

    def made() -> tuple[Any, Any]:
        weft.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
        optimizer = kind(net.parameters(), lr=0.1)

        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()
            return net(y)

        return step, net

    (eager, _), (plain, _) = made(), made()
    fast = weft.compile(plain)
    for i in range(12):
        if i == 6:
            spread(fast)
        x, y = weft.randn(16, 8), weft.randn(16, 8)
        assert weft.equal(eager(x, y), fast(x, y)), i
    assert beside(fast)


def test_layouts_are_those_of_the_order_of_the_program() -> None:
    """Who reads an image that lies channels last stays where it is, and nobody waits for himself."""
    conv, norm = nn.Conv2d(4, 16, 3, padding=1), nn.BatchNorm2d(16)
    a, b = weft.randn(16 * 64, 8), weft.randn(4 * 64, 8)

    def f(x: Any) -> Any:
        y = conv(x)
        p = x.flatten(1) @ b
        n = norm(y)
        q = y.flatten(1) @ a
        return p, n, q, (y * 2).exp().sin(), (y[:, :8] + 1).tanh().sin()

    fast = weft.compile(f)
    x = weft.randn(8, 4, 8, 8)
    with weft.no_grad():
        for i in range(12):
            if i == 6:
                spread(fast)
            norm.reset_running_stats()
            want = f(x)
            norm.reset_running_stats()
            assert all(weft.equal(s, t) for s, t in zip(want, fast(x))), i


def test_an_argument_that_lies_channels_last() -> None:
    """It is given to a program whose ops run side by side, and bits stay those of eager."""
    conv, norm = nn.Conv2d(4, 16, 3, padding=1), nn.BatchNorm2d(16).eval()
    a = weft.randn(16 * 64, 8)

    def f(x: Any) -> Any:
        return (x * 2).flatten(1) @ a, (x + 1).flatten(1) @ a, norm(x), x.mean((0, 2, 3))

    fast = weft.compile(f)
    with weft.no_grad():
        for i in range(14):
            if i == 6:
                spread(fast)
            x = weft.randn(8, 16, 8, 8) if i < 9 else conv(weft.randn(8, 4, 8, 8))
            other = x.clone() if i < 9 else None
            want = f(x if other is None else other)
            assert all(weft.equal(s, t) for s, t in zip(want, fast(x))), i


def test_no_memory_for_the_new_order() -> None:
    """The error arrives, and later calls are right."""
    net = Towers().eval()
    fast = weft.compile(lambda x: net(x))
    x = weft.randn(64, 8)
    with weft.no_grad():
        want = net(x)
        for _ in range(4):
            fast(x)
        spread(fast)
        _C._fail_allocation_after(0)
        try:
            with pytest.raises(MemoryError):
                fast(x)
        finally:
            _C._fail_allocation_after(-1)
        for _ in range(4):
            assert weft.equal(fast(x), want)
