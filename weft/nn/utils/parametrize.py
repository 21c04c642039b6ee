"""Parameters computed from others each time they are read: ``register_parametrization``.

A parametrized module gets a class of its own, derived from its class, with a property in the place
of the tensor. What the tensor is computed from is in ``module.parametrizations.<name>``.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence

import weft
from weft import Tensor
from weft.nn.container import ModuleDict, ModuleList
from weft.nn.module import Module
from weft.nn.parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_enabled = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor only once within this block.

    >>> m = weft.nn.utils.parametrizations.weight_norm(weft.nn.Linear(2, 2))
    >>> with weft.nn.utils.parametrize.cached():
    ...     m.weight is m.weight
    True
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register(module: Any, name: str, tensor: Tensor) -> None:
    """Register a tensor as what it is."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check_unchanged(what: str, before: Tensor, after: Any) -> None:
    """A parametrization keeps type, dtype and shape of what it stands for."""
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for kind in ("dtype", "shape"):
        if getattr(before, kind) != getattr(after, kind):
            raise ValueError(
                f"Registering a parametrization may not change the {kind} of the tensor, unless "
                f"`unsafe` flag is enabled.\nunparametrized {kind}: {getattr(before, kind)}\n"
                f"{what} {kind}: {getattr(after, kind)}"
            )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensors (``original…``) it is computed from.

    Args:
        modules: the parametrizations, applied one after the other.
        original: the tensor that they replace.
        unsafe: whether they may change its dtype or shape.

    >>> m = weft.nn.utils.parametrizations.weight_norm(weft.nn.Linear(2, 2))
    >>> m.parametrizations.weight
    ParametrizationList(
      (0): _WeightNorm()
    )
    """

    original: Any

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        before_shape, before_dtype = original.shape, original.dtype
        with weft.no_grad():
            new = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, Tensor) and not isinstance(new, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if original.dtype != new.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            with weft.no_grad():
                if new is not original:
                    original.data = new.data.clone() if _overlaps(new, original) else new.data
            _register(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                        f"tuple...). Got element {i} of the sequence with type "
                        f"{type(part).__name__}."
                    )
                if isinstance(original, Parameter):
                    part = Parameter(part.detach(), original.requires_grad)
                _register(self, f"original{i}", part)
        if not unsafe:
            before = weft.empty(before_shape, dtype=before_dtype)
            _check_unchanged("parametrized", before, self())

    def _originals(self) -> list[Tensor]:
        """The tensors that the parametrizations begin with."""
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes ``value``."""
        with weft.no_grad():
            new: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                new = module.right_inverse(new)
            parts = [new] if self.is_tensor else new
            if not isinstance(parts, Sequence) or not all(isinstance(p, Tensor) for p in parts):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors. Got "
                    f"{type(new).__name__}"
                )
            if len(parts) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got a sequence of length {len(parts)}."
                )
            for tensor, part in zip(self._originals(), parts):
                if tensor.dtype != part.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {part.dtype} while "
                        f"`original` has dtype {tensor.dtype}"
                    )
                if tensor.shape == part.shape:
                    tensor.copy_(part)
                else:
                    tensor.data = part.detach().clone()

    def forward(self) -> Tensor:
        modules = list(self)
        x = modules[0](*self._originals())
        for module in modules[1:]:
            x = module(x)
        return x


