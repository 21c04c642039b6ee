"""Several processes that train together, over MPI or on one machine (docs/distributed.md).

>>> import weft.distributed as dist
>>> dist.init_process_group()
>>> dist.get_world_size()  # started alone
1
>>> dist.destroy_process_group()
"""

from __future__ import annotations

from .collectives import all_reduce, barrier, broadcast, monitored_barrier, reduce
from .exchange import (
    all_gather,
    all_gather_into_tensor,
    all_to_all,
    all_to_all_single,
    gather,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from .groups import GroupMember, ProcessGroup, group
from .messages import P2POp, batch_isend_irecv, irecv, isend, recv, send
from .objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    scatter_object_list,
)
from .reduce_op import ReduceOp
from .store import DistStoreError, FileStore, HashStore, PrefixStore, Store, TCPStore
from .work import DistBackendError, DistError, Work
from .world import (
    Backend,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    new_group,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .optimizer import DistributedOptimizer as DistributedOptimizer

__all__ = [
    "Backend",
    "DistBackendError",
    "DistError",
    "DistStoreError",
    "DistributedOptimizer",
    "FileStore",
    "GroupMember",
    "HashStore",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "ReduceOp",
    "Store",
    "TCPStore",
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "default_pg_timeout",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "irecv",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "isend",
    "monitored_barrier",
    "new_group",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
]


def __getattr__(name: str):  # type: ignore[no-untyped-def]  # the type depends on the name
    """Load what needs ``weft.optim`` on first use."""
    if name == "DistributedOptimizer":
        from .optimizer import DistributedOptimizer

        return DistributedOptimizer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
