"""What code does besides returning values: one table of the modules and callables of the interpreter.

A captured call is replayed without Python. So what its Python calls must be known to be harmless, and
the table is closed: a C function, or a class written in C, that it does not name is refused by name.
(Functions and classes written in Python are followed: what counts is what they call.)

============  =======================================  =========================================
effect        a call of it                             an object of it, or with it as a base
============  =======================================  =========================================
``PURE``      depends on its arguments, changes only   has its state in attributes and items,
              what guards see; a replay leaves it out  which are guarded
``IMMUTABLE`` as above                                 never changes, or its changes show in no
                                                       result: needs no guard
``STATEFUL``  is refused                               has state that nothing shows: refused where
                                                       code names it, unless it is in ``GUARDED``
``EFFECT``    reads or changes the world: is refused   has no state but its attributes: all other
                                                       uses of it are seen as calls
============  =======================================  =========================================

A name stands for all that is in it: ``"posix"`` for ``posix.read``, unless that has a row of its own.
"""

from __future__ import annotations

import builtins
import os
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "EFFECT", "EFFECTS", "GUARDED", "IMMUTABLE", "OS_FILES", "PURE", "SETTINGS", "STATEFUL",
    "STEERING", "declare_pure", "effect_of", "effect_of_class", "is_library", "name_of_call",
    "refusal", "refusal_of_class",
]  # fmt: skip

PURE, IMMUTABLE, STATEFUL, EFFECT = "pure", "immutable", "stateful", "effect"

