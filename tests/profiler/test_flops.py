"""Operations of single ops against counts by hand, and by loops; ``FlopCounterMode``."""

from __future__ import annotations

import pytest

import weft
from weft import nn
from weft.nn import functional as F
from weft.profiler import profile
from weft.profiler.flops import flops_of
from weft.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula


def flops(f: object, *args: weft.Tensor) -> int:
    with profile(with_flops=True) as prof:
        f(*args)  # type: ignore[operator]
    return sum(e.own_flops for e in prof.events())


@pytest.mark.parametrize("batch", [(), (2,), (2, 5)])
@pytest.mark.parametrize(("m", "k", "n"), [(3, 4, 5), (1, 7, 2), (6, 1, 1)])
def test_products(batch: tuple[int, ...], m: int, k: int, n: int) -> None:
    a, b = weft.rand(*batch, m, k), weft.rand(*batch, k, n)
    expected = 2 * m * k * n
    for size in batch:
        expected *= size
    assert flops(weft.matmul, a, b) == expected
    if len(batch) == 0:
        assert flops(weft.mm, a, b) == expected
        assert flops(weft.addmm, weft.rand(n), a, b) == expected
        assert flops(F.linear, a, b.t()) == expected
        assert flops(lambda a, b: F.linear(a, b.t()).relu(), a, b) == expected
    if len(batch) == 1:
        assert flops(weft.bmm, a, b) == expected
        assert flops(weft.baddbmm, weft.rand(m, n), a, b) == expected
        assert flops(weft.addbmm, weft.rand(m, n), a, b) == expected


def test_vectors() -> None:
    a, b, x = weft.rand(3, 4), weft.rand(4), weft.rand(4)
    assert flops(weft.mv, a, b) == 24
    assert flops(weft.dot, b, x) == 8
    assert flops(weft.matmul, a, b) == 24
    assert flops(weft.mul, a, a) == 12


