"""Each process of a distributed training takes its own part of the samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import weft

from .sampler import Sampler

if TYPE_CHECKING:
    from collections.abc import Iterator, Sized

__all__ = ["DistributedSampler"]

T_co = TypeVar("T_co", covariant=True)


class DistributedSampler(Sampler[T_co]):
    """The indices that are one process's share; all processes together take every sample.

    Args:
        dataset: the set.
        num_replicas: how many processes there are; by default what ``weft.distributed`` says.
        rank: the number of this one; by default what ``weft.distributed`` says.
        shuffle: a new order each epoch; ``set_epoch`` says which.
        seed: of the orders; must be the same in all processes.
        drop_last: leave out the last samples if they cannot be shared evenly; else some come twice.

    >>> halves = [weft.utils.data.DistributedSampler(range(4), 2, r, shuffle=False) for r in (0, 1)]
    >>> [list(half) for half in halves]
    [[0, 2], [1, 3]]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = weft.distributed.get_world_size()
        if rank is None:
            rank = weft.distributed.get_rank()
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"DistributedSampler: Invalid rank {rank}, rank should be in the interval "
                f"[0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        extra = 0 if drop_last else num_replicas - 1
        self.num_samples = (len(dataset) + extra) // num_replicas
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[T_co]:
        """Return every ``num_replicas``-th index of the order, from ``rank`` on."""
        n = len(self.dataset)
        if self.shuffle:
            generator = weft.Generator().manual_seed(self.seed + self.epoch)
            order = weft.randperm(n, generator=generator).tolist()
        else:
            order = list(range(n))
        if n:
            order = (order * -(-self.total_size // n))[: self.total_size]
        return iter(order[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        """Return the number of indices of this process."""
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch. To be called before each, the same in all processes.

        >>> sampler = weft.utils.data.DistributedSampler(range(100), num_replicas=1, rank=0)
        >>> first = list(sampler)
        >>> sampler.set_epoch(1)
        >>> list(sampler) == first
        False
        """
        self.epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """Return what the order follows from.

        >>> weft.utils.data.DistributedSampler(range(4), num_replicas=2, rank=1).state_dict()
        {'seed': 0, 'epoch': 0}
        """
        return {"seed": self.seed, "epoch": self.epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the order that ``state_dict`` described.

        >>> sampler = weft.utils.data.DistributedSampler(range(4), num_replicas=2, rank=1)
        >>> sampler.load_state_dict({"seed": 0, "epoch": 3})
        >>> sampler.epoch
        3
        """
        self.seed, self.epoch = state_dict["seed"], state_dict["epoch"]
