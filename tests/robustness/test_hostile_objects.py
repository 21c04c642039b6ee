"""Python objects that change, lie or recurse while weft reads them: an error or a result, never more."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn


class Scalar:
    """A number as NumPy's are: with a dtype and ``item()``, which runs ``act`` first."""

    dtype = np.dtype("float32")

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def item(self) -> float:
        self.act()
        return 1.0


class Whole:
    """An integer by ``__index__``, which runs ``act`` first."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def __index__(self) -> int:
        self.act()
        return 1


def clear(x: list[Any]) -> None:
    x.clear()
    gc.collect()
    _ = [object() for _ in range(100)]  # memory of what was freed is used again


CHANGES: dict[str, Callable[[list[Any]], None]] = {
    "clears": clear,
    "grows": lambda x: x.extend([2.0] * 1000),
    "shrinks": lambda x: x.__delitem__(slice(1, None)),
    "nests": lambda x: x.__setitem__(slice(None), [[1.0, 2.0]] * len(x)),
    "contains itself": lambda x: x.__setitem__(slice(None), [x] * len(x)),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("at", [0, 1, 3])
@pytest.mark.parametrize("wrap", ["plain", "nested", "tuple of lists"])
def test_numbers_are_read_once(change: str, at: int, wrap: str) -> None:
    """What is in the sequences when they are reached is what the tensor has."""
    data: list[Any] = [0.5, 0.25, 0.125, 2.0]
    data[at] = Scalar(lambda: CHANGES[change](data))
    expected = [0.5, 0.25, 0.125, 2.0]
    expected[at] = 1.0
    given: Any = {"plain": data, "nested": [data], "tuple of lists": (data,)}[wrap]
    assert weft.tensor(given).flatten().tolist() == expected


@pytest.mark.parametrize("change", CHANGES)
def test_a_sibling_that_changes_is_an_error_or_read_as_it_is_then(change: str) -> None:
    later: list[Any] = [1.0, 2.0]
    data = [[Scalar(lambda: CHANGES[change](later)), 1.0], later]
    try:
        assert weft.tensor(data).shape[0] == 2
    except (ValueError, TypeError) as e:
        assert str(e).startswith("tensor: ")


def test_a_list_that_contains_itself_is_refused() -> None:
    one: list[Any] = []
    one.append(one)
    two: list[Any] = [1.0]
    two.append(two)
    wide: list[Any] = []
    wide.extend([wide] * 10)
    for data in (one, wide, [one], (one,), [[one]]):
        with pytest.raises(ValueError, match="contains itself"):
            weft.tensor(data)
        with pytest.raises(ValueError, match="contains itself"):
            weft.as_tensor(data)
    with pytest.raises(TypeError, match="beside a number"):
        weft.tensor(two)
    with pytest.raises((ValueError, IndexError)):
        weft.ones(3)[one]


def test_lists_that_share_their_items() -> None:
    """62 lists in each other may stand for more elements than any tensor has."""
    data: Any = [1.0, 2.0]
    for _ in range(61):
        data = [data, data]
    with pytest.raises(MemoryError, match=r"more than 2\^56 elements"):
        weft.tensor(data)


def test_the_deepest_nesting() -> None:
    data: Any = 1.0
    for _ in range(64):
        data = [data]
    assert weft.tensor(data).dim() == 64
    with pytest.raises(ValueError, match="64"):
        weft.tensor([data])


@pytest.mark.parametrize("change", CHANGES)
def test_sizes_and_indices_are_held_while_they_are_read(change: str) -> None:
    x = weft.arange(6.0)
    for read in (
        lambda s: x.view(s),
        lambda s: x.reshape(s),
        lambda s: x[s],
        lambda s: weft.zeros(s),
        lambda s: x.expand(s),
        lambda s: x.permute(s),
        lambda s: x.sum(s),
        lambda s: x.__setitem__(s, 1.0),
    ):
        sizes: list[Any] = [2, 3, 1]
        for at in range(3):
            sizes = [2, 3, 1]
            sizes[at] = Whole(lambda sizes=sizes: CHANGES[change](sizes))
            try:
                read(sizes)
            except (RuntimeError, IndexError, TypeError, ValueError):
                pass
    assert x.shape == (6,)


class Endless:
    """A sequence by ``__getitem__``, which always has another item."""

    def __getitem__(self, i: Any) -> float:
        return 1.0


class EndlessOfThree(Endless):
    def __len__(self) -> int:
        return 3


def test_sequences_are_as_long_as_they_say() -> None:
    assert weft.tensor(EndlessOfThree()).tolist() == [1.0, 1.0, 1.0]
    assert weft.ones(4)[EndlessOfThree()].shape == (3,)
    with pytest.raises(TypeError, match="len"):
        weft.tensor(Endless())
    with pytest.raises(TypeError, match="len"):
        weft.ones(4)[Endless()]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_is_no_error_of_the_object_passes(stop: type[BaseException]) -> None:
    def act() -> None:
        raise stop

    with pytest.raises(stop):
        weft.tensor([Scalar(act)])
    with pytest.raises(stop):
        weft.zeros([Whole(act)])
    with pytest.raises(stop):
        weft.ones(3)[Whole(act)]


def test_a_node_hook_that_returns_a_list_that_lies() -> None:
    class Lies(list[Any]):
        def __len__(self) -> int:
            return 1

        def __getitem__(self, i: Any) -> Any:
            raise IndexError

    x = weft.ones(2, requires_grad=True)
    y = x.neg()
    y.grad_fn.register_hook(lambda given, grads: Lies([given[0] * 3]))
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [-3.0, -3.0]
    y = x.neg()
    y.grad_fn.register_hook(lambda given, grads: Lies([]))
    with pytest.raises(RuntimeError, match="returned 0 gradients"):
        y.sum().backward()


def test_text_that_utf8_cannot_express() -> None:
    x = weft.ones(2, 2, requires_grad=True)
    for name in ("\ud800", "_saved_\ud800"):
        with pytest.raises((UnicodeEncodeError, AttributeError)):
            getattr((x * 2).grad_fn, name)
    with pytest.raises(RuntimeError, match="shape"):
        exec(compile("weft.ones(2) + weft.ones(3)", "\ud800.py", "exec"), {"weft": weft})
    with pytest.raises((UnicodeEncodeError, TypeError)):
        weft.sum(x, **{"\ud800": 1})
    with pytest.raises((UnicodeEncodeError, TypeError)):
        x.requires_grad_(**{"\ud800": True})
    with pytest.raises(UnicodeEncodeError):
        weft.div(x, 2, rounding_mode="\ud800")
    model = nn.Sequential()
    model.add_module("\ud800", nn.Linear(2, 2))
    assert model(weft.ones(1, 2)).shape == (1, 2)


def test_a_sequence_of_modules_that_changes_while_it_runs() -> None:
    class Remove(nn.Module):
        def forward(self, x: weft.Tensor) -> weft.Tensor:
            del model._modules["1"]
            gc.collect()
            return x

    model = nn.Sequential(Remove(), nn.ReLU())
    with pytest.raises(RuntimeError, match="added or removed"):
        model(weft.ones(2))
    model = nn.Sequential(nn.Linear(2, 2))
    model.__dict__["_modules"] = [1, 2]
    with pytest.raises(TypeError, match="_modules must be a dict"):
        model(weft.ones(2))
