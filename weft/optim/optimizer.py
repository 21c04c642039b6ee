"""The base of all optimisers: parameter groups, state, hooks, saving and restoring.

``Optimizer`` is what users subclass, as in PyTorch; how weft's own optimisers are declared on top of
it is in ``declared.py``.
"""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from copy import deepcopy
from itertools import chain
from typing import TYPE_CHECKING, Any

from weft import _C, Tensor
from weft._environment import at_line

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]


class _Required:
    """Stands in ``defaults`` for a value that every group must bring."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class _Handle:
    """Removes the hook that it was given for; also as a context manager."""

    def __init__(self, hooks: OrderedDict[int, Any], hook: Any, prepend: bool = False) -> None:
        self.id = max(hooks, default=-1) + 1
        self._hooks = hooks
        hooks[self.id] = hook
        if prepend:
            hooks.move_to_end(self.id, last=False)

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> _Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_post_hooks: OrderedDict[int, Any] = OrderedDict()
# Unlike hooks they are no part of the program: what ``weft.compile`` captures does not have them.
_watchers: list[Any] = []


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> _Handle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of every optimiser.

    >>> from weft.optim.optimizer import register_optimizer_step_pre_hook
    >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: None)
    >>> handle.remove()
    """
    return _Handle(_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> _Handle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of every optimiser.

    >>> from weft.optim.optimizer import register_optimizer_step_post_hook
    >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: None)
    >>> handle.remove()
    """
    return _Handle(_post_hooks, hook)


def _with_hooks(step: Any) -> Any:
    """Return ``step`` with the hooks before and after it; ``args[0]`` is the optimiser."""

    @functools.wraps(step)
    def run(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        watcher = _C._step_watcher()
        if watcher is True:
            return _profiled(self, hooked_step, args, kwargs)
        if watcher is not None and not getattr(self, "_captured", False):
            return _in_capture(watcher, self, run, args, kwargs)
        return hooked_step(*args, **kwargs)

    def hooked_step(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        watchers = tuple(_watchers) if _watchers and _C._recorder() is None else ()
        for watcher in watchers:
            watcher.before_step(self)
        own_pre, own_post = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        if not (own_pre or own_post or _pre_hooks or _post_hooks or watchers):
            return step(*args, **kwargs)
        for hook in (*_pre_hooks.values(), *own_pre.values()):
            changed = hook(self, args, kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    f"{hook} must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{changed!r}."
                )
            args, kwargs = changed
        result = step(*args, **kwargs)
        for hook in (*own_post.values(), *_post_hooks.values()):
            hook(self, args, kwargs)
        for watcher in watchers:
            watcher.after_step(self)
        return result

    run.hooked = True  # type: ignore[attr-defined]
    return run


def _profiled(self: Any, step: Any, args: Any, kwargs: Any) -> Any:
    """Make a step in a range of what a profiler records."""
    range_ = _C.OpenRange(f"Optimizer.step#{type(self).__name__}.step")
    try:
        return step(*args, **kwargs)
    finally:
        range_.close()


def _in_capture(recorder: Any, self: Any, run: Any, args: Any, kwargs: Any) -> Any:
    """Make a step that ``weft.compile`` watches: as an op where it is one, else as Python."""
    if not hasattr(recorder, "step_of"):  # a trace: it keeps the ops of the step
        return run.__wrapped__(*args, **kwargs)
    hooked = self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks
    native = self._native and not (hooked or _pre_hooks or _post_hooks or args[1:] or kwargs)
    self._captured = True
    try:
        return recorder.step_of(self, lambda: run(*args, **kwargs), native)
    finally:
        del self._captured


def _typename(x: Any) -> str:
    if isinstance(x, Tensor):
        return x.type()
    return type(x).__name__


class Optimizer:
    """The base class of optimisers.

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with such under ``"params"`` and
            options of their own (groups).
        defaults: the options of groups that do not bring them.

    >>> class Descent(weft.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     @weft.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p.sub_(group["lr"] * p.grad)
    >>> x = weft.tensor([1.0], requires_grad=True)
    >>> optimizer = Descent([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.], requires_grad=True)
    """

    # A step is one op, which reads the options of the groups anew each time.
    _native = False

    # States that are one number for a whole parameter: loading does not cast them to its dtype.
    _numbers: tuple[str, ...] = ("step",)

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        """Make the groups and an empty state."""
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                at_line(
                    "params argument given to the optimizer should be an iterable of Tensors or "
                    f"dicts, but got {_typename(params)}"
                )
            )
        if hasattr(params, "named_parameters"):
            kind = type(params).__name__
            raise TypeError(
                at_line(
                    f"{type(self).__name__}: '{kind}' object is not iterable: give its "
                    "parameters, as by model.parameters()"
                )
            )
        self.state: defaultdict[Tensor, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError(
                at_line(
                    f"{type(self).__name__}: optimizer got an empty parameter list. A model finds "
                    "layers that are its attributes; those in a plain list or dict need "
                    "nn.ModuleList or nn.ModuleDict"
                )
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        for kind in ("step", "state_dict", "load_state_dict"):
            for when in ("pre", "post"):
                self.__dict__.setdefault(f"_optimizer_{kind}_{when}_hooks", OrderedDict())
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and copied: not the hooks."""
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what ``__getstate__`` gave."""
        self.__dict__.update(state)
        self._make_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        """Return the options of each group as text."""
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(("\n" if i else "") + f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    # ---- hooks ----------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> _Handle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new ones.

        >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_step_pre_hook(lambda *_: print("before"))
        >>> optimizer.step()
        before
        """
        return _Handle(self._optimizer_step_pre_hooks, hook)  # type: ignore[attr-defined]

    def register_step_post_hook(self, hook: Callable[..., Any]) -> _Handle:
        """Call ``hook(optimizer, args, kwargs)`` after each step.

        >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_step_post_hook(lambda *_: print("after"))
        >>> optimizer.step()
        after
        """
        return _Handle(self._optimizer_step_post_hooks, hook)  # type: ignore[attr-defined]

    def register_state_dict_pre_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> _Handle:
        """Call ``hook(optimizer)`` before ``state_dict``."""
        hooks = self._optimizer_state_dict_pre_hooks  # type: ignore[attr-defined]
        return _Handle(hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> _Handle:
        """Call ``hook(optimizer, state_dict)`` after it; it may return another one."""
        hooks = self._optimizer_state_dict_post_hooks  # type: ignore[attr-defined]
        return _Handle(hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> _Handle:
        """Call ``hook(optimizer, state_dict)`` before loading; it may return another one."""
        hooks = self._optimizer_load_state_dict_pre_hooks  # type: ignore[attr-defined]
        return _Handle(hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> _Handle:
        """Call ``hook(optimizer)`` after ``load_state_dict``."""
        hooks = self._optimizer_load_state_dict_post_hooks  # type: ignore[attr-defined]
        return _Handle(hooks, hook, prepend)

    # ---- saving and restoring -------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return state and options; parameters stand in it as numbers, in their order.

        >>> x = weft.ones(1, requires_grad=True)
        >>> weft.optim.SGD([x], lr=0.1).state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():  # type: ignore[attr-defined]
            hook(self)
        number: dict[int, int] = {}
        for p in chain.from_iterable(group["params"] for group in self.param_groups):
            number.setdefault(id(p), len(number))
        groups = [
            {
                **{key: value for key, value in group.items() if key != "params"},
                "params": [number[id(p)] for p in group["params"]],
            }
            for group in self.param_groups
        ]
        state = {
            number[id(k)] if isinstance(k, Tensor) else k: value for k, value in self.state.items()
        }
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():  # type: ignore[attr-defined]
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave, cast to the dtypes of this optimiser's parameters.

        >>> x = weft.ones(1, requires_grad=True)
        >>> optimizer = weft.optim.SGD([x], lr=0.1)
        >>> optimizer.load_state_dict(weft.optim.SGD([x], lr=0.2).state_dict())
        >>> optimizer.param_groups[0]["lr"]
        0.2
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():  # type: ignore[attr-defined]
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for mine, theirs in zip(self.param_groups, saved):
            if len(mine["params"]) != len(theirs["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    "optimizer's group"
                )
        numbers = chain.from_iterable(group["params"] for group in saved)
        params = chain.from_iterable(group["params"] for group in self.param_groups)
        param_of = dict(zip(numbers, params))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in param_of:
                state[param_of[key]] = _cast_like(param_of[key], value, self._numbers)
            else:
                state[key] = value
        groups = []
        for mine, theirs in zip(self.param_groups, saved):
            theirs["params"] = mine["params"]
            if "param_names" in mine and "param_names" not in theirs:
                theirs["param_names"] = mine["param_names"]
            groups.append(theirs)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():  # type: ignore[attr-defined]
            hook(self)

    # ---- work -----------------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros.

        >>> x = weft.ones(1, requires_grad=True)
        >>> x.sum().backward()
        >>> weft.optim.SGD([x]).zero_grad()
        >>> x.grad is None
        True
        """
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; subclasses say how.

        Args:
            closure: evaluates the model again and returns the loss.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how to make a step")

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, with options of their own.

        >>> optimizer = weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=0.1)
        >>> optimizer.add_param_group({"params": weft.ones(2, requires_grad=True), "lr": 1.0})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 1.0]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _open_params(param_group)
        for p in param_group["params"]:
            if not isinstance(p, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {_typename(p)}"
                )
            if not (self.defaults.get("differentiable") or p.is_leaf or p.retains_grad):
                made = p.grad_fn.name().removesuffix("Backward0")
                raise ValueError(
                    at_line(
                        f"{type(self).__name__}: can't optimize a non-leaf Tensor: it is the "
                        f"result of {made}, at {p.grad_fn.origin}"
                    )
                )
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        self._check_duplicates(param_group)
        self.param_groups.append(param_group)

    def _check_duplicates(self, param_group: dict[str, Any]) -> None:
        """Refuse what is already there, and groups with names among groups without."""
        own = {id(p) for p in param_group["params"]}
        if len(own) != len(param_group["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error",
                stacklevel=4,
            )
        if any(id(p) in own for group in self.param_groups for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups:
            named = "param_names" in param_group
            if named != ("param_names" in self.param_groups[0]):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param "
                    f"group {'with' if named else 'without'} names to the optimizer"
                )


def _open_params(group: dict[str, Any]) -> None:
    """Make ``params`` of a group a list of tensors, and ``param_names`` their names if given."""
    params = group["params"]
    if isinstance(params, Tensor):
        params = [params]
    elif isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering "
            "of tensors in sets will change between runs. Please use a list instead."
        )
    params = list(params)
    named = [isinstance(p, tuple) for p in params]
    if any(named):
        if not all(named):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        group["param_names"] = [name for name, _ in params]
        params = [p for _, p in params]
    group["params"] = params


def _cast_like(p: Tensor, value: Any, numbers: tuple[str, ...], key: Any = None) -> Any:
    """Return a saved state as the state of ``p``: its dtype, except for ``numbers``."""
    if isinstance(value, Tensor):
        return value.to(p.dtype) if key not in numbers and p.is_floating_point() else value
    if isinstance(value, dict):
        return {k: _cast_like(p, v, numbers, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_cast_like(p, v, numbers) for v in value])
    return value
