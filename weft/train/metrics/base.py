"""What all metrics share, and the mean of anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import weft

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft import Tensor

__all__ = ["Mean", "Metric"]


class Metric:
    """A number that is gathered batch by batch and is exact at the end.

    Subclasses name what they gather in ``gathered``, set it to nothing in ``reset``, add a batch
    to it in ``update``, and make the result of it in ``compute``. A metric whose ``gathered`` is
    complete can be saved in the middle of an epoch.

    >>> class Positives(weft.train.metrics.Metric):
    ...     gathered = ("count",)
    ...
    ...     def reset(self):
    ...         self.count = 0
    ...
    ...     def update(self, output, target):
    ...         self.count += int((output > 0).sum())
    ...
    ...     def compute(self):
    ...         return self.count
    >>> metric = Positives()
    >>> metric(weft.tensor([1.0, -1.0, 2.0]), None)
    2
    """

    gathered: tuple[str, ...] = ()
    higher_is_better = True
    live = True  # cheap enough to be shown while an epoch runs

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all batches.

        >>> metric = weft.train.metrics.Mean()
        >>> metric.update(1.0)
        >>> metric.reset()
        >>> metric.compute()
        nan
        """
        raise NotImplementedError(f"{type(self).__name__} has no reset()")

    def update(self, output: Any, target: Any) -> None:
        """Add a batch.

        Args:
            output: what the model gave.
            target: what it should have given.

        >>> metric = weft.train.metrics.MSE()
        >>> metric.update(weft.ones(2), weft.zeros(2))
        >>> metric.compute()
        1.0
        """
        raise NotImplementedError(f"{type(self).__name__} has no update()")

    def compute(self) -> Any:
        """Return the result for all batches since ``reset``; NaN if there were none.

        >>> weft.train.metrics.Accuracy().compute()
        nan
        """
        raise NotImplementedError(f"{type(self).__name__} has no compute()")

    def __call__(self, output: Any, target: Any) -> Any:
        """Return the result for one batch alone."""
        self.reset()
        self.update(output, target)
        return self.compute()

    def state_dict(self) -> dict[str, Any]:
        """Return what was gathered.

        >>> metric = weft.train.metrics.Mean()
        >>> metric.update(3.0)
        >>> metric.state_dict()
        {'total': 3.0, 'weight': 1.0}
        """
        return {name: getattr(self, name) for name in self.gathered}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what ``state_dict`` returned.

        >>> metric = weft.train.metrics.Mean()
        >>> metric.load_state_dict({"total": 3.0, "weight": 2.0})
        >>> metric.compute()
        1.5
        """
        for name in self.gathered:
            setattr(self, name, state_dict[name])

    def __repr__(self) -> str:
        """Return the name of the class."""
        return f"{type(self).__name__}()"


class Mean(Metric):
    """The mean of numbers, or of a function of outputs and targets.

    Args:
        function: takes an output and a target and returns the mean over this batch, which counts
            by the number of its samples. Without it, ``update`` takes the number itself and
            its weight.

    >>> metric = weft.train.metrics.Mean()
    >>> metric.update(1.0)
    >>> metric.update(4.0, 2.0)
    >>> metric.compute()
    3.0
    >>> bias = weft.train.metrics.Mean(lambda output, target: (output - target).mean())
    >>> bias(weft.tensor([1.0, 2.0]), weft.zeros(2))
    1.5
    """

    gathered = ("total", "weight")
    higher_is_better = False

    def __init__(self, function: Callable[[Any, Any], Any] | None = None) -> None:
        self.function = function
        super().__init__()

    def reset(self) -> None:
        """Forget all numbers."""
        self.total, self.weight = 0.0, 0.0

    def update(self, output: Any, target: Any = 1.0) -> None:
        """Add a number and its weight; or, with a function, an output and its target."""
        if self.function is None:
            weight = float(target)
            self.total += float(output) * weight
        else:
            weight = float(samples(target) or samples(output) or 1)
            self.total += float(self.function(output, target)) * weight
        self.weight += weight

    def compute(self) -> float:
        """Return the mean."""
        return self.total / self.weight if self.weight else float("nan")


def samples(x: Any) -> int | None:
    """Return how many samples a batch has, or None if it does not tell.

    >>> from weft.train.metrics.base import samples
    >>> samples({"image": weft.ones(8, 3), "label": weft.ones(8)}), samples(1.0)
    (8, None)
    """
    if isinstance(x, weft.Tensor):
        return x.shape[0] if x.dim() else 1
    if isinstance(x, dict):
        x = x.values()
    elif not isinstance(x, (list, tuple)):
        return None
    return next((n for n in map(samples, x) if n is not None), None)


def finished(x: Any) -> Any:
    """Return a result as data: a number, or nested lists of numbers."""
    if isinstance(x, weft.Tensor):
        return x.tolist()
    return x


def mismatch(who: str, rule: str, output: Tensor, target: Tensor) -> ValueError:
    """Return an error that names the shapes of an output and a target."""
    return ValueError(
        f"{who}: {rule}, got an output of shape {list(output.shape)} and a target of shape "
        f"{list(target.shape)}"
    )
