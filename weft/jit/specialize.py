"""Specialisations of a function: one for each signature of its calls and state of Python, and what becomes of them.

``weft.compile``, ``fuse`` and ``optimize_for_inference`` share what is here. What they promise differs: compile
believes a capture that a second one has confirmed; the others, like a trace, believe the first.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import time
from collections import OrderedDict
from typing import NamedTuple

import weft
from weft import _C

from .cost_model import CostModel
from .modes import modes
from .pytree import flatten, is_nested, nesting, node_def

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from weft import Tensor
    from weft.utils.pytree import TreeSpec

__all__ = [
    "TRANSITIONS",
    "Cache",
    "Call",
    "Signature",
    "Specialization",
    "Stage",
    "kind_of",
    "tensors_in",
]


# ---- the signature of a call ----------------------------------------------------------------------


class Signature(NamedTuple):
    """What is the same of all calls that one program can make."""

    spec: TreeSpec | int  # the structure of the arguments; a number: of such that are no containers
    modes: tuple[Any, ...]
    kinds: tuple[tuple[Any, ...], ...]  # of the leaves: types, geometry, numbers
    repeats: tuple[int, ...]  # which argument is which tensor, if one is given more than once

    def __hash__(self) -> int:
        """Return a number that equal signatures share; the structure would take longest."""
        return hash((self.kinds, self.modes))

    def sizeless(self) -> tuple[Any, ...]:
        """Return what is left of it without sizes and numbers."""
        return self.spec, self.modes, tuple(map(_sizeless, self.kinds)), self.repeats


class Call:
    """The arguments of a call, as leaves, and its signature.

    >>> x = weft.ones(2)
    >>> call = weft.jit.specialize.Call((x, [1, x]), {})
    >>> len(call.flat), call.inputs, call.signature.repeats
    (3, [tensor([1., 1.])], (0, 0))
    """

    __slots__ = ("_tensors", "args", "began", "flat", "inputs", "is_plain", "kwargs", "spec")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.began = time.perf_counter()
        self.args, self.kwargs = args, kwargs
        tensors = [x for x in args if isinstance(x, weft.Tensor)]
        self.flat: list[Any]
        self.is_plain = not kwargs and (
            len(tensors) == len(args) or all(node_def(type(x)) is None for x in args)
        )
        if self.is_plain:
            self.flat, self.spec = list(args), _positional(len(args))
        else:
            self.flat, self.spec = flatten((args, kwargs))
            tensors = [x for x in self.flat if isinstance(x, weft.Tensor)]
        self._tensors = tensors
        self.inputs: list[Tensor] = tensors if len(tensors) < 2 else list(dict.fromkeys(tensors))

    @property
    def signature(self) -> Signature:
        """What decides which programs can make it."""
        spec = len(self.args) if self.is_plain else self.spec
        return Signature(spec, modes(), tuple([kind_of(x) for x in self.flat]), self._repeats())

    @property
    def nesting(self) -> Any:
        """How the leaves lie in positional arguments, for C++; None if they are these, or C++ cannot flatten them."""
        if self.is_plain or self.kwargs or not is_nested(self.spec):
            return None
        return nesting(self.spec.child(0))

    def _repeats(self) -> tuple[int, ...]:
        if len(self._tensors) == len(self.inputs):
            return ()
        number = {t: i for i, t in enumerate(self.inputs)}
        return tuple([number[t] for t in self._tensors])

    def is_unchanged(self) -> bool:
        """Say whether the arguments still hold the same objects."""
        flat, spec = flatten((self.args, self.kwargs))
        return spec == self.spec and all(x is y for x, y in zip(self.flat, flat))


@functools.lru_cache(maxsize=32)
def _positional(count: int) -> TreeSpec:
    """Return the structure of a call with so many arguments, none of which is a container."""
    return flatten(((0,) * count, {}))[1]


def tensors_in(leaves: Iterable[Any]) -> list[Tensor]:
    """Return the tensors among leaves, each once."""
    return list(dict.fromkeys([x for x in leaves if isinstance(x, weft.Tensor)]))


def kind_of(x: Any) -> tuple[Any, ...]:
    """Return what must be the same of an argument."""
    if isinstance(x, weft.Tensor):
        return (type(x), *_C._geometry(x), _C._role(x), _C._has_hooks(x), _C._is_writable(x))
    if isinstance(x, (float, complex)):
        return (type(x), x.real.hex(), x.imag.hex())
    if isinstance(x, (int, str, bool, bytes, type(None))):
        return (type(x), x)
    return ("object", id(x))


def _sizeless(kind: tuple[Any, ...]) -> tuple[Any, ...]:
    if isinstance(kind[0], type) and issubclass(kind[0], weft.Tensor):
        return kind[0], *kind[2:3], *kind[4:]
    return kind[:1] if kind[0] in (int, float) else kind


# ---- what becomes of a specialisation ------------------------------------------------------------


class Stage(enum.Enum):
    """How far a specialisation has come."""

    COLD = "nothing of it is captured"
    CAPTURED = "captured, and not yet believed"
    CONFIRMED = "believed: its program is built by the next call"
    READY = "calls are replayed"
    EAGER = "given up: calls run eagerly, for a reason"


#: What happens to a specialisation, and where that leads; what is not in it cannot happen.
TRANSITIONS: dict[Stage, dict[str, Stage]] = {
    Stage.COLD: {
        "captured": Stage.CAPTURED,  # a call was recorded
        "agreed": Stage.CONFIRMED,  # two captures did the same; or one, where that is the promise
        "refused": Stage.COLD,  # what was recorded cannot be replayed
        "given up": Stage.EAGER,
    },
    Stage.CAPTURED: {
        "captured": Stage.CAPTURED,  # and it did something else than the one before
        "agreed": Stage.CONFIRMED,
        "refused": Stage.COLD,
        "given up": Stage.EAGER,
    },
    Stage.CONFIRMED: {
        "captured": Stage.CAPTURED,
        "agreed": Stage.CONFIRMED,  # with a path that was not known
        "refused": Stage.COLD,
        "built": Stage.READY,
        "given up": Stage.EAGER,
    },
    Stage.READY: {
        "captured": Stage.CAPTURED,
        "agreed": Stage.CONFIRMED,  # it is built anew
        "refused": Stage.COLD,
        "built": Stage.READY,
        "given up": Stage.EAGER,
    },
    # For good: what another thread has captured or built meanwhile changes nothing.
    Stage.EAGER: dict.fromkeys(("captured", "agreed", "refused", "built", "given up"), Stage.EAGER),
}


class Specialization:
    """Calls of one signature, in one state of Python: how far they have come, or why they run eagerly.

    >>> from weft.jit.specialize import Specialization
    >>> calls = Specialization()
    >>> for event in ("captured", "agreed", "built"):
    ...     calls.advance(event)
    >>> calls.stage.name, calls.ready
    ('READY', True)
    >>> calls.give_up("they differ")
    >>> calls.stage.name, calls.problem
    ('EAGER', 'they differ')
    """

    def __init__(self) -> None:
        self.stage = Stage.COLD
        self.problem = ""  # why it is given up

    def advance(self, event: str) -> None:
        """Go where an event leads; raise if it cannot happen."""
        to = TRANSITIONS[self.stage].get(event)
        if to is None:
            raise RuntimeError(f"a specialisation that is {self.stage.name} cannot be {event}")
        self.stage = to

    def give_up(self, reason: str) -> None:
        """Let its calls run eagerly from now on."""
        self.problem = self.problem or reason
        self.advance("given up")

    @property
    def ready(self) -> bool:
        """Whether calls are replayed: captures are believed."""
        return self.stage is Stage.CONFIRMED or self.stage is Stage.READY


# ---- which are kept ------------------------------------------------------------------------------


class Cache:
    """The specialisations of a function by signature; those go first that were not used for longest.

    >>> from weft.jit.specialize import Cache, Call, Specialization
    >>> cache = Cache(most=2)
    >>> for n in (1, 2, 3):
    ...     cache.add(Call((n,), {}).signature, Specialization())
    >>> [signature.kinds[0][1] for signature in cache.groups]
    [2, 3]
    """

    def __init__(self, most: int, most_alike: int | None = None) -> None:
        """Keep so many, and so many of one signature."""
        self.most, self.most_alike = most, most_alike
        self.groups: OrderedDict[Signature, list[Any]] = OrderedDict()  # the last used is the last
        self._last: list[Any] | None = None  # the group that was used last
        self.cost_model = CostModel()  # whether another program would pay
        self._captures: dict[Signature, int] = {}

    def __iter__(self) -> Iterator[Any]:
        """Iterate over all that are kept."""
        return (s for group in self.groups.values() for s in group)

    def __len__(self) -> int:
        """Return how many are kept."""
        return sum(map(len, self.groups.values()))

    def find(self, signature: Signature, holds: Callable[[Any], bool]) -> Any:
        """Return one of a signature whose guards hold, or None."""
        return next((s for s in self.touch(signature) if holds(s)), None)

    def touch(self, signature: Signature) -> list[Any]:
        """Note that a signature is used; return what is kept of it."""
        group = self.groups.get(signature)
        if group is None:
            return []
        if group is not self._last:  # in one step: threads share it
            with contextlib.suppress(KeyError):  # another thread has dropped it
                self.groups.move_to_end(signature)
            self._last = group
        return group

    def add(self, signature: Signature, new: Any) -> None:
        """Keep another one."""
        self.touch(signature)
        group = self._last = self.groups.setdefault(signature, [])
        self._captures[signature] = self._captures.get(signature, 0) + 1
        group.append(new)
        if self.most_alike is not None:
            del group[: -self.most_alike]
        while len(self) > self.most:
            oldest = next(iter(self.groups))
            del self.groups[oldest][:1]
            if not self.groups[oldest]:
                self.drop(oldest)

    def drop(self, signature: Signature) -> None:
        """Forget a signature; its next capture has to be earned anew."""
        del self.groups[signature]
        for count in range(self._captures.pop(signature, 0)):
            self.cost_model.forget(hash((signature, count)))

    def cost_of(self, signature: Signature, state: int | None = None) -> int:
        """Return under which number the price knows a signature in a state of Python.

        States are counted by captures, where each capture is believed; else all are one.
        """
        return hash((signature, self._captures.get(signature, 0) if state is None else state))
