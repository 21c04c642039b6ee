"""A program that is looked at computes the same bits: shown steps, stops, breakpoints, random programs."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import weft
from weft import _C, nn
from weft.view.live.recorder import StepRecorder

F = nn.functional


def show_all(view: Any) -> Any:
    """Lets a view show every step, as if a page were open that cannot have enough."""
    view.live.asked, view.refreshes = float("inf"), 1e9
    return view


def train(kind: str, watching: bool, steps: int = 40) -> tuple[list[float], list[Any]]:
    weft.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(8, 16), nn.ReLU(), nn.BatchNorm1d(16), nn.Dropout(0.3), nn.Linear(16, 3)
    )
    optimizer = weft.optim.Adam(net.parameters(), lr=0.01)
    x, y = weft.randn(4, 8), weft.tensor([0, 1, 2, 0])
    model: Any = weft.compile(net) if kind == "model" else net

    def step() -> Any:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return loss

    call = weft.compile(step) if kind == "step" else step
    view = show_all(weft.view.watch(net, open_browser=False)) if watching else None
    losses = []
    for _ in range(steps):
        losses.append(call().item())
        if view is not None and kind == "step":
            view.step(losses[-1])
    if view is not None:
        assert len(view.live.points) >= steps - 3
        view.close()
    return losses, [p.detach().clone() for p in net.parameters()]


@pytest.mark.parametrize("kind", ["eager", "model", "step"])
def test_shown_steps_give_the_same_bits(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.view.live.watching.SHARE", 1e9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain, parameters = train(kind, False)
        watched, others = train(kind, True)
    assert plain == watched
    assert all(weft.equal(a, b) for a, b in zip(parameters, others))


def test_stopping_and_looking_at_everything_gives_the_same_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Images lie in memory as convolutions like it; who looks at them must not put them in order."""
    monkeypatch.setattr("weft.view.live.watching.SHARE", 1e9)

    def run(watching: bool) -> list[Any]:
        weft.manual_seed(0)
        net = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1)),
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)),
        )
        optimizer = weft.optim.AdamW(net.parameters(), lr=0.02)
        x, y = weft.randn(64, 1, 8, 8), weft.randint(0, 10, (64,))
        view = show_all(weft.view.watch(net, open_browser=False)) if watching else None
        stops: list[Any] = []
        if view is not None:
            view._wait = lambda: stops.append(view.live.stop) or "resume"
            view.breakpoints.add("condition", "any output is not finite")
            view.breakpoints.add("condition", "absmax of 0 > 0")
            view.breakpoints.add(
                "condition", "any gradient of 4 is not zero or any gradient of 4 is finite"
            )
        losses = []
        for _ in range(12):
            loss = F.cross_entropy(net(x), y)
            if view is not None:
                view.pause()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if view is not None:
            view.close()
            assert len(stops) > 20
        return [*losses, *(p.detach().clone() for p in net.parameters())]

    for a, b in zip(run(False), run(True)):
        assert weft.equal(a, b) if isinstance(a, weft.Tensor) else a == b


def test_values_of_images_that_lie_channels_last() -> None:
    """Statistics and samples of all of an image and of parts of it; the oracle is a copy in order."""
    weft.manual_seed(1)
    net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 8, 3, padding=1))
    for make in (
        lambda t: t,
        lambda t: t[1:],
        lambda t: t[:, 2:5, 1:],
        lambda t: t[0, :, ::2].transpose(0, 1),
    ):
        with weft.no_grad():
            image = net(weft.randn(4, 3, 16, 16))
            part = make(image)
            found = (
                _C._sample(part, part.numel()),
                _C._statistics(part),
                _C._summary(part, 1 << 20, 5),
            )
            a = part.numpy().astype(np.float64).reshape(-1)
        np.testing.assert_array_equal(found[0].numpy(), a)
        looked, nans, infinite, zeros, low, high, total, squares = found[1]
        assert (looked, nans, infinite, zeros, low, high) == (
            a.size,
            0,
            0,
            (a == 0).sum(),
            a.min(),
            a.max(),
        )
        np.testing.assert_allclose([total, squares], [a.sum(), (a * a).sum()], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found[2][5:7], [a.mean(), a.std()], rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(
            _C._sample(part, 7).numpy(), a[(np.arange(7) * (a.size / 7)).astype(int)]
        )


def test_random_programs_give_the_same_bits() -> None:
    """Random networks with random calls: outputs, gradients and random numbers as without it."""
    for seed in range(25):
        found = []
        for watching in (False, True):
            r = random.Random(seed)
            weft.manual_seed(seed)
            x = weft.randn(3, 6, requires_grad=True)
            recorder = StepRecorder({})
            if watching:
                recorder.begin()
            h = x
            for _ in range(r.randrange(1, 12)):
                kind = r.randrange(9)
                if kind == 0:
                    h = h @ weft.randn(6, 6)
                elif kind == 1:
                    h = F.dropout(h, 0.4)
                elif kind == 2:
                    h = h.clone()
                    h[0] *= 2
                elif kind == 3:
                    h = weft.cat([h[:, 3:], h[:, :3].tanh()], 1)
                elif kind == 4:
                    h = F.layer_norm(h, (6,))
                elif kind == 5:
                    h = h + weft.as_tensor([0.5] * 6)
                elif kind == 6:
                    h = (h * 1).add_(0.25)
                elif kind == 7:
                    h = h.t().contiguous().t()
                else:
                    h = F.softmax(h * float(h.detach().abs().max() < 3), -1)
            h.pow(2).sum().backward()
            if watching:
                recorder.end()
                assert recorder.failed is None and recorder.ops
            found.append((h.detach().clone(), x.grad.clone(), weft.get_rng_state()))
        for a, b in zip(*found):
            assert weft.equal(a, b), seed
