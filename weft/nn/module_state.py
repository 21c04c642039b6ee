"""The state of a module as a dictionary of tensors by name, and back."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping

import weft
from weft import Tensor
from weft._environment import at_line
from weft.nn.module_hooks import HookTable, RemovableHandle, add
from weft.nn.parameter import Parameter, is_lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(
    namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys")),
):
    """What ``load_state_dict`` returns: the names that were not found, and those not asked for."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Say in words that nothing is missing."""
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, "
            f"unexpected_keys={self.unexpected_keys!r})"
        )

    __str__ = __repr__


class StateMethods:
    """What ``Module`` has for its ``state_dict``."""

    _version = 1
    _state_dict_hooks = HookTable(calls=False)
    _state_dict_pre_hooks = HookTable(calls=False)
    _load_state_dict_pre_hooks = HookTable(calls=False)
    _load_state_dict_post_hooks = HookTable(calls=False)

    _parameters: Any
    _buffers: Any
    _modules: Any
    _non_persistent_buffers_set: Any

    # ---- out

    def get_extra_state(self) -> Any:
        """Return what else belongs to the state of this module; for subclasses to define.

        >>> class Counter(weft.nn.Module):
        ...     def get_extra_state(self):
        ...         return {"steps": 3}
        ...     def set_extra_state(self, state):
        ...         self.steps = state["steps"]
        >>> Counter().state_dict()["_extra_state"]
        {'steps': 3}
        """
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called: a "
            "subclass that has set_extra_state() must define it."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what ``get_extra_state`` returned; for subclasses to define."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called: a "
            "subclass that has get_extra_state() must define it."
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write this module's own tensors, without its children's, into ``destination``."""
        for name, param in self._parameters.items():
            if param is not None:
                lazy = is_lazy(param)
                destination[prefix + name] = param if keep_vars or lazy else param.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                lazy = is_lazy(buffer)
                destination[prefix + name] = buffer if keep_vars or lazy else buffer.detach()
        if type(self).get_extra_state is not StateMethods.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Return all parameters and persistent buffers by name; they share the module's memory.

        Args:
            args: an old form of the others, by position.
            destination: a dictionary to write into (default: a new one).
            prefix: what every name begins with.
            keep_vars: return the tensors themselves, not detached.

        >>> list(weft.nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead: state_dict(destination=,"
                " prefix=, keep_vars=)",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in list(self.__dict__.get("_state_dict_pre_hooks", {}).values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars
                )
        for hook in list(self.__dict__.get("_state_dict_hooks", {}).values()):
            answer = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if answer is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif answer is not None:
                destination = answer
        return destination

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` reads the module.

        >>> m = weft.nn.Linear(1, 1)
        >>> h = m.register_state_dict_pre_hook(lambda m, prefix, keep_vars: print("now"))
        >>> sd = m.state_dict()
        now
        """
        return add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)``, which may change the dict.

        >>> m = weft.nn.Linear(1, 1)
        >>> h = m.register_state_dict_post_hook(lambda m, sd, prefix, meta: sd.clear())
        >>> len(m.state_dict())
        0
        """
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Like the above; what it returns, unless None, takes the place of the dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        return add(self._state_dict_hooks, hook)

    # ---- in

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook before this module takes its tensors out of a ``state_dict``.

        Args:
            hook: given (module, state_dict, prefix, local_metadata, strict, missing_keys,
                unexpected_keys, error_msgs); may change them.

        >>> m = weft.nn.Linear(1, 1)
        >>> h = m.register_load_state_dict_pre_hook(lambda m, sd, *rest: sd.pop("extra", None))
        >>> m.load_state_dict({**m.state_dict(), "extra": 1})
        <All keys matched successfully>
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """The same; without ``with_module`` the hook is not given the module."""
        return add(self._load_state_dict_pre_hooks, _LoadHook(hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after loading; it may change the lists.

        >>> m = weft.nn.Linear(1, 1)
        >>> h = m.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
        >>> m.load_state_dict({})
        <All keys matched successfully>
        """
        return add(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Take this module's own tensors, without its children's, from ``state_dict``."""
        for hook in list(self.__dict__.get("_load_state_dict_pre_hooks", {}).values()):
            args = (prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
            hook(self, state_dict, *args)
        own = {
            name: tensor
            for name, tensor in (*self._parameters.items(), *self._buffers.items())
            if tensor is not None and name not in self._non_persistent_buffers_set
        }
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(name, key, tensor, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateMethods.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    first, dot, _ = key[len(prefix) :].partition(".")
                    if first not in (self._modules if dot else own):
                        unexpected_keys.append(key)

    def _load_one(
        self, name: str, key: str, tensor: Any, value: Any, assign: bool, error_msgs: list[str]
    ) -> None:
        """Copy one tensor of the file into one of the module, or put it in its place."""
        if not isinstance(value, Tensor):
            error_msgs.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                f"object from checkpoint but received {type(value)}"
            )
            return
        lazy = is_lazy(tensor)
        if not lazy and not is_lazy(value):
            if tensor.dim() == 0 and value.dim() == 1 and value.shape[0] == 1:
                value = value[0]  # as files of very old versions have it
            if value.shape != tensor.shape:
                error_msgs.append(
                    f"size mismatch for {key}: copying a param with shape {value.shape} from "
                    f"checkpoint, the shape in current model is {tensor.shape}."
                )
                return
        try:
            with weft.no_grad():
                if assign:
                    if isinstance(tensor, Parameter):
                        if not isinstance(value, Parameter):
                            value = Parameter(value, requires_grad=tensor.requires_grad)
                        else:
                            value.requires_grad_(tensor.requires_grad)
                    setattr(self, name, value)
                elif lazy and is_lazy(value):
                    pass
                elif lazy:
                    raise ValueError("the module's parameter has no shape yet: call it once first")
                else:
                    tensor.copy_(value)
        except Exception as e:
            sizes = "" if lazy else f", whose dimensions in the model are {tensor.shape}"
            error_msgs.append(
                f'While copying the parameter named "{key}"{sizes} and whose dimensions in the '
                f"checkpoint are {value.shape}, an exception occurred : {e.args}."
            )

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the tensors of ``state_dict`` into this module and its children.

        Args:
            state_dict: tensors by name, as ``state_dict()`` returns them.
            strict: raise if a name is missing or not known.
            assign: put the given tensors in place of the module's, keeping their dtype.

        >>> a, b = weft.nn.Linear(2, 1), weft.nn.Linear(2, 1)
        >>> a.load_state_dict(b.state_dict())
        <All keys matched successfully>
        >>> bool((a.weight == b.weight).all())
        True
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata

        def load(module: Any, local: Any, prefix: str = "") -> None:
            meta = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                meta["assign_to_params_buffers"] = True
            module._load_from_state_dict(local, prefix, meta, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    at = prefix + name + "."
                    load(child, {k: v for k, v in local.items() if k.startswith(at)}, at)
            keys = _IncompatibleKeys(missing, unexpected)
            for hook in list(module.__dict__.get("_load_state_dict_post_hooks", {}).values()):
                if hook(module, keys) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                        "expected to return new values, if incompatible_keys need to be modified, "
                        "it should be done inplace."
                    )

        load(self, state)
        if strict:
            for kind, names in (("Missing", missing), ("Unexpected", unexpected)):
                if names:
                    quoted = ", ".join(f'"{name}"' for name in names)
                    at = 0 if kind == "Missing" else len(errors[:1]) if missing else 0
                    errors.insert(at, f"{kind} key(s) in state_dict: {quoted}. ")
        if errors:
            raise RuntimeError(
                at_line(
                    f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                    + "\n\t".join(errors)
                )
            )
        return _IncompatibleKeys(missing, unexpected)


class _LoadHook:
    """A hook before loading, which may want the module as its first argument."""

    def __init__(self, hook: Callable[..., Any], with_module: bool) -> None:
        self.hook, self.with_module = hook, with_module

    def __call__(self, module: Any, *args: Any) -> Any:
        return self.hook(module, *args) if self.with_module else self.hook(*args)
