"""Fast functions against their reference implementations: values and gradients, over many settings."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from nn import reference

import weft
from weft.nn import functional as F
from weft.nn.functional import attention, recurrent
from weft.nn.functional.conv import plain_conv_transpose
from weft.nn.functional.linear import plain_linear
from weft.nn.functional.norm import (
    plain_batch_norm,
    plain_group_norm,
    plain_instance_norm,
    plain_layer_norm,
)

D = weft.float64


def alike(fast: Callable[..., Any], plain: Callable[..., Any], *inputs: Any) -> None:
    """The same results, and the same gradients of all inputs."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    got, want = fast(*leaves), plain(*leaves)
    assert got.shape == want.shape and got.dtype == want.dtype
    assert weft.allclose(got, want, rtol=1e-10, atol=1e-10)
    g = weft.randn(*want.shape, dtype=want.dtype)
    for a, b in zip(weft.autograd.grad(got, leaves, g), weft.autograd.grad(want, leaves, g)):
        assert weft.allclose(a, b, rtol=1e-9, atol=1e-9)


def r(*shape: int) -> Any:
    """A random tensor of double precision."""
    return weft.randn(*shape, dtype=D)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_conv(n: int) -> None:
    """Strides, paddings, dilations, groups, with and without a batch."""
    fast: Any = getattr(F, f"conv{n}d")
    for stride, padding, dilation, groups in itertools.product((1, 2), (0, 1, 2), (1, 2), (1, 2)):
        args = (stride, padding, dilation, groups)
        x, w, b = r(2, 4, *[6] * n), r(6, 4 // groups, *[2] * n), r(6)
        alike(
            lambda x, w, b, a=args: fast(x, w, b, *a),
            lambda x, w, b, a=args: reference.conv(n, x, w, b, *a),
            x,
            w,
            b,
        )
    for padding in ("same", "valid"):
        args = (1, padding, 2, 1)
        x, w, b = r(2, *[6] * n), r(3, 2, *[2] * n), r(3)
        alike(
            lambda x, w, b, a=args: fast(x, w, b, *a),
            lambda x, w, b, a=args: reference.conv(n, x, w, b, *a),
            x,
            w,
            b,
        )


ROWS = [
    ((3, 5, 17), (7, 5, 3), 1),
    ((2, 6, 9, 31), (16, 6, 5, 3), (2, 1)),
    ((2, 4, 5, 6, 7), (3, 4, 2, 3, 3), (1, 2, 3)),
    ((64, 6, 14, 14), (16, 6, 5, 5), 1),
    ((40, 3, 9, 9), (16, 3, 3, 3), 1),
    ((9, 16, 9, 9), (8, 16, 3, 3), 2),
    ((32, 256, 9), (12, 256, 3), 2),
    ((70, 512, 4, 4), (16, 512, 3, 3), 1),  # windows in several parts
    ((20, 64, 9, 8), (5, 64, 3, 2), (2, 3)),
    ((40, 512, 7, 7), (8, 512, 1, 1), 1),
    ((20, 256, 2, 3, 2), (10, 256, 2, 3, 2), 1),
]


@pytest.mark.parametrize(("image", "kernel", "stride"), ROWS)
def test_conv_by_rows(image: Any, kernel: Any, stride: Any) -> None:
    """Single precision, where other loops run than in double precision."""
    f: Any = getattr(F, f"conv{len(image) - 2}d")
    x, w, b = r(*image), r(*kernel) * 0.05, r(kernel[0])
    results = []
    for dtype in (weft.float32, D):
        leaves = [t.to(dtype).requires_grad_() for t in (x, w, b)]
        with weft.backends.winograd.flags(enabled=False):
            y = f(*leaves, stride, 1)
            weft.manual_seed(0)
            g = weft.randn(*y.shape, dtype=D).to(dtype)
            results.append((y, *weft.autograd.grad(y, leaves, g)))
    for single, double in zip(*results):
        assert single.shape == double.shape
        assert (single - double).abs().max() < 3e-6 * double.abs().max()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_conv_transpose(n: int) -> None:
    """Strides, paddings, output paddings, dilations, groups."""
    fast: Any = getattr(F, f"conv_transpose{n}d")
    for stride, padding, extra, groups, dilation in itertools.product(
        (1, 3), (0, 1), (0, 1), (1, 2), (1, 2)
    ):
        if extra >= max(stride, dilation):
            continue
        args = (stride, padding, extra, groups, dilation)
        x, w, b = r(2, 4, *[4] * n), r(4, 6 // groups, *[2] * n), r(6)
        alike(
            lambda x, w, b, a=args: fast(x, w, b, *a),
            lambda x, w, b, a=args: plain_conv_transpose("c", n, x, w, b, *a),
            x, w, b,
        )  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 3])
