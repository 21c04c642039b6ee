"""Modules and parameters in sequences and dictionaries."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain, islice

import weft
from weft.nn.module import Module, _addindent
from weft.nn.parameter import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from typing_extensions import Self

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


def _place(index: Any, length: int) -> int:
    """Return a place counted from the front, or say that there is none."""
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index + length if index < 0 else index


class Container(Module):
    """A module with the given children (deprecated: ``Module`` itself does all that it did).

    >>> weft.nn.Container(act=weft.nn.ReLU()).act
    ReLU()
    """

    def __init__(self, **kwargs: Module | None) -> None:
        text = "nn.Container is deprecated: make a subclass of nn.Module instead"
        warnings.warn(text, FutureWarning, stacklevel=2)
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """What containers share whose children are named 0, 1, 2 …"""

    def _key(self, index: Any) -> str:
        """Return the name of the child at a place."""
        place = _place(index, len(self))
        key = str(place)
        if key in self._modules:
            return key
        return next(islice(iter(self._modules), place, None))

    def _rename(self, modules: Iterable[Module | None]) -> None:
        """Number the given modules from 0, in place of all children."""
        self._modules = OrderedDict((str(i), module) for i, module in enumerate(modules))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._slice(index)
        return self._modules[self._key(index)]

    def _slice(self, index: slice) -> Any:
        return type(self)(list(self._modules.values())[index])

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: Any) -> None:
        if isinstance(index, slice):
            for key in list(self._modules)[index]:
                delattr(self, key)
        else:
            delattr(self, self._key(index))
        self._rename(list(self._modules.values()))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Self:
        """Add a module at the end.

        >>> len(weft.nn.ModuleList([weft.nn.ReLU()]).append(weft.nn.Tanh()))
        2
        """
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Remove the module at a place and return it.

        >>> weft.nn.ModuleList([weft.nn.ReLU(), weft.nn.Tanh()]).pop(0)
        ReLU()
        """
        value = self[key]
        del self[key]
        return value


class Sequential(_Numbered):
    """Modules one after the other, each given what the one before returned.

    Args:
        args: the modules, or one ordered dictionary of them by name.

    >>> net = weft.nn.Sequential(weft.nn.Linear(2, 3), weft.nn.ReLU())
    >>> net(weft.ones(1, 2)).shape
    torch.Size([1, 3])
    >>> net
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def _arguments_now(self) -> list[Any]:
        if list(self._modules) == [str(i) for i in range(len(self))]:
            return list(self)
        return [OrderedDict(self._modules)]

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _slice(self, index: slice) -> Any:
        return type(self)(OrderedDict(list(self._modules.items())[index]))

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is "
                "given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is "
                "given."
            )
        return self.extend(list(other))

    def __mul__(self, other: Any) -> Sequential:
        self._check_factor(other)
        return Sequential(*(module for _ in range(other) for module in self))

    __rmul__ = __mul__

    def __imul__(self, other: Any) -> Self:
        self._check_factor(other)
        modules = list(self)
        for _ in range(other - 1):
            self.extend(modules)
        return self

    @staticmethod
    def _check_factor(other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {Sequential} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {Sequential}")

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at a place.

        >>> weft.nn.Sequential(weft.nn.ReLU()).insert(0, weft.nn.Tanh())[0]
        Tanh()
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index + len(self) if index < 0 else index, module)
        self._rename(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add several modules at the end.

        >>> len(weft.nn.Sequential(weft.nn.ReLU()).extend([weft.nn.Tanh(), weft.nn.Tanh()]))
        3
        """
        for module in sequential:
            self.append(module)
        return self