_ROWS = (
    # ---- builtins: every function has a row, so that one of a later Python is refused until it has
    (PURE, "builtins", """
        __build_class__ __import__ abs aiter all anext any ascii bin callable chr compile delattr
        dir divmod eval exec format getattr globals hasattr hash hex id isinstance issubclass iter
        len locals max min next oct ord pow repr round setattr sorted sum vars"""),
    (EFFECT, "builtins", "breakpoint input open print"),
    # Containers, numbers, texts: what a method changes is an item, and guarded.
    (PURE, "builtins", """
        bool bytearray bytes complex dict enumerate filter float frozenset int list map memoryview
        object property reversed set staticmethod classmethod str super tuple type zip
        dict_items dict_keys dict_values mappingproxy"""),
    # The methods of these are called by weft and by comprehensions; where one is, it stands.
    (PURE, "builtins", """
        async_generator async_generator_asend async_generator_athrow async_generator_wrapped_value
        bytearray_iterator bytes_iterator callable_iterator coroutine coroutine_wrapper
        dict_itemiterator dict_keyiterator dict_reverseitemiterator dict_reversekeyiterator
        dict_reversevalueiterator dict_valueiterator frame function generator iterator line_iterator
        list_iterator list_reverseiterator longrange_iterator managedbuffer memory_iterator method
        module moduledef odict_iterator odict_items odict_keys odict_values positions_iterator
        range_iterator set_iterator str_ascii_iterator str_iterator traceback tuple_iterator
        FrameLocalsProxy anext_awaitable generic_alias_iterator"""),
    (IMMUTABLE, "builtins", """
        NoneType NotImplementedType ellipsis range slice code cell builtin_function_or_method
        builtin_method classmethod_descriptor getset_descriptor instancemethod member_descriptor
        method-wrapper method_descriptor wrapper_descriptor stderrprinter weakref"""),
    (PURE, "", """
        maketrans backslashreplace_errors ignore_errors namereplace_errors replace_errors
        strict_errors xmlcharrefreplace_errors"""),  # functions without a module
    (EFFECT, "builtins.type", "__subclasses__"),  # what was defined by now
    # ---- functions of their arguments
    (PURE, "", """
        _bisect _bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw
        _collections _collections_abc _csv _functools _heapq _json _lzma _multibytecodec _opcode
        _pickle _sre _stat _statistics _string _struct _symtable _tokenize _typing array
        ast audioop binascii cmath collections dataclasses functools itertools marshal math
        pickle pyexpat types unicodedata zlib"""),
    (PURE, "", """
        _blake2 _hashlib _md5 _sha1 _sha2 _sha256 _sha3 _sha512 _hmac hashlib"""),
    (IMMUTABLE, "", """
        _abc _operator abc _collections._tuplegetter collections._tuplegetter datetime decimal enum
        fractions inspect operator pathlib re types.GenericAlias types.UnionType typing uuid
        zoneinfo"""),
    (PURE, "", "_weakref weakref"),
    (PURE, "", "_elementtree xml _suggestions"),
    (EFFECT, "_elementtree", "_set_factories"),
    (EFFECT, "_codecs", "register register_error unregister _unregister_error"),
    (EFFECT, "_csv", "field_size_limit register_dialect unregister_dialect"),
    (EFFECT, "_pickle", "dump load Pickler Unpickler"),  # which call methods of files
    (EFFECT, "marshal", "dump load"),
    (EFFECT, "_abc", "_abc_register"),
    # ---- libraries that weft knows
    (PURE, "", "weft numpy scipy PIL ml_dtypes"),
    (IMMUTABLE, "numpy", "_ArrayFunctionDispatcher dtype generic ufunc"),
    (STATEFUL, "numpy", "random"),  # drawing is noticed by its state: see GUARDED, watching()
    (EFFECT, "numpy", "fromfile load save savetxt loadtxt genfromtxt memmap seterrobj"),
    (EFFECT, "numpy.ndarray", "tofile dump"),
    # ---- clocks, chance, files, processes, the environment
    (EFFECT, "", """
        _asyncio _contextvars _ctypes_test _curses _curses_panel _gdbm _dbm _interpchannels
        _interpqueues _interpreters _io _locale _lsprof _multiprocessing _posixshmem
        _posixsubprocess _queue _signal _socket _sqlite3 _ssl _sysconfig _tkinter _tracemalloc
        _uuid _warnings _winapi _wmi _xxsubinterpreters atexit contextvars crypt _crypt faulthandler
        fcntl grp io msvcrt nis nt os ossaudiodev posix pwd queue random readline resource
        select signal socket spwd sqlite3 sys.monitoring syslog termios time _time winreg winsound"""),
    (EFFECT, "_random", "Random"),
    (STATEFUL, "random", "Random SystemRandom"),
    (PURE, "time", "struct_time"),
    (PURE, "posix", "fspath getpid _path_normpath _path_splitroot _path_splitroot_ex"),
    (PURE, "nt", "fspath getpid _path_normpath _path_splitroot _path_splitroot_ex"),
    (EFFECT, "datetime.datetime", "now today utcnow"),
    (EFFECT, "datetime.date", "today"),
    (EFFECT, "decimal", "getcontext setcontext localcontext"),
    (EFFECT, "_decimal", "getcontext setcontext localcontext"),
    (EFFECT, "zoneinfo.ZoneInfo", "clear_cache"),
    (STATEFUL, "", "_ctypes ctypes mmap multiprocessing.sharedctypes"),
    (EFFECT, "mmap.mmap", "__new__"),
    (STATEFUL, "_io", "BytesIO StringIO"),  # which may be made, and used for nothing that is seen
    # ---- the interpreter itself
    # A lock that is taken is given back in the same call; its state shows in no result.
    (IMMUTABLE, "_thread", "LockType RLock lock allocate allocate_lock get_ident get_native_id _ExceptHookArgs"),
    (EFFECT, "_thread", """
        _count _excepthook _get_main_thread_ident _is_main_interpreter _make_thread_handle
        _set_sentinel _shutdown _ThreadHandle daemon_threads_allowed exit exit_thread interrupt_main
        set_name stack_size start_new start_new_thread start_joinable_thread"""),
    (STATEFUL, "_thread", "_local _localdummy"),
    # A replay leaves no garbage that a collection would find.
    (PURE, "gc", "collect"),
    (EFFECT, "gc", """
        disable enable freeze get_count get_debug get_freeze_count get_objects get_referents
        get_referrers get_stats get_threshold is_finalized is_tracked isenabled set_debug
        set_threshold unfreeze"""),
    (PURE, "sys", """
        _getframe _getframemodulename exc_info exception exit getdefaultencoding
        getfilesystemencodeerrors getfilesystemencoding getprofile getrecursionlimit getsizeof gettrace intern
        is_finalizing _is_interned _is_gil_enabled audit"""),
    (EFFECT, "sys", """
        _baserepl _clear_internal_caches _clear_type_cache _current_exceptions _current_frames
        _deactivate_opcache _debugmallocstats _get_cpu_count_config _getquickenedcount _setprofileallthreads
        _settraceallthreads activate_stack_trampoline addaudithook breakpointhook call_tracing
        deactivate_stack_trampoline displayhook excepthook get_asyncgen_hooks
        get_coroutine_origin_tracking_depth get_int_max_str_digits getallocatedblocks getdlopenflags
        getrefcount getswitchinterval getunicodeinternedsize
        is_stack_trampoline_active set_asyncgen_hooks set_coroutine_origin_tracking_depth
        set_int_max_str_digits setdlopenflags setprofile setrecursionlimit setswitchinterval settrace
        unraisablehook"""),
    (PURE, "", "_imp importlib _frozen_importlib _frozen_importlib_external zipimport"),
)  # fmt: skip


def _is_exception(x: Any) -> bool:
    return isinstance(x, type) and issubclass(x, BaseException)


def _flattened() -> dict[str, str]:
    table = {f"builtins.{k}": PURE for k, v in vars(builtins).items() if _is_exception(v)}
    for effect, owner, names in _ROWS:
        for name in names.split():
            table[f"{owner}.{name}" if owner else name] = effect
    return table