def test_pool(n: int) -> None:
    """Windows of all kinds; the last one may stick out."""
    largest: Any = getattr(F, f"max_pool{n}d")
    mean: Any = getattr(F, f"avg_pool{n}d")
    for kernel, stride, ceil in itertools.product((2, 3), (1, 2, 3), (False, True)):
        for padding, dilation in itertools.product((0, 1), (1, 2)):
            x, args = r(2, 3, *[7] * n), (kernel, stride, padding, dilation, ceil)
            alike(
                lambda x, a=args: largest(x, *a),
                lambda x, a=args: reference.max_pool(n, x, *a)[0],
                x,
            )
            at = largest(x, *args, return_indices=True)[1]
            assert weft.equal(at, reference.max_pool(n, x, *args)[1])
        for padding, count in itertools.product((0, 1), (False, True)):
            rest = (kernel, stride, padding, ceil, count)
            alike(
                lambda x, a=rest: mean(x, *a),
                lambda x, a=rest: reference.avg_pool(n, x, *a, None),
                x,
            )


def test_norms() -> None:
    """Batch, layer, group and instance norms."""
    x, w, b, m = r(3, 4, 5), r(4), r(4), r(4)
    v = m.abs() + 0.5
    alike(
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        lambda x, w, b: plain_batch_norm(x, None, None, w, b, True, 0.1, 1e-5)[0],
        x, w, b,
    )  # fmt: skip
    alike(
        lambda x, w, b: F.batch_norm(x, m, v, w, b),
        lambda x, w, b: plain_batch_norm(x, m, v, w, b, False, 0.1, 1e-5)[0],
        x, w, b,
    )  # fmt: skip
    alike(
        lambda x, w, b: F.layer_norm(x, (4, 5), w, b),
        lambda x, w, b: plain_layer_norm(x, [1, 2], w, b, 1e-5)[0],
        x, r(4, 5), r(4, 5),
    )  # fmt: skip
    alike(
        lambda x, w, b: F.instance_norm(x, None, None, w, b),
        lambda x, w, b: plain_instance_norm(x, None, None, w, b, True, 0.1, 1e-5),
        x, w, b,
    )  # fmt: skip
    alike(
        lambda x, w, b: F.instance_norm(x, m, v, w, b, False),
        lambda x, w, b: plain_instance_norm(x, m, v, w, b, False, 0.1, 1e-5),
        x, w, b,
    )  # fmt: skip


GROUPS = [
    ((3, 4, 5), 2), ((3, 4), 2), ((2, 6, 1), 3), ((2, 6, 3, 2), 1), ((2, 6, 40, 5), 6), ((5, 130), 13),
    ((2, 8, 300), 4), ((1, 4, 2, 2, 2), 2), ((9, 64, 30, 30), 8), ((2, 4, 0), 2), ((0, 4, 3), 2),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "groups"), GROUPS)
