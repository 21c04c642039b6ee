"""The default source of random numbers: seeding it, saving and restoring its state."""

from __future__ import annotations

from . import _C
from ._C import Generator, default_generator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from weft import Tensor


def manual_seed(seed: int) -> Generator:
    """Start the default generator anew from ``seed``, and return it.

    >>> _ = weft.manual_seed(0)
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Start the default generator anew from a seed of the operating system, and return that.

    >>> isinstance(weft.seed(), int)
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """Return the seed of the default generator.

    >>> _ = weft.manual_seed(3)
    >>> weft.initial_seed()
    3
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the state of the default generator.

    >>> state = weft.get_rng_state()
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Put the default generator back into a state that ``get_rng_state`` gave.

    >>> weft.set_rng_state(weft.get_rng_state())
    """
    default_generator.set_state(new_state)


def use(stream: str) -> None:
    """Choose where random numbers come from: ``"weft"`` or ``"torch"``.

    weft's own stream is drawn from in parallel. PyTorch's gives the numbers that PyTorch gives on a CPU for
    the same seed and the same calls: integers, choices and uniform numbers bit for bit, normal numbers
    and what is made of them up to rounding; gamma and Dirichlet numbers are others. The default
    generator starts again from its seed; generators made later follow the stream too.
    ``python -m weft run`` chooses PyTorch's.

    >>> weft.random.use("torch")
    >>> _ = weft.manual_seed(0)
    >>> weft.rand(3)
    tensor([0.4963, 0.7682, 0.0885])
    >>> weft.random.use("weft")
    """
    if stream not in ("weft", "torch"):
        raise ValueError(f"use: stream must be 'weft' or 'torch', got {stream!r}")
    _C._use_stream(stream)


def stream() -> str:
    """Return the stream that ``use`` has chosen.

    >>> weft.random.stream()
    'weft'
    """
    return str(_C._stream())


class fork_rng:
    """Put the default generator back at the end of a ``with`` block, whatever was drawn in it.

    Args:
        devices: GPUs whose generators are put back too; weft has none, so it must be empty.
        enabled: if False, do nothing.
        device_type: of what kind ``devices`` are.

    >>> state = weft.get_rng_state()
    >>> with weft.random.fork_rng():
    ...     _ = weft.rand(3)
    >>> weft.equal(state, weft.get_rng_state())
    True
    """

    def __init__(
        self, devices: Any = None, enabled: bool = True, device_type: str = "cuda"
    ) -> None:
        """Check the devices."""
        if devices:
            raise RuntimeError(f"fork_rng: devices={devices!r}: weft has only the device 'cpu'")
        self._enabled = enabled

    def __enter__(self) -> None:
        """Keep the state."""
        self._before = get_rng_state()

    def __exit__(self, *error: object) -> None:
        """Put it back."""
        if self._enabled:
            set_rng_state(self._before)


# ---- all random numbers that programs use -------------------------------------------------------


def _python_state() -> Any:
    import random

    return random.getstate()


def _set_python_state(state: Any) -> None:
    import random

    random.setstate(state)


def _numpy_state() -> Any:
    import numpy as np

    return np.random.get_state(legacy=False)


def _set_numpy_state(state: Any) -> None:
    import numpy as np

    np.random.set_state(state)


# By name: how its state is read, and how it is set.
SOURCES: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "weft": (get_rng_state, set_rng_state),
    "numpy": (_numpy_state, _set_numpy_state),
    "python": (_python_state, _set_python_state),
}


def all_states() -> dict[str, Any]:
    """Return the states of weft's, NumPy's and Python's random numbers.

    >>> sorted(weft.random.all_states())
    ['numpy', 'python', 'weft']
    """
    return {name: get() for name, (get, _) in SOURCES.items()}


def set_all_states(states: dict[str, Any]) -> None:
    """Put random numbers back into states that ``all_states`` gave.

    >>> import random
    >>> states = weft.random.all_states()
    >>> first = random.random(), weft.rand(())
    >>> weft.random.set_all_states(states)
    >>> first == (random.random(), weft.rand(()))
    True
    """
    for name, state in states.items():
        SOURCES[name][1](state)
