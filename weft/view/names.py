"""Names of tensors: given, or found in the modules and variables that hold them."""

from __future__ import annotations

import re
import sys

import weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType
    from typing import Any

    from weft import Tensor

_ORIGIN = re.compile(r"^(.*?)(?: \(module (.*)\))?$", re.DOTALL)


def split_origin(origin: str) -> tuple[str, str]:
    """Split where something was made into the line of the program and the path of the module.

    >>> from weft.view.names import split_origin
    >>> split_origin("net.py:12, in forward (module Net.body)")
    ('net.py:12, in forward', 'Net.body')
    """
    found = _ORIGIN.match(origin)
    return (found.group(1), found.group(2) or "") if found else (origin, "")


def is_parameter(t: Tensor) -> bool:
    """Return whether a tensor is a parameter of modules.

    >>> from weft.view.names import is_parameter
    >>> is_parameter(weft.nn.Parameter(weft.ones(1))), is_parameter(weft.ones(1))
    (True, False)
    """
    return "weft.nn" in sys.modules and isinstance(t, weft.nn.Parameter)


class Names:
    """Names of tensors, by identity.

    Attributes:
        found: name and kind of each tensor by ``id``; they are kept alive by who gave them.
    """

    def __init__(self) -> None:
        self.found: dict[int, tuple[str, str]] = {}

    def take(self, params: Any, caller: str) -> None:
        """Add names that a user gave: a dict, pairs, or a module."""
        if params is None:
            return
        if hasattr(params, "named_parameters"):
            self.take_module(params)
            return
        pairs: Iterable[Any] = params.items() if isinstance(params, dict) else params
        for pair in pairs:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise TypeError(
                    f"{caller}: params must be a dict of tensors by name, pairs of name and tensor, "
                    f"or a Module; got {type(pair).__name__} in {type(params).__name__}"
                )
            name, t = pair
            if not isinstance(t, weft.Tensor):
                raise TypeError(
                    f"{caller}: params[{name!r}] must be a Tensor, not {type(t).__name__}"
                )
            self.found[id(t)] = (str(name), "parameter" if is_parameter(t) else "leaf")

    def take_module(self, module: Any) -> None:
        """Add the parameters and buffers of a module, under names that are not taken yet."""
        for name, t in module.named_parameters():
            self.found.setdefault(id(t), (name, "parameter"))
        for name, t in module.named_buffers():
            self.found.setdefault(id(t), (name, "buffer"))

    def take_all_modules(self, wanted: Iterable[Tensor]) -> None:
        """Look for these tensors in all modules there are, unless each has a name already."""
        if "weft.nn" not in sys.modules or all(id(t) in self.found for t in wanted):
            return
        import gc

        # By type: to ask other objects for their class may run code, or fail. Some modules may be
        # half made.
        found = [m for m in gc.get_objects() if issubclass(type(m), weft.nn.Module)]
        modules = [m for m in found if "_modules" in vars(m)]
        inner = {id(child) for m in modules for child in m._modules.values()}
        for module in modules:
            if id(module) not in inner:
                self.take_module(module)

    def take_variables(self, frame: FrameType | None) -> None:
        """Add the tensors that the variables of a frame hold."""
        if frame is None:
            return
        for scope in (frame.f_locals, frame.f_globals):
            for name, t in list(scope.items()):
                if issubclass(type(t), weft.Tensor) and not name.startswith("_"):
                    kind = "parameter" if is_parameter(t) else "leaf"
                    self.found.setdefault(id(t), (name, kind))

    def of(self, t: Tensor) -> tuple[str, str] | None:
        """Return the name and the kind of a tensor, if it has a name."""
        return self.found.get(id(t))