@pytest.mark.parametrize("given", [(), ("weight",), ("bias",), ("weight", "bias")])
def test_group_norm(shape: tuple[int, ...], groups: int, given: tuple[str, ...]) -> None:
    """With and without weight and bias, for each choice of what wants a gradient, and twice."""

    def fast(x: Any, *more: Any) -> Any:
        return F.group_norm(x, groups, eps=1e-4, **dict(zip(given, more)))

    def plain(x: Any, *more: Any) -> Any:
        of = dict(zip(given, more))
        return plain_group_norm(x, groups, of.get("weight"), of.get("bias"), 1e-4)

    c, more = shape[1], [r(shape[1]) for _ in given]
    alike(fast, plain, r(*shape), *more)
    alike(fast, plain, r(*reversed(shape)).permute(*reversed(range(len(shape)))), *more)
    alike(fast, plain, r(1, c, *[1] * (len(shape) - 2)).expand(shape), *more)
    x = r(*shape)
    for i in range(len(given)):
        rest = [*more[:i], *more[i + 1 :]]
        alike(
            lambda t, i=i, rest=rest: fast(x, *rest[:i], t, *rest[i:]),
            lambda t, i=i, rest=rest: plain(x, *rest[:i], t, *rest[i:]),
            more[i],
        )
    if 0 < x.numel() < 70:
        leaves = [t.requires_grad_() for t in (x, *more)]
        assert weft.autograd.gradcheck(fast, leaves) and weft.autograd.gradgradcheck(fast, leaves)


@pytest.mark.parametrize("dtype", [weft.float32, weft.float16, weft.bfloat16])
@pytest.mark.parametrize("wide", [False, True])
def test_group_norm_of_short_floats(dtype: weft.dtype, wide: bool) -> None:
    """Half types are computed in float: all results are the rounded ones of double precision."""
    x, g = (r(6, 8, 11, 3).to(dtype) for _ in range(2))
    w, b = (r(8).to(weft.float32 if wide else dtype) for _ in range(2))
    results = []
    for to in (None, D):
        x0, w0, b0 = (t.to(to or t.dtype).requires_grad_() for t in (x, w, b))
        y = F.group_norm(x0, 2, w0, b0)
        grads = weft.autograd.grad(y, (x0, w0, b0), g.to(y.dtype), retain_graph=True)
        (dx,) = weft.autograd.grad(y, x0, g.to(y.dtype), create_graph=True)
        results.append((y, *grads, dx, weft.autograd.grad(dx.square().sum(), x0)[0]))
    for short, double, like in zip(*results, (x, x, w, b, x, x)):
        assert short.dtype == like.dtype
        step = max(weft.finfo(short.dtype).eps, weft.finfo(weft.float32).eps * 8)
        assert (short - double).abs().max() <= step * max(1, double.abs().max())


BEHIND_LINEAR = {
    "relu": weft.nn.ReLU(),
    "tanh": weft.nn.Tanh(),
    "sigmoid": weft.nn.Sigmoid(),
    "gelu": weft.nn.GELU(),
    "gelu_tanh": weft.nn.GELU("tanh"),
    "silu": weft.nn.SiLU(inplace=True),
    "mish": weft.nn.Mish(),
    "hardswish": weft.nn.Hardswish(),
}


@pytest.mark.parametrize("sizes", [(1, 3, 4), (5, 7, 1), (9, 40, 60), (70, 600, 50), (33, 20, 300)])
@pytest.mark.parametrize("name", list(BEHIND_LINEAR))
def test_linear_and_activation(name: str, sizes: tuple[int, ...]) -> None:
    """A linear layer and an activation in one op, as a Sequential runs them: also as parts, and twice."""
    rows, wide, narrow = sizes
    activation = BEHIND_LINEAR[name]
    op = weft._C._op_function(f"linear_{name}")

    def fused(*args: Any) -> Any:
        y = op(*args)
        return y[0] if isinstance(y, tuple) else y

    def plain(x: Any, w: Any, *bias: Any) -> Any:
        return activation(F.linear(x, w, *bias))

    x, w, b = r(rows, wide), r(narrow, wide), r(narrow)
    alike(fused, plain, x, w)
    alike(fused, plain, x, w, b)
    alike(fused, plain, r(wide, rows).t(), r(wide, narrow).t(), b)
    alike(fused, plain, r(2, 0, wide), w, b)
    half = [t.to(weft.bfloat16) for t in (x, w, b)]
    assert weft.equal(fused(*half), plain(*half))
    net = weft.nn.Sequential(weft.nn.Linear(wide, narrow), activation).double()
    assert net(x).grad_fn.name() == f"Linear{name.title().replace('_', '')}Backward0"
    with weft.no_grad():
        assert weft.allclose(net(x), activation(net[0](x)))
    if rows * wide * narrow < 500:
        leaves = [t.requires_grad_() for t in (x, w, b)]
        assert weft.autograd.gradcheck(fused, leaves) and weft.autograd.gradgradcheck(fused, leaves)
        assert weft.autograd.gradgradcheck(lambda w: fused(x.detach(), w, b.detach()), [w])


