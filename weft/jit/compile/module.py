"""A module whose calls are compiled."""

from __future__ import annotations

from weft import nn

from .function import CompiledFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["OptimizedModule"]


class OptimizedModule(nn.Module):
    """A module that is called through a compiled function; everything else is the module's own.

    >>> model = weft.compile(weft.nn.Linear(2, 1))
    >>> model.in_features, list(model.state_dict())
    (2, ['_orig_mod.weight', '_orig_mod.bias'])
    """

    _orig_mod: nn.Module

    def __init__(
        self,
        module: nn.Module,
        fullgraph: bool = False,
        eager: bool = False,
        exact: bool = True,
        dynamic: bool | None = None,
    ) -> None:
        """Wrap a module. If ``eager``, its calls stay as they are."""
        super().__init__()
        self._orig_mod = module
        self.__dict__["compiled"] = CompiledFunction(module, fullgraph, exact, dynamic)
        self.__dict__["eager"] = eager
        if not eager:  # so that no frame of Python stands before it
            self.__dict__["forward"] = self.compiled
        del self.__dict__["training"]  # it is the module's

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Make the call from what was captured of the module."""
        return (self._orig_mod if self.eager else self.compiled)(*args, **kwargs)

    def train(self, mode: bool = True) -> Any:
        """Set the mode of the module."""
        self._orig_mod.train(mode)
        return self

    def __getattr__(self, name: str) -> Any:
        """Look for an attribute here, then in the module."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_orig_mod"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute of the module: a plain one, a parameter, a buffer or a part."""
        if self._is_own(name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        """Delete an attribute of the module."""
        if self._is_own(name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def _is_own(self, name: str) -> bool:
        """Say whether an attribute belongs to the wrapper: what it began with, and its hooks."""
        members = self.__dict__
        return name in members or "_orig_mod" not in members or name.endswith("_hook")

    def __deepcopy__(self, memo: dict[int, Any]) -> OptimizedModule:
        """Return one of a copy of the module, with nothing captured."""
        from copy import deepcopy

        return OptimizedModule(deepcopy(self._orig_mod, memo), *self._settings)

    def __reduce__(self) -> Any:
        """Pickle the module; what was captured is not kept."""
        return OptimizedModule, (self._orig_mod, *self._settings)

    @property
    def _settings(self) -> tuple[bool, bool, bool, bool | None]:
        compiled = self.compiled
        return compiled.fullgraph, self.eager, compiled.exact, compiled.dynamic

    @property
    def graphs(self) -> list[Any]:
        """The graphs of all programs that were made, for ``weft.jit.show``."""
        return self.compiled.graphs

    @property
    def calls_until_graph(self) -> int:
        """How many calls like the last it takes until there is a program."""
        return self.compiled.calls_until_graph

    @property
    def reasons(self) -> list[str]:
        """Why calls run eagerly, where they do."""
        return self.compiled.reasons

    def report(self) -> Any:
        """Return what was captured, what is watched, and what is not compiled and why."""
        return self.compiled.report()
