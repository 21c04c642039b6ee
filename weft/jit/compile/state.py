"""What Python holds that a function can see: values that a captured call was made with.

A captured call is made again only while they are the same; and what the call itself changes among
them cannot be made again without Python. What cannot be watched is named, and nothing is captured.
"""

from __future__ import annotations

import builtins
import collections
import functools
import operator
import sys
import types
import weakref

import weft
from weft import _C

from .code import names_in, names_of_getter
from .places import Held, Looked, Remembering, Space, content_of, registry_of, slots_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from weft import Tensor

__all__ = ["State"]

_SIMPLE = (int, float, complex, str, bytes, bool, type(None), weft.dtype)
_MOST = 20_000  # values that are watched
_OWN = __name__.partition(".")[0]
_LIBRARIES = {_OWN, "torch", "torchvision", "torchtext", "torchaudio", "numpy", "scipy", "PIL"}
_LIBRARIES |= set(sys.stdlib_module_names)

# Objects of these never change, or what they do is seen when it is done (watch.py).
_CONSTANT = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.MethodWrapperType, types.ClassMethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.CodeType, types.GenericAlias, range, slice, type(...),
    type(NotImplemented), type(collections.namedtuple("_", "x").x),  # type: ignore[attr-defined]
)  # fmt: skip
_CONSTANT_MODULES = {
    "_abc", "_io", "_operator", "_thread", "abc", "datetime", "decimal", "enum", "fractions",
    "inspect", "io", "operator", "pathlib", "re", "typing", "uuid", "zoneinfo",
}  # fmt: skip
_CONSTANT_NUMPY = {"generic", "dtype", "ufunc", "_ArrayFunctionDispatcher"}
_NOTHING = object()  # in a slot
_MUTABLE = 1 << 9  # a class that Python made: others cannot be changed
_TABLES = {"_parameters", "_buffers", "_modules"}  # of a module
_KEPT = {"defaults", "load_state_dict", "param_groups", "state", "state_dict"}  # by an optimiser
_PLACES = {"storage_offset", "data_ptr", "untyped_storage"}
_STATEFUL = {  # whose state is not in their attributes
    "_ctypes", "_random", "_thread._local", "multiprocessing.sharedctypes", "random",
}  # fmt: skip
_DYNAMIC = (getattr, hasattr, vars, dir, globals)  # which look for names that nobody can see
_SETTINGS = {  # of weft, that code may ask for
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode",
    "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "initial_seed",
    "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled",
}  # fmt: skip
# Settings of weft's own modules that steer what its layers do: module, class if it has them, names.
_STEERING = (
    ("weft.nn.functional.attention", "Ways", ("native", "otherwise")),
    ("weft.nn.utils.parametrize", "", ("_cache_enabled",)),
    ("weft.distributions.distribution", "Distribution", ("_validate_args",)),
)