@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_linear_and_activation_of_integers(name: str) -> None:
    """What is not floating point takes the way of two ops: the same results, the same errors."""
    net = weft.nn.Sequential(weft.nn.Linear(3, 2), BEHIND_LINEAR[name])
    with weft.no_grad():
        for p in net.parameters():
            p.requires_grad_(False).data = weft.randint(-3, 3, p.shape)
    x = weft.randint(-3, 3, (4, 3))
    assert weft.equal(net(x), net[1](net[0](x)))


def test_feed_forward_of_a_transformer_is_fused() -> None:
    """Its first linear layer and its activation are one op; a hook between them is still called."""
    for kind, node in (("relu", "LinearReluBackward0"), ("gelu", "LinearGeluBackward0")):
        layer = weft.nn.TransformerEncoderLayer(8, 2, 16, 0.0, kind)
        x, names, todo = weft.randn(3, 2, 8), set(), []
        want = layer(x)
        todo.append(want.grad_fn)
        while todo:
            names.add(todo[-1].name())
            todo += [edge for edge, _ in todo.pop().next_functions if edge is not None]
        assert node in names
        seen: list[Any] = []
        layer.linear1.register_forward_hook(lambda m, args, y, seen=seen: seen.append(y.shape))
        assert weft.allclose(layer(x), want) and len(seen) == 1


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("padding", [None, 0, 2])
@pytest.mark.parametrize("dtype", [weft.int64, weft.int32])
def test_embedding(dtype: Any, padding: int | None, scaled: bool) -> None:
    """Indices of any shape and layout, padding and frequencies, first and second derivatives."""
    native = weft._C._op_function("embedding")
    grid = weft.tensor([[0, 2, 2], [1, 0, 2]], dtype=dtype)
    indices = [grid, grid.t(), grid[:, ::2], grid[0].expand(4, 3), grid[1, 1], grid[:, :0]]
    for index in indices:
        fast = partial(F.embedding, index, padding_idx=padding, scale_grad_by_freq=scaled)
        plain = partial(reference.embedding, index, padding_idx=padding, scale_grad_by_freq=scaled)
        for w in (r(4, 3), r(3, 4).t(), r(3).expand(4, 3), r(4, 0)):
            alike(fast, plain, w)
        w, v = r(4, 3).requires_grad_(), r(*index.shape, 3).requires_grad_()
        twice = []
        for f in (fast, plain):
            (g,) = weft.autograd.grad(f(w).square(), w, v, create_graph=True)
            twice.append(weft.autograd.grad((g * g).sum(), (w, v)))
        for a, b in zip(*twice):
            assert weft.allclose(a, b)
    assert F.embedding(grid, r(4, 3).requires_grad_()).grad_fn.name() == "EmbeddingBackward0"
    with pytest.raises(IndexError, match=r"embedding: index 4 is out of bounds .* size 4"):
        native(weft.tensor([1, 4]), r(4, 3))
    with pytest.raises(IndexError, match="embedding: index -1 is out of bounds"):
        native(weft.tensor([-1]), r(4, 3))


def test_a_sequence_sees_hooks_and_other_forwards() -> None:
    """What stands between a linear layer and its ReLU is not passed over."""
    nn = weft.nn
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    x = weft.randn(4, 2)
    want, seen = net(x), []
    for module in net:
        handle = module.register_forward_hook(lambda m, args, y: seen.append(type(m).__name__))
        assert weft.equal(net(x), want)
        handle.remove()
    assert seen == ["Linear", "ReLU", "Linear"]
    for i in (0, 1):
        net[i].forward = lambda x, f=net[i].forward: f(x) * 2
        assert weft.allclose(net[: i + 1](x), 2 * (net[0](x) / 2 if i == 0 else net[0](x).relu()))
        del net[i].forward
    net[1] = nn.ReLU(inplace=True)
    assert weft.equal(net(x), want)
    with pytest.raises(RuntimeError, match="cannot be multiplied") as info:
        net(weft.randn(4, 3))
    if sys.version_info >= (3, 11):
        assert "Sequential.0: Linear(" in info.value.__notes__[0]


