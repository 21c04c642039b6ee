"""Modules as data: how they were constructed, and their state; and rebuilding them from it.

In a file, a module is its class's name, the arguments it was made with, and its ``state_dict``.
The name is never looked up to run something: the class is the one that the user calls. Modules
among the arguments are made only of weft's own classes, and of those that the user's class sees.
"""

from __future__ import annotations

import inspect
import sys
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import weft
from weft.nn.module_arguments import Made, Unkept, keep
from weft.nn.parameter import is_lazy

from .common import DEEPEST, FileError, name_of
from .files import load
from .structure import Encoder

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["describe", "load_module", "make_layer"]

_PARTS = {"class", "arguments", "modules", "state_dict"}  # of a module, in a file
_LISTS = (list, tuple, set, frozenset)
_DICTS = ("dict", "OrderedDict")
_CONTAINERS: dict[str, Any] = {kind.__name__: kind for kind in (*_LISTS, dict, OrderedDict)}
_NEEDED = (  # kinds of parameters that need a value, unless they have a default
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)


# ---- to a file ----------------------------------------------------------------------------------


def describe(module: Any) -> dict[str, Any]:
    """Return a module as data: how it was made, and its state.

    >>> from weft.serialization.modules import describe
    >>> made = describe(weft.nn.Linear(2, 3))
    >>> made["class"], made["arguments"]["out_features"]
    ('weft.nn.Linear', ('data', 3))
    """
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if is_lazy(tensor):
            raise ValueError(
                f"{type(module).__name__}: {name!r} has no shape yet: call the module once before "
                "it is saved"
            )
    describer = _Describer(module)
    made = describer.made_by(module._made or Made((None, type(module), (), None)))
    return {**made, "modules": describer.modules, "state_dict": module.state_dict()}


class _Describer:
    """Turns the record of a module into data."""

    def __init__(self, root: Any) -> None:
        self.modules: list[Any] = []  # those among the arguments, each once
        self.numbers: dict[int, int] = {}
        self.in_state = {id(m._made) for m in root.modules()}

    def made_by(self, made: Made) -> dict[str, Any]:
        """The class and the arguments of a module; None if the class keeps these to itself."""
        args, kwargs = self.current(made)
        passed_on = made.cls.__new__ is weft.nn.Module.__new__ and kwargs is not None
        known = args or kwargs or passed_on
        values = _named(made.cls, args, kwargs) if known else None
        if values is not None:
            values = {name: self.encode(value) for name, value in values.items()}
        return {"class": class_name(made.cls), "arguments": values}

    def current(self, made: Made) -> tuple[Any, Any]:
        """The arguments; of a container, those that would make it as it is now."""
        owner = next((k for k in made.cls.__mro__ if "_arguments_now" in vars(k)), None)
        if owner is None or made.module is None or made.cls.__init__ is not owner.__init__:
            return made.args, made.kwargs
        return keep(made.module._arguments_now()), {}

    def encode(self, x: Any) -> tuple[Any, ...]:
        """Return a pair of what it is and what stands for it."""
        kind = type(x)
        if kind is Made:
            return "module", self.number(x)
        if kind is Unkept:
            return "unkept", x.text
        if isinstance(x, type):
            return "class", class_name(x)
        if kind in _LISTS:
            items = [self.encode(item) for item in x]
            plain = all(item[0] == "data" for item in items)
            return ("data", x) if plain else (kind.__name__, items)
        if isinstance(x, dict):
            pairs = [(self.encode(key), self.encode(value)) for key, value in x.items()]
            plain = all(item[0] == "data" for pair in pairs for item in pair)
            return ("data", x) if plain else (kind.__name__, pairs)
        if callable(x) and not isinstance(x, weft.Tensor):
            name = _name_of_function(x)
            return ("unkept", f"the function {x.__name__}") if name is None else ("function", name)
        return ("data", x) if _is_data(x) else ("unkept", f"an object of type {kind.__name__}")

    def number(self, made: Made) -> int:
        """The place of a module among the arguments in ``modules``."""
        if id(made) not in self.numbers:
            entry: dict[str, Any] = {"state_dict": None}
            if id(made) not in self.in_state and made.module is not None:
                entry["state_dict"] = made.module.state_dict()  # the root's has it not
                self.in_state |= {id(m._made) for m in made.module.modules()}
            entry |= self.made_by(made)
            self.numbers[id(made)] = len(self.modules)
            self.modules.append(entry)
        return self.numbers[id(made)]


