"""What a program may name: functions, constants, and attributes and methods of values.

The parser asks this page what a name of the user's stands for; the reader of files and the
interpreter ask it too. A program can reach nothing else, wherever it comes from.
"""

from __future__ import annotations

import builtins
import math
from operator import attrgetter
from types import FunctionType

import weft
from weft import _C
from weft.jit.futures import Future

from .types import ANY, TENSOR, Type, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# ---- functions by name --------------------------------------------------------------------------

# Functions besides weft's ops, and attributes of tensors, by the type of what they give.
_NAMES: dict[str, Type] = {
    name: read(t)
    for t, names in {
        "Any": """abs dict divmod enumerate list max min pow reversed round sorted sum tuple zip
            math.dist math.frexp math.modf math.pow math.prod weft.as_tensor weft.broadcast_shapes
            weft.broadcast_tensors weft.can_cast weft.device weft.finfo weft.get_default_dtype
            weft.iinfo weft.is_complex weft.is_floating_point weft.is_grad_enabled
            weft.is_inference_mode_enabled weft.is_nonzero weft.is_tensor weft.jit.wait
            weft.manual_seed weft.numel weft.promote_types weft.result_type""",
        "int": """int len ord math.ceil math.comb math.factorial math.floor math.gcd math.isqrt
            math.lcm math.perm math.trunc Tensor.dim Tensor.element_size Tensor.ndim
            Tensor.ndimension Tensor.nelement Tensor.numel""",
        "float": """float math.acos math.acosh math.asin math.asinh math.atan math.atan2 math.atanh
            math.copysign math.cos math.cosh math.degrees math.erf math.erfc math.exp math.expm1
            math.fabs math.fmod math.fsum math.gamma math.hypot math.ldexp math.lgamma math.log
            math.log10 math.log1p math.log2 math.radians math.remainder math.sin math.sinh
            math.sqrt math.tan math.tanh""",
        "bool": """all any bool math.isclose math.isfinite math.isinf math.isnan Tensor.is_leaf
            Tensor.requires_grad""",
        "str": "chr hex oct str",
        "complex": "complex",
        "None": "print",
        "dtype": "Tensor.dtype",
        "device": "Tensor.device",
        "List[int]": "range Tensor.shape",
        "Tensor": "weft.tensor Tensor.T Tensor.mT Tensor.data",
    }.items()
    for name in names.split()
}
_FAMILIES = ("nn.functional", "linalg", "fft", "special")
_REFUSED = ("weft.from_numpy", "weft.from_dlpack", "weft.frombuffer", "weft.asarray")


