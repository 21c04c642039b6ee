"""``nn.utils.prune``: masks, their composition, and life with them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import weft
from weft import nn
from weft.nn.utils import prune


def linear() -> Any:
    """A layer of weights 1 to 6 and biases 7 and 8."""
    m = nn.Linear(3, 2)
    with weft.no_grad():
        m.weight.copy_(weft.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]))
        m.bias.copy_(weft.tensor([7.0, 8.0]))
    return m


def test_names_and_values() -> None:
    """The parameter becomes an original and a mask; their product takes its place."""
    m = linear()
    weight = m.weight
    assert prune.l1_unstructured(m, "weight", amount=2) is m
    assert list(m.state_dict()) == ["bias", "weight_orig", "weight_mask"]
    assert m.weight_orig is weight and m.weight.tolist() == [[0, 0, 3], [-4, 5, -6]]
    assert m(weft.ones(1, 3)).tolist() == [[10, 3]]
    assert prune.is_pruned(nn.Sequential(m)) and not prune.is_pruned(linear())
    assert prune.remove(m, "weight") is m
    assert m.weight is weight and m.weight.tolist() == [[0, 0, 3], [-4, 5, -6]]
    assert list(m.state_dict()) == ["bias", "weight"] and not prune.is_pruned(m)
    with pytest.raises(ValueError, match=r"'weight' of Linear.* is not pruned"):
        prune.remove(m, "weight")


@pytest.mark.parametrize(
    ("f", "left"),
    [
        (lambda m: prune.identity(m, "weight"), 6),
        (lambda m: prune.random_unstructured(m, "weight", 0.5), 3),
        (lambda m: prune.random_unstructured(m, "weight", 0), 6),
        (lambda m: prune.l1_unstructured(m, "weight", 1.0), 0),
        (lambda m: prune.random_structured(m, "weight", 1, dim=0), 3),
        (lambda m: prune.random_structured(m, "weight", 1, dim=-1), 4),
        (lambda m: prune.random_structured(m, "weight", 0.0, dim=-1), 6),
        (lambda m: prune.custom_from_mask(m, "weight", weft.eye(2, 3)), 2),
    ],
)
def test_counts(f: Any, left: int) -> None:
    """As many entries are left as were asked for."""
    assert (f(linear()).weight != 0).sum() == left


def test_ln_structured() -> None:
    """The slices of the smallest norms go."""
    kept = prune.ln_structured(linear(), "weight", 1, n=2, dim=1).weight_mask
    assert kept.tolist() == [[0, 1, 1], [0, 1, 1]]
    kept = prune.ln_structured(linear(), "weight", 0.5, n=float("inf"), dim=0).weight_mask
    assert kept.tolist() == [[0, 0, 0], [1, 1, 1]]


def test_importance_scores() -> None:
    """Scores take the place of the values, and have their shape."""
    scores = weft.arange(6.0, 0, -1).reshape(2, 3)
    m = prune.l1_unstructured(linear(), "weight", 1, importance_scores=scores)
    assert m.weight_mask.tolist() == [[1, 1, 1], [1, 1, 0]]
    m = prune.ln_structured(linear(), "weight", 1, 1, 0, importance_scores=scores)
    assert m.weight_mask.tolist() == [[1, 1, 1], [0, 0, 0]]
    with pytest.raises(AssertionError, match=r"shape .* got \[2\] and \[2, 3\]"):
        prune.l1_unstructured(linear(), "weight", 1, importance_scores=weft.ones(2))
    pruned = prune.L1Unstructured(1).prune(
        weft.tensor([1.0, 2.0]), importance_scores=weft.eye(2)[0]
    )
    assert pruned.tolist() == [1, 0]


def test_composition() -> None:
    """A second method acts on what the first has left; both are kept in a container."""
    m = linear()
    prune.l1_unstructured(m, "weight", 2)
    prune.l1_unstructured(m, "weight", 0.5)
    assert m.weight_mask.tolist() == [[0, 0, 0], [0, 1, 1]]
    prune.ln_structured(m, "weight", 1, 1, dim=1)
    assert m.weight_mask.tolist() == [[0, 0, 0], [0, 0, 1]]
    prune.custom_from_mask(m, "weight", weft.ones(2, 3).tril())
    (hook,) = m._forward_pre_hooks.values()
    assert isinstance(hook, prune.PruningContainer) and len(hook) == 4
    assert [type(x).__name__ for x in hook][2:] == ["LnStructured", "CustomFromMask"]
    assert m.weight_mask.sum() == 0 and hook[0]._tensor_name == "weight"


def test_global() -> None:
    """The smallest of all parameters together; scores and earlier masks count."""
    a, b = linear(), linear()
    prune.custom_from_mask(a, "weight", weft.tensor([[0, 1, 1], [1, 1, 1]]))
    pairs = [(a, "weight"), (b, "weight"), (b, "bias")]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=2)
    assert a.weight_mask.tolist() == [[0, 0, 1], [1, 1, 1]] or b.weight.tolist()[0][1] == 0
    assert b.weight.tolist()[0][0] == 0 and b.bias.tolist() == [7, 8]
    low = {(b, "bias"): weft.zeros(2)}
    prune.global_unstructured([(b, "bias")], prune.L1Unstructured, low, amount=0.5)
    assert (b.bias == 0).sum() == 1
    with pytest.raises(TypeError, match="only methods of PRUNING_TYPE"):
        prune.global_unstructured(pairs, prune.LnStructured, amount=1, n=2)
    with pytest.raises(TypeError, match="not an Iterable"):
        prune.global_unstructured(3, prune.L1Unstructured, amount=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be of type dict"):
        prune.global_unstructured(pairs, prune.L1Unstructured, [], amount=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("amount", "error"),
    [(-1, ValueError), (1.5, ValueError), (-0.5, ValueError), ("a", TypeError), (7, ValueError)],
)
def test_amounts(amount: Any, error: type[Exception]) -> None:
    """A share between 0 and 1, or a count that there is; otherwise nothing changes."""
    m = linear()
    with pytest.raises(error, match="amount"):
        prune.l1_unstructured(m, "weight", amount)
    assert sorted(m.state_dict()) == ["bias", "weight"] and not prune.is_pruned(m)


def test_refusals() -> None:
    """Slices need dimensions, masks a shape, types a name."""
    with pytest.raises(ValueError, match="more than one dimension"):
        prune.random_structured(linear(), "bias", 1, 0)
    for dim in (2, -3):
        with pytest.raises(IndexError, match=f"invalid dim {dim}"):
            prune.ln_structured(linear(), "weight", 1, 2, dim)
    m = prune.l1_unstructured(linear(), "weight", 3)
    with pytest.raises(AssertionError, match=r"shape \[2, 3\], got \[2\]"):
        prune.custom_from_mask(m, "weight", weft.ones(2))
    assert prune.is_pruned(m) and m(weft.ones(1, 3)).shape == (1, 2)
    with pytest.raises(AttributeError):
        prune.identity(linear(), "weights")
    with pytest.raises(TypeError, match="abstract"):
        prune.BasePruningMethod()  # type: ignore[abstract]
    (hook,) = m._forward_pre_hooks.values()
    both, other = prune.PruningContainer(hook), prune.L1Unstructured(1)
    other._tensor_name = "bias"
    with pytest.raises(ValueError, match="named 'weight', got one for 'bias'"):
        both.add_pruning_method(other)
    with pytest.raises(TypeError, match="not a BasePruningMethod"):
        both.add_pruning_method(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "error"), [("structured", AttributeError), ("odd", ValueError)])
def test_own_method(kind: str, error: type[Exception]) -> None:
    """A method of one's own works alone; a second one needs to know what is left."""

    class Keep(prune.BasePruningMethod):
        PRUNING_TYPE = kind

        def compute_mask(self, t: Any, default_mask: Any) -> Any:
            return default_mask

    m = linear()
    assert isinstance(Keep.apply(m, "weight"), Keep)
    with pytest.raises(error, match=r"dim|PRUNING_TYPE"):
        Keep.apply(m, "weight")
    assert m(weft.ones(1, 3)).shape == (1, 2)


