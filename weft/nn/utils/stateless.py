"""A module called with other parameters than its own."""

from __future__ import annotations

import contextlib

from weft.nn.module import Module
from weft.nn.utils import parametrize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from weft import Tensor

__all__ = ["functional_call"]


def _places(module: Module) -> tuple[dict[str, tuple[Any, str]], dict[str, int]]:
    """Where each tensor is, by path, and which tensor it is (tied ones are the same)."""
    where: dict[str, tuple[Any, str]] = {}
    which: dict[str, int] = {}
    for path, child in module.named_modules(remove_duplicate=False):
        for table in (child._parameters, child._buffers):
            for name, tensor in table.items():
                if tensor is not None:
                    full = f"{path}.{name}" if path else name
                    where[full] = (child, name)
                    which[full] = id(tensor)
    return where, which


def _given(module: Module, tensors: Any, tie_weights: bool, strict: bool) -> dict[str, Tensor]:
    """The tensors to set by path, those tied to others included."""
    where, which = _places(module)
    for path in list(tensors):  # the tensor of a parametrization, by the name it has outside
        owner, _, name = path.rpartition(".")
        with contextlib.suppress(AttributeError):
            if parametrize.is_parametrized(module.get_submodule(owner), name):
                raise NotImplementedError(
                    f"functional_call: {path} is parametrized; give its original instead"
                )
    groups: dict[int, list[str]] = {}
    for path, key in which.items():
        groups.setdefault(key, []).append(path)
    found = {path: t for path, t in tensors.items() if path in where}
    full = dict(found)
    if tie_weights:
        for paths in groups.values():
            set_here = [path for path in paths if path in found]
            if len({id(found[path]) for path in set_here}) > 1:
                raise ValueError(
                    f"functional_call got multiple values for keys {sorted(set_here)}, which are "
                    "tied. Consider using tie_weights=False"
                )
            for path in paths if set_here else ():
                full[path] = found[set_here[0]]
    if strict:
        missing = sorted(path for path in where if path not in full)
        unexpected = sorted(path for path in tensors if path not in where)
        if missing or unexpected:
            text = f"Error(s) in reparametrizing for {module._get_name()}:"
            if unexpected:
                text += "\n\tUnexpected key(s): " + ", ".join(map(repr, unexpected)) + "."
            if missing:
                text += "\n\tMissing key(s): " + ", ".join(map(repr, missing)) + "."
            raise RuntimeError(text)
    return full


@contextlib.contextmanager
def _reparametrize_module(
    module: Module, tensors: Any, tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """Within this, a module has the given tensors in place of its own."""
    where, _ = _places(module)
    before = []
    try:
        for path, tensor in _given(module, tensors, tie_weights, strict).items():
            owner, name = where[path]
            table = owner._parameters if name in owner._parameters else owner._buffers
            before.append((table, name, table[name]))
            table[name] = tensor
        yield
    finally:
        for table, name, own in reversed(before):
            table[name] = own


def functional_call(
    module: Module,
    parameters_and_buffers: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with the given tensors in place of its own, which stay as they are.

    Args:
        module: what to call.
        parameters_and_buffers: tensors by path, or several such dictionaries.
        args: its argument, or a tuple of arguments.
        kwargs: its arguments by name.
        tie_weights: where the module has one tensor in two places, replace it in both.
        strict: raise if a tensor is missing or not known.

    >>> m = weft.nn.Linear(2, 1, bias=False)
    >>> weft.nn.utils.stateless.functional_call(m, {"weight": weft.ones(1, 2)}, weft.ones(1, 2))
    tensor([[2.]])
    """
    if isinstance(parameters_and_buffers, (list, tuple)):
        tensors: dict[str, Any] = {}
        for part in parameters_and_buffers:
            if not isinstance(part, dict):
                raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dicts")
            twice = [key for key in part if key in tensors]
            if twice:
                raise ValueError(
                    f"{twice} appeared in multiple dictionaries; behavior of functional call is "
                    "ambiguous"
                )
            tensors.update(part)
    elif isinstance(parameters_and_buffers, dict):
        tensors = parameters_and_buffers
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameters_and_buffers)}"
        )
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, tensors, tie_weights, strict):
        return module(*args, **(kwargs or {}))
