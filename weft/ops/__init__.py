"""Ops written in Python: compositions of native ops, and primitives around libraries.

``@op`` makes a plain function of tensors an op: a function of weft, a method of Tensor if asked,
its in-place twin and ``out=`` derived. ``@primitive`` declares an op with a shape rule, a NumPy
body and a derivative.
``registry()`` lists every op, native or not.
"""

from __future__ import annotations

import weft
from weft import _C
from weft._C import Tensor
from weft._environment import at_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_composed: dict[str, OpInfo] = {}
_functions: dict[str, Any] = {}
_cast_lists: dict[str, int] = {}  # filled by weft.amp.lists when autocast is first used
__all__: list[str] = []


class OpInfo:
    """What weft knows of an op, for tests, docs and tools."""

    name: str
    signatures: list[str]
    doc: str
    derivative: bool | str  # True, or the reason why there is none
    inplace: bool
    out: bool
    method: bool
    view: bool
    kind: str  # "primitive" or "composed"

    def __init__(self, **fields: Any) -> None:
        """Take the fields as they are."""
        for name, value in fields.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        """Return the name and the signatures."""
        return f"OpInfo({self.name}: {'; '.join(self.signatures)})"


def op(
    *,
    name: str | None = None,
    method: bool = True,
    function: bool = True,
    inplace: bool = False,
    out: bool = False,
    casts_out: bool = False,
    creation: bool = False,
    aliases: tuple[str, ...] = (),
    derivative: bool | str = True,
    direct: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function of tensors an op made of other ops.

    ``derivative`` is True (it comes from the parts) or the reason why there is none. With
    ``out=True`` the op takes ``out=`` and copies its result there, with ``casts_out=True`` also
    into another dtype; with ``inplace=True`` ``name_`` is derived; with ``creation=True`` it takes
    ``device=, layout=, requires_grad=, pin_memory=``, and ``out=`` for ``dtype=``. ``direct`` is for
    functions that call one native op at once: arguments and errors are that op's.
    """

    def declare(f: Callable[..., Any]) -> Callable[..., Any]:
        base = name or f.__name__.rstrip("_")
        typed = not base.startswith("nn_functional_")  # layers of users may be looser
        of_tensors = method and not function
        g = _creating(f) if creation else f
        g = g if direct else _named(g, _public_name(base), typed, of_tensors, base)
        g = _with_out(g, base, casts_out, creation) if out else g
        for n in (base, *aliases):
            if function:
                setattr(weft, n, g)
                _functions[n] = g
                __all__.append(n)
            if method:
                setattr(Tensor, n, g)
            if inplace:
                twin = _inplace_twin(f, n)
                if method:
                    setattr(Tensor, n + "_", twin)
                if function:
                    setattr(weft, n + "_", twin)
                    _functions[n + "_"] = twin
                    __all__.append(n + "_")
        _composed[base] = OpInfo(
            name=base, signatures=[_signature(g, base)], doc=f.__doc__ or "", derivative=derivative,
            inplace=inplace, out=out, method=method, view=False, kind="composed",
        )  # fmt: skip
        return g

    return declare


def _public_name(base: str) -> str:
    """Return an op's name as users write it: ``linalg.inv`` for ``linalg_inv``."""
    for family in ("linalg_", "fft_", "special_", "signal_windows_"):
        if base.startswith(family):
            return family.replace("_", ".") + base.removeprefix(family)
    return base.removeprefix("nn_functional_")


def _alike(g: Callable[..., Any], f: Callable[..., Any]) -> Callable[..., Any]:
    g.__name__, g.__qualname__, g.__doc__ = f.__name__, f.__qualname__, f.__doc__
    g.__module__, g.__wrapped__ = f.__module__, f  # type: ignore[attr-defined]
    g.__annotations__ = f.__annotations__
    return g


_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}


def _is_whole(x: Any) -> bool:
    if isinstance(x, Tensor):
        return not (x.shape or x.is_floating_point() or x.is_complex() or x.dtype == weft.bool)
    return hasattr(x, "__index__") and not isinstance(x, bool)


def _is_real(x: Any) -> bool:
    return not (isinstance(x, Tensor) and x.shape) and hasattr(x, "__float__")


_KINDS: dict[str, tuple[set[type], Callable[[Any], bool]]] = {  # annotations arguments are held to
    "Tensor": ({Tensor}, lambda x: isinstance(x, Tensor)),
    "bool": ({bool}, lambda x: type(x).__module__ == "numpy"),
    "int": ({int}, _is_whole),
    "float": ({float, int, bool}, _is_real),
}


