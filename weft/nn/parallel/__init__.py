"""One module on several devices, or in several processes."""

from __future__ import annotations

from .data_parallel import DataParallel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .distributed import DistributedDataParallel as DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]


def __getattr__(name: str):  # type: ignore[no-untyped-def]  # the type depends on the name
    """Load what needs ``weft.distributed`` on first use."""
    if name == "DistributedDataParallel":
        from .distributed import DistributedDataParallel

        return DistributedDataParallel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
