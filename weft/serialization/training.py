"""``TrainingState``: all that a training needs to go on as if it had never been stopped."""

from __future__ import annotations

import os
import random
import warnings
from typing import Any

import weft
from weft.random import SOURCES, all_states

from . import weft_file
from .atomic import write_file
from .common import FileError, is_numpy, name_of
from .files import load

TYPE_CHECKING = False

__all__ = ["TrainingState"]

_RANDOM = "random"  # what the states of random numbers are called in a file
PREVIOUS = ".previous"  # how the name of the checkpoint before the last one ends


class TrainingState:
    """A model, its optimiser and the rest of a training, saved and resumed bit for bit.

    Args:
        members: by name. Objects with ``state_dict`` and ``load_state_dict`` (modules, optimisers,
            schedulers, ``DataLoader``, ``weft.utils.data.ShuffledBatches``), tensors, generators of
            random numbers, and lists and dicts of these are restored in place. Anything else must
            be data, such as a number of an epoch: it is an attribute, to be read and set.

    What is saved besides: the states of weft's, NumPy's and Python's random numbers, and of a
    module its gradients, and which of its parts are frozen or in evaluation mode. A run that was
    stopped after any ``save`` and resumed gives the same bits as one that was not, on the same
    machine and version of weft.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "run.weft")
    >>> def start():
    ...     model = weft.nn.Linear(2, 1)
    ...     optimizer = weft.optim.Adam(model.parameters())
    ...     return weft.TrainingState(model=model, optimizer=optimizer, epoch=0)
    >>> training = start()
    >>> training.resume(path)  # nothing to resume yet
    False
    >>> training.epoch += 1
    >>> training.save(path)
    >>> training = start()  # in another process, say
    >>> training.resume(path)
    True
    >>> training.epoch
    1
    """

    if TYPE_CHECKING:  # the members are its attributes

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, **members: Any) -> None:
        for name in members:
            if name == _RANDOM or hasattr(TrainingState, name):
                raise TypeError(f"TrainingState: a member cannot be called {name!r}")
        self.__dict__.update(members)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(
                f"TrainingState has no member {name!r}: give it when the state is made, as in "
                f"TrainingState({name}=...)"
            )
        self.__dict__[name] = value

    def __repr__(self) -> str:
        """Return the names and types of the members."""
        members = (f"{name}={type(value).__name__}" for name, value in self.__dict__.items())
        return f"TrainingState({', '.join(members)})"

    def save(self, path: Any) -> None:
        """Write everything to a file, in one go; the file before it stays as ``<path>.previous``.

        Also gradients are saved where there are some: after ``zero_grad`` the file is smaller.

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "run.weft")
        >>> training = weft.TrainingState(epoch=0)
        >>> for training.epoch in range(3):
        ...     training.save(path)
        >>> weft.load(path)["epoch"], weft.load(path + ".previous")["epoch"]
        (2, 1)
        """
        content = {name: state_of(value, True) for name, value in self.__dict__.items()}
        content[_RANDOM] = all_states()
        write_file(path, lambda file: weft_file.write(file, content), PREVIOUS)

    def load(self, path: Any, *, strict: bool = True) -> None:
        """Take everything back from a file.

        Args:
            path: the file.
            strict: raise if the file has other members than this state; else what only one of
                them has stays as it is.

        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "run.weft")
        >>> weft.TrainingState(epoch=3).save(path)
        >>> training = weft.TrainingState(epoch=0)
        >>> training.load(path)
        >>> training.epoch
        3
        """
        self._take(load(path), f"TrainingState.load: {name_of(path)}", strict)

    def resume(self, path: Any) -> bool:
        """Take everything back if the file is there; say whether it was.

        If the file is damaged, the one before it is taken, with a warning.

        >>> weft.TrainingState(epoch=0).resume("no such file")
        False
        """
        path = os.fsdecode(path)
        try:
            content = load(path)
        except FileNotFoundError:
            return False
        except FileError as e:
            try:
                content = load(path + PREVIOUS)
            except (OSError, FileError):
                raise e from None
            warnings.warn(f"{e}; going on from {path + PREVIOUS}", stacklevel=2)
        self._take(content, f"TrainingState.resume: {path}", True)
        return True

    def _take(self, content: Any, what: str, strict: bool) -> None:
        if not isinstance(content, dict) or _RANDOM not in content:
            raise FileError(f"{what}: not a file of TrainingState")
        members = self.__dict__
        missing = [name for name in members if name not in content]
        unknown = [name for name in content if name not in members and name != _RANDOM]
        if strict and (missing or unknown):
            faults = [f"the file has no {name!r}" for name in missing]
            faults += [f"the file has {name!r}, this state has not" for name in unknown]
            raise ValueError(f"{what}: {'; '.join(faults)}")
        for name, value in members.items():
            if name in content:
                members[name] = _restored(value, content[name], f"{what}: {name}")
        _set_random(content[_RANDOM], what)