class _Parameters:
    """The parameters of a function written in Python, and what their annotations ask for."""

    def __init__(self, f: Callable[..., Any], name: str, method_only: bool) -> None:
        """Read the annotations that name a kind, which may allow None."""
        self.name, self.names = name, _parameters(f)
        self.kinds: dict[str, tuple[str, set[type], Callable[[Any], bool]]] = {}
        for parameter, annotation in f.__annotations__.items():
            kind, _, rest = str(annotation).partition(" | ")
            if kind in _KINDS and rest in ("", "None") and parameter != "return":
                types, fits = _KINDS[kind]
                self.kinds[parameter] = kind, types | ({type(None)} if rest else set()), fits
        if method_only:  # what it is a method of is a Tensor
            self.kinds.pop(self.names[0], None)
        self.places = [self.kinds.get(name) for name in self.names]
        self.starred = next((i for i, name in enumerate(self.names) if name[0] == "*"), None)

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Raise a TypeError for the first argument that is not of its kind.

        True: their types alone say so, and they are few.
        """
        by_type = len(args) <= len(self.names)
        for i, (value, asked) in enumerate(zip(args, self.places)):
            if asked and type(value) not in asked[1]:
                by_type = False
                if not asked[2](value):
                    self.refuse(self.names[i], value)
        for parameter, value in kwargs.items():
            asked = self.kinds.get(parameter)
            if asked and type(value) not in asked[1] and not asked[2](value):
                self.refuse(parameter, value)
        if self.starred is not None and self.names[self.starred][1:] in self.kinds:
            parameter = self.names[self.starred][1:]
            for value in args[self.starred :]:
                if not self.kinds[parameter][2](value):
                    self.refuse(parameter, value)
        return by_type

    def refuse(self, parameter: str, value: Any) -> None:
        """Raise the TypeError for an argument."""
        raise TypeError(
            at_line(
                f"{self.name}: argument '{parameter}' must be {self.kinds[parameter][0]}, "
                f"not {type(value).__name__}"
            )
        )

    def renamed(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return keyword arguments under our names where a caller used NumPy's."""
        return {
            _NUMPY_NAMES[k] if _NUMPY_NAMES.get(k) in self.names else k: v
            for k, v in kwargs.items()
        }


_hidden: set[str] = set()  # names of native ops that are parts of others, once an error asked


def _with_name(text: str, name: str) -> str:
    """Return an error's text with the op that the user called, in the place of a part of it.

    >>> from weft.ops import _with_name
    >>> _with_name("convolve: no channels", "conv2d"), _with_name("conv2d: none", "conv2d")
    ('conv2d: no channels', 'conv2d: none')
    """
    if not _hidden:
        _hidden.update(row["base"] for row in _C._ops() if row["hidden"])
    part, colon, rest = text.partition(": ")
    if part != name and colon and part in _hidden:
        text = rest
    return text if name in text.partition("\n  at ")[0] else f"{name}: {text}"


def _named(
    f: Callable[..., Any],
    name: str,
    typed: bool = False,
    method_only: bool = False,
    base: str | None = None,
) -> Callable[..., Any]:
    """Let errors of the parts name the op that the user called, and the line of the call.

    With ``typed``, arguments are held to the annotations, and NumPy's names for ``dim`` and
    ``keepdim`` are understood. ``base`` is its name on the lists of autocast.
    """
    read: list[_Parameters] = []  # on the first call
    fine: set[tuple[type, ...]] = set()  # types of positional arguments that passed the check

    def parameters() -> _Parameters:
        if not read:
            read.append(_Parameters(f, name, method_only))
        return read[0]

    asks = typed  # until a call shows that no argument is held to anything

    def checked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        nonlocal asks
        asked = parameters()
        asks = bool(asked.kinds)
        if kwargs and not _NUMPY_NAMES.keys().isdisjoint(kwargs):
            kwargs = asked.renamed(kwargs)
        if asks and asked.check(args, kwargs) and not kwargs:
            fine.add((*map(type, args),))
        return kwargs

    def g(*args: Any, **kwargs: Any) -> Any:
        try:
            if (typed and kwargs) or (asks and (*map(type, args),) not in fine):
                kwargs = checked(args, kwargs)
            if _cast_lists and base in _cast_lists and _C._autocast_enabled():
                from weft.amp.lists import run_cast

                return run_cast(_cast_lists[base], f, args, kwargs)
            return f(*args, **kwargs)
        except (RuntimeError, IndexError, ValueError, TypeError) as e:
            if e.args and isinstance(e.args[0], str):
                e.args = (at_line(_with_name(e.args[0], name)), *e.args[1:])
            raise
        except AttributeError:
            parameters().check(args, kwargs)
            raise

    return _alike(g, f)


