"""Batches of tensors in memory, and the position in any sequence of batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft
from weft.random import all_states, set_all_states
from weft.serialization.training import is_stateful
from weft.utils.data import ShuffledBatches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from weft import Tensor

__all__ = ["TensorBatches", "as_batches"]


class TensorBatches:
    """Tensors with the same number of samples, cut into batches; can be saved in mid-epoch.

    Args:
        tensors: samples in dimension 0 of each.
        batch_size: how many samples make a batch.
        shuffle: in a new random order each epoch.
        seed: of the orders; by default drawn from weft's random numbers.

    >>> from weft.train.batches import TensorBatches
    >>> batches = TensorBatches((weft.arange(5), weft.zeros(5)), batch_size=2)
    >>> [x.tolist() for x, y in batches]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        tensors: tuple[Tensor, ...],
        batch_size: int,
        shuffle: bool = False,
        seed: int | None = None,
    ) -> None:
        lengths = [x.shape[0] if x.dim() else 0 for x in tensors]
        if len(set(lengths)) != 1:
            raise ValueError(
                "a data set of tensors needs as many samples in each: got shapes "
                + ", ".join(str(list(x.shape)) for x in tensors)
            )
        self.tensors, self.batch_size, self.shuffle = tensors, batch_size, shuffle
        self.order = ShuffledBatches(lengths[0], batch_size, seed=seed if shuffle else 0)

    def __len__(self) -> int:
        """Return how many batches an epoch has."""
        return len(self.order)

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        """Iterate over what is left of the epoch."""
        for part in self.order if self.shuffle else self.order.parts():
            yield tuple(x[part] for x in self.tensors)

    def state_dict(self) -> dict[str, Any]:
        """Return the position.

        >>> from weft.train.batches import TensorBatches
        >>> TensorBatches((weft.ones(4),), 2, shuffle=True).state_dict()["epoch"]
        0
        """
        return self.order.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go to a position that ``state_dict`` returned.

        >>> from weft.train.batches import TensorBatches
        >>> batches = TensorBatches((weft.ones(4),), 2, shuffle=True)
        >>> batches.load_state_dict(batches.state_dict())
        """
        self.order.load_state_dict(state_dict)


def as_batches(data: Any, batch_size: int, shuffle: bool, what: str) -> Any:
    """Return an iterable of batches.

    Args:
        data: batches already, or a tuple of tensors or arrays: one data set in memory.
        batch_size: for a tuple of tensors.
        shuffle: for a tuple of tensors.
        what: names the data in errors.

    >>> from weft.train.batches import as_batches
    >>> len(as_batches((weft.ones(5, 2), weft.ones(5).numpy()), 2, False, "validation"))
    3
    """
    whole = data if isinstance(data, tuple) else (data,)
    if whole and all(isinstance(x, weft.Tensor) or _is_array(x) for x in whole):
        tensors = tuple(x if isinstance(x, weft.Tensor) else weft.from_numpy(x) for x in whole)
        return TensorBatches(tensors, batch_size, shuffle)
    if not hasattr(data, "__iter__") or isinstance(data, (str, bytes, dict)):
        kind = type(data).__name__
        single = hasattr(data, "__getitem__") and not isinstance(data, (str, bytes, dict))
        hint = f": it gives single samples, give DataLoader({kind}(...), batch_size=...)"
        raise TypeError(
            f"{what}: batches (a loader, a list) or a tuple of tensors (inputs, targets) were "
            f"expected, got {kind}{hint if single else ''}"
        )
    return data


def _is_array(x: Any) -> bool:
    """Return whether this is an array of NumPy, which need not be loaded to know it."""
    return type(x).__module__ == "numpy" and hasattr(x, "__array_interface__")


def length_of(batches: Any) -> int | None:
    """Return how many batches there are, or None if they do not tell."""
    try:
        return len(batches)
    except (TypeError, NotImplementedError):
        return None


def after(batches: Iterable[Any], done: int, begin: Any, what: str) -> Iterator[Any]:
    """Return the rest of an epoch of which ``done`` batches are behind us.

    Args:
        batches: have been restored, if they can be; others are gone through again.
        done: how many batches are done.
        begin: the states of random numbers at the beginning of the epoch, if they were kept.
        what: names the batches in errors.
    """
    now = all_states()
    if is_stateful(batches):
        iterator = iter(batches)
    else:
        if begin is not None:
            set_all_states(begin)
        iterator = iter(batches)
        for passed in range(done):
            if next(iterator, None) is None:
                raise ValueError(
                    f"{what}: the saved position is after {done} batches of the epoch, but there "
                    f"are only {passed}"
                )
    set_all_states(now)
    return iterator
