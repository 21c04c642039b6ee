"""``Module``: parameters, buffers and children by name, and a forward that is called.

Parameters, buffers and children are kept in three tables, as in PyTorch, and also in the module's
``__dict__``, so that reading ``self.weight`` is an ordinary, quick attribute access: there is no
``__getattr__``. ``Members`` keeps both places equal. The walks over the tree are in
``module_tree.py``, the state is in ``module_state.py``, hooks are in ``module_hooks.py``, files in
``module_checkpoint.py``.
"""

from __future__ import annotations

import os
import weakref

from weft import _C, Tensor
from weft._C import ModuleBase
from weft._environment import at_line
from weft.nn import module_hooks as _hooks
from weft.nn.module_arguments import ATOMS, ConstructorCall, keep
from weft.nn.module_checkpoint import CheckpointMethods
from weft.nn.module_hooks import (
    HookMethods,
    RemovableHandle,
    _any_global,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from weft.nn.module_state import _EXTRA_STATE_KEY_SUFFIX, StateMethods, _IncompatibleKeys
from weft.nn.module_tree import TreeMethods
from weft.nn.parameter import Buffer, Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

__all__ = [
    "_EXTRA_STATE_KEY_SUFFIX",
    "Module",
    "RemovableHandle",
    "_IncompatibleKeys",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_TABLES = ("_parameters", "_buffers", "_modules")
_PLAIN = frozenset((int, float, bool, str, tuple, list))
_new = ModuleBase.__new__


def __getattr__(name: str) -> Any:
    """Find the tables of global hooks here too, where PyTorch has them."""
    if name.startswith("_global_"):
        return getattr(_hooks, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


class Members(dict):
    """One of a module's tables; what is in it is also an attribute of the module."""

    __slots__ = ("_owner",)
    _owner: Any

    def __setitem__(self, name: str, value: Any) -> None:
        dict.__setitem__(self, name, value)
        owner = self._owner()
        if owner is not None:
            owner.__dict__[name] = value

    def __delitem__(self, name: str) -> None:
        dict.__delitem__(self, name)
        owner = self._owner()
        if owner is not None:
            owner.__dict__.pop(name, None)

    def pop(self, name: str, *default: Any) -> Any:
        """Remove a name and return what it stood for."""
        if name not in self and default:
            return default[0]
        value = self[name]
        del self[name]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last name and return it with its value."""
        name = next(reversed(self))
        return name, self.pop(name)

    def clear(self) -> None:
        """Remove all names."""
        for name in list(self):
            del self[name]

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set the given names."""
        for name, value in dict(*args, **kwargs).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Set a name unless it is there; return its value."""
        if name not in self:
            self[name] = default
        return self[name]

    def __ior__(self, other: Any) -> Members:  # type: ignore[misc]
        self.update(other)
        return self

    def __reduce__(self) -> Any:
        """Copies and pickles are plain dictionaries; ``Module.__setstate__`` adopts them."""
        return dict, (dict(self),)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()


def _members(owner: Any, items: Any = ()) -> Members:
    """Make one of the tables of a module."""
    made = Members(items)  # without an __init__ of its own: every module makes three of these
    made._owner = weakref.ref(owner)
    if made:
        owner.__dict__.update(made)
    return made


def _type_name(value: Any) -> str:
    """Name a type as PyTorch's messages do."""
    return value.type() if isinstance(value, Tensor) else type(value).__name__


def _addindent(text: str, spaces: int) -> str:
    """Indent all lines but the first."""
    return text.replace("\n", "\n" + spaces * " ")


class _MembersByName:
    """Finds members for subclasses of Module that have a ``__getattr__``, and ask that of Module."""

    def __getattr__(self, name: str) -> Any:
        for table in _TABLES:
            if name in self.__dict__.get(table, ()):
                return self.__dict__[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


class Module(TreeMethods, HookMethods, StateMethods, CheckpointMethods, ModuleBase):
    """The base of all layers and networks: holds parameters and children, and is called.

    A subclass makes its layers in ``__init__``, after ``super().__init__()``, and computes in
    ``forward``.

    >>> class Double(weft.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = weft.nn.Parameter(weft.tensor(2.0))
    ...     def forward(self, x):
    ...         return x * self.scale
    >>> Double()(weft.ones(2))
    tensor([2., 2.], grad_fn=<MulBackward0>)
    >>> [name for name, _ in Double().named_parameters()]
    ['scale']
    """

    if TYPE_CHECKING:  # what is registered by name is known only at run time

        def __getattr__(self, name: str) -> Any: ...

        forward: Callable[..., Any]  # what each subclass takes and returns is its own

    dump_patches = False
    call_super_init = False
    training: bool
    _version: int = 1
    _made: Any = None
    _mixed_new = False  # whether a class behind Module in the order of bases has a __new__

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Note how the module is made, for ``load_from_checkpoint``."""
        self = super().__new__(cls, *args, **kwargs) if cls._mixed_new else _new(cls)
        if not ATOMS.issuperset(map(type, args)):
            args = keep(args)
        if kwargs and not ATOMS.issuperset(map(type, kwargs.values())):
            kwargs = dict(zip(kwargs, keep(kwargs.values())))
        self.__dict__["_made"] = ConstructorCall((weakref.ref(self), cls, args, kwargs))
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            name = type(self).__name__
            if kwargs:
                raise TypeError(
                    f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            raise TypeError(
                f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        d = self.__dict__
        d["training"] = True
        owner = weakref.ref(self)
        d["_parameters"] = members = Members()
        members._owner = owner
        d["_buffers"] = members = Members()
        members._owner = owner
        d["_non_persistent_buffers_set"] = set()
        d["_modules"] = members = Members()
        members._owner = owner
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    if not TYPE_CHECKING:

        def forward(self, *input: Any) -> Any:
            """Compute the output; every subclass defines its own."""
            raise NotImplementedError(
                f'Module [{type(self).__name__}] is missing the required "forward" function'
            )

    # ---- attributes -----------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        d = self.__dict__
        if type(value) in _PLAIN and type(d.get(name)) in _PLAIN:  # a plain value for another
            return object.__setattr__(self, name, value)
        parameters = d.get("_parameters")
        if parameters is None:
            kinds: dict[type, str] = {Module: "module", Parameter: "parameters", Buffer: "buffer"}
            for kind, what in kinds.items():
                if isinstance(value, kind):
                    raise AttributeError(self._too_early(what, name))
        elif isinstance(value, Tensor):
            return self._set_tensor(name, value)
        elif isinstance(value, Module) and name not in parameters:
            if name not in d["_modules"]:
                self._forget(name)
            for hook in _hooks._global_module_registration_hooks.values():
                answer = hook(self, name, value)
                value = value if answer is None else answer
            d["_modules"][name] = d[name] = value
            return None
        elif name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            parameters[name] = None
            return None
        elif name in d["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            d["_modules"][name] = None
            return None
        elif name in d["_buffers"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            d["_buffers"][name] = None
            return None
        elif name in _TABLES:
            for old in d[name]:
                d.pop(old, None)
            d[name] = _members(self, value)
            return None
        object.__setattr__(self, name, value)

    def _set_tensor(self, name: str, value: Tensor) -> None:
        """Set an attribute to a tensor: a parameter, a buffer, or just a tensor."""
        d = self.__dict__
        if isinstance(value, Parameter):
            if name not in d["_parameters"]:
                self._forget(name)
            self.register_parameter(name, value)
        elif name in d["_parameters"]:
            raise TypeError(
                f"cannot assign '{_type_name(value)}' as parameter '{name}' "
                "(torch.nn.Parameter or None expected)"
            )
        elif name in d["_modules"]:
            raise TypeError(
                f"cannot assign '{_type_name(value)}' as child module '{name}' "
                "(torch.nn.Module or None expected)"
            )
        elif name in d["_buffers"] or isinstance(value, Buffer):
            persistent = name not in d["_non_persistent_buffers_set"]
            if isinstance(value, Buffer):
                persistent = value.persistent
            if name not in d["_buffers"]:
                self._forget(name)
            self.register_buffer(name, value, persistent)
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str) -> None:
        """Drop an attribute, whichever table it is in, before it becomes another thing."""
        d = self.__dict__
        for table in _TABLES:
            if name in d[table]:
                del d[table][name]
        d.pop(name, None)
        d["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        d = self.__dict__
        for table in _TABLES:
            if name in d.get(table, ()):
                del d[table][name]
                d.pop(name, None)
                d["_non_persistent_buffers_set"].discard(name)
                return
        try:
            object.__delattr__(self, name)
        except AttributeError:
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute '{name}'"
            ) from None

    def __dir__(self) -> list[str]:
        """List attributes, without the numbers that name the children of containers."""
        names = {*dir(type(self)), *self.__dict__}
        return sorted(name for name in names if not name[0].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, but only the values of tensors that hooks make before forward."""
        state = self.__dict__
        for hook in state.get("_forward_pre_hooks", {}).values():
            name = getattr(hook, "recomputes", "")
            if isinstance(state.get(name), Tensor):
                state = {**state, name: state[name].detach()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for table in _TABLES:
            self.__dict__[table] = _members(self, self.__dict__.get(table, ()))
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        made = self.__dict__.get("_made")
        if made is None or made.module is not None:  # a shallow copy shares the original's
            self.__dict__["_made"] = made = ConstructorCall(made or (None, type(self), (), {}))
        made[0] = weakref.ref(self)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let a subclass call ``super().__getattr__``, which Module has no need of."""
        super().__init_subclass__(**kwargs)
        if "__getattr__" in cls.__dict__ and not issubclass(cls, _MembersByName):
            cls.__bases__ = (*cls.__bases__, _MembersByName)
        behind = cls.__mro__[cls.__mro__.index(Module) + 1 : -1]
        cls._mixed_new = any("__new__" in vars(base) for base in behind)

    def _too_early(self, kind: str, name: Any) -> str:
        """What to say of a member that is set while there are no tables for it."""
        return at_line(
            f"cannot assign {kind} before Module.__init__() call: {name!r} of "
            f"{type(self).__name__}; let its __init__ begin with super().__init__()"
        )

    def _check_name(self, kind: str, name: Any, table: str) -> None:
        """Refuse names that cannot be those of a parameter, buffer or child."""
        if table not in self.__dict__:
            raise AttributeError(self._too_early(kind, name))
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            got = f", got: {name}" if kind == "module" else ""
            raise KeyError(f'{kind} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in self.__dict__[table] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None to say that there is none by this name.

        >>> m = weft.nn.Module()
        >>> m.register_parameter("w", weft.nn.Parameter(weft.ones(1)))
        >>> m.w
        Parameter containing:
        tensor([1.], requires_grad=True)
        """
        self._check_name("parameter", name, "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{_type_name(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must "
                    f"be created explicitly. To express '{name}' as a function of another Tensor, "
                    "compute the value in the forward() method."
                )
            for hook in _hooks._global_parameter_registration_hooks.values():
                answer = hook(self, name, param)
                param = param if answer is None else answer
        self._parameters[name] = self.__dict__[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is part of the state but is not trained.

        Args:
            name: the attribute to make.
            tensor: the buffer, or None to say that there is none by this name.
            persistent: whether it is part of ``state_dict``.

        >>> m = weft.nn.Module()
        >>> m.register_buffer("mean", weft.zeros(2))
        >>> m.mean
        tensor([0., 0.])
        """
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        for hook in _hooks._global_buffer_registration_hooks.values():
            answer = hook(self, name, tensor)
            tensor = tensor if answer is None else answer
        self._buffers[name] = self.__dict__[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child by name.

        >>> m = weft.nn.Module()
        >>> m.add_module("layer", weft.nn.Identity())
        >>> m.layer
        Identity()
        """
        if not isinstance(module, Module) and module is not None:
            what = getattr(module, "__name__", type(module).__name__)
            made = isinstance(module, type) and issubclass(module, Module)
            hint = f": it is the class; write {what}()" if made else ""
            raise TypeError(at_line(f"{what} is not a Module subclass{hint}"))
        self._check_name("module", name, "_modules")
        for hook in _hooks._global_module_registration_hooks.values():
            answer = hook(self, name, module)
            module = module if answer is None else answer
        self._modules[name] = self.__dict__[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a child by name: another name of ``add_module``."""
        self.add_module(name, module)

    # ---- text -----------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__  # not self.__class__: parametrize may have renamed it

    def extra_repr(self) -> str:
        """Return what stands between the brackets when the module is printed."""
        return ""

    def _repr_html_(self) -> str:
        """Return the tree of modules for a notebook."""
        from weft.view.html import module_html

        return module_html(self)

    def __repr__(self) -> str:
        """Return the tree of modules as text."""
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        for name, module in self._modules.items():
            lines.append(f"({name}): {_addindent(repr(module), 2)}")
        if lines and not (len(lines) == 1 and not self._modules):
            return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"
        return f"{self._get_name()}({''.join(lines)})"


def _note_path(error: Any, module: Module) -> None:
    """Say in a note below an error in which module it arose; every caller adds its part."""
    if not hasattr(error, "_weft_modules"):
        _say_line(error, module)
    if not hasattr(error, "add_note"):  # Python 3.10
        error._weft_modules = ()
        return
    trail = error.__dict__.setdefault("_weft_modules", [])
    notes = getattr(error, "__notes__", [])
    if trail and _path_text(trail) in notes:
        notes.remove(_path_text(trail))
    trail.append(module)
    error.add_note(_path_text(trail))


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OF_ARGUMENTS = (RuntimeError, ValueError, TypeError, IndexError, AssertionError)


def _say_line(error: Any, module: Module) -> None:
    """Add a layer's name and the user's line to what the layer's own Python code raised."""
    if type(error) not in _OF_ARGUMENTS or not type(module).__module__.startswith("weft."):
        return
    if len(error.args) != 1 or type(error.args[0]) is not str or "\n  at " in error.args[0]:
        return
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        return  # a hook, or a part that the user wrote
    name, text = type(module).__name__, error.args[0]
    op, colon, rest = text.partition(": ")
    if colon and op.replace("_", "") == name.lower():  # the layer's own function
        text = rest
    error.args = (at_line(text if text.startswith(name) else f"{name}: {text}"),)


def _path_text(trail: list[Module]) -> str:
    """The path of the first of these modules as seen from the last, and its settings."""
    path = [type(trail[-1]).__name__]
    for outer, inner in zip(trail[:0:-1], trail[-2::-1]):
        children = outer.__dict__.get("_modules", {})
        names = (name for name, child in children.items() if child is inner)
        path.append(next(names, type(inner).__name__))
    inner = trail[0]
    try:
        settings = inner.extra_repr().partition("\n")[0]
    except Exception:  # it is another error that is being told
        settings = "…"
    return f"  in module {'.'.join(path)}: {type(inner).__name__}({settings})"


_C._set_module_parts(_any_global, _note_path)