def _creating(f: Callable[..., Any]) -> Callable[..., Any]:
    def g(
        *args: Any,
        device: Any = None,
        layout: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **kwargs: Any,
    ) -> Any:
        if device is not None or layout is not None or pin_memory:  # a native op checks them
            weft.empty(0, device=device, layout=layout, pin_memory=pin_memory)
        with weft.no_grad():
            t = f(*args, **kwargs)
        return t.requires_grad_() if requires_grad else t

    return _alike(g, f)


def _parameters(f: Callable[..., Any]) -> list[str]:
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    code = f.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = [*code.co_varnames[:count]]
    if code.co_flags & 4:  # takes *args
        names.insert(code.co_argcount, "*" + code.co_varnames[count])
    return names


def _signature(f: Callable[..., Any], name: str) -> str:
    return f"{name}({', '.join(_parameters(f))})"


def _write(out: Any, result: Any, name: str, casts: bool = False) -> Any:
    if not isinstance(result, tuple):
        return _write((out,), (result,), name, casts)[0]
    if len(out) != len(result):
        raise RuntimeError(f"{name}: out= needs {len(result)} tensors, got {len(out)}")
    for target, value in zip(out, result):
        _C._check_out(target, value, name, casts)
    for target, value in zip(out, result):
        if target.shape != value.shape:
            target.resize_(value.shape)
        target.copy_(value)
    return getattr(type(result), "_make", type(result))(out)


