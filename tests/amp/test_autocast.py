"""``autocast``: what is cast, what is kept, where it reaches. tests/parity compares it with PyTorch."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

import weft
from weft import nn
from weft.amp import lists
from weft.nn import functional as F

BF16 = weft.bfloat16


def block(**settings: Any) -> Any:
    """A block in bfloat16."""
    return weft.autocast("cpu", dtype=BF16, **settings)


def test_lists_name_ops() -> None:
    """Every name on a list is an op, on no other list."""
    known = set(weft.ops.registry()) | {row["base"] for row in weft._C._ops()}
    names = [*lists.LOWER, *lists.FLOAT, *lists.WIDEST, *lists.AS_GIVEN]
    assert len(names) == len(set(names))
    assert set(names) <= known


def test_layers_that_are_one_op() -> None:
    """A linear layer with the activation behind it, fused or not, gives the same."""
    x = weft.randn(5, 3)
    for activation in (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.SiLU, nn.Mish, nn.Hardswish):
        net = nn.Sequential(nn.Linear(3, 4), activation())
        with block():
            fused, apart = net(x), net[1](net[0](x))
        assert fused.dtype == apart.dtype == BF16
        weft.testing.assert_close(fused, apart, rtol=2e-2, atol=1e-2)


def test_gradients_are_those_of_the_parameters() -> None:
    """float32 for float32; a parameter that is used twice gets both shares."""
    layer = nn.Linear(3, 2)
    x = weft.ones(1, 3)
    with block():
        first, second = layer(x).sum(), layer(2 * x).sum()
    first.backward()
    second.backward()
    assert layer.weight.dtype == layer.weight.grad.dtype == weft.float32
    assert layer.weight.grad.equal(weft.full((2, 3), 3.0))


def test_double_stays() -> None:
    """float64, complex and whole numbers are never cast."""
    for dtype in (weft.float64, weft.complex64, weft.int64):
        a = weft.ones(2, 2, dtype=dtype)
        with block():
            assert (a @ a).dtype == dtype
    with block(), pytest.raises(RuntimeError, match=r"dtype|type"):
        weft.ones(2, 2) @ weft.ones(2, 2, dtype=weft.float64)


# ---- what is kept --------------------------------------------------------------------------------


def cast_node(y: Any) -> Any:
    """The node of the cast of a linear layer's weight."""
    return y.grad_fn.next_functions[1][0]


def test_casts_of_parameters_are_kept() -> None:
    """Until the outermost block ends; not without the cache; not those of other tensors."""
    layer, x = nn.Linear(3, 2), weft.ones(1, 3, requires_grad=True)
    with block():
        with block():
            first = layer(x)
        second = layer(x)
        assert cast_node(first) is cast_node(second)
        weft.clear_autocast_cache()
        assert cast_node(layer(x)) is not cast_node(first)
    with block():
        assert cast_node(layer(x)) is not cast_node(first)
    with block(cache_enabled=False):
        assert cast_node(layer(x)) is not cast_node(layer(x))
        assert not weft.is_autocast_cache_enabled()
    assert weft.is_autocast_cache_enabled()


def test_kept_casts_follow_the_parameters() -> None:
    """A step inside the block, also through ``.data``, is seen; so is recording after no_grad."""
    layer, x = nn.Linear(3, 2, bias=False), weft.ones(1, 3)
    with block():
        layer(x)
        with weft.no_grad():
            layer.weight.fill_(1.0)
        assert layer(x).tolist() == [[3.0, 3.0]]
        layer.weight.data.fill_(2.0)
        assert layer(x).tolist() == [[6.0, 6.0]]
    with block():
        with weft.no_grad():
            assert not layer(x).requires_grad
        assert layer(x).requires_grad
        with weft.no_grad():
            assert not layer(x).requires_grad


def test_kept_casts_are_freed() -> None:
    """After the block no memory is held, also when it was left by an error."""
    layer = nn.Linear(256, 256)
    weft.autocast("cpu")
    gc.collect()
    before = weft.memory_allocated()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), block():
            layer(weft.ones(1, 256))
            raise ZeroDivisionError
        assert not weft.is_autocast_enabled("cpu")
    gc.collect()
    assert weft.memory_allocated() <= before + 4096


# ---- where it reaches ----------------------------------------------------------------------------