def _overlaps(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors may share memory without being one."""
    return a.data_ptr() == b.data_ptr() and a.shape != b.shape


def _inject_new_class(module: Any) -> None:
    """Give a module a class of its own, to which properties can be added."""
    cls = type(module)

    def __getstate__(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(): make "
            "the module, parametrize it in the same way, and load_state_dict()."
        )

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        made = object.__new__(type(self))
        memo[id(self)] = made
        made.__setstate__(copy.deepcopy(self.__dict__, memo))
        return made

    body = {
        "__getstate__": __getstate__,
        "__deepcopy__": __deepcopy__,
        "__module__": __name__,
        "__doc__": cls.__doc__,
    }
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), body)


def _inject_property(module: Any, name: str) -> None:
    """Put a property in the place of a tensor."""

    def read(self: Any) -> Tensor:
        if not _cache_enabled:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def write(self: Any, value: Tensor) -> None:
        _cache.pop((id(self), name), None)
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer by a module each time it is read.

    Args:
        module: whose tensor it is.
        tensor_name: its name.
        parametrization: ``forward`` makes the tensor of the original; ``right_inverse``, if there
            is one, makes an original of a tensor, and may return several.
        unsafe: allow the dtype or shape to change, and check nothing.

    >>> class Symmetric(weft.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> m = weft.nn.Linear(3, 3)
    >>> m = weft.nn.utils.parametrize.register_parametrization(m, "weight", Symmetric())
    >>> bool((m.weight == m.weight.T).all())
    True
    """
    me: Any = module
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(module, tensor_name)
            after = parametrization(before)
            _check_unchanged("parametrized", before, after)
            if hasattr(parametrization, "right_inverse"):
                with contextlib.suppress(NotImplementedError):
                    back: Any = parametrization.right_inverse(after)
                    if not isinstance(back, Tensor):
                        raise ValueError(
                            "parametrization.right_inverse must return a tensor. Got: "
                            f"{type(back).__name__}"
                        )
                    _check_unchanged("right_inverse", before, back)
        me.parametrizations[tensor_name].append(parametrization)
        me.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in me._buffers or tensor_name in me._parameters:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            me.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        me.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Say whether a module has parametrizations, or one for a tensor by name.

    >>> weft.nn.utils.parametrize.is_parametrized(weft.nn.Linear(2, 2))
    False
    """
    found = module.__dict__.get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a parametrized tensor an ordinary one again.

    Args:
        module: whose tensor it is.
        tensor_name: its name.
        leave_parametrized: keep its present value; else that of the original.

    >>> m = weft.nn.utils.parametrizations.weight_norm(weft.nn.Linear(2, 2))
    >>> m = weft.nn.utils.parametrize.remove_parametrizations(m, "weight")
    >>> list(m.state_dict())
    ['bias', 'weight']
    """
    me: Any = module
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parts = me.parametrizations[tensor_name]
    with weft.no_grad():
        value = getattr(module, tensor_name).detach()
    if parts.is_tensor:
        original = parts.original
        if leave_parametrized:
            original.data = value
    elif leave_parametrized:
        first = parts.original0
        original = Parameter(value, first.requires_grad) if first.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del me.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before it was parametrized.

    >>> m = weft.nn.utils.parametrizations.weight_norm(weft.nn.Linear(2, 2))
    >>> weft.nn.utils.parametrize.type_before_parametrizations(m).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copy parametrizations and the tensors they begin with to another module.

    Args:
        from_module: where they are.
        to_module: where they go; of the same kind.
        tensor_name: only those of this tensor.

    >>> a = weft.nn.utils.parametrizations.weight_norm(weft.nn.Linear(2, 2))
    >>> parametrize = weft.nn.utils.parametrize
    >>> b = parametrize.transfer_parametrizations_and_params(a, weft.nn.Linear(2, 2))
    >>> bool((a.weight == b.weight).all())
    True
    """
    source: Any = from_module
    target: Any = to_module
    if not is_parametrized(from_module):
        return to_module
    names = list(source.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, copy.deepcopy(getattr(source, name).detach()))
            if isinstance(source.parametrizations[name]._originals()[0], Parameter):
                value = getattr(to_module, name)
                delattr(to_module, name)
                setattr(to_module, name, Parameter(value))
        for parametrization in source.parametrizations[name]:
            register_parametrization(to_module, name, copy.deepcopy(parametrization), unsafe=True)
        parts, new = source.parametrizations[name], target.parametrizations[name]
        with weft.no_grad():
            for a, b in zip(parts._originals(), new._originals()):
                b.data = a.detach().clone()
    return to_module