def test_training() -> None:
    """The original learns where the mask lets gradients through."""
    m = prune.l1_unstructured(linear(), "weight", 3)
    optimizer = weft.optim.SGD(m.parameters(), lr=0.1)
    m(weft.ones(1, 3)).sum().backward()
    optimizer.step()
    assert m.weight_orig.grad.tolist() == [[0, 0, 0], [1, 1, 1]]
    m(weft.ones(1, 3))
    assert weft.allclose(m.weight, weft.tensor([[0, 0, 0], [-4.1, 4.9, -6.1]]))


def test_state_dict() -> None:
    """State goes to a module that is pruned too, and not to another."""
    state = prune.l1_unstructured(linear(), "weight", 3).state_dict()
    other = prune.identity(nn.Linear(3, 2), "weight")
    other.load_state_dict(state)
    other(weft.ones(1, 3))
    assert other.weight.tolist() == [[0, 0, 0], [-4, 5, -6]]
    with pytest.raises(RuntimeError, match="weight_orig"):
        linear().load_state_dict(state)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies(copied: Any) -> None:
    """A copy is pruned alike, and learns on its own."""
    m = prune.l1_unstructured(linear(), "weight", 3)
    for _ in range(2):  # before and after a forward
        c = copied(m)
        assert c.weight.tolist() == m.weight.tolist() and c.weight_orig is not m.weight_orig
        c(weft.ones(1, 3)).sum().backward()
        assert c.weight_orig.grad is not None and m.weight_orig.grad is None
        m(weft.ones(1, 3))
    m.double()
    assert m(weft.ones(1, 3).double()).dtype == weft.float64 and m.weight.requires_grad
