"""Discrete Fourier transforms, around NumPy's, and short-time ones made of them.

Three primitives carry all: complex to complex, real to half a spectrum, and back. They do not scale
but by the factor they are given; norm= decides it.
"""

from __future__ import annotations

import weft
from weft._C import Tensor
from weft.ops import op, primitive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_COMPLEX = {weft.float32: weft.complex64, weft.float64: weft.complex128}
_REAL = {weft.complex64: weft.float32, weft.complex128: weft.float64}


# ---- the primitives ----


def _other_type(op: str, input: Tensor, dim: Sequence[int], types: dict[Any, Any]) -> Any:
    """Return what the dtype of an input becomes; refuse others, and dimensions without elements."""
    n = len(input.shape)
    fits = input.dtype in types and dim and all(-n <= d < n and input.shape[d] for d in dim)
    if not fits:
        raise RuntimeError(
            f"{op}: expected one of {', '.join(map(str, types))} and some of its dimensions, with "
            f"elements, got {input.dtype} of shape {list(input.shape)} and dim {list(dim)}"
        )
    return types[input.dtype]


@primitive("_fft_c2c(Tensor input, int[] dim, float scale, bool forward) -> Tensor")
class _ComplexToComplex:
    """The transform of complex numbers along some dimensions, forward or back.

    >>> weft.fft._complex_to_complex(weft.ones(2) + 0j, [0], 1.0, True)
    tensor([2.+0.j, 0.+0.j])
    """

    def infer(input, dim, scale, forward):
        _other_type("_fft_c2c", input, dim, _REAL)
        return [(input.shape, input.dtype)]

    def run(input, dim, scale, forward):
        import numpy

        if forward:
            return [_scaled(numpy.fft.fftn(input, axes=dim), scale)]
        return [_scaled(numpy.fft.ifftn(input, axes=dim, norm="forward"), scale)]

    def backward(ctx, g):
        return _complex_to_complex(g, ctx.dim, ctx.scale, not ctx.forward)


_complex_to_complex: Any = _ComplexToComplex


@primitive("_fft_r2c(Tensor input, int[] dim, float scale) -> Tensor")
class _RealToComplex:
    """The transform of real numbers; of the last dimension given, only the first half.

    >>> weft.fft._real_to_complex(weft.ones(2), [0], 1.0)
    tensor([2.+0.j, 0.+0.j])
    """

    def infer(input, dim, scale):
        made = _other_type("_fft_r2c", input, dim, _COMPLEX)
        shape = list(input.shape)
        shape[dim[-1]] = shape[dim[-1]] // 2 + 1
        return [(shape, made)]

    def run(input, dim, scale):
        import numpy

        return [_scaled(numpy.fft.rfftn(input, axes=dim), scale)]

    def backward(ctx, g):
        d = ctx.dim[-1]
        n = ctx.shape("input")[d]
        return _complex_to_real(g * _counts(g, d, n, 0.5), ctx.dim, ctx.scale, n)


_real_to_complex: Any = _RealToComplex


@primitive("_fft_c2r(Tensor input, int[] dim, float scale, int n) -> Tensor")
class _ComplexToReal:
    """The way back from half a spectrum to n real numbers in the last dimension given.

    >>> weft.fft._complex_to_real(weft.tensor([2.0 + 0j, 0j]), [0], 0.5, 2)
    tensor([1., 1.])
    """

    def infer(input, dim, scale, n):
        made = _other_type("_fft_c2r", input, dim, _REAL)
        shape = list(input.shape)
        if n < 1 or shape[dim[-1]] != n // 2 + 1:
            raise RuntimeError(
                f"_fft_c2r: expected half of the spectrum of n={n} numbers, {n // 2 + 1} of them, "
                f"along dim {dim[-1]}, got shape {shape}"
            )
        shape[dim[-1]] = n
        return [(shape, made)]

    def run(input, dim, scale, n):
        import numpy

        if len(dim) > 1:
            input = numpy.fft.ifftn(input, axes=dim[:-1], norm="forward")
        return [_scaled(numpy.fft.irfft(input, n, dim[-1], norm="forward"), scale)]

    def backward(ctx, g):
        d = ctx.dim[-1]
        return _real_to_complex(g, ctx.dim, ctx.scale) * _counts(g, d, ctx.n, 2.0)