def _signature(cls: Any) -> dict[str, inspect.Parameter]:
    """The parameters of a class's constructor, without self."""
    return dict(list(inspect.signature(cls.__init__).parameters.items())[1:])


def _is_data(x: Any) -> bool:
    """Whether an argument, which is no container, can be saved."""
    try:
        Encoder().encode(x)
    except (TypeError, ValueError):
        return False
    return True


def _named(cls: Any, args: Any, kwargs: Any) -> dict[str, Any] | None:
    """Return arguments by name, with the defaults of those not given, as far as these are data."""
    parameters = _signature(cls)
    try:
        found = inspect.Signature(list(parameters.values())).bind(*args, **kwargs).arguments
    except TypeError:  # a decorated __init__, which shows other parameters than it has
        return None
    for name, parameter in parameters.items():
        if name not in found and parameter.default is not inspect.Parameter.empty:
            (kept,) = keep([parameter.default])
            if not isinstance(kept, (Unkept, type)) and not callable(kept):
                found[name] = kept
    return dict(found)


def class_name(cls: type[Any]) -> str:
    """Return the name of a class in files: ``weft.nn.Linear``, or its own for a user's."""
    own = getattr(weft.nn, cls.__name__, None) is cls
    return f"weft.nn.{cls.__name__}" if own else cls.__qualname__


def _name_of_function(f: Any) -> str | None:
    """The name of one of weft's functions in files, if it is one that can be found again."""
    for start in ("weft.", "weft.nn.functional."):
        name = start + str(getattr(f, "__name__", ""))
        if _function(name) is f:
            return name
    return None


def _function(name: str) -> Any:
    """One of weft's ops, or of the functions of layers; None for any other name."""
    place, _, last = name.rpartition(".")
    if place == "weft" and isinstance(found := vars(weft).get(last), weft._C.Op):
        return found
    if place == "weft.nn.functional":
        found = vars(weft.nn.functional).get(last)
        own = str(getattr(found, "__module__", "")).startswith("weft.nn.functional")
        return found if own and inspect.isfunction(found) else None
    return None


# ---- from a file --------------------------------------------------------------------------------


def load_module(path: Any, cls: Any, strict: bool, given: dict[str, Any]) -> tuple[Any, Any]:
    """Return the module of a class that a file holds, and what else is in the file.

    Args:
        path: the file.
        cls: the class.
        strict: as in ``load_state_dict``.
        given: arguments in place of those in the file.
    """
    what = f"{cls.__name__}.load_from_checkpoint: {name_of(path)}"
    content = load(path)
    part = _find_part(content, cls, what)
    module = _Maker(content[part], cls, what).make(given, strict)
    return module, {name: value for name, value in content.items() if name != part}