EFFECTS: dict[str, str] = _flattened()

# Files whose Python code reads the world without calling C: the environment.
OS_FILES = (os.__file__, "<frozen os>")

# ---- state that is guarded: what a replay would read elsewhere ------------------------------------

# Functions of weft that code may ask for a setting: the answer is guarded.
SETTINGS = {
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode",
    "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "initial_seed",
    "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled",
}  # fmt: skip
# Settings of weft's own modules that steer what its layers do: module, class if it has them, names.
STEERING = (
    ("weft.nn.functional.attention", "AttentionBackends", ("native", "otherwise")),
    ("weft.nn.utils.parametrize", "", ("_cache_enabled",)),
    ("weft.distributions.distribution", "Distribution", ("_validate_args",)),
)


def _decimal_context() -> Any:
    c = sys.modules["decimal"].getcontext()
    return c.prec, c.rounding, c.Emin, c.Emax, c.capitals, c.clamp


# Modules whose functions read a setting, and what returns it.
GUARDED: dict[str, Callable[[], Any]] = {"decimal": _decimal_context}

# ---- what is asked of the table ------------------------------------------------------------------

# Libraries: their Python code is not followed, only what it calls in the end.
_LIBRARIES = {"weft", "torch", "torchvision", "torchtext", "torchaudio", "numpy", "scipy", "PIL"}
_LIBRARIES |= set(sys.stdlib_module_names)
_NATIVE = (
    types.BuiltinFunctionType, types.ClassMethodDescriptorType, types.MethodDescriptorType,
)  # fmt: skip


def is_library(module: str) -> bool:
    """Say whether a module is a library's: its names are known, and its code is not followed."""
    return (module or "").partition(".")[0] in _LIBRARIES and module != "__main__"


def effect_of(name: str) -> str | None:
    """Return the effect of what has a dotted name, or None if the table does not know it.

    >>> from weft.jit.effects import effect_of
    >>> effect_of("math.sqrt"), effect_of("builtins.print"), effect_of("builtins.list.append")
    ('pure', 'effect', 'pure')
    >>> effect_of("builtins.of_a_later_python") is effect_of("cv2.resize") is None
    True
    """
    while name:
        if (found := EFFECTS.get(name)) is not None:
            return found
        name = name.rpartition(".")[0]
    return None


def declare_pure(function: Any) -> None:
    """Take a C function for pure from now on: whoever calls this knows that it is.

    >>> import zlib
    >>> from weft.jit.effects import declare_pure
    >>> declare_pure(zlib.crc32)
    """
    if isinstance(function, types.BuiltinFunctionType):
        EFFECTS[name_of_call(function)] = PURE


def name_of_call(function: Any) -> str:
    """Return the name of a C function, with its module and the class that defines it.

    >>> import random
    >>> from weft.jit.effects import name_of_call
    >>> name_of_call([].append), name_of_call(random.random)
    ('builtins.list.append', '_random.Random.random')
    """
    owner, name = function.__self__, function.__name__
    if owner is None or isinstance(owner, types.ModuleType):
        module = function.__module__ or getattr(owner, "__name__", "")
        return f"{module}.{name}" if module else name
    owners = [owner, type(owner)] if isinstance(owner, type) else [type(owner)]
    bases = [base for cls in owners for base in cls.__mro__]
    for base in bases:
        found = vars(base).get(name)
        if isinstance(getattr(found, "__func__", found), _NATIVE):
            return f"{_name_of(base)}.{name}"
    return f"{_name_of(bases[0])}.{name}"


def effect_of_class(cls: type) -> str | None:
    """Return the effect of the first of a class and its bases that the table knows."""
    effects = (effect_of(_name_of(base)) for base in cls.__mro__[:-1])
    return next((effect for effect in effects if effect is not None), None)


def refusal_of_class(cls: type) -> str:
    """Return why code that can make objects of a class is refused, if it is written in C; or ""."""
    made = [vars(cls).get(key) for key in ("__new__", "__init__")]
    if not any(
        isinstance(f, (types.BuiltinFunctionType, types.WrapperDescriptorType)) for f in made
    ):
        return ""  # written in Python: its methods are followed
    return refusal(f"{_name_of(cls)}.__new__", stateful=False).replace(".__new__", "")


def refusal(name: str, stateful: bool = True) -> str:
    """Return why a call of something with this name is refused, or "".

    Args:
        name: with its module.
        stateful: also if only objects of it cannot be guarded.
    """
    effect = effect_of(name)
    if effect is None:
        return f"it is not known what {name} does besides returning a value"
    if effect == EFFECT or (effect == STATEFUL and stateful):
        return f"{name} has a side effect"
    return ""


def _name_of(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