def _public(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_") and name.isascii()


def _home(place: str) -> Any:
    """Return the module of Python or weft in which a program may look for functions, or None."""
    inside = place.removeprefix("weft.")
    if inside in ("", "math", "weft"):
        return {"": builtins, "math": math, "weft": weft}[inside]
    return attrgetter(inside)(weft) if inside in (*_FAMILIES, "jit") and inside != place else None


def function_named(name: str) -> Callable[..., Any] | None:
    """Return the function that a program may call by this name, or None.

    >>> from weft.jit.script.allowed import function_named
    >>> function_named("weft.relu") is weft.relu, function_named("weft.load")
    (True, None)
    """
    place, _, last = name.rpartition(".")
    home = _home(place)
    if home is None or not _public(last) or name in _REFUSED:
        return None
    found = vars(home).get(last)
    if found is None and home is weft and last in weft._LAYERS:
        found = getattr(weft, last)
    return found if name in _NAMES or (home not in (builtins, math) and _is_op(found)) else None


def _is_op(f: Any) -> bool:
    """Whether something is one of weft's functions of tensors."""
    home = str(getattr(f, "__module__", ""))
    places = ("weft.ops", "weft.linalg", "weft.fft", "weft.special", "weft.nn.functional")
    return isinstance(f, _C.Op) or (isinstance(f, FunctionType) and home.startswith(places))


def name_of_function(f: Any) -> str | None:
    """Return the name by which a program may call a function, or None.

    >>> from weft.jit.script.allowed import name_of_function
    >>> name_of_function(weft.nn.functional.relu), name_of_function(len), name_of_function(open)
    ('weft.nn.functional.relu', 'len', None)
    """
    last = getattr(f, "__name__", "")
    if not isinstance(last, str) or not (callable(f) and _public(last)):
        return None
    for home in ("", "math.", "weft.", *(f"weft.{family}." for family in _FAMILIES), "weft.jit."):
        for name in (last, last.removeprefix(f"{home[5:-1]}_")):  # linalg_inv is linalg.inv
            if function_named(home + name) is f:
                return home + name
    return None


_TENSOR_OPS: set[str] = set()  # ops that always return one tensor; filled on first use


def result_of(name: str) -> Type:
    """Return the type of what a function gives, or a member of a tensor (``Tensor.name``).

    >>> from weft.jit.script.allowed import result_of
    >>> [str(result_of(n)) for n in ("len", "math.sin", "weft.relu", "Tensor.dim", "max")]
    ['int', 'float', 'Tensor', 'int', 'Any']
    """
    if not _TENSOR_OPS:
        rows = [(row["base"], row["signature"].endswith("-> Tensor")) for row in _C._ops()]
        _TENSOR_OPS.update(base for base, _ in rows)
        _TENSOR_OPS.difference_update(base for base, one in rows if not one)
    home, _, last = name.rpartition(".")
    if home in ("weft", "weft.nn.functional", "Tensor") and last in _TENSOR_OPS:
        return TENSOR
    return _NAMES.get(name, ANY)


# ---- constants by name --------------------------------------------------------------------------

CONSTANTS: dict[str, Any] = {
    f"{home.__name__}.{name}": getattr(home, name)
    for home, names in (
        (weft, "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64"),
        (weft, "complex128 channels_last channels_last_3d contiguous_format preserve_format"),
        (weft, "strided sparse_coo"),
        (math, "e inf nan pi tau"),
    )
    for name in names.split()
}


def name_of_constant(value: Any) -> str | None:
    """Return the name of a constant that is an object, such as a dtype, or None."""
    if isinstance(value, (float, str, bool, int)) or value is None:
        return None
    same = (n for n, c in CONSTANTS.items() if c is value or (_is_dtype(c, value) and c == value))
    return next(same, None)


def _is_dtype(*values: Any) -> bool:
    return all(isinstance(v, weft.dtype) for v in values)


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
    cls: frozenset(names.split())
    for cls, names in (
        (list, "append clear copy count extend index insert pop remove reverse sort"),
        (dict, "clear copy get items keys pop popitem setdefault update values"),
        (
            str,
            """capitalize center count endswith expandtabs find format index isalnum isalpha
            isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper
            join ljust lower lstrip partition replace rfind rindex rjust rpartition rsplit rstrip
            split splitlines startswith strip swapcase title upper zfill""",
        ),
        (tuple, "count index"),
        (weft.Size, "count index numel"),
        (int, "bit_length"),
        (float, "is_integer"),
        (Future, "wait done value"),
    )
}
MEMBERS: dict[type, tuple[str, ...]] = {
    weft.dtype: ("is_floating_point", "is_complex", "is_signed", "itemsize"),
    weft.device: ("type", "index"),
    weft.finfo: ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"),
    weft.iinfo: ("bits", "max", "min", "dtype"),
    complex: ("real", "imag"),
}
OF_MODULES = ("keys", "values", "items")  # besides methods that are scripted


def is_method(name: str) -> bool:
    """Say whether any value has a method of this name that a program may call."""
    return (
        of_tensors().get(name, False)
        or any(name in names for names in METHODS.values())
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


def is_data_name(name: str) -> bool:
    """Say whether a member of a module that a program sets may have this name."""
    return is_member_name(name) and name != "training"


INTERNAL = (
    "_methods _container _original _graph _live _others _frozen _is_frozen".split()
)  # of ScriptModule
_OWN: set[str] = set()


def _own(cls: Any) -> set[str]:
    if not _OWN:
        _OWN.update(vars(cls()), ("_hooked", "_owner"), INTERNAL)
        _OWN.discard("training")
    return _OWN