def _with_out(f: Callable[..., Any], name: str, casts: bool, creation: bool) -> Callable[..., Any]:
    def g(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is None:
            return f(*args, **kwargs)
        if creation:
            asked = kwargs.get("dtype")
            if asked not in (None, out.dtype):
                raise RuntimeError(
                    at_line(f"{name}: dtype={asked} is not the dtype of out=, {out.dtype}")
                )
            kwargs["dtype"] = out.dtype
        return _write(out, f(*args, **kwargs), name, casts)

    return _alike(g, f)


def _inplace_twin(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    def twin(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        recorded = self.requires_grad and _C._grad_enabled()  # the parts may keep their input
        result = f(self.clone() if recorded else self, *args, **kwargs)
        if result.shape != self.shape:
            raise RuntimeError(
                f"{name}_: output with shape {list(self.shape)} doesn't match the broadcast shape "
                f"{list(result.shape)}"
            )
        if not weft.can_cast(result.dtype, self.dtype):
            raise RuntimeError(
                f"{name}_: result type {result.dtype} can't be cast to the desired output type "
                f"{self.dtype}"
            )
        return self.copy_(result)

    twin.__name__ = twin.__qualname__ = name + "_"
    twin.__doc__ = f"In-place twin of ``{name}``."
    return twin


_tuples: dict[str, Any] = {}


def named_tuple(name: str, **fields: Any) -> Any:
    """Return a tuple with named fields; its type is made on first use."""
    if name not in _tuples:
        from collections import namedtuple  # a slow import

        _tuples[name] = namedtuple(name, list(fields))
    return _tuples[name](*fields.values())


class Ctx:
    """What the backward of a primitive reads: its arguments, kept inputs and results by name."""

    def __init__(
        self, grad: Any, names: list[str], keeps: dict[str, Any], tensors: dict[str, int]
    ) -> None:
        """Remember where each name is to be found."""
        self._grad, self._names, self._keeps, self._tensors = grad, names, keeps, tensors
        self.create_graph = grad.create_graph

    def __getattr__(self, name: str) -> Any:
        """Return a kept tensor or an argument."""
        if name in self._keeps:
            kind, i = self._keeps[name]
            value = self._grad.x(i) if kind == "x" else self._grad.y(i)
        elif name in self._tensors:
            raise AttributeError(f"{name} was not kept: name it in keeps")
        elif name in self._names:
            value = self._grad.arg(self._names.index(name))
        else:
            raise AttributeError(name)
        self.__dict__[name] = value
        return value

    def needs(self, name: str) -> bool:
        """Say whether a tensor argument wants a gradient."""
        return self._grad.needs(self._tensors[name])

    def shape(self, name: str) -> Any:
        """Return the shape of a tensor argument that wants a gradient."""
        return self._grad.shape(self._tensors[name])


def primitive(signature: str) -> Callable[[Any], Any]:
    """Declare an op around a library: see docs/one_op.md for the form.

    A form without ``run`` has its kernel in C++ (``Kernel`` in ``csrc/ops/lapack.h``), by its name.
    """
    base = signature[: signature.index("(")]
    inside = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    parts = [p.strip() for p in inside.split(", ") if p.strip() != "*"]
    names = [p.split(" ")[1].partition("=")[0] for p in parts]
    tensors = {
        n: i for i, n in enumerate(n for n, p in zip(names, parts) if p.startswith("Tensor"))
    }
    returns = signature[signature.rindex("->") + 2 :].strip()
    results = (
        ["result"]
        if returns == "Tensor"
        else [p.strip().split(" ")[1] for p in returns[1:-1].split(",")]
    )

    def declare(form: Any) -> Any:
        keeps, mask = {}, 0
        for n in getattr(form, "keeps", ()):
            if n in tensors:
                keeps[n], mask = ("x", tensors[n]), mask | 1 << tensors[n]
            else:
                keeps[n], mask = ("y", results.index(n)), mask | 1 << (16 + results.index(n))

        def run(outs: tuple[Tensor, ...], args: tuple[Any, ...]) -> None:
            import numpy

            arrays = [numpy.asarray(a.detach()) if isinstance(a, Tensor) else a for a in args]
            for target, value in zip(outs, form.run(*arrays)):
                target.copy_(_C._from_buffer(numpy.asarray(value)))

        backward = None
        if hasattr(form, "backward"):

            def backward(grad: Any) -> tuple[Any, ...]:
                ctx = Ctx(grad, names, keeps, tensors)
                gs = [
                    grad.g(i) if len(results) == 1 or grad.has_g(i) else None
                    for i, _ in enumerate(results)
                ]
                got = form.backward(ctx, *gs)
                return tuple(got) if isinstance(got, (tuple, list)) else (got,)

        family = base.partition(".")[0]
        named = _public_name(family)
        _C._declare_op(
            signature, form.__doc__ or "", _named(form.infer, named),
            _named(run, named) if hasattr(form, "run") else None, backward, mask,
            getattr(form, "no_derivative", ""),
        )  # fmt: skip
        if family in _cast_lists:
            _C._put_on_autocast_list(family, _cast_lists[family])
        return _C._op_function(family)

    return declare


def registry() -> dict[str, OpInfo]:
    """Return every public op by name.

    >>> weft.ops.registry()["tanh"].derivative
    True
    """
    for part in ("linalg", "fft", "signal", "nn", "svd_lowrank", "segment_reduce"):
        getattr(weft, part)  # loads what declares ops
    infos: dict[str, OpInfo] = {}
    rows = [r for r in _C._ops() if not r["hidden"] and not r["base"].startswith("_")]
    for row in sorted(
        rows, key=lambda r: r["name"] != r["base"]
    ):  # the plain overload speaks first
        info = infos.get(row["base"])
        if info is None:
            doc = row["doc"]
            if row["pointwise"] and ">>>" not in doc:
                doc += "\n\n" + _example(row)
            infos[row["base"]] = OpInfo(
                name=row["base"], signatures=[row["signature"]], doc=doc,
                derivative=True if row["derivative"] or row["composed"] else row["no_derivative"],
                inplace=row["inplace"], out=row["out"], method=row["method"], view=row["view"],
                kind="composed" if row["composed"] else "primitive",
            )  # fmt: skip
        else:
            info.signatures.append(row["signature"])
            info.inplace = info.inplace or row["inplace"]
            info.out = info.out or row["out"]
    for name, info in infos.items():  # properties and twins written in Python count too
        info.method = hasattr(Tensor, name)
        info.inplace = hasattr(Tensor, name + "_")
    return {**infos, **_composed}


def _signature_of_native(op: Any) -> Any:
    from weft.ops.signatures import signature_of

    return signature_of(op)


_C.Op.__signature__ = property(_signature_of_native)  # what inspect.signature asks for


def _example(row: dict[str, Any]) -> str:
    count = row["signature"].split(") ->")[0].count("Tensor")
    whole = "bit" in row["base"] or row["base"] in ("gcd", "lcm")
    args = ", ".join([f"weft.tensor({'[1, 2]' if whole else '[0.5, 0.25]'})"] * count)
    if row["base"] == "where":
        args = "weft.tensor([True, False]), 1.0, weft.zeros(2)"
    return f">>> result = weft.{row['base']}({args})"


# The families. Each module declares its ops as it is imported.
from . import (  # noqa: E402, F401
    activation,
    compare,
    convert,
    copies,
    create,
    decompositions,
    einsum,
    fake_quantize,
    index,
    join,
    linalg,
    memory,
    order,
    shape,
    sparse,
    spectrum,
    statistics,
    windows,
)


def __getattr__(name: str) -> Any:
    """Load what few programs use when it is first asked for."""
    if name != "aten":
        raise AttributeError(f"module 'weft.ops' has no attribute {name!r}")
    from importlib import import_module

    return import_module("weft.ops.aten")


globals().update(_functions)  # a module of the same name (einsum) must not hide its op