# ---- members ------------------------------------------------------------------------------------


def state_of(x: Any, training: bool = False) -> Any:
    """Return what is saved of an object: its state, or the object itself if it is data.

    Args:
        x: what to save.
        training: of modules, also gradients and modes.
    """
    if isinstance(x, weft._C.ModuleBase):
        from .modules import describe  # loads weft.nn

        return describe(x) | (_of_training(x) if training else {})
    if is_stateful(x):
        return x.state_dict()
    if isinstance(x, random.Random):
        return x.getstate()
    if is_numpy(x, "random.Generator"):
        return x.bit_generator.state
    if isinstance(x, weft.Tensor) and training:
        return {"value": x.detach(), "grad": weft._C._grad_of(x)}
    if type(x) in (list, tuple):
        return type(x)([state_of(item, training) for item in x])
    if type(x) is dict:
        return {key: state_of(value, training) for key, value in x.items()}
    return x


def is_stateful(x: Any) -> bool:
    """Say whether an object can give its state and take it back."""
    return callable(getattr(x, "state_dict", None)) and callable(
        getattr(x, "load_state_dict", None)
    )


def _of_training(module: Any) -> dict[str, Any]:
    """What else a module in training has, besides its ``state_dict``."""
    parameters = list(module.named_parameters())
    return {
        "gradients": {name: p.grad for name, p in parameters if p.grad is not None},
        "frozen": [name for name, p in parameters if not p.requires_grad],
        "evaluating": [name for name, m in module.named_modules() if not m.training],
    }


def _restored(x: Any, saved: Any, what: str) -> Any:
    """Return ``x`` in the state that was saved, or what was saved if ``x`` is only data."""
    try:
        return _restore(x, saved)
    except (TypeError, LookupError, AttributeError) as e:
        kind = type(x).__name__
        raise FileError(f"{what}: what the file has does not fit a {kind}: {e}") from e


def _restore(x: Any, saved: Any) -> Any:
    if isinstance(x, weft._C.ModuleBase):
        _restore_module(x, saved)
    elif is_stateful(x):
        x.load_state_dict(saved)
    elif isinstance(x, random.Random):
        x.setstate(saved)
    elif is_numpy(x, "random.Generator"):
        x.bit_generator.state = saved
    elif isinstance(x, weft.Generator):
        x.set_state(saved.get_state())
    elif isinstance(x, weft.Tensor):
        with weft.no_grad():
            if x.shape != saved["value"].shape:
                raise TypeError(f"shapes {list(x.shape)} and {list(saved['value'].shape)}")
            x.copy_(saved["value"])
        x.grad = saved["grad"]
    elif type(x) is dict and any(map(_lives, x.values())):
        if list(x) != list(saved):
            raise TypeError(f"keys {list(x)} and {list(saved)}")
        return {key: _restore(value, saved[key]) for key, value in x.items()}
    elif type(x) in (list, tuple) and any(map(_lives, x)):
        if len(x) != len(saved):
            raise TypeError(f"{len(x)} and {len(saved)} items")
        return type(x)([_restore(item, value) for item, value in zip(x, saved)])
    else:
        return saved
    return x


def _lives(x: Any) -> bool:
    """Whether an object is restored in place, or holds one that is."""
    if type(x) in (list, tuple, dict):
        return any(map(_lives, x.values() if type(x) is dict else x))
    kinds = (weft._C.ModuleBase, weft.Tensor, weft.Generator, random.Random)
    return isinstance(x, kinds) or is_numpy(x, "random.Generator") or is_stateful(x)


def _restore_module(module: Any, saved: Any) -> None:
    module.load_state_dict(saved["state_dict"])
    frozen, evaluating = set(saved["frozen"]), set(saved["evaluating"])
    for name, p in module.named_parameters():
        p.requires_grad_(name not in frozen)
        p.grad = saved["gradients"].get(name)
    for name, part in module.named_modules():
        part.training = name not in evaluating


# ---- random numbers -----------------------------------------------------------------------------


def _set_random(saved: Any, what: str) -> None:
    for name, (_, put) in SOURCES.items():
        try:
            put(saved[name])
        except (TypeError, ValueError, LookupError, RuntimeError) as e:
            raise FileError(f"{what}: the state of {name}'s random numbers: {e}") from e
