"""``nn.utils.pruning_utils.prune``: all weights of a model in one call."""

from __future__ import annotations

import pytest

import weft
from weft import nn
from weft.nn.utils import prune as by_parameter
from weft.nn.utils.pruning_utils import METHODS, prune


def model() -> nn.Module:
    """A model with weights, biases and a norm."""
    return nn.Sequential(nn.Conv2d(3, 10, 3), nn.BatchNorm2d(10), nn.Flatten(), nn.Linear(10, 5))


def zeros(t: weft.Tensor) -> int:
    """How many entries are zero."""
    return int((t == 0).sum())


def test_l1() -> None:
    """The smallest fifth of each weight is zero; biases and norms are as they were."""
    net = model()
    weights = [net[0].weight.detach().clone(), net[3].weight.detach().clone()]
    assert prune(net, pruning_method="l1", pruning_percentage=0.2) is net
    for layer, weight in zip((net[0], net[3]), weights):
        assert zeros(layer.weight) == weight.numel() // 5
        bound = weight.abs().flatten().sort().values[weight.numel() // 5]
        assert layer.weight.equal(weight * (weight.abs() >= bound))
        assert not hasattr(layer, "bias_mask")
    assert not by_parameter.is_pruned(net[1])


def test_masks_stay_in_training() -> None:
    """What was pruned stays zero after steps, and after `remove`."""
    net = prune(model(), "l1", 0.5)
    sgd = weft.optim.SGD(net.parameters(), lr=0.1)
    mask = net[3].weight_mask.clone()
    for _ in range(3):
        sgd.zero_grad()
        net(weft.randn(4, 3, 3, 3)).square().sum().backward()
        sgd.step()
    net(weft.randn(4, 3, 3, 3))
    assert (net[3].weight == 0).equal(mask == 0)
    by_parameter.remove(net[3], "weight")
    assert (net[3].weight == 0).equal(mask == 0)


@pytest.mark.parametrize("method", METHODS)
def test_methods(method: str) -> None:
    """Structured methods take whole rows; the share is that of entries or of rows."""
    net = prune(nn.Linear(8, 10), method, 0.3)
    weight = net.weight.detach()
    assert zeros(weight) == 24
    rows = int((weight == 0).all(1).sum())
    assert rows == 3 if method.endswith("structured") else rows < 3


def test_again_takes_of_what_is_left() -> None:
    """A second call prunes its share of the rest."""
    net = prune(prune(nn.Linear(10, 10), "l1", 0.5), "l1", 0.5)
    assert zeros(net.weight) == 75


def test_recurrent_weights() -> None:
    """All four weights of two layers, and the network still runs and learns."""
    net = prune(nn.LSTM(4, 6, 2), "l1", 0.25)
    names = [f"weight_{kind}_l{i}" for kind in ("ih", "hh") for i in (0, 1)]
    for name in names:
        weight = getattr(net, name)
        assert zeros(weight) == weight.numel() // 4
    net(weft.randn(3, 2, 4))[0].sum().backward()
    assert net.weight_hh_l1_orig.grad is not None


def test_wrong_arguments() -> None:
    """Unknown methods, shares out of range and models without weights are refused by name."""
    with pytest.raises(ValueError, match=r"pruning_method must be one of l1, random.*'l3'"):
        prune(model(), "l3")
    for share in (-0.1, 1.5, True):
        with pytest.raises(ValueError, match=f"share from 0 to 1, got {share}"):
            prune(model(), "l1", share)
    with pytest.raises(ValueError, match="ReLU has no weight"):
        prune(nn.ReLU())