def make_layer(described: Any, what: str) -> Any:
    """Return a new layer of weft's from what ``describe`` said of one, without its state.

    >>> from weft.serialization.modules import describe, make_layer
    >>> make_layer(describe(weft.nn.Linear(2, 3)), "a file")
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not isinstance(described, dict) or not _PARTS - {"state_dict"} <= set(described):
        raise FileError(f"{what}: {described!r:.100} does not describe a layer")
    name, arguments = described["class"], described["arguments"]
    cls = vars(weft.nn).get(str(name).removeprefix("weft.nn.")) if isinstance(name, str) else None
    if not (isinstance(cls, type) and issubclass(cls, weft.nn.Module)) or class_name(cls) != name:
        raise FileError(f"{what}: {name!r:.100} is no layer of weft's")
    if not isinstance(arguments, dict):
        raise FileError(f"{what}: {name}: its arguments are not known")
    maker = _Maker(described, cls, what)
    try:
        return maker.call(cls, {key: maker.decode(value) for key, value in arguments.items()})
    except _Absent as e:
        raise FileError(f"{what}: {name} was made with {e}") from None
    except FileError:
        raise
    except Exception as e:  # what a layer says of its arguments
        raise FileError(f"{what}: {name} cannot be made: {type(e).__name__}: {e!s:.200}") from None


def _find_part(content: Any, cls: Any, what: str) -> str:
    """Return under which name a file holds a module of a class."""
    parts = content if isinstance(content, dict) else {}
    modules = {k: v for k, v in parts.items() if isinstance(v, dict) and _PARTS <= set(v)}
    fitting = [name for name, value in modules.items() if value["class"] == class_name(cls)]
    if len(fitting) == 1 or "model" in fitting:
        return "model" if "model" in fitting else fitting[0]
    if fitting:
        raise FileError(f"{what}: several modules of this class: {', '.join(fitting)}")
    if not modules:
        raise FileError(
            f"{what}: not a file of save_checkpoint or TrainingState: weft.load reads it, and "
            "load_state_dict takes what it returns"
        )
    held = [f"{value['class']!s:.100}" for value in modules.values()]
    raise FileError(
        f"{what}: the file holds a module of class {' and one of '.join(held)}, not of class "
        f"{class_name(cls)}: call {held[0]}.load_from_checkpoint"
    )


class _Absent(Exception):
    """A value that a file does not hold; says what it was."""


class _Maker:
    """Makes a module from its description, which it does not trust."""

    def __init__(self, described: Any, cls: Any, what: str) -> None:
        self.described, self.cls, self.what = described, cls, what
        self.scope = [cls]  # classes whose files name others that may be made
        self.made: dict[int, Any] = {}
        self.depth = 0

    def make(self, given: dict[str, Any], strict: bool) -> Any:
        """Make the module, with some arguments in place of the file's, and load its state."""
        values, absent = dict(given), {}
        saved = self.described["arguments"]
        if saved is None and not given:
            raise TypeError(
                f"{self.what}: the file does not know the arguments, because the class has a "
                "__new__ that did not pass them on to super().__new__(cls, *args, **kwargs), or an "
                "__init__ that does not show its parameters. Pass them: load_from_checkpoint(path, "
                "name=...)"
            )
        saved = {} if saved is None else saved
        if not isinstance(saved, dict):
            self.damaged(saved)
        for name, x in saved.items():
            if name not in given:
                try:
                    values[name] = self.decode(x)
                except _Absent as e:
                    absent[name] = str(e)
        if absent:
            was = "; ".join(f"{name} ({text})" for name, text in absent.items())
            names = ", ".join(f"{name}=..." for name in absent)
            raise TypeError(
                f"{self.what}: it was made with what a file cannot hold: {was}. "
                f"Pass it again: load_from_checkpoint(path, {names})"
            )
        module = self.call(self.cls, values)
        self.load_state(module, self.described["state_dict"], strict)
        return module

    def call(self, cls: Any, values: dict[str, Any]) -> Any:
        """Call a class with arguments by name."""
        parameters, others = _signature(cls), dict(values)
        found: OrderedDict[str, Any] = OrderedDict()
        for name, parameter in parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                named = others.pop(name, {})
                found[name] = (
                    {**named, **others} if isinstance(named, dict) else self.damaged(named)
                )
                others = {}
            elif name in others:
                found[name] = others.pop(name)
                if parameter.kind is parameter.VAR_POSITIONAL and type(found[name]) is not tuple:
                    raise TypeError(f"{self.what}: {name} must be a tuple of arguments")
            elif parameter.default is parameter.empty and parameter.kind in _NEEDED:
                raise TypeError(
                    f"{self.what}: the file has no {name!r}, which {cls.__name__}() needs: pass it, "
                    f"as in load_from_checkpoint(path, {name}=...)"
                )
        if others:
            names = ", ".join(map(repr, others))
            raise TypeError(f"{self.what}: {cls.__name__}() takes no argument {names}")
        signature = inspect.Signature(list(parameters.values()))
        bound = inspect.BoundArguments(signature, found)
        return cls(*bound.args, **bound.kwargs)

    def damaged(self, x: Any) -> NoReturn:
        raise FileError(f"{self.what}: {x!r:.100} does not describe an argument")

    def decode(self, x: Any) -> Any:
        """Return what a pair stands for."""
        if not isinstance(x, tuple) or len(x) != 2 or not isinstance(x[0], str):
            self.damaged(x)
        kind, value = x
        if kind == "data":
            return value
        if kind in _CONTAINERS and isinstance(value, list):
            if kind in _DICTS and not all(type(v) is tuple and len(v) == 2 for v in value):
                self.damaged(x)
            items = [
                (self.decode(item[0]), self.decode(item[1]))
                if kind in _DICTS
                else self.decode(item)
                for item in value
            ]
            try:
                return _CONTAINERS[kind](items)
            except TypeError:  # a key that cannot be one
                self.damaged(x)
        if kind == "module" and type(value) is int:
            return self.module(value)
        if isinstance(value, str):
            if kind == "class":
                return self.find_class(value)
            if kind == "function":
                return _function(value) or self.absent(
                    f"the function {value}, which weft does not have"
                )
            if kind == "unkept":
                self.absent(value)
        self.damaged(x)

    def absent(self, text: str) -> NoReturn:
        raise _Absent(f"{text:.200}")

    def module(self, number: int) -> Any:
        """Return a module among the arguments, each made once."""
        modules = self.described["modules"]
        if not isinstance(modules, list) or not 0 <= number < len(modules):
            self.damaged(("module", number))
        if number in self.made:
            return self.made[number]
        entry, self.depth = modules[number], self.depth + 1
        if (
            self.depth > DEEPEST
            or not isinstance(entry, dict)
            or set(entry) != _PARTS - {"modules"}
        ):
            self.damaged(entry)
        name, arguments, state = (entry[part] for part in ("class", "arguments", "state_dict"))
        if not isinstance(name, str) or not isinstance(arguments, (dict, type(None))):
            self.damaged(entry)
        cls = self.find_class(name)
        if arguments is None:
            self.absent(f"a {name}, whose arguments are not known")
        made = self.call(cls, {key: self.decode(value) for key, value in arguments.items()})
        if state is not None:
            self.load_state(made, state)
        self.made[number], self.depth = made, self.depth - 1
        return made

    def load_state(self, module: Any, state: Any, strict: bool = True) -> None:
        """Load a ``state_dict`` in the dtypes that it has."""
        if not isinstance(state, dict):
            self.damaged(state)
        for name, tensor in module.state_dict(keep_vars=True).items():
            saved = state.get(name)
            if isinstance(tensor, weft.Tensor) and isinstance(saved, weft.Tensor):
                if not is_lazy(tensor) and tensor.dtype != saved.dtype:
                    tensor.data = tensor.data.to(saved.dtype)
        module.load_state_dict(state, strict)

    def find_class(self, name: str) -> Any:
        """Return a class of weft.nn, or one that a file of the classes in use names."""
        found: Any = None
        if name.startswith("weft.nn."):
            found = vars(weft.nn).get(name.removeprefix("weft.nn."))
        for cls in self.scope if found is None else ():
            seen = vars(sys.modules.get(cls.__module__, object)).values()
            classes = (c for c in (cls, *seen) if isinstance(c, type) and c.__qualname__ == name)
            found = next(classes, None) if found is None else found
        if not (isinstance(found, type) and issubclass(found, weft.nn.Module)):
            self.absent(
                f"a {name:.100}, a class that is not weft's and that the file of "
                f"{self.cls.__name__} does not name"
            )
        if found.__module__ not in {cls.__module__ for cls in self.scope}:
            self.scope.append(found)
        return found
