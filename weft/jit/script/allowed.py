"""What a program may name: functions, constants, and attributes and methods of values.

The parser asks this page what a name of the user's stands for; the reader of files and the
interpreter ask it too. A program can reach nothing else, wherever it comes from.
"""

from __future__ import annotations

import math
from types import FunctionType

import weft
from weft import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# ---- functions by name --------------------------------------------------------------------------

BUILT_IN: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        abs, all, any, bool, chr, complex, dict, divmod, enumerate, float, hex, int, len, list, max,
        min, oct, ord, pow, print, range, reversed, round, sorted, str, sum, tuple, zip,
    )
}  # fmt: skip
_MATH = """acos acosh asin asinh atan atan2 atanh ceil comb copysign cos cosh degrees dist erf erfc
exp expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot isclose isfinite isinf isnan isqrt
lcm ldexp lgamma log log10 log1p log2 modf perm pow prod radians remainder sin sinh sqrt tan tanh
trunc""".split()
_FAMILIES = ("nn.functional", "linalg", "fft", "special")
_SETTINGS = """as_tensor broadcast_shapes broadcast_tensors can_cast device finfo
get_default_dtype iinfo is_complex is_floating_point is_grad_enabled is_inference_mode_enabled
is_nonzero is_tensor manual_seed numel promote_types result_type tensor""".split()
_REFUSED = {"from_numpy", "from_dlpack", "frombuffer", "asarray"}


def _public(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_") and name.isascii()


def function_named(name: str) -> Callable[..., Any] | None:
    """Return the function that a program may call by this name, or None.

    >>> from weft.jit.script.allowed import function_named
    >>> function_named("weft.relu") is weft.relu, function_named("weft.load")
    (True, None)
    """
    place, _, last = name.rpartition(".")
    if not _public(last):
        return None
    if not place:
        return BUILT_IN.get(last)
    if place == "math":
        return getattr(math, last, None) if last in _MATH else None
    if place == "weft":
        if last in _REFUSED:
            return None
        found = vars(weft).get(last)
        if found is None and last in weft._LAYERS:
            found = getattr(weft, last)
        return found if last in _SETTINGS or _is_op(found) else None
    if place == "weft.jit" and last == "wait":
        from weft.jit.futures import wait

        return wait
    if place.startswith("weft.") and place.removeprefix("weft.") in _FAMILIES:
        home: Any = weft
        for part in place.split(".")[1:]:
            home = getattr(home, part)
        found = vars(home).get(last)
        return found if _is_op(found) else None
    return None


def _is_op(f: Any) -> bool:
    """Whether something is one of weft's functions of tensors."""
    if isinstance(f, _C.Op):
        return True
    home = str(getattr(f, "__module__", ""))
    inside = home.startswith(("weft.ops", "weft.linalg", "weft.fft", "weft.special"))
    return isinstance(f, FunctionType) and (inside or home.startswith("weft.nn.functional"))


def name_of_function(f: Any) -> str | None:
    """Return the name by which a program may call a function, or None.

    >>> from weft.jit.script.allowed import name_of_function
    >>> name_of_function(weft.nn.functional.relu), name_of_function(len), name_of_function(open)
    ('weft.nn.functional.relu', 'len', None)
    """
    last = getattr(f, "__name__", "")
    if not isinstance(last, str) or not (callable(f) and _public(last)):
        return None
    homes = ("", "math.", "weft.", *(f"weft.{family}." for family in _FAMILIES), "weft.jit.")
    for home in homes:
        names = [last] if home != "weft.linalg." else [last, last.removeprefix("linalg_")]
        names += [last.removeprefix("fft_")] if home == "weft.fft." else []
        names += [last.removeprefix("special_")] if home == "weft.special." else []
        for name in names:
            if function_named(home + name) is f:
                return home + name
    return None


# ---- constants by name --------------------------------------------------------------------------

_DTYPES = """bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64
complex128""".split()
_CONSTANTS: dict[str, Any] = {
    **{f"weft.{name}": getattr(weft, name) for name in _DTYPES},
    **{
        f"weft.{name}": getattr(weft, name)
        for name in (
            "channels_last", "channels_last_3d", "contiguous_format", "preserve_format",
            "strided", "sparse_coo",
        )
    },
    **{f"math.{name}": getattr(math, name) for name in ("e", "inf", "nan", "pi", "tau")},
}  # fmt: skip


def constant_named(name: str) -> Any:
    """Return the constant of a name; raise ``KeyError`` if there is none."""
    return _CONSTANTS[name]


def name_of_constant(value: Any) -> str | None:
    """Return the name of a constant that is an object, such as a dtype, or None."""
    if isinstance(value, (float, str, bool, int)) or value is None:
        return None
    return next((n for n, c in _CONSTANTS.items() if c is value or _same(c, value)), None)


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, weft.dtype) and a == b