def slow_conv(places: int, channels: int, taps: int, groups: int, outs: int) -> int:
    """Count multiplications and additions one by one."""
    count = 0
    for _ in range(places):
        for _ in range(outs):
            for _ in range(channels // groups):
                for _ in range(taps):
                    count += 2
    return count


@pytest.mark.parametrize(
    ("groups", "stride", "padding", "kernel"),
    [(1, 1, 0, 3), (2, 2, 1, 3), (4, 1, 2, 5), (1, 1, 0, 1)],
)
def test_convolutions_forward_and_backward(
    groups: int, stride: int, padding: int, kernel: int
) -> None:
    x = weft.rand(2, 4, 9, 8, requires_grad=True)
    w = weft.rand(8, 4 // groups, kernel, kernel, requires_grad=True)
    with profile(with_flops=True) as prof:
        y = F.conv2d(x, w, stride=stride, padding=padding, groups=groups)
        y.sum().backward()
    places = y.shape[0] * y.shape[2] * y.shape[3]
    one = slow_conv(places, 4, kernel * kernel, groups, 8)
    by_phase = {"forward": 0, "backward": 0}
    for e in prof.events():
        by_phase[e.phase] += e.own_flops
    assert by_phase == {"forward": one, "backward": 2 * one}


def test_transposed_convolution() -> None:
    x, w = weft.rand(2, 6, 5, 5), weft.rand(6, 3, 3, 3)
    assert flops(lambda x, w: F.conv_transpose2d(x, w, stride=2), x, w) == 2 * 2 * 25 * 6 * 3 * 9


def test_linear_backward_is_twice_forward() -> None:
    layer, x = nn.Linear(16, 32), weft.rand(8, 16, requires_grad=True)
    with profile(with_flops=True) as prof:
        layer(x).square().sum().backward()
    forward = sum(e.own_flops for e in prof.events() if e.name == "linear")
    assert forward == 2 * 8 * 16 * 32
    inside = sum(e.own_flops for e in prof.events() if e.phase == "backward" and e.name != "mul")
    assert inside >= 2 * forward


def test_attention() -> None:
    q, k, v = weft.rand(2, 3, 10, 16), weft.rand(2, 3, 12, 16), weft.rand(2, 3, 12, 16)
    found = flops(F.scaled_dot_product_attention, q, k, v)
    products = 2 * 2 * 3 * 10 * 12 * 16 * 2
    assert products <= found <= products * 1.2  # scaling may be an op of its own


def test_recurrent() -> None:
    lstm, x = nn.LSTM(8, 16), weft.rand(5, 2, 8)
    with weft.no_grad():
        found = flops(lstm, x)
    assert found >= 2 * 5 * 2 * 4 * 16 * (8 + 16)


def test_autocast_counts_once() -> None:
    """Under autocast a call is an event with the casts and the call itself in it."""
    layer, x = nn.Linear(16, 32), weft.rand(8, 16)
    with profile(with_flops=True) as prof, weft.autocast("cpu", dtype=weft.bfloat16):
        layer(x)
    assert sum(e.own_flops for e in prof.events()) == 2 * 8 * 16 * 32
    linear = [e for e in prof.events() if e.name == "linear"]
    assert linear[0].flops == 2 * 8 * 16 * 32
    assert {"linear", "cast"} & {c.name for c in linear[0].cpu_children}


def test_unknown_and_odd() -> None:
    assert flops_of("sort", [(3,)], [(3,)]) == 0
    assert flops_of("mm", [None], []) == 0
    assert flops_of("linear_cross_entropy", [(3, 4), (5, 4)], [()]) == 0


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(4 * 6 * 6, 10))

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        return self.head(self.conv(x).relu())


CONV, LINEAR = 2 * 2 * 4 * 36 * 9, 2 * 2 * 144 * 10


def test_counter_by_module(capsys: pytest.CaptureFixture[str]) -> None:
    net, x = Net(), weft.rand(2, 1, 8, 8)
    with FlopCounterMode() as counter:
        net(x)
        assert counter.get_total_flops() == CONV + LINEAR
    counts = counter.get_flop_counts()
    assert sum(counts["Global"].values()) == CONV + LINEAR
    assert sum(counts["Net"].values()) == CONV + LINEAR
    assert sum(counts["Net.conv"].values()) == CONV
    assert sum(counts["Net.head"].values()) == sum(counts["Net.head.1"].values()) == LINEAR
    table = capsys.readouterr().out
    assert "Global" in table
    assert "100.00%" in table
    assert "Net.head.1" not in table
    assert "Net.head.1" in counter.get_table(depth=3)


def test_counter_backward_and_again() -> None:
    net, x = Net(), weft.rand(2, 1, 8, 8)
    counter = FlopCounterMode(display=False)
    with counter:
        net(x).sum().backward()
    # The image wants no gradient, so its convolution has one product backward.
    assert counter.get_total_flops() == 2 * CONV + 3 * LINEAR
    with counter:
        net(x)
    assert counter.get_total_flops() == CONV + LINEAR


def test_counter_with_own_formulas() -> None:
    def cube(shape: weft.Size, *, out_shape: weft.Size) -> int:
        return 3 * out_shape.numel()

    with FlopCounterMode(display=False, custom_mapping={weft.exp: cube}) as counter:
        weft.ones(4, 5).exp()
        weft.ones(2, 3) @ weft.ones(3, 2)
    assert counter.get_flop_counts()["Global"] == {"exp": 60, "matmul": 24}
    try:
        register_flop_formula("sort")(lambda shape, *rest, out_shape: 7)
        with FlopCounterMode(display=False) as counter:
            weft.ones(4).sort()
        assert counter.get_total_flops() == 7
    finally:
        flop_registry.clear()
    with pytest.raises(ValueError, match="op or its name"):
        FlopCounterMode(custom_mapping={3: cube})
    with pytest.warns(UserWarning, match="mods"):
        FlopCounterMode(mods=Net())


def test_counter_inside_of_a_profile() -> None:
    x = weft.ones(2, 2)
    with profile() as prof, FlopCounterMode(display=False) as counter:
        x @ x
    assert counter.get_total_flops() == 16
    assert len(prof.events()) == 1
