"""``assert_close``: numbers, tensors, and sequences and mappings of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import weft
from weft import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["assert_allclose", "assert_close"]

_TOLERANCES = {  # rtol and atol; of all other types the values must be the same
    weft.float16: (1e-3, 1e-5),
    weft.bfloat16: (1.6e-2, 1e-5),
    weft.float32: (1.3e-6, 1e-5),
    weft.float64: (1e-7, 1e-7),
    weft.complex64: (1.3e-6, 1e-5),
    weft.complex128: (1e-7, 1e-7),
}
_OLD_TOLERANCES = {
    weft.float16: (1e-3, 1e-3),
    weft.float32: (1e-4, 1e-5),
    weft.float64: (1e-5, 1e-8),
}
_NUMBER_DTYPES = {int: weft.int64, float: weft.float64, complex: weft.complex128}


class _Rules(NamedTuple):
    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        return _defaults(_TOLERANCES, *dtypes)


def _defaults(table: dict[Any, tuple[float, float]], *dtypes: Any) -> tuple[float, float]:
    found = [table.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    return max(r for r, _ in found), max(a for _, a in found)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless two values are close: ``|a - e| <= atol + rtol * |e|``.

    Values are tensors, NumPy arrays, numbers, booleans and None, and sequences and mappings of
    them. Without tolerances floating-point numbers may differ by a few roundings of their type,
    others not at all.

    Args:
        actual: what was found.
        expected: what it should be.
        allow_subclasses: whether a subclass, such as a Parameter, may be held against its base.
        rtol: how far values may be apart, as a share of the expected one; with ``atol``.
        atol: the same, as a number; with ``rtol``.
        equal_nan: whether NaN is close to NaN.
        check_device: tensors must be on the same device.
        check_dtype: values must be of the same type.
        check_layout: both tensors must be dense, or both sparse.
        check_stride: tensors must have the same strides.
        msg: the message of the error; or a function that is given the usual one and returns it.

    >>> weft.testing.assert_close(weft.tensor([1.0, 2.0]), weft.tensor([1.0, 2.5]))
    Traceback (most recent call last):
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 2 (50.0%)
    Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)
    Greatest relative difference: 0.20000000298023224 at index (1,) (up to 1.3e-06 allowed)
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"assert_close: give both rtol and atol, or neither; {missing} is missing")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value is not None and not value >= 0:
            raise ValueError(f"assert_close: expected {name} >= 0, got {value}")
    rules = _Rules(
        allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout,
        check_stride,
    )  # fmt: skip
    try:
        for place, a, e in list(_pairs(actual, expected, "", rules)):  # the structure comes first
            _located(_difference(a, e, rules), place)
    except _Different as e:
        text = str(e)
        raise AssertionError(msg(text) if callable(msg) else text if msg is None else msg) from None


class _Different(Exception):
    """How two values differ."""


def _located(text: str | None, place: str) -> None:
    if text is not None:
        raise _Different(f"{text}\n\nThe failure occurred for item {place}" if place else text)


# ---- containers ---------------------------------------------------------------------------------


def _pairs(a: Any, e: Any, place: str, rules: _Rules) -> Iterator[tuple[str, Any, Any]]:
    """Give the pairs of plain values in two containers, and where they are."""
    if _is_sequence(a) and _is_sequence(e):
        if len(a) != len(e):
            _located(f"The length of the sequences mismatch: {len(a)} != {len(e)}", place)
        for i in range(len(a)):
            yield from _pairs(a[i], e[i], f"{place}[{i}]", rules)
    elif isinstance(a, Mapping) and isinstance(e, Mapping):
        missing = [key for key in e if key not in a]
        extra = [key for key in a if key not in e]
        if missing or extra:
            _located(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\n"
                f"Additional keys in the actual mapping: {extra}",
                place,
            )
        for key in e:
            yield from _pairs(a[key], e[key], f"{place}[{key!r}]", rules)
    else:
        yield place, *_plain(a, e, rules)


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes, bytearray))


def _plain(a: Any, e: Any, rules: _Rules) -> tuple[Any, Any]:
    """Return both values as None, booleans, numbers or tensors, if they can be compared."""
    if a is None or e is None:
        return a, e
    scalars = _scalar(a), _scalar(e)
    if None not in scalars:
        return scalars
    same = type(a) is type(e)
    if rules.allow_subclasses:
        same = isinstance(a, type(e)) or isinstance(e, type(a))
    if same and isinstance(a, Tensor) and isinstance(e, Tensor):
        return a, e
    if same and hasattr(a, "__array__") and not isinstance(a, Tensor):
        return weft.as_tensor(a), weft.as_tensor(e)
    raise TypeError(
        f"assert_close: {type(a).__name__} and {type(e).__name__} cannot be compared; expected two "
        "tensors, arrays, numbers, sequences or mappings"
    )


def _scalar(x: Any) -> Any:
    """Return a Python number for a number of Python or NumPy, None for all else."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(x, numpy.generic):
        x = x.item()
    return x if isinstance(x, (bool, int, float, complex)) else None


# ---- plain values -------------------------------------------------------------------------------