# ---- attributes and methods of values -----------------------------------------------------------

_NO_METHODS = """apply_ map_ map2_ register_hook register_post_accumulate_grad_hook numpy data_ptr
share_memory_ grad_fn output_nr cuda pin_memory is_shared is_pinned is_set_to get_device
retains_grad names untyped_storage storage type""".split()
_OF_TENSORS: dict[str, bool] = {}  # name: whether it is called; filled on first use


def of_tensors() -> dict[str, bool]:
    """Return the names of a tensor's attributes; whether each is a method.

    >>> from weft.jit.script.allowed import of_tensors
    >>> of_tensors()["shape"], of_tensors()["relu"], "numpy" in of_tensors()
    (False, True, False)
    """
    if not _OF_TENSORS:
        for name in dir(weft.Tensor):
            if _public(name) and name not in _NO_METHODS:
                _OF_TENSORS[name] = callable(getattr(weft.Tensor, name))
    return _OF_TENSORS


METHODS: dict[type, frozenset[str]] = {
    list: frozenset("append clear copy count extend index insert pop remove reverse sort".split()),
    dict: frozenset("clear copy get items keys pop popitem setdefault update values".split()),
    str: frozenset(
        """capitalize center count endswith expandtabs find format index isalnum isalpha isdecimal
        isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower
        lstrip partition replace rfind rindex rjust rpartition rsplit rstrip split splitlines
        startswith strip swapcase title upper zfill""".split()
    ),
    tuple: frozenset(("count", "index")),
    weft.Size: frozenset(("count", "index", "numel")),
    int: frozenset(("bit_length",)),
    float: frozenset(("is_integer",)),
}
MEMBERS: dict[type, frozenset[str]] = {
    weft.dtype: frozenset(("is_floating_point", "is_complex", "is_signed", "itemsize")),
    weft.device: frozenset(("type", "index")),
    weft.finfo: frozenset("bits eps max min tiny smallest_normal resolution dtype".split()),
    weft.iinfo: frozenset("bits max min dtype".split()),
    complex: frozenset(("real", "imag")),
}
OF_FUTURES = frozenset(("wait", "done", "value"))
OF_MODULES = frozenset(("keys", "values", "items"))  # besides those that are scripted


def is_method(name: str) -> bool:
    """Say whether any value has a method of this name that a program may call."""
    return (
        of_tensors().get(name, False)
        or any(name in names for names in METHODS.values())
        or name in OF_FUTURES
        or name in OF_MODULES
        or name == "forward"
    )


def is_member_name(name: str) -> bool:
    """Say whether a member of a module may have this name.

    >>> from weft.jit.script.allowed import is_member_name
    >>> [is_member_name(n) for n in ("weight", "_hidden", "_modules", "__class__", "train", "0")]
    [True, True, False, False, False, True]
    """
    if not isinstance(name, str) or name.startswith("__") or "." in name or not name:
        return False
    from weft.nn import Module

    return name == "training" or not (hasattr(Module, name) or name in _own(Module))


INTERNAL = (
    "_methods _container _original _graph _live _frozen _is_frozen".split()
)  # of ScriptModule
_OWN: set[str] = set()


def _own(cls: Any) -> set[str]:
    if not _OWN:
        _OWN.update(vars(cls()), ("_hooked", "_owner"), INTERNAL)
        _OWN.discard("training")
    return _OWN
