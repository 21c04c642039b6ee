"""Batches in a random order that can be resumed in the middle of an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weft import Tensor

__all__ = ["ShuffledBatches"]


class ShuffledBatches:
    """The indices of a data set in a new random order each epoch, cut into batches.

    The order is a function of the seed and the number of the epoch. So the position is three
    numbers, and ``state_dict`` holds them; a loop that is stopped and restored goes on with the
    batch that would have come next.

    Args:
        length: how many samples there are.
        batch_size: how many of them make a batch.
        drop_last: leave out a last batch that is not full.
        seed: of the orders; by default drawn from weft's random numbers.

    >>> batches = weft.utils.data.ShuffledBatches(5, batch_size=2, seed=0)
    >>> [len(index) for index in batches]  # one epoch
    [2, 2, 1]
    >>> batches.epoch
    1
    """

    def __init__(
        self, length: int, batch_size: int, drop_last: bool = False, seed: int | None = None
    ) -> None:
        if length < 0 or batch_size < 1:
            raise ValueError(
                f"ShuffledBatches: length must be at least 0 and batch_size at least 1, got "
                f"{length} and {batch_size}"
            )
        self.length, self.batch_size, self.drop_last = length, batch_size, drop_last
        self.seed = int(weft.randint(2**62, ())) if seed is None else seed
        self.epoch = 0
        self.next_batch = 0

    def __len__(self) -> int:
        """Return how many batches an epoch has."""
        full, rest = divmod(self.length, self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[Tensor]:
        """Iterate over what is left of the epoch."""
        generator = weft.Generator()
        generator.manual_seed((self.seed + self.epoch * 0x9E3779B97F4A7C15) % 2**63)
        order = weft.randperm(self.length, generator=generator)
        for part in self.parts():
            yield order[part]

    def parts(self) -> Iterator[slice]:
        """Iterate over what is left of the epoch: where the batches lie in its order.

        >>> list(weft.utils.data.ShuffledBatches(5, batch_size=4).parts())
        [slice(0, 4, None), slice(4, 8, None)]
        """
        while self.next_batch < len(self):
            begin = self.next_batch * self.batch_size
            self.next_batch += 1  # before the yield: what is saved then has this batch behind it
            yield slice(begin, begin + self.batch_size)
        self.epoch += 1
        self.next_batch = 0

    def state_dict(self) -> dict[str, Any]:
        """Return the position, and what must be the same where it is restored.

        >>> weft.utils.data.ShuffledBatches(5, 2, seed=7).state_dict()["next_batch"]
        0
        """
        return dict(self.__dict__)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go to a position that ``state_dict`` returned.

        >>> batches = weft.utils.data.ShuffledBatches(5, 2, seed=7)
        >>> order = iter(batches)
        >>> first, state, second = next(order), batches.state_dict(), next(order)
        >>> resumed = weft.utils.data.ShuffledBatches(5, 2)
        >>> resumed.load_state_dict(state)
        >>> bool((next(iter(resumed)) == second).all())
        True
        """
        for name in ("length", "batch_size", "drop_last"):
            if state_dict[name] != getattr(self, name):
                raise ValueError(
                    f"ShuffledBatches: the saved position is one in batches with {name}="
                    f"{state_dict[name]}, these have {getattr(self, name)}"
                )
        self.__dict__.update({name: state_dict[name] for name in ("seed", "epoch", "next_batch")})
