"""Text of tensors: every expected string was printed by PyTorch 2.13."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import weft
from weft.printing import get_printoptions, printoptions

INF, NAN = float("inf"), float("nan")
PACKAGE = str(weft.float32).rpartition(".")[0]  # the name that dtypes print with


@pytest.fixture(autouse=True)
def _default_options() -> Iterator[None]:
    yield
    weft.set_printoptions(profile="default")


def show(t: weft.Tensor) -> str:
    return repr(t).replace(f"dtype={PACKAGE}.", "dtype=torch.")


ROWS: list[tuple[Any, str | None, str]] = [
    (1.5, None, "tensor(1.5000)"),
    (-3.0, None, "tensor(-3.)"),
    (7, None, "tensor(7)"),
    (True, None, "tensor(True)"),
    ([1.0, 2.0, -30.0], None, "tensor([  1.,   2., -30.])"),
    ([0.0, -0.0], None, "tensor([0., -0.])"),
    ([1.5, -2.25, 1000.125], None, "tensor([   1.5000,   -2.2500, 1000.1250])"),
    ([0.1, 1000.5], None, "tensor([1.0000e-01, 1.0005e+03])"),
    ([1e-05, 1.0], None, "tensor([1.0000e-05, 1.0000e+00])"),
    ([100000000.0, 1.0], None, "tensor([1.0000e+08, 1.0000e+00])"),
    ([1.0, 1001.0], None, "tensor([1.0000e+00, 1.0010e+03])"),
    ([1.0, 1000.0], None, "tensor([   1., 1000.])"),
    ([200000000.0, 300000000.0], None, "tensor([2.0000e+08, 3.0000e+08])"),
    ([0.0001, 0.05], None, "tensor([1.0000e-04, 5.0000e-02])"),
    ([9e-05], None, "tensor([9.0000e-05])"),
    ([NAN, 1.0], None, "tensor([nan, 1.])"),
    ([NAN, 1.5, -INF], None, "tensor([   nan, 1.5000,   -inf])"),
    ([INF, -INF, NAN], None, "tensor([inf, -inf, nan])"),
    ([NAN, 0.0], None, "tensor([nan, 0.])"),
    ([1.0, -2.0], "float16", "tensor([ 1., -2.], dtype=torch.float16)"),
    ([0.1, 65504.0], "float16", "tensor([9.9976e-02, 6.5504e+04], dtype=torch.float16)"),
    ([3.140625, -0.0078125], "bfloat16", "tensor([ 3.1406, -0.0078], dtype=torch.bfloat16)"),
    ([1 / 3], "float64", "tensor([0.3333], dtype=torch.float64)"),
    ([1e300, 1e-300], "float64", "tensor([1.0000e+300, 1.0000e-300], dtype=torch.float64)"),
    ([1, -20, 300], None, "tensor([  1, -20, 300])"),
    ([1, 2], "int32", "tensor([1, 2], dtype=torch.int32)"),
    ([255, 0], "uint8", "tensor([255,   0], dtype=torch.uint8)"),
    ([-128], "int8", "tensor([-128], dtype=torch.int8)"),
    ([True, False], None, "tensor([ True, False])"),
    ([False, False], None, "tensor([False, False])"),
    ([[1, 2], [3, 4]], None, "tensor([[1, 2],\n        [3, 4]])"),
    (
        [[[1.0], [2.5]], [[3.0], [4.0]]],
        None,
        ("tensor([[[1.0000],\n         [2.5000]],\n\n        [[3.0000],\n         [4.0000]]])"),
    ),
    ([[[[1]]], [[[2]]]], None, "tensor([[[[1]]],\n\n\n        [[[2]]]])"),
    (
        list(range(60)),
        None,
        (
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,\n"
            "        36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53,\n"
            "        54, 55, 56, 57, 58, 59])"
        ),
    ),
    (
        [0.5] * 12,
        None,
        (
            "tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000,\n"
            "        0.5000, 0.5000, 0.5000])"
        ),
    ),
    (
        [[0.125] * 14] * 2,
        None,
        (
            "tensor([[0.1250, 0.1250, 0.1250, 0.1250, 0.1250, 0.1250, 0.1250, 0.1250, 0.1250,\n"
            "         0.1250, 0.1250, 0.1250, 0.1250, 0.1250],\n"
            "        [0.1250, 0.1250, 0.1250, 0.1250, 0.1250, 0.1250, 0.1250, 0.1250, 0.1250,\n"
            "         0.1250, 0.1250, 0.1250, 0.1250, 0.1250]])"
        ),
    ),
]


@pytest.mark.parametrize(("data", "dtype", "expected"), ROWS)
def test_values(data: Any, dtype: str | None, expected: str) -> None:
    t = weft.tensor(data, dtype=dtype and getattr(weft, dtype))
    assert show(t) == expected
    assert str(t) == repr(t)


@pytest.mark.skipif(not hasattr(weft, "complex64"), reason="no complex dtypes yet")
@pytest.mark.parametrize(
    ("data", "dtype", "expected"),
    [
        ((1 + 2j), None, "tensor(1.+2.j)"),
        ([(1.5 - 2j), 3j], None, "tensor([1.5000-2.j, 0.0000+3.j])"),
        (
            [complex(1, -INF), complex(NAN, 2.5)],
            "complex128",
            "tensor([1.-infj, nan+2.5000j], dtype=torch.complex128)",
        ),
        (
            [(1e-06 + 1j), (1e-06 + 1j), (1e-06 + 1j), (1e-06 + 1j)],
            None,
            "tensor([1.0000e-06+1.j, 1.0000e-06+1.j, 1.0000e-06+1.j, 1.0000e-06+1.j])",
        ),
    ],
)
def test_complex(data: Any, dtype: str | None, expected: str) -> None:
    test_values(data, dtype, expected)


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ((0,), "float32", "tensor([])"),
        ((0,), "int64", "tensor([], dtype=torch.int64)"),
        ((2, 0), "float32", "tensor([], size=(2, 0))"),
        ((0, 3), "bool", "tensor([], size=(0, 3), dtype=torch.bool)"),
    ],
)
def test_empty(shape: tuple[int, ...], dtype: str, expected: str) -> None:
    assert show(weft.zeros(shape, dtype=getattr(weft, dtype))) == expected


def test_summary_shows_the_edges() -> None:
    assert show(weft.arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    assert "..." not in show(weft.arange(1000))
    assert show(weft.arange(1200).reshape(40, 30)) == (
        "tensor([[   0,    1,    2,  ...,   27,   28,   29],\n"
        "        [  30,   31,   32,  ...,   57,   58,   59],\n"
        "        [  60,   61,   62,  ...,   87,   88,   89],\n"
        "        ...,\n"
        "        [1110, 1111, 1112,  ..., 1137, 1138, 1139],\n"
        "        [1140, 1141, 1142,  ..., 1167, 1168, 1169],\n"
        "        [1170, 1171, 1172,  ..., 1197, 1198, 1199]])"
    )
    assert show(weft.arange(1001.0).reshape(7, 1, 143)[:, :, ::2].expand(7, 3, 72)) == (
        "tensor([[[   0.,    2.,    4.,  ...,  138.,  140.,  142.],\n"
        "         [   0.,    2.,    4.,  ...,  138.,  140.,  142.],\n"
        "         [   0.,    2.,    4.,  ...,  138.,  140.,  142.]],\n"
        "\n"
        "        [[ 143.,  145.,  147.,  ...,  281.,  283.,  285.],\n"
        "         [ 143.,  145.,  147.,  ...,  281.,  283.,  285.],\n"
        "         [ 143.,  145.,  147.,  ...,  281.,  283.,  285.]],\n"
        "\n"
        "        [[ 286.,  288.,  290.,  ...,  424.,  426.,  428.],\n"
        "         [ 286.,  288.,  290.,  ...,  424.,  426.,  428.],\n"
        "         [ 286.,  288.,  290.,  ...,  424.,  426.,  428.]],\n"
        "\n"
        "        ...,\n"
        "\n"
        "        [[ 572.,  574.,  576.,  ...,  710.,  712.,  714.],\n"
        "         [ 572.,  574.,  576.,  ...,  710.,  712.,  714.],\n"
        "         [ 572.,  574.,  576.,  ...,  710.,  712.,  714.]],\n"
        "\n"
        "        [[ 715.,  717.,  719.,  ...,  853.,  855.,  857.],\n"
        "         [ 715.,  717.,  719.,  ...,  853.,  855.,  857.],\n"
        "         [ 715.,  717.,  719.,  ...,  853.,  855.,  857.]],\n"
        "\n"
        "        [[ 858.,  860.,  862.,  ...,  996.,  998., 1000.],\n"
        "         [ 858.,  860.,  862.,  ...,  996.,  998., 1000.],\n"
        "         [ 858.,  860.,  862.,  ...,  996.,  998., 1000.]]])"
    )


def test_summary_reads_only_what_it_shows() -> None:
    # 10^16 elements of which one exists: reading them all would not end.
    t = weft.ones(1).expand(10**8, 10**8)
    assert show(t)[:43] == "tensor([[1., 1., 1.,  ..., 1., 1., 1.],\n   "
    assert show(t).count("1.") == 36


def test_width_is_that_of_the_shown_elements() -> None:
    t = weft.zeros(2000)
    t[1000] = 123456.789
    assert show(t) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"


def test_gradient_is_told() -> None:
    x = weft.ones(2, requires_grad=True)
    assert show(x) == "tensor([1., 1.], requires_grad=True)"
    assert show(x.tanh()) == "tensor([0.7616, 0.7616], grad_fn=<TanhBackward0>)"
    assert show(x.detach()) == "tensor([1., 1.])"
    assert show(x.double().sum()) == "tensor(2., dtype=torch.float64, grad_fn=<SumBackward0>)"


def test_facts_that_do_not_fit_start_a_line() -> None:
    x = weft.arange(13.0, requires_grad=True)
    assert show(x) == (
        "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12.],\n"
        "       requires_grad=True)"
    )
    assert show(x[:12].tanh()) == (
        "tensor([0.0000, 0.7616, 0.9640, 0.9951, 0.9993, 0.9999, 1.0000, 1.0000, 1.0000,\n"
        "        1.0000, 1.0000, 1.0000], grad_fn=<TanhBackward0>)"
    )
    y = (weft.ones(3, 6, dtype=weft.float64, requires_grad=True) / 3).tanh()
    assert show(y) == (
        "tensor([[0.3215, 0.3215, 0.3215, 0.3215, 0.3215, 0.3215],\n"
        "        [0.3215, 0.3215, 0.3215, 0.3215, 0.3215, 0.3215],\n"
        "        [0.3215, 0.3215, 0.3215, 0.3215, 0.3215, 0.3215]], dtype=torch.float64,\n"
        "       grad_fn=<TanhBackward0>)"
    )


@pytest.mark.parametrize(("shape", "fits"), [((2,), 37), ((2, 2), 39)])
def test_line_is_used_to_its_end(shape: tuple[int, ...], fits: int) -> None:
    x = weft.ones(shape, requires_grad=True)
    weft.set_printoptions(linewidth=fits)
    assert "], requires_grad=True)" in show(x)
    weft.set_printoptions(linewidth=fits - 1)
    assert "],\n       requires_grad=True)" in show(x)


def test_default_dtype_decides_what_is_obvious() -> None:
    before = weft.get_default_dtype()
    try:
        weft.set_default_dtype(weft.float64)
        assert show(weft.ones(1)) == "tensor([1.])"
        assert show(weft.ones(1, dtype=weft.float32)) == "tensor([1.], dtype=torch.float32)"
    finally:
        weft.set_default_dtype(before)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "tensor([  0.1235, -20.5000,   3.0000, 100.0000,   7.2500])"),
        ({"precision": 2}, "tensor([  0.12, -20.50,   3.00, 100.00,   7.25])"),
        ({"precision": 0}, "tensor([  0, -20,   3, 100,   7])"),
        (
            {"sci_mode": True},
            "tensor([ 1.2346e-01, -2.0500e+01,  3.0000e+00,  1.0000e+02,  7.2500e+00])",
        ),
        (
            {"sci_mode": True, "precision": 1},
            "tensor([ 1.2e-01, -2.0e+01,  3.0e+00,  1.0e+02,  7.2e+00])",
        ),
        (
            {"linewidth": 30},
            ("tensor([  0.1235, -20.5000,\n          3.0000, 100.0000,\n          7.2500])"),
        ),
        (
            {"linewidth": 10},
            (
                "tensor([  0.1235,\n"
                "        -20.5000,\n"
                "          3.0000,\n"
                "        100.0000,\n"
                "          7.2500])"
            ),
        ),
        ({"threshold": 3}, "tensor([  0.1235, -20.5000,   3.0000, 100.0000,   7.2500])"),
        ({"threshold": 3, "edgeitems": 1}, "tensor([0.1235,  ..., 7.2500])"),
        ({"threshold": 3, "edgeitems": 0}, "tensor([...], size=(5,))"),
        ({"profile": "short"}, "tensor([  0.12, -20.50,   3.00, 100.00,   7.25])"),
        (
            {"profile": "full", "sci_mode": False},
            "tensor([  0.1235, -20.5000,   3.0000, 100.0000,   7.2500])",
        ),
    ],
)
def test_options(options: dict[str, Any], expected: str) -> None:
    weft.set_printoptions(**options)
    assert show(weft.tensor([0.123456789, -20.5, 3.0, 100.0, 7.25])) == expected


def test_options_are_read_back_and_restored() -> None:
    weft.set_printoptions(precision=7, sci_mode=True)
    assert get_printoptions() == {
        "precision": 7,
        "threshold": 1000,
        "edgeitems": 3,
        "linewidth": 80,
        "sci_mode": True,
    }
    weft.set_printoptions(linewidth=60)
    assert get_printoptions()["precision"] == 7
    assert get_printoptions()["sci_mode"] is None
    with printoptions(edgeitems=1, profile="short"):
        assert get_printoptions()["edgeitems"] == 1
        assert get_printoptions()["precision"] == 2
    assert get_printoptions()["precision"] == 7
    with pytest.raises(ValueError, match=r"'default', 'short', 'full', got 'long'"):
        weft.set_printoptions(profile="long")


def test_format_of_a_number_and_of_a_tensor() -> None:
    assert f"{weft.tensor(1.5):.3f}|{weft.tensor(7):>3}|{weft.tensor(1.5)}" == "1.500|  7|1.5"
    assert f"{weft.ones(2)}" == "tensor([1., 1.])"
    with pytest.raises(TypeError, match="unsupported format string"):
        format(weft.ones(2), ".3f")
