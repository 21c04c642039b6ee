"""optimize_for_inference and freeze beside PyTorch's: results, modes, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import weft


def network(lib: Any) -> Any:
    """A small network with weights and statistics that every library is given alike."""
    nn = lib.nn
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
        nn.Conv2d(8, 8, 3, groups=2), nn.BatchNorm2d(8), nn.ReLU6(inplace=True),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.5), nn.Linear(8, 5), nn.BatchNorm1d(5),
        nn.GELU(), nn.Linear(5, 3), nn.Tanh(),
    )  # fmt: skip
    random = np.random.default_rng(0)
    with lib.no_grad():
        for t in net.state_dict().values():
            if t.dim():
                values = random.uniform(0.5, 1.5, tuple(t.shape)).astype("float32")
                t.copy_(lib.from_numpy(values - (0.9 if t.dim() > 1 else 0)))
    return net


@pytest.mark.parametrize("way", ["trace", "script"])
def test_same_results(way: str) -> None:
    """Both libraries, eager and optimised, give the same numbers."""
    x = np.random.default_rng(1).standard_normal((4, 3, 8, 8)).astype("float32")
    found = []
    for lib in (torch, weft):
        net = network(lib).eval()
        given = lib.from_numpy(x)
        with lib.no_grad():
            made = lib.jit.trace(net, given) if way == "trace" else lib.jit.script(net)
            fast = lib.jit.optimize_for_inference(made)
            found += [fast(given).numpy(), net(given).numpy(), fast(given).numpy()]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("lib", [torch, weft])
def test_modes_and_errors(lib: Any) -> None:
    """What is given is set to evaluation; a plain module is refused; the result has no parameters."""
    scripted = lib.jit.script(network(lib).train())
    fast = lib.jit.optimize_for_inference(scripted)
    assert not scripted.training and list(fast.parameters()) == []
    with pytest.raises(RuntimeError):
        lib.jit.optimize_for_inference(network(lib))
    with pytest.raises(RuntimeError):
        lib.jit.freeze(lib.jit.script(network(lib).train()))