_complex_to_real: Any = _ComplexToReal


def _scaled(a: Any, scale: float) -> Any:
    """Scale an array that nobody else has."""
    if scale != 1.0:
        a *= scale
    return a


def _counts(like: Tensor, dim: int, n: int, inside: float) -> Tensor:
    """Return weights for half a spectrum of n numbers along a dimension.

    All but the first and, for an even length, the last stand for two of the whole spectrum: they
    get ``inside``, the others 1.
    """
    weight = weft.full([n // 2 + 1], inside, dtype=_REAL.get(like.dtype, like.dtype))
    weight[0] = 1.0
    if n % 2 == 0:
        weight[-1] = 1.0
    shape = [1] * like.ndim
    shape[dim] = -1
    return weight.reshape(shape)


# ---- arguments ----


def _resized(x: Tensor, dim: int, n: int) -> Tensor:
    """Cut x to n elements along dim, or fill it up with zeros."""
    have = x.shape[dim]
    if n <= have:
        return x if n == have else x.narrow(dim, 0, n)
    shape = list(x.shape)
    shape[dim] = n - have
    return weft.cat([x, x.new_zeros(shape)], dim)


def _scale(norm: str | None, n: int, forward: bool, name: str) -> float:
    if norm not in (None, "backward", "ortho", "forward"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}" ({name})')
    if norm == "ortho":
        return float(n) ** -0.5
    return 1.0 / n if (norm == "forward") == forward else 1.0


def _as_complex(x: Tensor) -> Tensor:
    x = _as_floating(x)
    return x if x.is_complex() else weft.complex(x, weft.zeros_like(x))


def _as_floating(x: Tensor) -> Tensor:
    if x.dtype in (weft.float16, weft.bfloat16):
        raise RuntimeError(f"fft: unsupported dtype {x.dtype}")
    return x if x.is_floating_point() or x.is_complex() else x.to(weft.get_default_dtype())


def _as_real(x: Tensor, name: str) -> Tensor:
    if x.is_complex():
        raise RuntimeError(f"{name} expects a real input tensor, but got {x.dtype}")
    return _as_floating(x)


def _one_dim(x: Tensor, dim: int, name: str) -> int:
    if x.ndim == 0 or not -x.ndim <= dim < x.ndim:
        raise IndexError(
            f"{name}: Dimension out of range (expected to be in range of [{-max(x.ndim, 1)}, "
            f"{max(x.ndim, 1) - 1}], but got {dim})"
        )
    return dim % x.ndim


def _length(n: int | None, default: int, name: str) -> int:
    n = default if n is None else n
    if n < 1:
        raise RuntimeError(f"{name}: Invalid number of data points ({n}) specified")
    return n


def _many(x: Tensor, s: Any, dim: Any, name: str) -> tuple[list[int | None], list[int]]:
    """Return the asked sizes (None: as they are) and the dimensions."""
    s = [s] if isinstance(s, int) else s
    dim = [dim] if isinstance(dim, int) else dim
    if dim is None:
        count = x.ndim if s is None else len(s)
        if count > x.ndim:
            raise RuntimeError(
                f"{name}: Got shape with {count} values but input tensor only has {x.ndim} "
                "dimensions."
            )
        dims = list(range(x.ndim - count, x.ndim))
    else:
        dims = [_one_dim(x, d, name) for d in dim]
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"{name}: FFT dims must be unique")
    if s is None:
        return [None] * len(dims), dims
    if len(s) != len(dims):
        raise RuntimeError(f"{name}: When given, dim and shape arguments must have the same length")
    return [None if n == -1 else _length(n, 0, name) for n in s], dims


def _all_resized(
    x: Tensor, sizes: list[int | None], dims: list[int], name: str
) -> tuple[Tensor, int]:
    """Return x cut or filled up to the sizes, and the product of its sizes along dims."""
    total = 1
    for n, d in zip(sizes, dims):
        x = _resized(x, d, _length(n, x.shape[d], name))
        total *= x.shape[d]
    return x, total


# ---- one dimension ----


def _c2c(x: Tensor, n: int | None, dim: int, norm: str | None, forward: bool, name: str) -> Tensor:
    d = _one_dim(x, dim, name)
    x = _resized(_as_complex(x), d, _length(n, x.shape[d], name))
    return _complex_to_complex(x, [d], _scale(norm, x.shape[d], forward, name), forward)


@op(name="fft_fft", function=False, method=False, out=True)
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the discrete Fourier transform along a dimension.

    >>> weft.fft.fft(weft.ones(2))
    tensor([2.+0.j, 0.+0.j])
    """
    return _c2c(input, n, dim, norm, True, "fft.fft")


@op(name="fft_ifft", function=False, method=False, out=True)
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the inverse of the discrete Fourier transform along a dimension.

    >>> weft.fft.ifft(weft.tensor([2.0, 0.0]))
    tensor([1.+0.j, 1.+0.j])
    """
    return _c2c(input, n, dim, norm, False, "fft.ifft")


@op(name="fft_rfft", function=False, method=False, out=True)
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the first half of the transform of real numbers; the other half mirrors it.

    >>> weft.fft.rfft(weft.ones(4))
    tensor([4.+0.j, 0.+0.j, 0.+0.j])
    """
    x = _as_real(input, "fft.rfft")
    d = _one_dim(x, dim, "fft.rfft")
    x = _resized(x, d, _length(n, x.shape[d], "fft.rfft"))
    return _real_to_complex(x, [d], _scale(norm, x.shape[d], True, "fft.rfft"))


@op(name="fft_irfft", function=False, method=False, out=True)
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the real numbers whose transform begins with input.

    >>> weft.fft.irfft(weft.tensor([4.0, 0.0, 0.0]))
    tensor([1., 1., 1., 1.])
    """
    return _c2r(input, n, dim, norm, False, "fft.irfft")


def _c2r(x: Tensor, n: int | None, dim: int, norm: str | None, forward: bool, name: str) -> Tensor:
    d = _one_dim(x, dim, name)
    n = _length(n, 2 * (x.shape[d] - 1), name)
    x = _resized(_as_complex(x), d, n // 2 + 1)
    return _complex_to_real(x, [d], _scale(norm, n, forward, name), n)


@op(name="fft_hfft", function=False, method=False, out=True)
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the (real) transform of a signal that mirrors its own conjugate, given its first half.

    >>> weft.fft.hfft(weft.tensor([4.0, 0.0, 0.0]))
    tensor([4., 4., 4., 4.])
    """
    x = _as_complex(input)
    return _c2r(x.conj(), n, dim, norm, True, "fft.hfft")


@op(name="fft_ihfft", function=False, method=False, out=True)
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Return the inverse of hfft.

    >>> weft.fft.ihfft(weft.tensor([4.0, 4.0]))
    tensor([4.-0.j, 0.-0.j])
    """
    x = _as_real(input, "fft.ihfft")
    d = _one_dim(x, dim, "fft.ihfft")
    x = _resized(x, d, _length(n, x.shape[d], "fft.ihfft"))
    return _real_to_complex(x, [d], _scale(norm, x.shape[d], False, "fft.ihfft")).conj()


# ---- several dimensions ----


def _c2cn(x: Tensor, s: Any, dim: Any, norm: str | None, forward: bool, name: str) -> Tensor:
    sizes, dims = _many(x, s, dim, name)
    x, total = _all_resized(_as_complex(x), sizes, dims, name)
    scale = _scale(norm, total, forward, name)
    return _complex_to_complex(x, dims, scale, forward) if dims else x.clone()


def _r2cn(x: Tensor, s: Any, dim: Any, norm: str | None, forward: bool, name: str) -> Tensor:
    sizes, dims = _many(x, s, dim, name)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    x, total = _all_resized(_as_real(x, name), sizes, dims, name)
    return _real_to_complex(x, dims, _scale(norm, total, forward, name))


def _c2rn(x: Tensor, s: Any, dim: Any, norm: str | None, forward: bool, name: str) -> Tensor:
    sizes, dims = _many(x, s, dim, name)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    n = _length(sizes[-1], 2 * (x.shape[dims[-1]] - 1), name)
    x, total = _all_resized(_as_complex(x), [*sizes[:-1], n // 2 + 1], dims, name)
    total = total // (n // 2 + 1) * n
    return _complex_to_real(x, dims, _scale(norm, total, forward, name), n)


def _family(
    name: str, body: Any, forward: bool, text: str, example: str, conjugate: str = ""
) -> None:
    """Declare name + "n", over all dimensions by default, and name + "2", over the last two."""

    def run(input: Tensor, s: Any, dim: Any, norm: str | None, full: str) -> Tensor:
        if conjugate == "before":
            input = _as_complex(input).conj()
        out = body(input, s, dim, norm, forward, full)
        return out.conj() if conjugate == "after" else out

    def two(
        input: Tensor, s: Any = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
    ) -> Tensor:
        return run(input, s, dim, norm, f"fft.{name}2")

    def any_(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
        return run(input, s, dim, norm, f"fft.{name}n")

    for f, suffix, where in (
        (two, "2", "the last two dimensions"),
        (any_, "n", "several dimensions"),
    ):
        f.__name__ = f.__qualname__ = name + suffix
        f.__doc__ = f"""Return {text} over {where}.

    >>> weft.fft.{name}{suffix}({example})
    """
        globals()[name + suffix] = op(
            name=f"fft_{name}{suffix}", function=False, method=False, out=True
        )(f)


_family(
    "fft", _c2cn, True, "the discrete Fourier transform", "weft.ones(1, 1))\n    tensor([[1.+0.j]]"
)
_family("ifft", _c2cn, False, "the inverse transform", "weft.ones(1, 1))\n    tensor([[1.+0.j]]")
_family(
    "rfft",
    _r2cn,
    True,
    "half the transform of real numbers",
    "weft.ones(1, 1))\n    tensor([[1.+0.j]]",
)
_family(
    "irfft",
    _c2rn,
    False,
    "the real numbers of half a transform",
    "weft.ones(1, 2))\n    tensor([[1., 0.]]",
)
_family(
    "hfft",
    _c2rn,
    True,
    "the real transform of half a mirrored signal",
    "weft.ones(1, 2))\n    tensor([[2., 0.]]",
    "before",
)
_family(
    "ihfft", _r2cn, False, "the inverse of hfft", "weft.ones(1, 1))\n    tensor([[1.-0.j]]", "after"
)


# ---- frequencies and shifts ----


@op(
    name="fft_fftfreq",
    function=False,
    method=False,
    out=True,
    creation=True,
    derivative="a constant",
)
def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None) -> Tensor:
    """Return the frequencies that the elements of a transform of n samples, d apart, stand for.

    >>> weft.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    k = weft.cat([weft.arange(0, (n + 1) // 2), weft.arange(-(n // 2), 0)])
    return k.to(dtype or weft.get_default_dtype()) * (1.0 / (n * d))


@op(
    name="fft_rfftfreq",
    function=False,
    method=False,
    out=True,
    creation=True,
    derivative="a constant",
)
def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None) -> Tensor:
    """Return the frequencies of the elements of half a transform of n samples, d apart.

    >>> weft.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return weft.arange(0, n // 2 + 1).to(dtype or weft.get_default_dtype()) * (1.0 / (n * d))


def _shifted(x: Tensor, dim: Any, back: bool) -> Tensor:
    dims = list(range(x.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    steps = [(x.shape[d] + 1) // 2 if back else x.shape[d] // 2 for d in dims]
    return x.roll(steps, dims) if dims else x.clone()


@op(name="fft_fftshift", function=False, method=False)
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Return a transform with frequency zero in the middle.

    >>> weft.fft.fftshift(weft.arange(4))
    tensor([2, 3, 0, 1])
    """
    return _shifted(input, dim, False)


@op(name="fft_ifftshift", function=False, method=False)
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Return the inverse of fftshift.

    >>> weft.fft.ifftshift(weft.arange(4))
    tensor([2, 3, 0, 1])
    """
    return _shifted(input, dim, True)