RECURRENT = ["RNN_TANH", "RNN_RELU", "GRU", "LSTM"]


@pytest.mark.parametrize("mode", RECURRENT)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_recurrent_layers(mode: str, reverse: bool, bias: bool) -> None:
    """All steps in one op against one step after the other: even, packed, one row, many units."""
    gates = {"GRU": 3, "LSTM": 4}.get(mode, 1)
    for sizes, n in (
        ([2, 2, 2], 3),
        ([1] * 4, 5),
        ([12] * 3, 20),
        ([11, 10, 10, 2, 1], 7),
        ([3, 1], 2),
    ):
        batch, wide = sizes[0], gates * n
        states = [r(batch, n) for _ in range(2 if mode == "LSTM" else 1)]
        weights = [r(wide, 4), r(wide, n) * n**-0.5] + ([r(wide), r(wide)] if bias else [])

        def run(f: Any, x: Any, *rest: Any, sizes: Any = sizes, count: int = len(states)) -> Any:
            ws = [*rest[count:], *([] if bias else [None, None]), None]
            y, last = f(mode, x, sizes, rest[:count], ws, reverse)
            return weft.cat([y.flatten(), *(s.flatten() for s in last)])

        inputs = [r(sum(sizes), 4), *states, *weights]
        alike(partial(run, recurrent._one_way), partial(run, recurrent.plain_one_way), *inputs)
        if sum(sizes) < 7 and n < 4:
            leaves = [t.requires_grad_() for t in inputs]
            assert weft.autograd.gradgradcheck(partial(run, recurrent._one_way), leaves)


def test_linear_and_attention() -> None:
    """With and without bias and mask, for any number of dimensions."""
    for shape in ((3,), (2, 3), (2, 2, 3)):
        alike(F.linear, plain_linear, r(*shape), r(4, 3))
        alike(F.linear, plain_linear, r(*shape), r(4, 3), r(4))
    q, k, v = r(2, 3, 4), r(2, 5, 4), r(2, 5, 6)
    alike(
        F.scaled_dot_product_attention,
        lambda q, k, v: attention.plain_attention(q, k, v, None, 0.0, False, None),
        q, k, v,
    )  # fmt: skip


ACTIVATIONS = {
    "hardtanh": (-0.7, 0.9), "hardsigmoid": (), "hardswish": (), "elu": (0.7,), "leaky_relu": (0.2,),
    "silu": (), "mish": (), "softplus": (1.5, 4.0), "threshold": (0.1, 3.0), "gelu": (),
    "logsigmoid": (),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    """Single ops against the ops they are made of."""
    args, x = ACTIVATIONS[name], r(50) * 3
    plain = getattr(reference, name)
    alike(lambda x: getattr(F, name)(x, *args), lambda x: plain(x, *args), x)


@pytest.mark.parametrize("sizes", [(36,), (6, 4), (8, 12), (4, 6, 6)])
@pytest.mark.parametrize("count", [1, 2])
def test_adaptive_maxima_of_equal_windows(sizes: tuple[int, ...], count: int) -> None:
    """Small and large windows of one size: the places hold the values, and these are largest."""
    n = len(sizes)
    x = r(2, 3, *sizes)
    values, at = getattr(F, f"adaptive_max_pool{n}d")(x, count, return_indices=True)
    kernel = tuple(s // count for s in sizes)
    want, places = getattr(F, f"max_pool{n}d")(x, kernel, return_indices=True)
    assert weft.equal(values, want) and weft.equal(at, places)
    assert weft.equal(x.flatten(2).gather(2, at.flatten(2)), values.flatten(2))