def _difference(a: Any, e: Any, rules: _Rules) -> str | None:
    """Return how two values differ, None if they do not."""
    if a is None or e is None:
        return None if a is e else f"None mismatch: {a} is not {e}"
    if isinstance(a, bool) and isinstance(e, bool):
        return None if a is e else f"Booleans mismatch: {a} is not {e}"
    if isinstance(a, Tensor):
        return _attributes(a, e, rules) or _compare_tensors(a.detach(), e.detach(), rules)
    if rules.check_dtype and type(a) is not type(e):
        return f"The (d)types do not match: {type(a)} != {type(e)}."
    dtypes = [_NUMBER_DTYPES.get(type(x), weft.bool) for x in (a, e)]
    return _numbers(a, e, *rules.tolerances(*dtypes), rules.equal_nan)


def _numbers(a: Any, e: Any, rtol: float, atol: float, equal_nan: bool) -> str | None:
    gap = 0 if a == e else abs(a - e)
    if a == e or (equal_nan and a != a and e != e):
        return None
    if math.isfinite(gap) and gap <= atol + rtol * abs(e):
        return None
    share = gap / abs(e) if e != 0 else math.inf
    return (
        f"Scalars are not {_word(rtol, atol)}!\n\nExpected {e} but got {a}.\n"
        f"Absolute difference: {gap}{_allowed(atol, rtol, atol)}\n"
        f"Relative difference: {share}{_allowed(rtol, rtol, atol)}"
    )


def _word(rtol: float, atol: float) -> str:
    return "close" if rtol or atol else "equal"


def _allowed(limit: float, rtol: float, atol: float) -> str:
    return f" (up to {limit} allowed)" if rtol or atol else ""


def _attributes(a: Tensor, e: Tensor, rules: _Rules) -> str | None:
    """Return which attribute of two tensors differs that should not, None if all agree."""
    dense = a.layout == weft.strided and e.layout == weft.strided
    checks: list[tuple[bool, str, Any]] = [
        (True, "shape", lambda x: x.shape),
        (rules.check_layout, "layout", lambda x: x.layout),
        (rules.check_device, "device", lambda x: x.device),
        (rules.check_dtype, "dtype", lambda x: x.dtype),
        (rules.check_stride and dense, "stride()", lambda x: x.stride()),
    ]
    for wanted, name, get in checks:
        if wanted and get(a) != get(e):
            return f"The values for attribute {name!r} do not match: {get(a)} != {get(e)}."
    return None


def _compare_tensors(a: Tensor, e: Tensor, rules: _Rules) -> str | None:
    rtol, atol = rules.tolerances(a.dtype, e.dtype)
    if a.is_sparse and e.is_sparse:
        return _sparse(a, e, rules)
    a, e = (x if x.layout == weft.strided else x.to_dense() for x in (a, e))
    found, wanted = a, e
    common = weft.promote_types(a.dtype, e.dtype)
    if not (common.is_floating_point or common.is_complex):
        common = weft.int64  # in which differences of bytes are right
    a, e = a.to(common), e.to(common)
    matches = weft.isclose(a, e, rtol, atol, rules.equal_nan)
    if bool(matches.all()):
        return None
    if a.ndim == 0:
        return _numbers(found.item(), wanted.item(), rtol, atol, False)
    return _elements(a, e, matches, rtol, atol)


def _elements(a: Tensor, e: Tensor, matches: Tensor, rtol: float, atol: float) -> str:
    """Return how many elements differ, and where most."""
    wrong = int((~matches).sum())
    gap = (a - e).abs().masked_fill(matches, 0)
    share = (gap / e.abs()).masked_fill(matches, 0)
    lines = [
        f"Tensor-likes are not {_word(rtol, atol)}!\n",
        f"Mismatched elements: {wrong} / {a.numel()} ({wrong / a.numel():.1%})",
    ]
    for name, values, limit in (("absolute", gap, atol), ("relative", share, rtol)):
        flat = int(values.argmax())
        index = tuple(int(i) for i in weft.unravel_index(weft.tensor(flat), values.shape))
        most = values.flatten()[flat].item()
        allowed = _allowed(limit, rtol, atol)
        lines.append(f"Greatest {name} difference: {most} at index {index}{allowed}")
    return "\n".join(lines)


def _sparse(a: Tensor, e: Tensor, rules: _Rules) -> str | None:
    if a.is_coalesced() != e.is_coalesced():
        a, e = a.coalesce(), e.coalesce()
    if a._nnz() != e._nnz():
        return (
            "The number of specified values in sparse COO tensors does not match: "
            f"{a._nnz()} != {e._nnz()}"
        )
    for name, x, y in (
        ("indices", a._indices(), e._indices()),
        ("values", a._values(), e._values()),
    ):
        text = _compare_tensors(x, y, rules)
        if text is not None:
            return text.replace("Tensor-likes", f"Sparse COO {name}")
    return None


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Do what ``assert_close`` does, by older rules; warns that it is out of date.

    Args:
        actual: a tensor, or what can be made one.
        expected: what it should be.
        rtol: how far values may be apart, as a share of the expected one; with ``atol``.
        atol: the same, as a number; with ``rtol``.
        equal_nan: whether NaN is close to NaN.
        msg: the message of the error, if not empty.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     weft.testing.assert_allclose(weft.tensor([1.0]), [1.00001])
    """
    import warnings

    warnings.warn(
        "testing.assert_allclose is out of date: use testing.assert_close",
        FutureWarning,
        stacklevel=2,
    )
    a = actual if isinstance(actual, Tensor) else weft.tensor(actual)
    e = expected if isinstance(expected, Tensor) else weft.tensor(expected, dtype=a.dtype)
    if rtol is None and atol is None:
        rtol, atol = _defaults(_OLD_TOLERANCES, a.dtype, e.dtype)
    assert_close(
        a, e, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None
    )
