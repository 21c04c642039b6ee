"""Pruning in weft and PyTorch: the same masks, names and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.utils.prune

import weft

WEIGHT = np.random.RandomState(0).randn(4, 6).astype(np.float32)
ROWS = [
    "p.identity(m, 'weight')",
    *(f"p.l1_unstructured(m, 'weight', {amount})" for amount in (0, 3, 24, 25, 0.3, 1.0, 1.5, -1)),
    "p.l1_unstructured(m, 'bias', 1, importance_scores=t.tensor([3.0, 2.0, 1.0, 0.0]))",
    *(
        f"p.ln_structured(m, 'weight', 2, {n}, {dim})"
        for n in (1, 2, "'fro'")
        for dim in (0, -1, 2)
    ),
    "p.ln_structured(m, 'bias', 1, 2, 0)",
    "p.custom_from_mask(m, 'bias', t.tensor([True, False, True, True]))",
    "p.custom_from_mask(m, 'bias', t.ones(2))",
    "p.l1_unstructured(p.l1_unstructured(m, 'weight', 4), 'weight', 0.5)",
    "p.ln_structured(p.l1_unstructured(m, 'weight', 4), 'weight', 1, 1, 0)",
    "p.remove(p.l1_unstructured(m, 'weight', 4), 'weight')",
    "p.remove(m, 'weight')",
    "p.global_unstructured([(m, 'weight'), (m, 'bias')], p.L1Unstructured, amount=0.4) or m",
    "p.global_unstructured([(m, 'weight')], p.LnStructured, amount=1, n=2) or m",
]


def outcome(library: Any, text: str) -> Any:
    """The state after a call, or the type of its error."""
    m = library.nn.Linear(6, 4)
    with library.no_grad():
        m.weight.copy_(library.tensor(WEIGHT))
        m.bias.copy_(library.tensor(WEIGHT[:, 0]))
    try:
        m = eval(text, {"p": library.nn.utils.prune, "m": m, "t": library})
    except Exception as e:
        return type(e).__name__
    m(library.ones(1, 6))
    return {name: value.tolist() for name, value in m.state_dict().items()}, m.weight.tolist()


@pytest.mark.parametrize("text", ROWS)
def test_prune(text: str) -> None:
    """The same state, or the same kind of error."""
    assert outcome(weft, text) == outcome(torch, text)