class ModuleList(_Numbered):
    """Modules in a list, of which the parameters are found.

    >>> layers = weft.nn.ModuleList([weft.nn.Linear(2, 2) for _ in range(3)])
    >>> layers
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _arguments_now(self) -> list[Any]:
        return [list(self)]

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add several modules at the end.

        >>> len(weft.nn.ModuleList().extend([weft.nn.Tanh(), weft.nn.Tanh()]))
        2
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at a place.

        >>> layers = weft.nn.ModuleList([weft.nn.ReLU()])
        >>> layers.insert(0, weft.nn.Tanh())
        >>> layers[0]
        Tanh()
        """
        modules = list(self)
        modules.insert(index, module)
        self._rename(modules)

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return type(self)(chain(self, other))

    def __repr__(self) -> str:
        """Return the tree as text, with equal neighbours on one line."""
        texts = [repr(module) for module in self]
        if not texts:
            return self._get_name() + "()"
        runs: list[list[int]] = []
        for i, text in enumerate(texts):
            if runs and text == texts[runs[-1][0]]:
                runs[-1][1] = i
            else:
                runs.append([i, i])
        lines = []
        for first, last in runs:
            text = _addindent(texts[first], 2)
            if first == last:
                lines.append(f"({first}): {text}")
            else:
                lines.append(f"({first}-{last}): {last - first + 1} x {text}")
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def _pairs(kind: str, given: Any) -> list[tuple[Any, Any]]:
    """Read what ``update`` of a dictionary accepts into a list of pairs."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{kind}.update should be called with an iterable of key/value pairs, but got "
            + type(given).__name__
        )
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        return list(given.items())
    found = []
    for i, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{kind} update sequence element #{i} should be Iterable; is {type(pair).__name__}"
            )
        pair = list(pair)
        if len(pair) != 2:
            raise ValueError(
                f"{kind} update sequence element #{i} has length {len(pair)}; 2 is required"
            )
        found.append((pair[0], pair[1]))
    return found


class ModuleDict(Module):
    """Modules by name, of which the parameters are found.

    >>> acts = weft.nn.ModuleDict({"relu": weft.nn.ReLU(), "tanh": weft.nn.Tanh()})
    >>> acts["tanh"]
    Tanh()
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def _arguments_now(self) -> list[Any]:
        return [dict(self._modules)]

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove a module and return it.

        >>> weft.nn.ModuleDict({"a": weft.nn.ReLU()}).pop("a")
        ReLU()
        """
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Module]]:
        """Return names and modules."""
        return self._modules.items()

    def values(self) -> Iterable[Module]:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Set modules by name, from a dictionary or from pairs.

        >>> d = weft.nn.ModuleDict()
        >>> d.update([("a", weft.nn.ReLU())])
        >>> list(d)
        ['a']
        """
        for name, module in _pairs("ModuleDict", modules):
            self[name] = module


class ParameterList(Module):
    """Parameters in a list; tensors that are put in become parameters.

    >>> weft.nn.ParameterList([weft.ones(2), weft.ones(3)])
    ParameterList(
        (0): Parameter containing: [torch.float32 of size 2]
        (1): Parameter containing: [torch.float32 of size 3]
    )
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _arguments_now(self) -> list[Any]:
        return [list(self)]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            made = type(self)()
            for i in range(*index.indices(len(self))):
                made.append(self[i])
            return made
        return getattr(self, str(_place(index, len(self))))

    def __setitem__(self, index: Any, param: Any) -> None:
        setattr(self, str(_place(index, len(self))), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add a value at the end.

        >>> len(weft.nn.ParameterList().append(weft.ones(1)))
        1
        """
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several values at the end.

        >>> len(weft.nn.ParameterList().extend([weft.ones(1), weft.ones(1)]))
        2
        """
        if not isinstance(values, Iterable) or isinstance(values, weft.Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                + type(values).__name__
            )
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(f"  ({i}): {_describe(v, str)}" for i, v in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: a list of parameters has no forward."""
        raise RuntimeError("ParameterList should not be called.")


def _as_parameter(value: Any) -> Any:
    """Make a parameter of a tensor; leave anything else."""
    if isinstance(value, weft.Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _describe(value: Any, kind: Any) -> str:
    """Say in a line what a value in a list or dictionary of parameters is."""
    if not isinstance(value, weft.Tensor):
        return f"Object of type: {type(value).__name__}"
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    name = str(value.dtype) if kind is str else value.type()
    return f"{what} containing: [{name} of size {'x'.join(map(str, value.shape))}]"


class ParameterDict(Module):
    """Parameters by name, in the order they were put in; tensors become parameters.

    >>> d = weft.nn.ParameterDict({"left": weft.ones(2)})
    >>> d["left"]
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _arguments_now(self) -> list[Any]:
        return [OrderedDict(self.items())]

    @staticmethod
    def _attr(key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}')."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        name = self._attr(key)
        if name not in self._keys:
            raise KeyError(key)
        return getattr(self, name)

    def __setitem__(self, key: str, value: Any) -> None:
        name = self._attr(key)
        setattr(self, name, _as_parameter(value))
        self._keys[name] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return another dictionary of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Set a name unless it is there; return its value."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove a name and return its value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last name and return it with its value."""
        key = next(reversed(list(self._keys)))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a name, or ``default``."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a dictionary with the same value for all names."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return names and values."""
        return [(key, self[key]) for key in self._keys]

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return [self[key] for key in self._keys]

    def update(self, parameters: Any) -> None:
        """Set values by name, from a dictionary or from pairs.

        >>> d = weft.nn.ParameterDict()
        >>> d.update([("a", weft.ones(1))])
        >>> list(d)
        ['a']
        """
        pairs = _pairs("ParameterDict", parameters)
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = sorted(pairs)
        for name, value in pairs:
            self[name] = value

    def extra_repr(self) -> str:
        return "\n".join(f"  ({k}): {_describe(v, type)}" for k, v in self.items())

    def __call__(self, input: Any = None) -> Any:
        """Raise: a dictionary of parameters has no forward."""
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        made = other.copy()
        made.update(self)
        return made

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self
