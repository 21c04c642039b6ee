"""Models of ``weft.vision``: the same file, run by weft and by PyTorch, gives the same numbers."""

from __future__ import annotations

import importlib.abc
import importlib.util
import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import weft
from weft.nn.functional import common
from weft.vision import models

ROOT = Path(weft.__file__).parent / "vision"


class Twins(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds ``twin.models.resnet`` in weft/vision/models/resnet.py, with torch in place of weft."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The file of a twin."""
        if name.split(".")[0] != "twin":
            return None
        file = ROOT.joinpath(*name.split(".")[1:])
        package = file.is_dir()
        return importlib.util.spec_from_loader(name, self, is_package=package)

    def create_module(self, spec: Any) -> None:
        """As usual."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the file."""
        file = ROOT.joinpath(*module.__name__.split(".")[1:])
        if file == ROOT:
            return
        text = (file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).read_text()
        text = re.sub(r"\bweft\.vision\b", "twin", text)
        text = text.replace("from weft.nn.functional.common import", "from weft_common import")
        text = re.sub(r"\bweft\b(?!_)", "torch", text)
        exec(compile(text, str(file), "exec"), module.__dict__)


@pytest.fixture(scope="module")
def twins() -> Any:
    """The models of PyTorch."""
    finder = Twins()
    sys.meta_path.insert(0, finder)
    sys.modules["weft_common"] = common
    try:
        yield importlib.import_module("twin.models")
    finally:
        sys.meta_path.remove(finder)
        for name in [n for n in sys.modules if n == "weft_common" or n.split(".")[0] == "twin"]:
            del sys.modules[name]


CASES: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "lenet": ({}, (1, 28, 28)),
    "mobilenet_v2": ({"width_mult": 0.25, "num_classes": 5, "dropout": 0.0}, (3, 64, 64)),
    "resnet18": ({"num_classes": 5}, (3, 64, 64)),
    "resnext50_32x4d": ({"num_classes": 5}, (3, 64, 64)),
    "densenet121": ({"num_classes": 5}, (3, 64, 64)),
    "squeezenet1_0": ({"num_classes": 5, "dropout": 0.0}, (3, 64, 64)),
    "squeezenet1_1": ({"num_classes": 5, "dropout": 0.0}, (3, 64, 64)),
    "googlenet": ({"num_classes": 5, "aux_logits": False, "dropout": 0.0}, (3, 64, 64)),
    "inception_v3": ({"num_classes": 5, "aux_logits": False, "dropout": 0.0}, (3, 96, 96)),
    "unet": ({"width": 4, "depth": 3}, (3, 33, 40)),
    "yolo": ({"num_classes": 3, "width": 4}, (3, 64, 64)),
}


@pytest.mark.parametrize("name", CASES)
def test_same_numbers(twins: Any, name: str) -> None:
    """Output and gradients of one training pass in double precision, and output in eval."""
    arguments, size = CASES[name]
    ours, theirs = models.get_model(name, **arguments), twins.get_model(name, **arguments)
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in ours.state_dict().items()})
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.double(), theirs.double()
    x = np.random.default_rng(0).normal(size=(3, *size))
    a, b = ours(weft.tensor(x)), theirs(torch.tensor(x))
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6, atol=1e-8)
    a.square().mean().backward()
    b.square().mean().backward()
    # Gradients that are zero but for rounding, as those of biases before a norm, are not compared.
    largest = max(float(q.grad.abs().max()) for q in theirs.parameters() if q.grad is not None)
    for (key, p), q in zip(ours.named_parameters(), theirs.parameters()):
        if q.grad is not None:
            scale = max(float(q.grad.abs().max()), 1e-6 * largest)
            difference = np.abs(p.grad.numpy() - q.grad.numpy()).max() / scale
            assert difference < 1e-5, f"{name}: gradient of {key} differs by {difference}"
    a, b = ours.eval()(weft.tensor(x)), theirs.eval()(torch.tensor(x))
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6, atol=1e-8)


def test_vision_transformer(twins: Any) -> None:
    """The same for a small transformer, whose head begins at zero."""
    arguments = (32, 8, 2, 2, 16, 32)
    ours = models.VisionTransformer(*arguments, num_classes=4, representation_size=8)
    theirs = twins.VisionTransformer(*arguments, num_classes=4, representation_size=8)
    weft.nn.init.normal_(ours.heads.head.weight)
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in ours.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(2, 3, 32, 32)).astype(np.float32)
    a, b = ours(weft.tensor(x)), theirs(torch.tensor(x))
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-5)
    a.square().sum().backward()
    b.square().sum().backward()
    for p, q in zip(ours.parameters(), theirs.parameters()):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["resnet18", "densenet121", "mobilenet_v2", "squeezenet1_0"])
def test_same_spread_of_weights(twins: Any, name: str) -> None:
    """Weights are drawn with the same standard deviations."""
    ours, theirs = models.get_model(name, num_classes=50), twins.get_model(name, num_classes=50)
    for (key, p), q in zip(ours.named_parameters(), theirs.parameters()):
        if p.numel() > 5000:
            a, b = float(p.detach().std()), float(q.detach().std())
            assert abs(a - b) <= 0.1 * max(a, b), f"{name}: {key} has the deviation {a}, not {b}"
