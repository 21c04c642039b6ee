"""Ranks, sizes and counts that no tensor can have: every op refuses them, none wraps, hangs or crashes."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from robustness.crashes import cpu_seconds
from robustness.interrupting import ctrl_c_at

import weft
import weft.nn.functional as F
from weft import _C

ROOT = Path(__file__).resolve().parents[2]
TOO_MANY = r"at most 64 dimensions, got \d+"
MOST = 2**63 - 1


def nested(depth: int) -> list:
    """A list in a list in a list."""
    x: list = [1.0]
    for _ in range(depth - 1):
        x = [x]
    return x


# ---- rank ---------------------------------------------------------------------------------------

FULL = [1] * 63 + [2]
RANKS = {
    "zeros": lambda: weft.zeros([1] * 65),
    "empty_strided": lambda: weft.empty_strided([1] * 65, [1] * 65),
    "full": lambda: weft.full([0] * 65, 1.0),
    "rand": lambda: weft.rand([1] * 70),
    "reshape": lambda: weft.arange(6.0).reshape([2] + [1] * 64 + [3]),
    "view": lambda: weft.ones(2).view([1] * 64 + [2]),
    "unsqueeze": lambda: weft.ones(FULL).unsqueeze(0),
    "unsqueeze_": lambda: weft.ones(FULL).unsqueeze_(0),
    "stack": lambda: weft.stack([weft.ones(FULL), weft.ones(FULL)]),
    "broadcast_to": lambda: weft.broadcast_to(weft.ones(1), [1] * 65),
    "expand": lambda: weft.ones(1).expand([1] * 70),
    "None": lambda: weft.ones(2)[(None,) * 64],
    "None and an index": lambda: weft.ones(2, 2)[(None,) * 64 + ([0],)],
    "an index of many dimensions": lambda: weft.ones(2, 3)[weft.zeros([1] * 64, dtype=weft.int64)],
    "as_strided": lambda: weft.ones(1).as_strided([1] * 70, [0] * 70),
    "as_strided_": lambda: weft.ones(1).as_strided_([1] * 70, [0] * 70),
    "repeat": lambda: weft.ones(2).repeat([1] * 65),
    "tile": lambda: weft.tile(weft.ones(2), [1] * 65),
    "unflatten": lambda: weft.ones(1).unflatten(0, [1] * 65),
    "unfold": lambda: weft.ones(FULL).unfold(63, 1, 1),
    "diag_embed": lambda: weft.ones(FULL).diag_embed(),
    "one_hot": lambda: F.one_hot(weft.zeros([1] * 64, dtype=weft.int64), 2),
    "resize_": lambda: weft.ones(1).resize_([1] * 65),
    "tensordot": lambda: weft.tensordot(weft.ones([1] * 40), weft.ones([1] * 40), 0),
    "outer sum": lambda: weft.ones([1] * 64)[None],
    "view_as_real": lambda: weft.view_as_real(weft.ones(FULL, dtype=weft.complex64)),
    "gather of rows": lambda: F.embedding(weft.zeros([1] * 64, dtype=weft.int64), weft.ones(2, 2)),
    "vmap": lambda: weft.func.vmap(lambda x: x.reshape([1] * 64))(weft.ones(2, 1)),
    "meshgrid": lambda: weft.meshgrid(*[weft.ones(1)] * 65, indexing="ij"),
    "cartesian grids": lambda: weft.cartesian_prod(*[weft.ones(1)] * 65),
    "sparse": lambda: weft.sparse_coo_tensor(weft.zeros(65, 1, dtype=weft.int64), [1.0], [1] * 65),
}


@pytest.mark.parametrize("name", RANKS)
def test_more_than_64_dimensions_are_refused(name: str) -> None:
    with pytest.raises((RuntimeError, ValueError, IndexError), match=TOO_MANY):
        RANKS[name]()


def test_more_than_64_dimensions_from_outside() -> None:
    with pytest.raises((RuntimeError, ValueError), match="64"):
        weft.tensor(nested(65))
    assert weft.tensor(nested(64)).dim() == 64
    with pytest.raises(RuntimeError, match=TOO_MANY):
        weft.nn.Parameter(weft.ones(FULL)[None])


def test_64_dimensions_are_enough_for_all() -> None:
    x = weft.arange(6.0).reshape([2] + [1] * 62 + [3])
    assert x.sum(0).flatten().tolist() == [3.0, 5.0, 7.0]
    assert (x + x.transpose(0, 63).reshape(x.shape)).shape == x.shape
    assert x.repeat([2] + [1] * 62 + [3]).shape == (4, *[1] * 62, 9)
    y = x.clone().requires_grad_()
    y.repeat([2] * 3 + [1] * 61).sum().backward()
    assert y.grad is not None and y.grad.flatten().tolist() == [8.0] * 6
    assert x.permute(list(range(63, -1, -1))).contiguous().flatten().tolist() == [0, 3, 1, 4, 2, 5]
    assert weft.from_numpy(x.numpy()).shape == x.shape
    assert weft.tensor(x.tolist()).equal(x)
    assert x.flip(0, 63).flatten().tolist() == [5, 4, 3, 2, 1, 0]
    assert weft.cat([x, x], 63).shape[63] == 6
    assert weft.softmax(x, 63).sum(63).flatten().tolist() == pytest.approx([1.0, 1.0])


# ---- sizes --------------------------------------------------------------------------------------

ONE = weft.ones(1)
SIZES = {
    "conv1d, padding": lambda: F.conv1d(weft.rand(1, 1, 8), weft.rand(1, 1, 3), padding=MOST),
    "conv2d, padding": lambda: F.conv2d(weft.rand(1, 1, 8, 8), weft.rand(1, 1, 3, 3), padding=MOST),
    "conv3d, padding": lambda: F.conv3d(
        weft.rand(1, 1, 4, 4, 4), weft.rand(1, 1, 3, 3, 3), padding=MOST
    ),
    "conv2d, double": lambda: F.conv2d(
        weft.rand(1, 1, 8, 8).double(), weft.rand(1, 1, 3, 3).double(), padding=MOST
    ),
    "conv1d, padding and stride": lambda: F.conv1d(
        weft.rand(1, 1, 8), weft.rand(1, 1, 3), padding=2**62 - 8, stride=2**62
    ),
    "conv1d, dilation": lambda: F.conv1d(weft.rand(1, 1, 8), weft.rand(1, 1, 3), dilation=MOST),
    "conv_transpose1d, stride": lambda: F.conv_transpose1d(
        weft.rand(1, 1, 8), weft.rand(1, 1, 3), stride=2**62
    ),
    "conv_transpose1d, padding": lambda: F.conv_transpose1d(
        weft.rand(1, 1, 8), weft.rand(1, 1, 3), padding=MOST
    ),
    "max_pool1d": lambda: F.max_pool1d(weft.rand(1, 1, 8), MOST, padding=2**62 - 1),
    "max_pool2d, dilation": lambda: F.max_pool2d(weft.rand(1, 1, 8, 8), 3, dilation=MOST),
    "avg_pool2d": lambda: F.avg_pool2d(weft.rand(1, 1, 8, 8), 2**62, padding=2**61),
    "unfold": lambda: F.unfold(weft.rand(1, 1, 8, 8), 2**62),
    "fold": lambda: F.fold(weft.rand(1, 4, 4), (2**62, 2), 2),
    "pad": lambda: F.pad(weft.rand(1, 1, 8), (2**62, 2**62)),
    "pad, circular": lambda: F.pad(weft.rand(1, 1, 8), (MOST, MOST), mode="circular"),
    "arange": lambda: weft.arange(MOST),
    "arange of both signs": lambda: weft.arange(-MOST, MOST),
    "arange of a large step": lambda: weft.arange(-MOST, MOST, 2, dtype=weft.int8),
    "linspace": lambda: weft.linspace(0, 1, 2**62),
    "eye": lambda: weft.eye(2**40),
    "repeat": lambda: weft.ones(3).repeat(2**62),
    "repeat to one": lambda: weft.ones(4).repeat(2**62, 1),
    "tile": lambda: weft.tile(weft.ones(3), (2**62,)),
    "repeat_interleave": lambda: weft.ones(3).repeat_interleave(2**62),
    "kron": lambda: weft.kron(ONE.expand(2**40), ONE.expand(2**40)),
    "outer": lambda: weft.outer(ONE.expand(2**40), ONE.expand(2**40)),
    "as_strided": lambda: ONE.as_strided((2, 2), (2**62, 2**62)),
    "as_strided, offset": lambda: ONE.as_strided((1,), (1,), MOST),
    "as_strided, stride of one": lambda: ONE.as_strided((1,), (2**60,)),
    "expand": lambda: ONE.expand(2**32, 2**32),
    "expand to 2^57": lambda: ONE.expand(2**57),
    "empty": lambda: weft.empty(2**31, 2**32),
    "none of many": lambda: weft.empty(0, 2**32, 2**32),
    "negative": lambda: weft.zeros(-(2**63)),
    "diag_embed": lambda: weft.diag_embed(ONE, offset=-(2**63)),
    "diagonal": lambda: weft.ones(2, 2).diagonal(-(2**63)).view(1),
    "one_hot": lambda: F.one_hot(weft.arange(3), 2**62),
    "bincount": lambda: weft.bincount(weft.tensor([MOST])),
    "tril_indices": lambda: weft.tril_indices(MOST, MOST, -(2**63)),
    "triu_indices": lambda: weft.triu_indices(2**40, 2**40),
    "interpolate": lambda: F.interpolate(weft.rand(1, 1, 8), 2**62),
    "hann_window": lambda: weft.hann_window(2**62),
    "vander": lambda: weft.vander(weft.ones(3), 2**62),
    "tolist": lambda: ONE.expand(2**40).tolist(),
    "apply_": lambda: ONE.expand(2**40).apply_(lambda x: x),
    "map_": lambda: ONE.expand(2**40).map_(ONE, lambda x, y: x),
    "combinations": lambda: weft.combinations(weft.arange(60), 30),
    "split": lambda: weft.ones(0).split([2**62, 2**62, 2**62]),
    "narrow": lambda: weft.ones(3).narrow(0, 1, MOST),
    "from_numpy": lambda: weft.from_numpy(
        np.lib.stride_tricks.as_strided(np.ones(1), (2**10,), (2**58,))
    ),
    "index_select": lambda: ONE.expand(2**50).index_select(0, weft.arange(3)).view(-1, 2**62),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_do_not_fit_are_refused(name: str) -> None:
    with pytest.raises((RuntimeError, ValueError, MemoryError, IndexError, OverflowError)):
        SIZES[name]()


def test_numbers_at_the_edge_that_mean_something() -> None:
    x = weft.arange(5)
    assert x[-(2**63) : MOST : 2**62].tolist() == [0]
    assert x.roll(MOST).tolist() == x.roll(MOST % 5).tolist()
    assert x.roll(-(2**63)).tolist() == x.roll(-(2**63) % 5).tolist()
    assert weft.tril(weft.ones(2, 2), MOST).tolist() == [[1, 1], [1, 1]]
    assert weft.triu(weft.ones(2, 2), -(2**63)).tolist() == [[1, 1], [1, 1]]
    assert weft.ones(2, 2).diagonal(MOST).shape == (0,)
    assert x.tensor_split([MOST])[1].tolist() == []
    assert x.split(MOST)[0].tolist() == [0, 1, 2, 3, 4]
    assert weft.rot90(weft.ones(2, 2), -(2**63)).shape == (2, 2)
    y = F.max_pool2d(weft.arange(4.0).reshape(1, 1, 2, 2), 2**20, stride=1, padding=2**19)
    assert y.shape == (1, 1, 3, 3) and y.max() == 3
    y = F.conv1d(weft.ones(1, 1, 3), weft.ones(1, 1, 1), dilation=2**55, stride=2**55)
    assert y.tolist() == [[[1.0]]]


@pytest.mark.parametrize(("kernel", "dilation"), [(3, 1), (3, 2), (200, 1)])
@pytest.mark.parametrize("channels_last", [False, True])
def test_windows_larger_than_the_image(kernel: int, dilation: int, channels_last: bool) -> None:
    x = weft.rand(2, 3, 5, 6)
    x = x.contiguous(memory_format=weft.channels_last) if channels_last else x
    pad = kernel // 2
    offsets = range(0, kernel * dilation, dilation)
    y = F.max_pool2d(x, kernel, stride=2, padding=pad, dilation=dilation)
    for a in range(y.shape[2]):
        for b in range(y.shape[3]):
            rows = [r for o in offsets if 0 <= (r := 2 * a + o - pad) < 5]
            columns = [c for o in offsets if 0 <= (c := 2 * b + o - pad) < 6]
            want = x[:, :, rows][:, :, :, columns].amax((2, 3))
            assert weft.equal(y[:, :, a, b], want)
    if dilation == 1:
        mean = F.avg_pool2d(x, kernel, stride=2, padding=pad, count_include_pad=False)
        rows = slice(0, kernel - pad)
        assert weft.allclose(mean[:, :, 0, 0], x[:, :, rows, rows].mean((2, 3)), atol=1e-6)


# ---- checked numbers ----------------------------------------------------------------------------

BORDERS = [s * (2**k) + d for k in (0, 31, 32, 62, 63) for d in (-1, 0, 1) for s in (1, -1)]
BORDERS = sorted({b for b in BORDERS if -(2**63) <= b < 2**63})


@pytest.mark.parametrize("operation", "+-*/%")
def test_checked_arithmetic_never_wraps(operation: str) -> None:
    for a in BORDERS:
        for b in BORDERS:
            if operation in "/%" and b == 0:
                want = None
            elif operation == "/":
                want = abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
            elif operation == "%":
                want = abs(a) % abs(b) * (-1 if a < 0 else 1)
            else:
                want = {"+": a + b, "-": a - b, "*": a * b}[operation]
            if want is not None and -(2**63) <= want < 2**63:
                assert _C._checked_arithmetic(operation, a, b) == want
            else:
                with pytest.raises(MemoryError, match="does not fit in 64 bits"):
                    _C._checked_arithmetic(operation, a, b)


def test_the_sanitizer_sees_overflow() -> None:
    """Only builds without sanitizers let signed numbers wrap, and sizes stay checked in shape rules."""
    text = (ROOT / "CMakeLists.txt").read_text()
    assert text.count("-fwrapv)") == 1
    assert "if(NOT WEFT_SANITIZE)\n  target_compile_options(weft_flags INTERFACE -fwrapv)" in text
    for path in (ROOT / "csrc").glob("*/*"):
        if path.suffix in (".cpp", ".h"):
            source = path.read_text()
            assert not re.search(r"\bint64_t( \w+ =|\() ?c\.integer\(", source), path


@pytest.mark.parametrize("dtype", [weft.int8, weft.int16, weft.int32, weft.int64, weft.uint8])
def test_integer_elements_wrap(dtype: weft.dtype) -> None:
    info = weft.iinfo(dtype)
    x = weft.tensor([info.max, info.min, 3], dtype=dtype)
    n = np.array(x.tolist(), x.numpy().dtype)
    with np.errstate(over="ignore"):
        assert (x + x).tolist() == (n + n).tolist()
        assert (x - 5).tolist() == (n - n.dtype.type(5)).tolist()
        assert (x * x).tolist() == (n * n).tolist()
        assert (-x).tolist() == (-n).tolist()
        assert x.abs().tolist() == np.abs(n).tolist()
        assert (x**3).tolist() == (n * n * n).tolist()
        assert x.square().tolist() == (n * n).tolist()
        assert x.sum(dtype=weft.int64).item() == n.astype(np.int64).sum()
        assert x.prod(dtype=weft.int64).item() == n.astype(np.int64).prod()
        assert x.cumsum(0, dtype=weft.int64).tolist() == n.astype(np.int64).cumsum().tolist()
        assert weft.zeros(1, dtype=dtype).index_add(
            0, weft.zeros(3, dtype=weft.int64), x
        ).item() == n.sum(dtype=n.dtype)
    if info.min:
        assert (x // -1).tolist() == [-info.max, info.min, -3]
        assert x.fmod(-1).tolist() == x.remainder(-1).tolist() == [0, 0, 0]


def test_floats_out_of_range_become_integers() -> None:
    x = weft.tensor([float("nan"), float("inf"), -1e30, 1e30, 3.7])
    for dtype in (weft.int64, weft.int32):
        assert x.to(dtype).tolist() == [weft.iinfo(dtype).min] * 4 + [3]
    assert x.to(weft.int8).tolist() == [0, 0, 0, 0, 3]
    assert weft.linspace(-1e30, 1e30, 2, dtype=weft.int64).tolist() == [-(2**63)] * 2


# ---- calls that last ----------------------------------------------------------------------------

# What comes first, and a call that lasts for days on a machine of any speed.
LONG = {
    "mvlgamma": (
        "x = weft.full((1000,), 1e12, dtype=weft.float64)",
        "weft.mvlgamma(x, 2**31)",
    ),
    "chebyshev": (
        "x = weft.full((3,), 0.5)",
        "weft.special.chebyshev_polynomial_t(x, 2**62)",
    ),
    "legendre": (
        "x = weft.full((3,), 0.5)",
        "weft.special.legendre_polynomial_p(x, 2**62)",
    ),
    "svd_lowrank": ("x = weft.rand(9, 8)", "weft.svd_lowrank(x, niter=2**63 - 1)"),
    "sum": ("x = weft.ones(1).expand(2**56)", "x.sum()"),
}
INTERRUPT = """
import weft
{}
try:
    print("begun", flush=True)
    {}
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_calls_that_last(name: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPT.format(*LONG[name])],
        stdout=subprocess.PIPE,
        text=True,
        bufsize=0,
    )
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    begun = cpu_seconds(child.pid)
    while cpu_seconds(child.pid) < begun + 0.3:  # nothing but the call takes time
        assert child.poll() is None, "the call has ended"
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=600)[0] == "interrupted\n"


POOLS = {
    "max_pool1d": lambda: F.max_pool1d(weft.rand(1, 1, 2**20), 2**19, stride=1),
    "avg_pool2d": lambda: F.avg_pool2d(weft.rand(1, 1, 2**11, 2**11), 2**10, stride=1),
}


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("name", POOLS)
def test_ctrl_c_ends_pooling_with_large_windows(name: str) -> None:
    """Such calls cannot last for days: results take memory. They ask in all of their parts."""
    with pytest.raises(KeyboardInterrupt), ctrl_c_at(100):
        POOLS[name]()


def test_empty_rows_of_a_triangle_cost_nothing() -> None:
    assert weft.triu_indices(2**40, 1).tolist() == [[0], [0]]
    assert weft.tril_indices(2**40, 3, 2 - 2**40).tolist() == [
        [2**40 - 2, 2**40 - 1, 2**40 - 1],
        [0, 0, 1],
    ]
    assert weft.tril_indices(3, 2**40, -1).tolist() == [[1, 2, 2], [0, 0, 1]]
