"""The Python values that a function can see: they are found, and guarded (``weft/jit/guards.py``).

A captured call is replayed only while the guards hold; what the call itself changes among these
values cannot be replayed without Python. What cannot be guarded is named, and nothing is captured.
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
from weft.jit import effects, guards
from weft.jit.effects import EFFECT, IMMUTABLE, STATEFUL, effect_of_class, is_library

from .bytecode import names_in, names_of_getter
from .namespaces import (
    Remembering,
    Space,
    content_of,
    is_dunder,
    is_library_module,
    registry_of,
    slots_of,
)
from .slots import Stores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from weft import Tensor

__all__ = ["State"]

_SIMPLE = (int, float, complex, str, bytes, bool, type(None), weft.dtype)
_MOST = 20_000  # guards
_OWN = __name__.partition(".")[0]
_MUTABLE = 1 << 9  # a class that Python made: others cannot be changed
_TABLES = {"_parameters", "_buffers", "_modules"}  # of a module
_KEPT = {"defaults", "load_state_dict", "param_groups", "state", "state_dict"}  # by an optimiser
_PLACES = {"storage_offset", "data_ptr", "untyped_storage"}
_DYNAMIC = (getattr, hasattr, vars, dir, globals)  # which look for names that nobody can see


class State:
    """The values that a function can reach from its globals, closure, methods and arguments."""

    def __init__(self, func: Any, args: Iterable[Any], free: Iterable[Any] = ()) -> None:
        """Look at everything once, but for what is in places that are ``free`` to change."""
        self._free = frozenset(free)
        self.guards: list[guards.Guard] = []
        self.options: list[guards.Guard] = []  # of optimisers: their steps may read them anew
        self.reads_options = False  # the function itself looks at them
        self.optimizers: list[Any] = []
        self.unseen = ""  # what cannot be guarded
        self.seen: set[int] = set()  # the ids of all that was examined
        self.tensors: dict[int, Tensor] = {}  # that it can reach, by id
        self.tensor_guards: list[guards.TensorMeta] = []  # it may look at them without an op
        self.compares_identity = False  # it asks whether two things are the same object
        self.asks_type = False  # it calls type(x)
        self._names: set[str] = set()
        self._prefixes: set[str] = set()  # how names begin that it computes
        self.stores, self._looks = Stores(), False  # at all attributes of objects
        self._imports: set[str] = set()
        self._passed: set[int] = set()  # modules and classes of which it may look for any name
        self._globals: dict[int, tuple[Any, set[str]]] = {}  # dicts of modules, and names not there
        self._waiting = [(func, getattr(func, "__name__", "the function"))]
        self._waiting += [(a, "an argument") for a in args if not isinstance(a, weft.Tensor)]
        self._spaces: list[Space] = []  # of them only what code names
        self._types: set[type] = set()
        self._closed: set[type] = set()  # of libraries
        self._drawn: list[tuple[Any, str, str]] = []  # generators of NumPy, which must not draw
        self._opaque: list[tuple[str, str]] = []  # what cannot be guarded, and what may name it
        self._visit_class(weft.Tensor, "Tensor")
        self._visit_all()
        self._guard_missing()
        self._guard_settings()
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
        """Whether an optimiser had no state of a parameter, and has one now, which it keeps."""
        return guards.failing([g for g in self.options if isinstance(g, guards.Absent)]) is not None

    def changed(self) -> str:
        """Return the name of something that is not as it was, or nothing."""
        if (guard := guards.failing([*self.guards, *self.tensor_guards])) is not None:
            return guard.name
        drawn = (f"the state of {name}" for g, state, name in self._drawn if _drawn(g) != state)
        return next(drawn, "")

    def broken(self) -> list[guards.Guard]:
        """Return all guards that do not hold any more."""
        return [g for g in [*self.guards, *self.tensor_guards] if not g.holds()]

    # ---- the walk ------------------------------------------------------------------------------

    def _visit_all(self) -> None:
        """Look at everything, until no name and no value is found that was not known."""
        known = -1
        while not self.unseen and (self._waiting or known != self._known()):
            if len(self.guards) > _MOST:
                self.unseen = "it can see too many Python values to guard them all"
            elif self._waiting:
                self._visit(*self._waiting.pop())
            else:
                known = self._known()
                self._visit_names()

    def _known(self) -> int:
        """Return a number that grows when a name is found, or where to look for names."""
        names = len(self._names) + len(self._prefixes) + len(self._passed) + self._looks
        return names + len(self._spaces)

    def _follow(self, guard: Any) -> None:
        """Guard a value, and look into it."""
        if self._free and guard.place in self._free:
            return
        self.guards.append(guard)
        self._waiting.append((guard.value, guard.name))

    def _visit(self, x: Any, name: str) -> None:
        if type(x) in _SIMPLE or id(x) in self.seen:
            return
        self.seen.add(id(x))
        if isinstance(x, _SIMPLE):
            if not is_library(type(x).__module__):
                self._visit_object(x, name)
        elif isinstance(x, weft.Tensor):
            self._visit_tensor(x, name)
            if _C._has_attributes(x):
                self._add_namespace(x, name)
        elif isinstance(x, types.FunctionType):
            self._visit_function(x)
        elif isinstance(x, types.MethodType):
            self._waiting += [(x.__self__, name), (x.__func__, name)]
        elif isinstance(x, types.ModuleType):
            self._visit_python_module(x, name)
        elif isinstance(x, type):
            self.unseen = self.unseen or effects.refusal_of_class(x)
            self._guard_settings_of(x.__module__)
            self._visit_class(x, name)
        elif isinstance(x, (list, dict, tuple, set, frozenset, collections.deque)):
            self._visit_container(x, name)
            self._visit_object(x, name)
        elif isinstance(x, _C.ModuleBase):
            self._visit_module(x, name)
        elif _is_optimizer(x):
            self._visit_optimizer(x, name)
        elif effect_of_class(type(x)) == STATEFUL and not _draws(x):
            self._note_opaque(x, name)
        elif isinstance(x, weakref.ref):
            self._waiting.append((x(), name))
        elif isinstance(x, functools.partial):
            self._waiting += [(x.func, name), (x.args, name), (x.keywords, name)]
            self._add_namespace(x, name)
        elif is_library(type(x).__module__):
            self._visit_library_object(x, name)
        else:
            self._visit_object(x, name)

    def _visit_names(self) -> None:
        """Guard what code names in the modules, objects and classes that it can see."""
        for name in sorted(self._names & sys.modules.keys()):  # imported where it is used
            module = sys.modules[name]
            used = name in self._imports or not is_library(name)
            if used and isinstance(module, types.ModuleType):
                self._visit(module, name)
        for space in self._spaces:
            prefixes = self._prefixes_in(space)
            if prefixes and not space.whole:
                space.whole = True
                what = f"the attributes of {space.name}"
                self.guards.append(guards.Keys(space.where, tuple(space.members), what))
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

    def _guard_missing(self) -> None:
        """Guard that what code names is nowhere else: it may appear, and be found first."""
        tuples: dict[frozenset[str], tuple[str, ...]] = {}  # many spaces share one
        for space in self._spaces:
            if space.closed and not isinstance(space.where, type):
                continue  # a library, which may load parts of itself when they are asked for
            what = f"an attribute of {space.name} that was missing"
            for missing in (space.missing(self._names), space.missing_operators()):
                if missing:
                    names = tuples.setdefault(missing, tuple(missing))
                    self.guards.append(guards.NoneOf(space.where, names, what))
        self._guard_missing_globals()
        for name in sorted(self._imports):
            self.guards.append(guards.item_or_absent(sys.modules, name, f"the module {name}"))

    def _guard_missing_globals(self) -> None:
        """Guard that names which are no globals are none; and what Python itself has for them."""
        unknown: set[str] = set()
        for members, names in self._globals.values():
            unknown |= names
            self._guard_none_of(members, names)
        known = vars(builtins)
        for name in sorted(unknown & known.keys()):
            self.guards.append(guards.DictItem(known, name, known[name], name))
        self._guard_none_of(known, unknown - known.keys())

    def _guard_none_of(self, members: Any, names: set[str]) -> None:
        if names:
            self.guards.append(guards.NoneOf(members, tuple(names), "a global that was missing"))

    def _guard_settings(self) -> None:
        """Guard what code asks weft for."""
        for name in sorted(self._names & effects.SETTINGS):
            if (question := getattr(weft, name, None)) is not None:
                self.guards.append(guards.Answer(question, question(), f"{name}()"))
        for module, cls, names in effects.STEERING:
            loaded = sys.modules.get(module)
            if loaded is None:
                self.guards.append(guards.Absent(sys.modules, module, f"a setting of {module}"))
                continue
            where: Any = vars(loaded)[cls] if cls else vars(loaded)
            members = vars(where) if cls else where
            for name in names:
                self.guards.append(guards.DictItem(where, name, members[name], f"{module}.{name}"))

    def _guard_settings_of(self, module: str) -> None:
        """Guard what the functions of a module read besides their arguments."""
        if (question := effects.GUARDED.get(module)) is not None and id(question) not in self.seen:
            self.seen.add(id(question))
            self.guards.append(guards.Answer(question, question(), f"the context of {module}"))

    def _visit_tensor(self, t: Tensor, name: str) -> None:
        self.tensors[id(t)] = t
        what = f"the shape or dtype of {name}, or whether it wants a gradient"
        self.tensor_guards.append(guards.TensorMeta(t, what))
        self._guard_class(t, name)

    def _visit_python_module(self, module: Any, name: str) -> None:
        self._guard_settings_of(module.__name__)
        closed = is_library(module.__name__)
        self.stores.owners[id(vars(module))] = types.ModuleType
        owner = 0 if closed else id(module)
        self._spaces.append(Space(vars(module), vars(module), name, owner=owner, closed=closed))

    def _visit_function(self, f: types.FunctionType) -> None:
        if (wrapped := getattr(f, "__wrapped__", None)) is not None:
            self._waiting.append((wrapped, f.__name__))
        if is_library(f.__globals__.get("__name__", "")):  # it may hold a function that is not
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
                self._follow(guards.CellIs(cell, f"'{name}'"))
            except ValueError:
                self.guards.append(guards.CellEmpty(cell, f"'{name}'"))
        self._visit_code(f)
        self.guards.append(guards.FunctionIs(f, f"the code or defaults of {f.__name__}"))
        given = (f.__defaults__, f.__kwdefaults__)
        self._waiting += [(x, f"a default of {f.__name__}") for x in given]
        self._add_namespace(f, f.__name__)

    def _add_namespace(self, x: Any, name: str, cls: type | None = None) -> Space:
        """Look for names in the attributes of an object, which may get another dict of them."""
        self._guard_namespace(x, name)
        self._spaces.append(Space(x.__dict__, x.__dict__, name, cls))
        return self._spaces[-1]

    def _guard_namespace(self, x: Any, name: str) -> None:
        self.stores.owners[id(x.__dict__)] = type(x)
        if _C._namespace(x) is x.__dict__:  # not where a class computes it
            self.guards.append(guards.NamespaceIs(x, x.__dict__, f"the __dict__ of {name}"))

    def _visit_code(self, f: types.FunctionType) -> None:
        """Note what a function names, and guard what it names in its module."""
        names, members = names_in(f.__code__), f.__globals__
        self._names |= names.every
        self.stores.note(names, members)
        self._imports |= names.imports
        self._looks |= names.looks
        self.compares_identity |= names.compares_identity or "id" in names.globals
        self.asks_type |= names.asks_type
        wanted = set(names.globals)
        if names.globals & {"globals", "eval", "exec"}:
            wanted |= names.every
            if not any(isinstance(c, str) and c.isidentifier() for c in f.__code__.co_consts):
                self._passed.add(id(members))
                self._spaces.append(Space(members, members, "globals()", owner=id(members)))
        for key in sorted(wanted & members.keys() - {"__builtins__"}):
            self._follow(guards.DictItem(members, key, members[key], f"the global '{key}'"))
        missing = self._globals.setdefault(id(members), (members, set()))[1]
        missing |= wanted - members.keys()
        seen: Any = collections.ChainMap({}, members)
        seen.update((k, content_of(c)) for k, c in zip(f.__code__.co_freevars, f.__closure__ or ()))
        for where, prefix in names.prefixes:
            if not is_library_module(seen.get(where)):  # getattr(F, name)
                self._prefixes.add(prefix)
        for name, attribute in names.handed:
            value = seen.get(name, vars(builtins).get(name))
            called = vars(value).get(attribute) if isinstance(value, types.ModuleType) else value
            if isinstance(called, types.BuiltinFunctionType):
                self.unseen = self.unseen or effects.refusal(effects.name_of_call(called))
        for name in names.passed:
            value = seen.get(name)
            if isinstance(value, types.ModuleType):
                self._passed.add(id(value))
            elif isinstance(value, type):
                self._passed |= {id(base) for base in value.__mro__}

    def _visit_class(self, cls: type, name: str, there: bool = False) -> None:
        for base in cls.__mro__:
            if is_library(base.__module__):
                self._guard_methods(base)
                continue
            self._spaces.append(Space(base, vars(base), name, owner=id(base)))
            self._spaces[-1].there = there
        if not is_library(cls.__module__):
            self.guards.append(guards.Mro(cls, f"the bases of {name}"))
        if not is_library(type(cls).__module__):
            self.guards.append(guards.TypeIs(cls, f"the metaclass of {name}"))
            self._visit_type_of(cls)

    def _guard_methods(self, cls: type) -> None:
        """Guard the methods of a class of a library, and what code names in it."""
        if cls.__flags__ & _MUTABLE and cls not in self._closed:
            self._closed.add(cls)
            space = Space(cls, vars(cls), cls.__name__, closed=True)
            self._spaces.append(space)
            self.guards.append(
                guards.Members(cls, space.functions(), f"a method of {cls.__name__}")
            )

    def _guard_class(self, x: Any, name: str) -> None:
        """Guard of which class an object is, and what is in that class."""
        if isinstance(x, _C.ModuleBase) or not is_library(type(x).__module__):
            self.guards.append(guards.TypeIs(x, f"the class of {name}"))
        self._visit_type_of(x)

    def _visit_type_of(self, x: Any) -> None:
        """Look at the methods of an object that is there already."""
        if type(x) not in self._types:
            self._types.add(type(x))
            self._visit_class(type(x), type(x).__name__, there=True)

    def _visit_member(self, space: Space, key: str, value: Any, name: str) -> None:
        """Guard what a module, object or class has under a name."""
        where = space.where
        guard = guards.DictItem(where, key, value, name)
        if space.closed:  # it may exchange lists and objects of its own
            if isinstance(value, types.ModuleType):
                self._waiting.append((value, name))
            if isinstance(value, type):
                self.unseen = self.unseen or effects.refusal_of_class(value)
            if callable(value) or isinstance(value, (types.ModuleType, *_SIMPLE)):
                self.guards.append(guard)
            return
        if not isinstance(where, type):
            return self._follow(guard)
        inner = getattr(value, "__func__", value)
        if key == "__match_args__":
            self._names |= {name for name in value if isinstance(name, str)}
        if isinstance(value, property):
            self._waiting += [(f, key) for f in (value.fget, value.fset) if f is not None]
        elif is_dunder(key) and not isinstance(inner, types.FunctionType):
            if key not in self._names and key != "__match_args__":
                return
        else:
            self._waiting.append((inner, name))
        self.guards.append(guard)

    def _visit_container(self, x: Any, name: str) -> None:
        if isinstance(x, (tuple, frozenset)):
            self._waiting += [(v, name) for v in x]
            return
        if isinstance(x, (dict, set)):
            self.compares_identity |= any(isinstance(v, weft.Tensor) for v in x)
        if len(x) > _MOST:
            self.unseen = f"it can see {name}, which has too many elements to guard them all"
        elif isinstance(x, dict):
            self.guards.append(guards.Keys(x, tuple(x), f"the keys of {name}"))
            self._waiting += [(k, f"a key of {name}") for k in x]
            for key, value in list(x.items()):
                self._follow(guards.DictItem(x, key, value, f"{name}[{key!r}]"))
        elif isinstance(x, set):
            self.guards.append(guards.Elements(x, f"the elements of {name}"))
            self._waiting += [(v, name) for v in x]
        else:
            self.guards.append(guards.Length(x, f"the length of {name}"))
            item = guards.ListItem if isinstance(x, list) else guards.DequeItem
            for i, value in enumerate(list(x)):
                self._follow(item(x, i, value, f"{name}[{i}]"))

    def _visit_module(self, module: Any, name: str) -> None:
        from weft.nn import module_hooks as hooks

        self._guard_functional()
        module._drop_empty_tables()  # as its call would
        members = module.__dict__
        if "_hooked" not in members:  # its first hook would bring it
            self.guards.append(guards.Absent(members, "_hooked", f"the hooks of {name}"))
        for table in (hooks._any_global, *(hooks._CALLED if hooks._any_global else ())):
            self._waiting.append((table, "the hooks of all modules"))
        for key, value in members.items():
            if isinstance(value, dict) and (key in _TABLES or key.endswith("hooks")):
                if key in _TABLES:
                    self.guards.append(guards.Keys(value, tuple(value), f"the {key[1:]} of {name}"))
                    for k, v in value.items():
                        self._follow(guards.DictItem(value, k, v, f"{name}.{k}"))
                elif value or key.endswith("hooks"):
                    self.guards.append(
                        guards.Keys(value, tuple(value), f"the {key.strip('_')} of {name}")
                    )
                    self._waiting += [(v, f"a hook of {name}") for v in value.values()]
            elif key != "_made":  # what it was made of, which its calls have no use for
                self._follow(guards.DictItem(members, key, value, f"{name}.{key}"))
        self._guard_class(module, name)
        if "forward" not in members:
            self.guards.append(guards.Absent(members, "forward", f"{name}.forward"))
        self._add_namespace(module, name, type(module)).done = {*members, "forward"}

    def _guard_functional(self) -> None:
        """Guard the functions that layers are made of."""
        members = vars(weft.nn.functional)
        if id(members) not in self.seen:
            self.seen.add(id(members))
            functions = Space(members, members, "").functions()
            self.guards.append(
                guards.Members(members, functions, "a function of weft.nn.functional")
            )

    def _visit_optimizer(self, optimizer: Any, name: str) -> None:
        """Note what its steps depend on: they may change it, and read some of it anew."""
        from weft.optim import optimizer as common

        self.optimizers.append(optimizer)
        members, groups, state = optimizer.__dict__, optimizer.param_groups, optimizer.state
        self.guards.append(guards.item_or_absent(members, "step", f"{name}.step"))
        self._waiting.append((members.get("step"), f"{name}.step"))
        space = self._add_namespace(optimizer, name, type(optimizer))
        space.done = {"param_groups", "state", "step"}
        self._visit_type_of(optimizer)
        self._option(members, "param_groups", groups, f"{name}.param_groups")
        self._option(members, "state", state, f"{name}.state")
        self.options.append(guards.Length(groups, f"the number of {name}.param_groups"))
        for hooks in (
            optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks,
            common._pre_hooks, common._post_hooks,
        ):  # fmt: skip
            self.options.append(guards.Length(hooks, f"the hooks of {name}"))
        for i, group in enumerate(groups):
            self.options.append(guards.ListItem(groups, i, group, f"{name}.param_groups[{i}]"))
            for key, value in group.items():
                if key != "params":
                    self._option(group, key, value, f"{name}.param_groups[{i}]['{key}']")
            self._waiting.append((group["params"], f"{name}.param_groups[{i}]['params']"))
            for p in group["params"]:
                self.options.append(guards.item_or_absent(state, p, f"{name}.state"))
                for key, value in (state.get(p) or {}).items():
                    self._option(state[p], key, value, f"{name}.state")

    def _option(self, where: Any, key: Any, value: Any, name: str) -> None:
        self.options.append(guards.DictItem(where, key, value, name))

    def changed_by(self, optimizer: Any) -> set[tuple[int, Any]]:
        """Return the options that a step of an optimiser, run by Python, reads and changes itself.

        Of Python that is no step of one (a scheduler): those of all.
        """
        places = {guard.place for guard in self.options}
        if optimizer is None:
            return places
        own = {id(group) for group in optimizer.param_groups}
        own |= {id(optimizer.state), *[id(kept) for kept in optimizer.state.values()]}
        return {place for place in places if place[0] in own}

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
        self._guard_settings_of(kind.__module__)
        if (wrapped := getattr(x, "__wrapped__", None)) is not None:  # compiled, or cached
            self._waiting.append((wrapped, name))
            if hasattr(x, "cache_info"):
                self.guards.append(guards.Answer(Remembering(x), True, f"what {name} remembers"))
        elif isinstance(x, (operator.attrgetter, operator.methodcaller)):
            self._names |= names_of_getter(x)
        elif any(x is looking for looking in _DYNAMIC):
            self._prefixes.add("")
        elif kind.__module__.startswith(f"{_OWN}.jit") or kind is object:
            pass
        elif module == "logging":
            self._visit_logger(x, name)
        elif _draws(x):
            self._drawn.append((x, _drawn(x), name))
        elif (effect := effect_of_class(kind)) == IMMUTABLE:
            pass
        elif (effect == EFFECT or module == _OWN) and not hasattr(x, "__dict__"):
            pass
        elif module == "functools" and hasattr(x, "func"):  # a cached property
            self._waiting.append((x.func, name))
        elif isinstance(getattr(x, "__dict__", 0), dict):
            self._visit_object(x, name)
        else:
            self._note_opaque(x, name)

    def _note_opaque(self, x: Any, name: str) -> None:
        """Note what cannot be guarded; an attribute that no code names is not used."""
        reason = f"it can see {name}, a {type(x).__name__}, whose changes cannot be seen"
        self._opaque.append((name.rpartition(".")[2] if "." in name else "", reason))

    def _visit_logger(self, logger: Any, name: str) -> None:
        """Guard what decides whether a message is shown; that it is shown is seen when it is."""
        while logger is not None and hasattr(logger, "level"):
            members = logger.__dict__
            for key in ("level", "disabled"):
                if key in members:
                    self._follow(guards.DictItem(members, key, members[key], f"{name}.{key}"))
            logger = getattr(logger, "parent", None)

    def _visit_object(self, x: Any, name: str) -> None:
        """Look at its attributes, wherever they are, and at its class."""
        members = getattr(x, "__dict__", None)
        slots = [key for base in type(x).__mro__ for key in slots_of(base)]
        if isinstance(members, dict):
            if is_library(type(x).__module__):  # code that is not examined reads them
                self._guard_namespace(x, name)
                self.guards.append(guards.Length(members, f"the attributes of {name}"))
                for key, value in members.items():
                    self._follow(guards.DictItem(members, key, value, f"{name}.{key}"))
            else:
                self._add_namespace(x, name, type(x))
        for key in slots:
            if hasattr(x, key):
                self._follow(guards.AttributeIs(x, key, getattr(x, key), f"{name}.{key}"))
            else:
                self.guards.append(guards.AttributeMissing(x, key, f"{name}.{key}"))
        if not isinstance(members, dict) and not slots and type(x).__module__ != "builtins":
            known = (*_SIMPLE, list, dict, tuple, set, frozenset, collections.deque)
            if not isinstance(x, known):
                self._note_opaque(x, name)
        self._guard_class(x, name)


def _is_optimizer(x: Any) -> bool:
    loaded = sys.modules.get("weft.optim")
    return loaded is not None and isinstance(x, loaded.Optimizer)


def _draws(x: Any) -> bool:
    """Say whether it is a generator of NumPy, whose state can be read."""
    return type(x).__module__.startswith("numpy.random") and hasattr(x, "bit_generator")


def _drawn(generator: Any) -> str:
    """Return the state of a generator of NumPy as text."""
    return repr(generator.bit_generator.state)
