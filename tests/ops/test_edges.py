"""Edges that once broke: ragged lists, memory shown to others, numbers that do not fit, changed views."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.nn import functional as F


@pytest.mark.parametrize("data", [[1, [2, 3]], [1.5, 2.5, [1, 2, 3]], [[1, 2], [3, [4]]], [1, []]])
def test_ragged_lists_are_refused(data: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        weft.tensor(data)


@pytest.mark.parametrize("export", [weft.Tensor.numpy, memoryview, np.from_dlpack])
def test_memory_that_others_see_stays(export: Callable[[weft.Tensor], Any]) -> None:
    x = weft.ones(1000)
    shown = export(x)
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(2_000_000)
    x.data = weft.zeros(3)
    weft.empty_cache()
    kept = [weft.full((1000,), 7.0) for _ in range(5)]
    assert np.asarray(shown)[:3].tolist() == [1, 1, 1] and len(kept) == 5
    del shown
    x.resize_(2_000_000)


def test_a_capsule_keeps_its_shape() -> None:
    x = weft.ones(4, 5)
    capsule = x.__dlpack__()
    x.data = weft.zeros(3)
    assert weft._C._from_dlpack(capsule).tolist() == [[1] * 5] * 4


def test_read_only_memory_is_not_exported_by_dlpack() -> None:
    a = np.ones(3, np.float32)
    a.flags.writeable = False
    with pytest.raises(BufferError, match="read-only"):
        weft.from_dlpack(weft.from_numpy(a))


def test_extended_precision_is_refused() -> None:
    with pytest.raises(TypeError):
        weft.from_numpy(np.array([1 + 2j], dtype=np.clongdouble))


@pytest.mark.parametrize("dtype", [weft.uint8, weft.int8, weft.int64])
def test_means_of_large_windows_of_small_integers(dtype: weft.dtype) -> None:
    assert F.avg_pool2d(weft.zeros(1, 1, 32, 32, dtype=dtype), 16).tolist() == [[[[0, 0], [0, 0]]]]


def test_windows_that_do_not_fit_in_memory() -> None:
    x = weft.zeros(1, 2, 20_000_000, dtype=weft.float64)  # of one channel, no windows are laid out
    with pytest.raises((MemoryError, RuntimeError)):
        F.conv1d(x, weft.zeros(1, 2, 10_000_000, dtype=weft.float64))


@pytest.mark.parametrize("name", ["modified_bessel_k0", "scaled_modified_bessel_k1"])
def test_bessel_functions_end(name: str) -> None:
    x = weft.tensor([float("nan"), float("inf"), -1.0])
    assert np.isnan(getattr(weft.special, name)(x).numpy()).tolist() == [True, False, True]


def test_several_changes_through_views() -> None:
    x = weft.ones(3, requires_grad=True)
    y = x * 1
    y[0] += 1
    y[1] += 1
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1, 1, 1]
    x.grad = None
    z = weft.zeros(3)
    for i in range(3):
        z[i] += x[i] * 2
    z.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2, 2]


def test_a_pack_hook_must_not_change_its_tensor() -> None:
    x = weft.ones(2, requires_grad=True)
    hooks = weft.autograd.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t)
    with hooks, pytest.raises(RuntimeError, match="pack hook"):
        x.exp()


def test_arange_counts_large_integers() -> None:
    assert weft.arange(2**62, 2**62 + 3).tolist() == [2**62, 2**62 + 1, 2**62 + 2]
    assert len(weft.arange(2**53 + 1, 2**53 + 4)) == 3
    assert weft.arange(5, 0, -2).tolist() == [5, 3, 1]


@pytest.mark.parametrize(
    "f",
    [
        lambda: weft.tensor([300], dtype=weft.uint8),
        lambda: weft.full((2,), 300, dtype=weft.uint8),
        lambda: weft.zeros(2, dtype=weft.int8).fill_(300),
        lambda: weft.full((2,), 1e40),
        lambda: weft.ones(1, dtype=weft.uint8).clamp(-5, 300),
        lambda: weft.ones(1, dtype=weft.uint8).masked_fill(weft.tensor([True]), 300),
        lambda: weft.full((1,), float("inf"), dtype=weft.int32),
    ],
)
def test_numbers_that_do_not_fit_are_refused(f: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match="without overflow"):
        f()


def test_numbers_that_fit_are_taken() -> None:
    assert weft.full((1,), -1, dtype=weft.uint8).item() == 255
    assert weft.full((1,), 3.7, dtype=weft.int32).item() == 3
    assert weft.ones(1).fill_(float("inf")).item() == float("inf")
    assert weft.full((1,), 2**63 - 1).item() == 2**63 - 1


def test_no_values_have_no_truth() -> None:
    with pytest.raises(RuntimeError, match="no values"):
        bool(weft.zeros(0))


def test_a_cycle_through_a_long_graph_is_freed() -> None:
    def tie() -> None:
        x = weft.ones(10, requires_grad=True)
        y = x
        for _ in range(25_000):
            y = y * 1
        x.register_hook(lambda g: y)

    gc.collect()
    before = weft.memory_allocated()
    tie()
    gc.collect()
    assert weft.memory_allocated() == before


# ---- what PyTorch refuses ----------------------------------------------------------------------

BOOL, INTS, REALS = weft.tensor([True, False]), weft.tensor([1, 2]), weft.tensor([1.0, 2.0])
COMPLEX = weft.tensor([1 + 2j])


@pytest.mark.parametrize(
    ("exception", "f"),
    [
        (RuntimeError, lambda: BOOL - 1),
        (RuntimeError, lambda: 1 - BOOL),
        (RuntimeError, lambda: REALS - BOOL),
        (RuntimeError, lambda: INTS - True),
        (RuntimeError, lambda: -BOOL),
        (RuntimeError, lambda: +BOOL),
        (RuntimeError, lambda: weft.where(INTS, REALS, REALS)),
        (RuntimeError, lambda: weft.lerp(REALS, REALS.double(), 0.5)),
        (RuntimeError, lambda: weft.lerp(REALS, REALS, weft.ones(2, dtype=weft.float64))),
        (RuntimeError, lambda: weft.linalg.cross(weft.ones(3), weft.ones(3, dtype=weft.int64))),
        (RuntimeError, lambda: weft.topk(BOOL, 1)),
        (NotImplementedError, lambda: weft.arange(2, dtype=weft.bool)),
        (NotImplementedError, lambda: weft.arange(2, dtype=weft.complex64)),
        (NotImplementedError, lambda: weft.lerp(INTS, INTS, 0.5)),
        (NotImplementedError, lambda: weft.bitwise_and(REALS, REALS)),
        (NotImplementedError, lambda: weft.floor(COMPLEX)),
        (NotImplementedError, lambda: weft.clamp(COMPLEX, 0, 1)),
        (NotImplementedError, lambda: weft.mm(BOOL[None], BOOL[:, None])),
        (NotImplementedError, lambda: weft.randn(2, dtype=weft.int64)),
        (NotImplementedError, lambda: weft.median(BOOL)),
        (NotImplementedError, lambda: weft.unique(COMPLEX)),
        (NotImplementedError, lambda: weft.abs(BOOL)),
        (TypeError, lambda: ~REALS),
        (TypeError, lambda: weft.ones()),
        (TypeError, lambda: REALS.cumsum(weft.tensor([0]))),
        (TypeError, lambda: weft.unique(REALS, 0)),
        (TypeError, lambda: weft.dist(REALS, 1)),
        (TypeError, lambda: weft.full((2,), weft.tensor(1.0, requires_grad=True))),
        (TypeError, lambda: weft.add(REALS, REALS, alpha=weft.tensor(1.0, requires_grad=True))),
        (TypeError, lambda: weft.block_diag(REALS, 3)),
    ],
)
def test_refused_as_in_pytorch(exception: type, f: Callable[[], Any]) -> None:
    with pytest.raises(exception, match=r"at .*test_edges\.py:") as caught:
        f()
    assert caught.type is exception


@pytest.mark.parametrize(
    ("exception", "data"),
    [
        (RuntimeError, None),
        (RuntimeError, [None]),
        (RuntimeError, {}),
        (TypeError, "a"),
        (TypeError, b"ab"),
        (ValueError, ["a"]),
        (ValueError, np.arange(3, dtype=">f4")),
        (ValueError, np.arange(3)[::-1]),
        (TypeError, np.array(["2020-01-01"], dtype="M8[D]")),
        (TypeError, np.array(["a"])),
        (TypeError, np.array([None])),
    ],
)
def test_data_that_holds_no_numbers(exception: type, data: Any) -> None:
    with pytest.raises(exception, match=r"at .*test_edges\.py:"):
        weft.tensor(data)
    if isinstance(data, np.ndarray):
        with pytest.raises(exception):
            weft.from_numpy(data)


def test_dtypes_of_numbers() -> None:
    assert weft.tensor([np.float64(1), 2]).dtype == weft.float64
    assert weft.tensor([np.int32(1)]).dtype == weft.int32
    assert weft.tensor([weft.tensor(1.0, dtype=weft.float64), 2]).dtype == weft.float64
    assert weft.ones(1, dtype=float).dtype == weft.float64  # type: ignore[call-overload]
    assert weft.LongTensor([1.5]).tolist() == [1] and isinstance(weft.ones(1), weft.FloatTensor)
    assert weft.Tensor().shape == (0,)


def test_numbers_of_complex_tensors() -> None:
    assert complex(weft.tensor(1 + 2j)) == 1 + 2j and float(weft.tensor(1 + 0j)) == 1
    with pytest.raises(RuntimeError, match="imaginary"):
        float(weft.tensor(1 + 2j))


def test_requires_grad_is_a_bool() -> None:
    for value in (1, None, "a", weft.tensor(True)):
        with pytest.raises(TypeError, match="bool"):
            weft.ones(1).requires_grad_(value)
    with pytest.raises(TypeError, match="requires"):
        weft.ones(1).requires_grad_(requires=True)
    with pytest.raises(RuntimeError, match="bool"):
        weft.ones(1).requires_grad = 1  # type: ignore[assignment]
    assert not weft.ones(1, requires_grad=None).requires_grad


# ---- what PyTorch accepts ----------------------------------------------------------------------


def test_truth_along_no_dimension() -> None:
    x = weft.tensor([[0, 1], [2, 3]])
    assert x.all(dim=()).tolist() == [[False, True], [True, True]]
    assert x.any(keepdim=True).shape == (1, 1)
    assert x.amax(None).item() == 3


def test_the_top_of_a_single_number() -> None:
    assert weft.tensor(2.5).topk(0).values.item() == 2.5


def test_names_that_numpy_uses() -> None:
    x = weft.tensor([[3.0, 1.0], [2.0, 4.0]])
    assert weft.argsort(x, axis=0).tolist() == [[1, 0], [0, 1]]
    assert weft.quantile(x, 0.5, keepdims=True).shape == (1, 1)


def test_equal_compares_values() -> None:
    assert weft.equal(weft.ones(2), weft.ones(2, dtype=weft.int64))
    assert (+weft.ones(2)).tolist() == [1, 1]


def test_ldexp_of_complex_numbers() -> None:
    x = weft.tensor([1 + 1j], dtype=weft.complex128, requires_grad=True)
    y = weft.tensor([2.0 + 1j], dtype=weft.complex128, requires_grad=True)
    assert np.allclose(weft.ldexp(x, y).detach().numpy(), (1 + 1j) * 2 ** (2 + 1j))
    assert weft.autograd.gradcheck(weft.ldexp, (x, y))


# ---- out= --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "takes", "refuses"),
    [
        (lambda out: weft.add(REALS, 1, out=out), "float64 float16 complex64", "int64 bool"),
        (lambda out: weft.abs(REALS, out=out), "float32", "float64 int64"),
        (lambda out: weft.sum(weft.ones(2, 2), 0, out=out), "float32 float64 int64", ""),
        (lambda out: weft.sum(weft.ones(2), 0, dtype=weft.float64, out=out), "float64", "float32"),
        (lambda out: weft.ones(2, out=out), "float64 int64 bool", ""),
        (lambda out: weft.arange(2, dtype=weft.int64, out=out), "int64", "float32"),
        (lambda out: weft.logspace(0, 1, 2, out=out), "float64 int64", ""),
        (lambda out: weft.mm(weft.ones(2, 2), weft.ones(2, 2), out=out), "float32", "float64"),
        (lambda out: weft.argmax(weft.ones(2, 2), 0, out=out), "int64", "int32 float32"),
        (lambda out: weft.any(weft.ones(2, 2), 0, out=out), "bool uint8", "int64"),
        (lambda out: weft.linalg.norm(REALS, out=out), "float32", "float64"),
        (lambda out: weft.kron(REALS, REALS, out=out), "float32 float64", "int64"),
    ],
)
def test_dtypes_of_out(f: Callable[[weft.Tensor], weft.Tensor], takes: str, refuses: str) -> None:
    for name in takes.split():
        out = weft.empty(0, dtype=getattr(weft, name))
        assert f(out) is out and out.numel() > 0
    for name in refuses.split():
        out = weft.empty(0, dtype=getattr(weft, name))
        with pytest.raises(RuntimeError):
            f(out)
        assert out.shape == (0,)


def test_out_is_left_alone_if_another_is_wrong() -> None:
    values, places = weft.empty(0), weft.empty(0, dtype=weft.int32)
    with pytest.raises(RuntimeError, match="int32"):
        weft.max(weft.ones(2, 2), 0, out=(values, places))
    assert values.shape == (0,)
    with pytest.raises(TypeError, match="int64"):
        weft.cat([REALS, REALS], out=weft.empty(4, dtype=weft.int64))


# ---- changes in place, views -------------------------------------------------------------------


def test_what_is_refused_in_place_changes_nothing() -> None:
    with weft.inference_mode():
        w = weft.full((3,), 3.0)
    y = weft.ones(3, requires_grad=True) * 1
    with pytest.raises(RuntimeError, match="Inference tensors"):
        y.mul_(w)

    def refuse(t: weft.Tensor) -> None:
        raise ValueError(t.shape)

    with (
        weft.autograd.graph.saved_tensors_hooks(refuse, lambda t: t),
        pytest.raises(ValueError),
    ):
        y.mul_(weft.full((3,), 3.0, requires_grad=True))
    assert y.tolist() == [1, 1, 1] and y._version == 0


def test_integers_written_from_a_graph_have_no_gradient() -> None:
    x = weft.zeros(2, dtype=weft.int64)
    x[0] = weft.ones(1, requires_grad=True)[0]
    assert x.tolist() == [1, 0] and not x.requires_grad


def test_views_made_before_their_base_required_a_gradient() -> None:
    x = weft.ones(3)
    v = x[:2]
    x.requires_grad_()
    assert v.requires_grad
    (v * 2).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2, 0]
    with pytest.raises(RuntimeError, match="leaf"):
        v.add_(1)


def test_views_and_inference_mode() -> None:
    x = weft.ones(3)
    with weft.inference_mode():
        made, view = weft.ones(3), x[:2]
        assert made.is_inference() and not view.is_inference()
    assert made[:2].is_inference() and made.detach().is_inference()
    assert not made.clone().is_inference()
    view.add_(1)
    assert x.tolist() == [2, 2, 1]
    with pytest.raises(RuntimeError, match="version"):
        made._version  # noqa: B018


def test_replacing_a_part_of_a_tensor_with_gaps() -> None:
    x = weft.arange(8.0)[::2]
    part = weft.tensor([9.0, 9.0])
    y = weft.as_strided_scatter(x, part, (2,), (2,))
    assert y.tolist() == [9, 9, 4, 6] and y.stride() == (2,)
    assert weft.as_strided_scatter(x, part, (2,), (4,)).tolist() == [9, 2, 9, 6]
    rows = weft.arange(12.0).reshape(3, 4)[1:]
    assert weft.as_strided_scatter(rows, part, (2,), (1,), 4)[0].tolist() == [9, 9, 6, 7]
    assert x.tolist() == [0, 2, 4, 6]
    z = weft.arange(6.0).reshape(2, 3).t().requires_grad_()
    weft.as_strided_scatter(z, part, (2,), (1,)).square().sum().backward()
    assert z.grad is not None and z.grad.tolist() == [[0, 6], [0, 8], [4, 10]]


def test_gradients_kept_in_inputs_have_memory_of_their_own() -> None:
    x = weft.ones(3, requires_grad=True) * 1
    x.sum().backward(inputs=[x])
    assert x.grad is not None and x.grad.stride() == (1,)


def test_equal_medians_share_the_gradient() -> None:
    for name in ("median", "nanmedian"):
        x = weft.tensor([1.0, 2.0, 2.0, 3.0, 2.0], requires_grad=True)
        getattr(x, name)().backward()
        assert x.grad is not None
        assert np.allclose(x.grad.numpy(), [0, 1 / 3, 1 / 3, 0, 1 / 3])


def test_arrays_are_not_recorded() -> None:
    x = weft.ones(2, requires_grad=True)
    for export in (np.asarray, np.array, weft.Tensor.__array__):
        with pytest.raises(RuntimeError, match="requires grad"):
            export(x)
    with pytest.raises(BufferError):
        memoryview(x)


def test_tensors_made_of_tensors_warn() -> None:
    x = weft.ones(2, requires_grad=True)
    for f in (weft.tensor, weft.ones(1).new_tensor):
        with pytest.warns(UserWarning, match="detach") as caught:
            assert not f(x).requires_grad
        assert caught[0].filename == __file__


def test_pickles_keep_strides() -> None:
    for x in (weft.arange(12.0).reshape(3, 4).t()[1:], weft.ones(1).expand(1000), weft.zeros(0, 3)):
        y = pickle.loads(pickle.dumps(x))
        assert y.stride() == x.stride() and weft.equal(x, y) and y._base is None
    assert len(pickle.dumps(weft.ones(1).expand(1000))) < 1000


def test_errors_of_lapack_name_the_line() -> None:
    singular = weft.ones(2, 2)
    for f in (weft.linalg.inv, weft.linalg.lu_factor, lambda x: weft.linalg.cholesky(-x)):
        with pytest.raises(RuntimeError, match=r"(?s)^linalg\.\w+: .*at .*test_edges.py:"):
            f(singular)


def test_hooks_after_accumulation_return_nothing() -> None:
    x = weft.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda t: t)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="None"):
        x.sum().backward()


@pytest.mark.parametrize("ask", [weft.Tensor.size, weft.Tensor.stride])
@pytest.mark.parametrize("dim", [0, -1])
def test_a_number_has_no_sizes(ask: Callable[..., Any], dim: int) -> None:
    with pytest.raises(IndexError, match=f"Dimension specified as {dim} but tensor has no dimens"):
        ask(weft.tensor(1.0), dim)
    with pytest.raises(IndexError, match=r"range of \[-1, 0\], but got 1"):
        ask(weft.tensor(1.0), 1)


@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "max", "min", "argmax", "argmin", "var", "any"]
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
def test_reductions_of_few_rows(name: str, dtype: str) -> None:
    """Small tensors take a shorter way: around its limits, with rows side by side, apart, and all in one place."""
    memory = np.random.default_rng(0).integers(0, 3, (20, 65)).astype(dtype)
    if (dtype == "bool" and name[:3] in ("max", "min", "arg")) or (
        name in ("mean", "var") and "float" not in dtype
    ):
        pytest.skip("not for such elements")
    f, twin = getattr(weft, {"max": "amax", "min": "amin"}.get(name, name)), getattr(np, name)
    options = {"correction": 0} if name == "var" else {}
    for rows in (1, 2, 15, 16, 17, 20):
        for n in (1, 2, 3, 4, 15, 16, 17, 23, 24, 25, 64):
            apart = weft.from_numpy(memory)[:rows, :n]
            for x in (apart, apart.contiguous(), apart[:1].expand(rows, n), apart[0]):
                want = twin(x.numpy(), axis=-1)
                np.testing.assert_allclose(f(x, -1, **options).numpy(), want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.complex64, weft.complex128])
def test_decompositions_that_iterate_refuse_what_is_not_finite(bad: float, dtype: Any) -> None:
    """LAPACK may not come back from such a matrix. Others of the batch are named by their number."""
    x = weft.eye(5, dtype=dtype).repeat(3, 1, 1)
    x[1, 4, 2] = bad
    ones = weft.ones(3, 5, 1, dtype=dtype)
    for f in ("svd", "svdvals", "eigh", "eigvalsh"):
        with pytest.raises(weft.linalg.LinAlgError, match=rf"{f}: \(Batch element 1\)"):
            getattr(weft.linalg, f)(x)
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        with pytest.raises(weft.linalg.LinAlgError, match="non-finite"):
            weft.linalg.lstsq(x, ones, driver=driver)
    with pytest.raises(RuntimeError, match="infs or NaNs"):
        weft.linalg.eig(x)
    assert weft.linalg.eigvalsh(x, "U")[1].isfinite().all()  # reads the other triangle


@pytest.mark.parametrize(
    "name", ["smooth_l1_loss", "huber_loss", "elu", "celu", "softplus", "hardtanh"]
)
def test_numbers_without_derivative_refuse_gradients(name: str) -> None:
    """A gradient that no row computes is refused, not left out."""
    f = getattr(weft.nn.functional, name)
    x, number = weft.randn(4, requires_grad=True), weft.tensor(1.5, requires_grad=True)
    others = (weft.zeros(4),) if name.endswith("_loss") else ()
    keyword = {
        "smooth_l1_loss": "beta",
        "huber_loss": "delta",
        "softplus": "beta",
        "hardtanh": "max_val",
    }
    y = f(x, *others, **{keyword.get(name, "alpha"): number})
    with pytest.raises(NotImplementedError, match="no derivative by"):
        y.sum().backward()
    f(x, *others, **{keyword.get(name, "alpha"): number.detach()}).sum().backward()
    assert x.grad.isfinite().all()