class State:
    """The values that a function can reach from its globals, closure, methods and arguments."""

    def __init__(self, func: Any, args: Iterable[Any]) -> None:
        """Look at everything once."""
        self.held: list[Held] = []
        self.options: list[Held] = []  # of optimisers: their steps may read them anew
        self.reads_options = False  # the function itself looks at them
        self.optimizers: list[Any] = []
        self.unseen = ""  # what cannot be watched
        self.seen: set[int] = set()  # the ids of all that was looked at
        self.tensors: dict[int, Tensor] = {}  # that it can reach, by id
        self.looked: list[Looked] = []  # tensors that it may look at without an op
        self.tells_apart = False  # it asks whether two things are the same object
        self._names: set[str] = set()
        self._prefixes: set[str] = set()  # how names begin that it computes
        self._looks = False  # at all attributes of objects
        self._imports: set[str] = set()
        self._passed: set[int] = set()  # modules and classes of which it may look for any name
        self._globals: dict[int, tuple[Any, set[str]]] = {}  # dicts of modules, and names not there
        self._waiting: list[tuple[Any, str]] = [(func, getattr(func, "__name__", "the function"))]
        self._waiting += [(a, "an argument") for a in args if not isinstance(a, weft.Tensor)]
        self._spaces: list[Space] = []  # of them only what code names
        self._types: set[type] = set()
        self._closed: set[type] = set()  # of libraries
        self._drawn: list[
            tuple[Any, str, str]
        ] = []  # NumPy's generators: it must not draw from them
        self._opaque: list[tuple[str, str]] = []  # what cannot be watched, and what may name it
        self._visit_class(weft.Tensor, "Tensor")
        self._visit_all()
        self._hold_missing()
        self._hold_settings()
        for attribute, reason in self._opaque:
            computed = attribute.startswith(tuple(self._prefixes))
            if computed or attribute in self._names or not attribute.isidentifier():
                self.unseen = self.unseen or reason
        if places := self._names & _PLACES:
            self.unseen = self.unseen or f"it looks at {places.pop()}(): where a tensor lies"
        self.reads_options = bool(self._names & {"param_groups", "get_last_lr", "get_lr"})
        # What was only needed for looking is not kept as long as what was found.
        del self._spaces, self._globals, self._types, self._closed, self._passed

    @property
    def begins(self) -> bool:
        """Whether an optimiser had no state of a parameter, and has one now: for good."""
        return any(h.absent and not h.holds() for h in self.options)

    def changed(self) -> str:
        """Return the name of something that is not as it was, or nothing."""
        drawn = (f"the state of {name}" for g, state, name in self._drawn if _drawn(g) != state)
        watched: list[Held | Looked] = [*self.held, *self.looked]
        places = (h.name for h in watched if not h.holds())
        return next(places, "") or next(drawn, "")

    # ---- the walk ------------------------------------------------------------------------------

    def _visit_all(self) -> None:
        """Look at everything, until no name and no value is found that was not known."""
        known = -1
        while not self.unseen and (self._waiting or known != self._known()):
            if len(self.held) > _MOST:
                self.unseen = "it can see too many Python values to watch them all"
            elif self._waiting:
                self._visit(*self._waiting.pop())
            else:
                known = self._known()
                self._visit_names()

    def _known(self) -> int:
        """Return a number that grows when a name is found, or where to look for names."""
        names = len(self._names) + len(self._prefixes) + len(self._passed) + self._looks
        return names + len(self._spaces)

    def _hold(self, where: Any, key: Any, value: Any, name: str, absent: bool = False) -> None:
        self.held.append(Held(where, key, value, name, absent))
        if not absent and key is not ...:
            self._waiting.append((value, name))

    def _visit(self, x: Any, name: str) -> None:
        if type(x) in _SIMPLE or id(x) in self.seen:
            return
        self.seen.add(id(x))
        if isinstance(x, _SIMPLE):
            if not _is_library(type(x).__module__):
                self._visit_object(x, name)
        elif isinstance(x, weft.Tensor):
            self._visit_tensor(x, name)
            if _C._has_attributes(x):
                self._spaces.append(Space(x.__dict__, x.__dict__, name))
        elif isinstance(x, types.FunctionType):
            self._visit_function(x)
        elif isinstance(x, types.MethodType):
            self._waiting += [(x.__self__, name), (x.__func__, name)]
        elif isinstance(x, types.ModuleType):
            self._visit_python_module(x, name)
        elif isinstance(x, type):
            self._visit_class(x, name)
        elif isinstance(x, (list, dict, tuple, set, frozenset, collections.deque)):
            self._visit_container(x, name)
            self._visit_object(x, name)
        elif isinstance(x, _C.ModuleBase):
            self._visit_module(x, name)
        elif _is_optimizer(x):
            self._visit_optimizer(x, name)
        elif _has_state_of_its_own(type(x)):
            self._note_opaque(x, name)
        elif isinstance(x, weakref.ref):
            self._waiting.append((x(), name))
        elif isinstance(x, functools.partial):
            self._waiting += [(x.func, name), (x.args, name), (x.keywords, name)]
            self._spaces.append(Space(x.__dict__, x.__dict__, name))
        elif _is_library(type(x).__module__):
            self._visit_library_object(x, name)
        else:
            self._visit_object(x, name)

    def _visit_names(self) -> None:
        """Hold what code names in the modules, objects and classes that it can see."""
        for name in sorted(self._names & sys.modules.keys()):  # imported where it is used
            module = sys.modules[name]
            used = name in self._imports or not _is_library(name)
            if used and isinstance(module, types.ModuleType):
                self._visit(module, name)
        for space in self._spaces:
            prefixes = self._prefixes_in(space)
            if prefixes and not space.whole:
                space.whole = True
                there = tuple(space.members)
                self._hold(space.where, ..., there, f"the attributes of {space.name}")
            for key in [k for k in space.members if k not in space.done]:
                if key in self._names or space.is_special(key) or key.startswith(prefixes):
                    space.done.add(key)
                    self._visit_member(space, key, space.members[key], f"{space.name}.{key}")

    def _prefixes_in(self, space: Space) -> tuple[str, ...]:
        """Return how names begin that code may look for in a space without naming them."""
        if space.closed:
            return ()
        if space.cls is not None:
            return ("",) if self._looks else tuple(self._prefixes)
        if space.owner in self._passed:
            return ("",) if self._looks or self._prefixes else ()
        return tuple(self._prefixes) if isinstance(space.where, type) else ()

    def _hold_missing(self) -> None:
        """Hold that what code names is nowhere else: it may appear, and be found first."""
        lists: dict[frozenset[str], list[str]] = {}  # many spaces share one
        for space in self._spaces:
            if space.closed and not isinstance(space.where, type):
                continue  # a library, which may load parts of itself when they are asked for
            what = f"an attribute of {space.name} that was missing"
            for missing in (space.missing(self._names), space.missing_operators()):
                if missing:
                    names = lists.setdefault(missing, [*missing])
                    self._hold(space.where, ..., names, what)
        self._hold_missing_globals()
        for name in sorted(self._imports):
            module = sys.modules.get(name)
            self.held.append(
                Held(sys.modules, name, module, f"the module {name}", absent=module is None)
            )

    def _hold_missing_globals(self) -> None:
        """Hold that names which are no globals are none; and what Python itself has for them."""
        unknown: set[str] = set()
        for members, names in self._globals.values():
            unknown |= names
            self._hold(members, ..., [*names], "a global that was missing")
        known = vars(builtins)
        for name in sorted(unknown & known.keys()):
            self.held.append(Held(known, name, known[name], name))
        self._hold(known, ..., [*(unknown - known.keys())], "a global that was missing")

    def _hold_settings(self) -> None:
        """Hold what code asks weft for."""
        for name in sorted(self._names & _SETTINGS):
            if (question := getattr(weft, name, None)) is not None:
                self._hold_answer(question, f"{name}()")
        for module, cls, names in _STEERING:
            loaded = sys.modules.get(module)
            if loaded is None:
                what = f"a setting of {module}"
                self.held.append(Held(sys.modules, module, None, what, absent=True))
                continue
            where: Any = vars(loaded)[cls] if cls else vars(loaded)
            members = vars(where) if cls else where
            for name in names:
                self.held.append(Held(where, name, members[name], f"{module}.{name}"))

    def _hold_answer(self, question: Any, name: str) -> None:
        """Hold what a function without arguments gives."""
        self.held.append(Held(question, (), question(), name))

    def _visit_tensor(self, t: Tensor, name: str) -> None:
        self.tensors[id(t)] = t
        self.looked.append(
            Looked(t, f"the shape or dtype of {name}, or whether it wants a gradient")
        )
        self._hold_class(t, name)

    def _visit_python_module(self, module: Any, name: str) -> None:
        members = module.__dict__
        if not _is_library(module.__name__):
            self._spaces.append(Space(members, members, name, owner=id(module)))
        elif _C._dicts_count_changes:  # else it would take long to look at each name
            self._spaces.append(Space(members, members, name, closed=True))

    def _visit_function(self, f: types.FunctionType) -> None:
        if (wrapped := getattr(f, "__wrapped__", None)) is not None:
            self._waiting.append((wrapped, f.__name__))
        if _is_library(f.__globals__.get("__name__", "")):  # it may hold a function that is not
            if hasattr(f, "dispatch") and hasattr(f, "registry"):  # functools.singledispatch
                self._waiting.append((registry_of(f.dispatch), f.__name__))
            for cell in f.__closure__ or ():
                if isinstance(inside := content_of(cell), (types.FunctionType, functools.partial)):
                    self._waiting.append((inside, f.__name__))
            return
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            if name == "__class__" and isinstance(cls := content_of(cell), type):  # for super()
                if cls not in self._types:
                    self._types.add(cls)
                    self._visit_class(cls, cls.__name__, there=True)
                continue
            try:
                self._hold(cell, None, cell.cell_contents, f"'{name}'")
            except ValueError:  # it is empty
                self._hold(cell, None, None, f"'{name}'", absent=True)
        self._visit_code(f)
        for key in ("__code__", "__defaults__", "__kwdefaults__"):
            if key != "__kwdefaults__" or f.__kwdefaults__:
                self._hold(f, key, getattr(f, key), f"{f.__name__}.{key}")
        self._spaces.append(Space(f.__dict__, f.__dict__, f.__name__))

    def _visit_code(self, f: types.FunctionType) -> None:
        """Note what a function names, and hold what it names in its module."""
        names, members = names_in(f.__code__), f.__globals__
        self._names |= names.every
        self._imports |= names.imports
        self._looks |= names.looks
        self.tells_apart |= names.tells_apart or "id" in names.globals
        wanted = set(names.globals)
        if names.globals & {"globals", "eval", "exec"}:
            wanted |= names.every
            if not any(isinstance(c, str) and c.isidentifier() for c in f.__code__.co_consts):
                self._passed.add(id(members))
                self._spaces.append(Space(members, members, "globals()", owner=id(members)))
        for key in sorted(wanted & members.keys() - {"__builtins__"}):
            self._hold(members, key, members[key], f"the global '{key}'")
        missing = self._globals.setdefault(id(members), (members, set()))[1]
        missing |= wanted - members.keys()
        seen: Any = collections.ChainMap({}, members)
        seen.update((k, content_of(c)) for k, c in zip(f.__code__.co_freevars, f.__closure__ or ()))
        for where, prefix in names.prefixes:
            if not _is_library_module(seen.get(where)):  # getattr(F, name)
                self._prefixes.add(prefix)
        for name in names.passed:
            value = seen.get(name)
            if isinstance(value, types.ModuleType):
                self._passed.add(id(value))
            elif isinstance(value, type):
                self._passed |= {id(base) for base in value.__mro__}

    def _visit_class(self, cls: type, name: str, there: bool = False) -> None:
        for base in cls.__mro__:
            if _is_library(base.__module__):
                self._hold_methods(base)
                continue
            self._spaces.append(Space(base, vars(base), name, owner=id(base)))
            self._spaces[-1].there = there
        if not _is_library(cls.__module__):
            self.held.append(Held(cls, "__mro__", cls.__mro__, f"the bases of {name}"))
        if not _is_library(type(cls).__module__):
            self.held.append(Held(cls, "__class__", type(cls), f"the metaclass of {name}"))
            self._visit_type_of(cls)

    def _hold_methods(self, cls: type) -> None:
        """Hold the methods of a class of a library, and what code names in it."""
        if cls.__flags__ & _MUTABLE and cls not in self._closed:
            self._closed.add(cls)
            space = Space(cls, vars(cls), cls.__name__, closed=True)
            self._spaces.append(space)
            self.held.append(Held(cls, ..., space.functions(), f"a method of {cls.__name__}"))

    def _hold_class(self, x: Any, name: str) -> None:
        """Hold of which class an object is, and what is in that class."""
        if isinstance(x, _C.ModuleBase) or not _is_library(type(x).__module__):
            self.held.append(Held(x, "__class__", type(x), f"the class of {name}"))
        self._visit_type_of(x)

    def _visit_type_of(self, x: Any) -> None:
        """Look at the methods of an object that is there already."""
        if type(x) not in self._types:
            self._types.add(type(x))
            self._visit_class(type(x), type(x).__name__, there=True)

    def _visit_member(self, space: Space, key: str, value: Any, name: str) -> None:
        """Hold what a module, object or class has under a name."""
        where = space.where
        if space.closed:  # it may exchange lists and objects of its own
            if isinstance(value, types.ModuleType):
                self._waiting.append((value, name))
            if callable(value) or isinstance(value, (types.ModuleType, *_SIMPLE)):
                self.held.append(Held(where, key, value, name))
            return
        if not isinstance(where, type):
            return self._hold(where, key, value, name)
        inner = getattr(value, "__func__", value)
        if key == "__match_args__":
            self._names |= {name for name in value if isinstance(name, str)}
        if isinstance(value, property):
            self._waiting += [(f, key) for f in (value.fget, value.fset) if f is not None]
        elif _is_dunder(key) and not isinstance(inner, types.FunctionType):
            if key not in self._names and key != "__match_args__":
                return
        else:
            self._waiting.append((inner, name))
        self.held.append(Held(where, key, value, name))

    def _visit_container(self, x: Any, name: str) -> None:
        if isinstance(x, (tuple, frozenset)):
            self._waiting += [(v, name) for v in x]
            return
        self.tells_apart |= any(isinstance(v, weft.Tensor) for v in x if isinstance(x, (dict, set)))
        if isinstance(x, dict):
            self._hold(x, ..., tuple(x), f"the keys of {name}")
            self._waiting += [(k, f"a key of {name}") for k in x]
        elif isinstance(x, set):
            self._hold(x, ..., tuple(x), f"the elements of {name}")
        else:
            self._hold(x, ..., len(x), f"the length of {name}")
        if isinstance(x, dict) and ... in x:  # stands for all of it where it is compared
            self.unseen = f"it can see {name}, which has ... for a key"
        elif len(x) > _MOST:
            self.unseen = f"it can see {name}, which has too many elements to watch them all"
        elif isinstance(x, set):
            self._waiting += [(v, name) for v in x]
        else:
            items = list(x.items()) if isinstance(x, dict) else list(enumerate(x))
            for key, value in items:
                self._hold(x, key, value, f"{name}[{key!r}]")

    def _visit_module(self, module: Any, name: str) -> None:
        from weft.nn import module_hooks as hooks

        self._hold_functional()
        module._drop_empty_tables()  # as its call would
        members = module.__dict__
        if "_hooked" not in members:  # its first hook would bring it
            self._hold(members, "_hooked", None, f"the hooks of {name}", absent=True)
        for table in (hooks._any_global, *(hooks._CALLED if hooks._any_global else ())):
            self._waiting.append((table, "the hooks of all modules"))
        for key, value in members.items():
            if isinstance(value, dict) and (key in _TABLES or key.endswith("hooks")):
                if key in _TABLES:
                    self._hold(value, ..., tuple(value), f"the {key[1:]} of {name}")
                    for k, v in value.items():
                        self._hold(value, k, v, f"{name}.{k}")
                elif value or key.endswith("hooks"):
                    self._hold(value, ..., tuple(value), f"the {key.strip('_')} of {name}")
                    self._waiting += [(v, f"a hook of {name}") for v in value.values()]
            elif key != "_made":  # what it was made of, which its calls have no use for
                self._hold(members, key, value, f"{name}.{key}")
        self._hold_class(module, name)
        if "forward" not in members:
            self._hold(members, "forward", None, f"{name}.forward", absent=True)
        space = Space(members, members, name, type(module))
        space.done = {*members, "forward"}
        self._spaces.append(space)

    def _hold_functional(self) -> None:
        """Hold the functions that layers are made of."""
        members = vars(weft.nn.functional)
        if _C._dicts_count_changes and id(members) not in self.seen:
            self.seen.add(id(members))
            functions = Space(members, members, "").functions()
            self.held.append(Held(members, ..., functions, "a function of weft.nn.functional"))

    def _visit_optimizer(self, optimizer: Any, name: str) -> None:
        """Note what its steps depend on: they may change it, and read some of it anew."""
        from weft.optim import optimizer as common

        self.optimizers.append(optimizer)
        members, groups, state = optimizer.__dict__, optimizer.param_groups, optimizer.state
        shadowed = "step" in members
        self._hold(members, "step", members.get("step"), f"{name}.step", absent=not shadowed)
        space = Space(members, members, name, type(optimizer))
        space.done = {"param_groups", "state", "step"}
        self._spaces.append(space)
        self._visit_type_of(optimizer)
        self._option(members, "param_groups", groups, f"{name}.param_groups")
        self._option(members, "state", state, f"{name}.state")
        self._option(groups, ..., len(groups), f"the number of {name}.param_groups")
        for hooks in (
            optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks,
            common._pre_hooks, common._post_hooks,
        ):  # fmt: skip
            self._option(hooks, ..., len(hooks), f"the hooks of {name}")
        for i, group in enumerate(groups):
            self._option(groups, i, group, f"{name}.param_groups[{i}]")
            for key, value in group.items():
                if key != "params":
                    self._option(group, key, value, f"{name}.param_groups[{i}]['{key}']")
            self._waiting.append((group["params"], f"{name}.param_groups[{i}]['params']"))
            for p in group["params"]:
                kept = state.get(p)
                self.options.append(Held(state, p, kept, f"{name}.state", absent=kept is None))
                for key, value in (kept or {}).items():
                    self._option(kept, key, value, f"{name}.state")

    def _option(self, where: Any, key: Any, value: Any, name: str) -> None:
        self.options.append(Held(where, key, value, name))

    def changed_by(self, optimizer: Any) -> set[tuple[int, Any]]:
        """Return the options that a step of an optimiser, run by Python, reads and changes itself.

        Of Python that is no step of one (a scheduler): those of all.
        """
        if optimizer is None:
            return {(id(h.where), h.key) for h in self.options}
        own = {id(group) for group in optimizer.param_groups}
        own |= {id(optimizer.state), *[id(kept) for kept in optimizer.state.values()]}
        return {(id(h.where), h.key) for h in self.options if id(h.where) in own}

    def unused_options(self, stepped: set[int]) -> set[tuple[int, Any]]:
        """Return the options of optimisers that are only asked for ``zero_grad()``, as in a closure.

        Args:
            stepped: the ids of those that made a step.
        """
        if self._names & _KEPT:
            return set()
        idle = [o for o in self.optimizers if id(o) not in stepped]
        return {place for o in idle for place in self.changed_by(o)}

    def _visit_library_object(self, x: Any, name: str) -> None:
        """Look at an object that weft, NumPy or the standard library made."""
        kind = type(x)
        module, _, _ = kind.__module__.partition(".")
        if (wrapped := getattr(x, "__wrapped__", None)) is not None:  # compiled, or cached
            self._waiting.append((wrapped, name))
            if hasattr(x, "cache_info"):
                self._hold_answer(Remembering(x), f"what {name} remembers")
        elif isinstance(x, (operator.attrgetter, operator.methodcaller)):
            self._names |= names_of_getter(x)
        elif any(x is looking for looking in _DYNAMIC):
            self._prefixes.add("")
        elif (
            kind.__module__.startswith(f"{_OWN}.jit") or isinstance(x, _CONSTANT) or kind is object
        ):
            pass
        elif module == "logging":
            self._visit_logger(x, name)
        elif module == "numpy" and hasattr(x, "bit_generator"):
            self._drawn.append((x, _drawn(x), name))
        elif module in _CONSTANT_MODULES or (module == _OWN and not hasattr(x, "__dict__")):
            pass
        elif module == "numpy" and _CONSTANT_NUMPY & {base.__name__ for base in kind.__mro__}:
            pass
        elif module == "functools" and hasattr(x, "func"):  # a cached property
            self._waiting.append((x.func, name))
        elif isinstance(getattr(x, "__dict__", 0), dict):
            self._visit_object(x, name)
        else:
            self._note_opaque(x, name)

    def _note_opaque(self, x: Any, name: str) -> None:
        """Note what cannot be watched; an attribute that no code names is not used."""
        reason = f"it can see {name}, a {type(x).__name__}, whose changes cannot be seen"
        self._opaque.append((name.rpartition(".")[2] if "." in name else "", reason))

    def _visit_logger(self, logger: Any, name: str) -> None:
        """Hold what decides whether a message is shown; that it is shown is seen when it is."""
        while logger is not None and hasattr(logger, "level"):
            for key in ("level", "disabled"):
                if key in logger.__dict__:
                    self._hold(logger.__dict__, key, logger.__dict__[key], f"{name}.{key}")
            logger = getattr(logger, "parent", None)

    def _visit_object(self, x: Any, name: str) -> None:
        """Look at its attributes, wherever they are, and at its class."""
        members = getattr(x, "__dict__", None)
        slots = [key for base in type(x).__mro__ for key in slots_of(base)]
        if isinstance(members, dict):
            if _is_library(type(x).__module__):  # code that is not looked at reads them
                self._hold(members, ..., len(members), f"the attributes of {name}")
                for key, value in members.items():
                    self._hold(members, key, value, f"{name}.{key}")
            else:
                self._spaces.append(Space(members, members, name, type(x)))
        for key in slots:
            if isinstance(x, dict):  # which has keys in these places
                slot = functools.partial(getattr, x, key, _NOTHING)
                self._hold(slot, (), slot(), f"{name}.{key}")
                continue
            there = hasattr(x, key)
            self._hold(x, key, getattr(x, key, None), f"{name}.{key}", absent=not there)
        if not isinstance(members, dict) and not slots and type(x).__module__ != "builtins":
            known = (*_SIMPLE, list, dict, tuple, set, frozenset, collections.deque)
            if not isinstance(x, known):
                self._note_opaque(x, name)
        self._hold_class(x, name)


def _is_library(module: str) -> bool:
    return (module or "").partition(".")[0] in _LIBRARIES and module != "__main__"


def _is_library_module(x: Any) -> bool:
    return isinstance(x, types.ModuleType) and _is_library(x.__name__)


def _has_state_of_its_own(kind: type) -> bool:
    return any(base.__module__ in _STATEFUL or base.__name__ == "_local" for base in kind.__mro__)


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_optimizer(x: Any) -> bool:
    loaded = sys.modules.get("weft.optim")
    return loaded is not None and isinstance(x, loaded.Optimizer)


def _drawn(generator: Any) -> str:
    """Return the state of a generator of NumPy as text."""
    return repr(generator.bit_generator.state)
