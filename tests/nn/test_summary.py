"""``weft.summary``: the counts are right, and the model stays as it was."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import nn


def test_table() -> None:
    """Rows, totals and text of a small network."""
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 2, bias=False)))
    net[0].bias.requires_grad_(False)
    s = weft.summary(net, weft.ones(3, 4))
    assert [(r.name, r.kind, r.shape) for r in s.rows] == [
        ("", "Sequential", (3, 2)),
        ("0", "Linear", (3, 8)),
        ("1", "ReLU", (3, 8)),
        ("2", "Sequential", (3, 2)),
        ("2.0", "Linear", (3, 2)),
    ]
    assert s.total_params == 56 and s.trainable_params == 48 and s.total_bytes == 224
    assert s.total_macs == 3 * (32 + 16) and s.output_bytes == 4 * (24 + 24 + 6)
    lines = str(s).splitlines()
    assert lines[0].split() == ["Layer", "Output", "shape", "Parameters", "Bytes", "Multiply-adds"]
    assert "    0: Linear" in lines[6] and "56 (48 trainable, 8 not)" in lines[-3]


@pytest.mark.parametrize(
    ("module", "shape", "macs"),
    [
        (lambda: nn.Conv2d(3, 8, 3, padding=1, groups=1), (2, 3, 5, 5), 2 * 8 * 25 * 27),
        (lambda: nn.Conv1d(4, 8, 3, groups=2), (2, 4, 5), 2 * 8 * 3 * 6),
        (lambda: nn.ConvTranspose1d(2, 3, 4, stride=2), (1, 2, 5), 5 * 2 * 3 * 4),
        (lambda: nn.Linear(5, 2), (7, 3, 5), 21 * 10),
        (lambda: nn.LSTM(3, 4), (6, 2, 3), 12 * 16 * 7),
        (lambda: nn.ReLU(), (3,), 0),
    ],
)
def test_multiply_adds(module: Any, shape: tuple[int, ...], macs: int) -> None:
    """Multiply-adds by the formula of each kind of layer."""
    assert weft.summary(module(), weft.ones(*shape)).total_macs == macs
    assert weft.summary(module(), shape).total_macs == macs


def test_leaves_no_trace() -> None:
    """Buffers, random numbers, hooks and mode are as before; shared layers count once."""
    layer = nn.Linear(4, 4)
    net = nn.Sequential(layer, nn.BatchNorm1d(4), nn.Dropout(), layer)
    state = {k: v.clone() for k, v in net.state_dict().items()}
    rng = weft.get_rng_state()
    s = weft.summary(net, weft.randn(3, 4) * 0 + 5)
    weft.set_rng_state(rng)
    s = weft.summary(net, weft.ones(3, 4))
    assert (weft.get_rng_state() == rng).all() and net.training
    assert all(weft.equal(v, net.state_dict()[k]) for k, v in state.items())
    assert not any(m._has_hooks() for m in net.modules())
    assert s.total_params == 20 + 8 and s.total_macs == 2 * 3 * 16

    with pytest.raises(RuntimeError):
        weft.summary(net, weft.ones(3, 5))
    assert not any(m._has_hooks() for m in net.modules())


def test_inputs_and_lazy() -> None:
    """Several arguments, keywords, lazy layers, dictionaries as output."""

    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.LazyLinear(2)

        def forward(self, x: Any, y: Any, *, k: float = 1.0) -> Any:
            return {"sum": self.a(x) + y * k, "y": y}

    s = weft.summary(Two(), (weft.ones(1, 3), weft.ones(1, 2)), k=2.0)
    assert s.rows[0].shape == [(1, 2), (1, 2)] and s.total_params == 8
    assert s.rows[1].kind == "Linear" and s.rows[1].parameters == 8 and s.rows[1].macs == 6


class Pair(nn.Module):
    """Two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, a: Any, b: Any) -> Any:
        return self.layer(a) + b


def test_without_an_input_a_model_is_not_called() -> None:
    found = weft.summary(Pair())
    assert [row.shape for row in found.rows] == [None, None]
    assert found.total_params == 8 and found.total_macs == 0

    class Constant(nn.Module):
        def forward(self) -> Any:
            return weft.ones(4)

    assert weft.summary(Constant()).rows[0].shape == (4,)  # this one needs none


def test_input_size() -> None:
    assert str(weft.summary(Pair(), input_size=[(5, 3), (5, 2)])) == str(
        weft.summary(Pair(), weft.zeros(5, 3), weft.zeros(5, 2))
    )
    assert weft.summary(nn.ReLU(), input_size=(2, 3)).rows[0].shape == (2, 3)
    assert weft.summary(nn.ReLU(), input_size=weft.Size([2, 3])).rows[0].shape == (2, 3)
    for wrong in (3, "ab", (), [(2, "3")]):
        with pytest.raises(
            TypeError, match=r"summary: input_size must be a shape(?s:.*)test_summary"
        ):
            weft.summary(nn.ReLU(), input_size=wrong)
    with pytest.raises(ValueError, match="not both"):
        weft.summary(nn.ReLU(), weft.ones(1), input_size=(1,))
    with pytest.raises(TypeError, match="takes a Module, not int"):
        weft.summary(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "model",
    [nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 2, bias=False)), nn.LSTM(8, 4, 2), nn.GRU(8, 4)],
    ids=["linear", "lstm", "gru"],
)
def test_a_quantised_model_has_as_many_parameters(model: nn.Module) -> None:
    small = weft.quantization.quantize_dynamic(model, {nn.Linear, nn.LSTM, nn.GRU})
    whole, found = weft.summary(model), weft.summary(small)
    assert found.total_params == whole.total_params > 0
    assert found.trainable_params == 0
    assert sum(row.parameters for row in found.rows) == found.total_params
    assert found.total_bytes < whole.total_bytes
