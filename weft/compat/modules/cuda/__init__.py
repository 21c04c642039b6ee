"""``weft.cuda``: what PyTorch's module says on a machine without a GPU.

Questions are answered (there is none), seeds are taken, and what needs a GPU raises.

>>> device = weft.device("cuda" if weft.cuda.is_available() else "cpu")
>>> device
device(type='cpu')
"""

from __future__ import annotations

from weft.compat.devices import refuse
from weft.tensor import _TYPE_NAMES

from . import amp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Event",
    "Stream",
    "amp",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_rng_state_all",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "seed",
    "seed_all",
    "set_rng_state_all",
    "stream",
]


def is_available() -> bool:
    """Say whether there is a GPU: never.

    >>> weft.cuda.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """Say whether CUDA was started: never.

    >>> weft.cuda.is_initialized()
    False
    """
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Say whether a GPU computes with bfloat16: there is no GPU.

    >>> weft.cuda.is_bf16_supported()
    False
    """
    return False


def device_count() -> int:
    """Return the number of GPUs.

    >>> weft.cuda.device_count()
    0
    """
    return 0


def get_arch_list() -> list[str]:
    """Return the kinds of GPUs that weft was built for: none.

    >>> weft.cuda.get_arch_list()
    []
    """
    return []


# ---- random numbers: the generators of no device ------------------------------------------------


def manual_seed(seed: int) -> None:
    """Seed the generator of the GPU, of which there is none.

    >>> weft.cuda.manual_seed(0)
    """


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs, of which there are none.

    >>> weft.cuda.manual_seed_all(0)
    """


def seed() -> None:
    """Seed the generator of the GPU by chance; there is none.

    >>> weft.cuda.seed()
    """


def seed_all() -> None:
    """Seed the generators of all GPUs by chance; there are none.

    >>> weft.cuda.seed_all()
    """


def get_rng_state_all() -> list[Any]:
    """Return the states of the generators of all GPUs.

    >>> weft.cuda.get_rng_state_all()
    []
    """
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Restore the states of the generators of all GPUs: a list of none.

    >>> weft.cuda.set_rng_state_all([])
    """
    if len(list(new_states)):
        refuse("cuda.set_rng_state_all")


# ---- memory of no device ------------------------------------------------------------------------


def empty_cache() -> None:
    """Give back cached memory of the GPU: there is none. ``weft.empty_cache`` does it for the CPU.

    >>> weft.cuda.empty_cache()
    """


def memory_allocated(device: Any = None) -> int:
    """Return the bytes in use on the GPU: 0. ``weft.memory_allocated`` tells those of the CPU.

    >>> weft.cuda.memory_allocated()
    0
    """
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes that were in use on the GPU: 0.

    >>> weft.cuda.max_memory_allocated()
    0
    """
    return 0


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that are kept on the GPU: 0.

    >>> weft.cuda.memory_reserved()
    0
    """
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """Return the most bytes that were kept on the GPU: 0.

    >>> weft.cuda.max_memory_reserved()
    0
    """
    return 0


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Return figures of the memory of the GPU: none.

    >>> weft.cuda.memory_stats()
    {}
    """
    return {}


# ---- contexts -----------------------------------------------------------------------------------


class device:
    """Choose a GPU inside a ``with`` block. None, or a negative number, chooses nothing.

    >>> with weft.cuda.device(None):
    ...     pass
    """

    def __init__(self, device: Any) -> None:
        """Take the number of the GPU."""
        self.idx = -1 if device is None else device

    def __enter__(self) -> None:
        """Raise, if a GPU was asked for."""
        if not isinstance(self.idx, int) or self.idx >= 0:
            refuse(f"cuda.device({self.idx!r})")

    def __exit__(self, *error: object) -> None:
        """Leave the block."""


class device_of(device):
    """Choose the GPU of a tensor inside a ``with`` block; for a tensor of the CPU, nothing.

    >>> with weft.cuda.device_of(weft.ones(1)):
    ...     pass
    """

    def __init__(self, obj: Any) -> None:
        """Take the tensor."""
        super().__init__(None)


class stream:
    """Choose a stream of the GPU inside a ``with`` block. None chooses nothing.

    >>> with weft.cuda.stream(None):
    ...     pass
    """

    def __init__(self, stream: Any) -> None:
        """Take the stream."""
        if stream is not None:
            refuse("cuda.stream")

    def __enter__(self) -> None:
        """Enter the block."""

    def __exit__(self, *error: object) -> None:
        """Leave the block."""


class Stream:
    """A queue of work on a GPU: making one raises."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Raise: there is no GPU."""
        refuse("cuda.Stream")


class Event:
    """A mark in a queue of work on a GPU: making one raises."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Raise: there is no GPU. To take times on the CPU, use ``time.perf_counter``."""
        refuse("cuda.Event")


_NEED_A_GPU = """
can_device_access_peer current_blas_handle current_device current_stream default_stream
get_device_capability get_device_name get_device_properties get_rng_state init initial_seed
ipc_collect list_gpu_processes mem_get_info memory_snapshot memory_summary
reset_accumulated_memory_stats reset_max_memory_allocated reset_max_memory_cached
reset_peak_memory_stats set_device set_per_process_memory_fraction set_rng_state set_stream
synchronize utilization
""".split()
__all__ += _NEED_A_GPU


def _refusing(name: str) -> Any:
    def needs_gpu(*args: Any, **kwargs: Any) -> Any:
        refuse(f"cuda.{name}")

    needs_gpu.__name__ = needs_gpu.__qualname__ = name
    needs_gpu.__doc__ = "Raise: weft has no GPU."
    return needs_gpu


for _name in _NEED_A_GPU:
    globals()[_name] = _refusing(_name)


class _TypeOfTensors(type):
    """The type of ``cuda.FloatTensor`` and related classes: no tensor is one, and none can be made."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        refuse(f"cuda.{cls.__name__}")

    def __instancecheck__(cls, x: Any) -> bool:
        return False


for _name in _TYPE_NAMES:
    globals()[_name] = _TypeOfTensors(
        _name, (), {"__doc__": "Tensors on a GPU, which weft does not have."}
    )