def test_backward_computes_in_the_dtypes_of_forward() -> None:
    """Inside a block as outside: products of float32 that were made outside stay exact."""
    grads = []
    for inside in (False, True):
        w = weft.linspace(0.1, 1.0, 9).reshape(3, 3).requires_grad_()
        loss = (w @ w @ w).sum()
        if inside:
            with block():
                loss.backward()
        else:
            loss.backward()
        grads.append(w.grad)
    assert grads[0].equal(grads[1])


def test_threads_have_modes_of_their_own() -> None:
    """A thread that is started inside a block is outside; a forked call is inside."""
    a, seen = weft.ones(2, 2), []
    with block():
        thread = threading.Thread(target=lambda: seen.append((a @ a).dtype))
        thread.start()
        thread.join()
        forked = weft.jit.fork(lambda: (a @ a).dtype)
        assert weft.jit.wait(forked) == BF16
    assert seen == [weft.float32]
    assert weft.jit.wait(weft.jit.fork(lambda: (a @ a).dtype)) == weft.float32


def test_decorated_functions() -> None:
    """Methods, recursion and threads at once; names stay."""
    a = weft.ones(2, 2)

    @block()
    def f(n: int) -> Any:
        """Doc."""
        return (a @ a).dtype if n == 0 else f(n - 1)

    assert (f.__name__, f.__doc__) == ("f", "Doc.")
    seen: list[Any] = []
    threads = [threading.Thread(target=lambda: seen.append(f(20))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == [BF16] * 8 and f(3) == BF16 and (a @ a).dtype == weft.float32


def test_trace_records_casts() -> None:
    """A traced module has them as ops, and runs as it was traced, inside a block or not."""
    layer = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    x = weft.randn(1, 3)
    with block():
        layer(x)  # casts that are kept are not those of a trace
        inside = weft.jit.trace(layer, (x,))
        expected = layer(x)
    outside = weft.jit.trace(layer, (x,))
    assert [node.op for node in inside.graph].count("cast") == 3
    assert not any(node.op == "cast" for node in outside.graph)
    for mode in (True, False):
        with block(enabled=mode):
            assert inside(x).equal(expected) and outside(x).dtype == weft.float32
    with weft.no_grad():
        layer[0].weight.zero_()
        layer[0].bias.zero_()
    assert not inside(x).any()  # parameters are live


def test_compiled_calls_follow_the_mode() -> None:
    """A compiled call in a block is another one than outside, as often as it is made."""
    layer, x = nn.Sequential(nn.Linear(3, 2), nn.Tanh()), weft.randn(4, 3)
    fast = weft.compile(layer)
    for learns in (True, False):
        with weft.set_grad_enabled(learns):
            for _ in range(4):
                assert fast(x).equal(layer(x)) and fast(x).dtype == weft.float32
                for dtype in (BF16, weft.float16):
                    with weft.autocast("cpu", dtype=dtype):
                        y, z = fast(x), layer(x)
                    assert y.dtype == dtype and y.equal(z)


def test_compiled_training_is_that_of_eager() -> None:
    """A whole step with autocast inside it, bit for bit."""
    x, y = weft.randn(16, 3), weft.randn(16, 2)
    runs = []
    for compiled in (False, True):
        weft.manual_seed(3)
        net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
        optimizer = weft.optim.SGD(net.parameters(), lr=0.1)

        def step(x: Any, y: Any, net: Any = net, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            with weft.autocast("cpu", dtype=BF16):
                loss = F.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
            return loss

        run = weft.compile(step) if compiled else step
        losses = [run(x, y).item() for _ in range(8)]
        runs.append((losses, [p.tolist() for p in net.parameters()]))
    assert runs[0] == runs[1] and runs[0][0][-1] < runs[0][0][0]


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_runs_again_as_it_ran(reentrant: bool) -> None:
    """What is computed again in backward is computed in the same dtypes."""
    from weft.utils.checkpoint import checkpoint

    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    seen: list[Any] = []

    def run(x: Any) -> Any:
        y = net(x)
        seen.append(y.dtype)
        return y

    grads = []
    for again in (False, True):
        net.zero_grad()
        x = weft.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
        with block():
            y = checkpoint(run, x, use_reentrant=reentrant) if again else run(x)
        y.float().square().sum().backward()
        grads.append([x.grad, *(p.grad for p in net.parameters())])
        assert not weft.is_autocast_enabled("cpu")
    assert set(seen) == {BF16}
    assert all(a.equal(b) for a, b in zip(*grads))


def test_recurrent_layers_are_the_same_step_by_step() -> None:
    """Packed sequences and both ways; derivatives of the second order go step by step."""
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        layer = kind(3, 4, bidirectional=True)
        x = weft.randn(5, 2, 3)
        packed = nn.utils.rnn.pack_padded_sequence(x, [5, 3])
        with block():
            y, _ = layer(x)
            z, _ = nn.utils.rnn.pad_packed_sequence(layer(packed)[0])
        assert z.dtype == y.dtype == (weft.float32 if kind is nn.GRU else BF16)
        weft.testing.assert_close(y[:, 0], z[:, 0], rtol=5e-2, atol=3e-2)
        y.float().sum().backward()
        assert {p.grad.dtype for p in layer.parameters()} == {weft.float32}


def test_sparse_products_are_left_alone() -> None:
    """Sparse matrices have no small dtype: such a product stays in float32."""
    a = weft.eye(3).to_sparse()
    with block():
        assert weft.mm(a, weft.ones(3, 2)).dtype == weft.float32


def test_norms_of_small_inputs_have_exact_gradients_of_weights() -> None:
    """Weights in float32 get sums that were never rounded to the dtype of the input."""
    x = weft.ones(4096, 3, dtype=BF16) + weft.tensor([0.0, 1.0, 2.0])
    x = x.to(BF16)
    for layer in (nn.LayerNorm(3), nn.BatchNorm1d(3)):
        layer(x).float().sum().backward()
        assert layer.bias.grad.tolist() == [4096.0] * 3  # bfloat16 cannot count to 4096 by ones
        layer.zero_grad()
        layer(x)[:257].float().sum().backward()
        assert layer.bias.grad.tolist() == [257.0] * 3  # which bfloat16 cannot hold


def test_attention_keeps_no_scores() -> None:
    """In the small dtype, too: memory grows with the length, not with its square."""
    q = weft.randn(1, 1, 1024, 8)
    weft.reset_peak_memory_stats()
    before = weft.max_memory_allocated()
    with block():
        y = F.scaled_dot_product_attention(q, q, q)
    assert y.dtype == BF16 and weft.max_memory_allocated() - before < 1 << 20
    weft.testing.assert_close(
        y.float(), F.scaled_dot_product_attention(q, q, q), rtol=3e-2, atol=2e-2
    )


# ---- errors --------------------------------------------------------------------------------------


def test_settings_are_checked() -> None:
    """Devices and dtypes that are not there."""
    with pytest.raises(RuntimeError, match=r"device_type"):
        weft.autocast("gpu")
    with pytest.raises(ValueError, match=r"device_type must be a str"):
        weft.autocast(True)  # type: ignore[arg-type]
    for f in (weft.is_autocast_enabled, weft.get_autocast_dtype, weft.amp.is_autocast_available):
        with pytest.raises(RuntimeError, match=r"gpu"):
            f("gpu")
    with pytest.raises(RuntimeError, match=r"bfloat16 or torch.float16, got torch.float32"):
        weft.set_autocast_dtype("cpu", weft.float32)
    with pytest.raises(RuntimeError, match=r"cuda is not available"):
        weft.set_autocast_enabled("cuda", True)
    with pytest.raises(RuntimeError, match=r"cuda is not available"):
        weft.set_autocast_dtype("cuda", weft.float16)
    with (
        pytest.warns(UserWarning, match=r"float64: nothing is cast"),
        weft.autocast("cpu", dtype=weft.float64),
    ):
        assert not weft.is_autocast_enabled("cpu")


def test_errors_name_the_op() -> None:
    """An op that is on a list says what is wrong as without autocast."""
    with block():
        with pytest.raises(RuntimeError, match=r"mat1|matmul|shapes|size"):
            weft.ones(2, 3) @ weft.ones(2, 3)
        with pytest.raises(RuntimeError, match=r"conv2d"):
            F.conv2d(weft.ones(1, 2, 5, 5), weft.ones(1, 3, 3, 3))
        assert weft.is_autocast_enabled("cpu")
