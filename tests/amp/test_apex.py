"""``amp.initialize`` and ``amp.scale_loss``: levels, overflow, master weights, saving."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest

import weft
from weft import amp, nn

BF16 = weft.bfloat16


def network() -> Any:
    """A small network with batch norm, the same every time."""
    weft.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)
    )


def data() -> tuple[Any, Any]:
    """Images whose brightness tells their class."""
    weft.manual_seed(1)
    y = weft.arange(12) % 3
    return weft.randn(12, 1, 6, 6) + y.float().reshape(-1, 1, 1, 1), y


def started(level: str, **settings: Any) -> tuple[Any, Any]:
    """A network and its optimiser, prepared."""
    model = network()
    optimizer = weft.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return amp.initialize(model, optimizer, opt_level=level, verbosity=0, **settings)


def step(model: Any, optimizer: Any, factor: float = 1.0) -> float:
    """One step of training; a factor of the loss can make gradients overflow."""
    x, y = data()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    with amp.scale_loss(loss * factor, optimizer) as scaled:
        scaled.backward()
    optimizer.step()
    return loss.item()


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_levels(level: str) -> None:
    """Dtypes of parameters and results; training follows that in float32."""
    plain, small = started("O0"), started(level)
    made: list[Any] = []
    small[0][0].register_forward_hook(lambda m, x, y: made.append(y.dtype))
    curves = [[step(*t) for _ in range(15)] for t in (plain, small)]
    assert curves[1][-1] < 0.3 * curves[1][0]
    assert curves[1] == pytest.approx(curves[0], rel=0.2, abs=0.05)
    assert set(made) == {weft.float32 if level == "O0" else BF16}
    dtypes = {name: p.dtype for name, p in small[0].named_parameters()}
    cast = {"O0": [], "O1": [], "O2": ["0.", "4."], "O3": ["0.", "1.", "4."]}[level]
    assert {n for n, t in dtypes.items() if t == BF16} == {
        n for n in dtypes if n.startswith(tuple(cast))
    }
    assert small[0](data()[0]).dtype == weft.float32
    wanted = weft.float32 if level != "O3" else BF16
    assert {p.dtype for p in amp.master_params(small[1])} <= {weft.float32, wanted}
    if level == "O2":
        assert {p.dtype for p in amp.master_params(small[1])} == {weft.float32}


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_overflow_leaves_out_the_step(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Weights stay, the scale is halved, and the next step is made again."""
    model = network()
    optimizer = weft.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer = amp.initialize(model, optimizer, opt_level=level)
    before = [p.clone() for p in model.parameters()]
    step(model, optimizer, float("inf"))
    assert all(a.equal(b) for a, b in zip(before, model.parameters()))
    assert amp.state_dict() == {"loss_scaler0": {"loss_scale": 32768.0, "unskipped": 0}}
    assert "loss scaler 0 reducing loss scale to 32768.0" in capsys.readouterr().out
    step(model, optimizer)
    assert not before[-1].equal(model[4].bias) and not before[-2].equal(model[4].weight)
    assert amp.state_dict() == {"loss_scaler0": {"loss_scale": 32768.0, "unskipped": 1}}
    assert capsys.readouterr().out == ""


def test_scale_grows_within_bounds() -> None:
    """After 2000 good steps it is doubled, to the largest; halved, to the least."""
    model = nn.Linear(1, 1, bias=False)
    sgd = weft.optim.SGD(model.parameters(), lr=0.0)
    amp.initialize(model, sgd, min_loss_scale=2.0**15, max_loss_scale=2.0**17, verbosity=0)
    amp.load_state_dict({"loss_scaler0": {"loss_scale": 2.0**16, "unskipped": 1999}})
    one = weft.ones(1, 1)

    def go(factor: float) -> float:
        with amp.scale_loss(model(one).sum() * factor, sgd) as scaled:
            scaled.backward()
        sgd.step()
        sgd.zero_grad()
        return amp.state_dict()["loss_scaler0"]["loss_scale"]

    assert go(1.0) == 2.0**17
    amp.load_state_dict({"loss_scaler0": {"loss_scale": 2.0**17, "unskipped": 1999}})
    assert go(1.0) == 2.0**17
    assert [go(float("nan")) for _ in range(3)] == [2.0**16, 2.0**15, 2.0**15]


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("delayed", [False, True])
def test_gradients_add_up(level: str, delayed: bool) -> None:
    """Two losses, unscaled one by one or together, give the gradient of their sum."""
    x, y = data()
    grads = []
    for parts in (1, 2):
        model, optimizer = started(level)
        model.eval()
        for i in range(parts):
            loss = nn.functional.cross_entropy(model(x), y) * (2 / parts)
            last = i == parts - 1
            with amp.scale_loss(loss, optimizer, delay_unscale=delayed and not last) as scaled:
                scaled.backward()
        grads.append([p.grad for p in amp.master_params(optimizer)])
    for a, b in zip(*grads):
        assert a.dtype == weft.float32
        weft.testing.assert_close(a, b, rtol=2e-2, atol=2e-2)


def test_several_losses_have_scales_of_their_own() -> None:
    """One that overflows is halved; a check that is put off is made by the next block."""
    model, optimizer = started("O1", num_losses=2)
    x, y = data()
    before = model[4].weight.clone()
    for i, factor in enumerate((float("inf"), 1.0)):
        loss = nn.functional.cross_entropy(model(x), y) * factor
        with amp.scale_loss(loss, optimizer, loss_id=i) as scaled:
            scaled.backward()
    optimizer.step()
    assert model[4].weight.equal(before)
    assert [s["loss_scale"] for s in amp.state_dict().values()] == [32768.0, 65536.0]
    optimizer.zero_grad()
    for i, factor in enumerate((float("inf"), 1.0)):
        loss = nn.functional.cross_entropy(model(x), y) * factor
        with amp.scale_loss(loss, optimizer, delay_overflow_check=i == 0) as scaled:
            scaled.backward()
    optimizer.step()
    assert model[4].weight.equal(before)
    with (
        pytest.raises(RuntimeError, match=r"loss_id 2.*num_losses=2"),
        amp.scale_loss(loss, optimizer, loss_id=2),
    ):
        pass


def test_an_error_in_the_block_leaves_gradients() -> None:
    """Those from before come back, unscaled."""
    model, optimizer = started("O1")
    x, y = data()
    with amp.scale_loss(nn.functional.cross_entropy(model(x), y), optimizer) as scaled:
        scaled.backward()
    before = [p.grad.clone() for p in model.parameters()]
    with pytest.raises(ZeroDivisionError), amp.scale_loss(model(x).sum(), optimizer):
        raise ZeroDivisionError
    assert all(p.grad.equal(g) for p, g in zip(model.parameters(), before))


def test_master_weights_keep_small_steps() -> None:
    """Steps too small for bfloat16 add up in the master, and are saved and restored exactly."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    sgd = weft.optim.SGD(model.parameters(), lr=1e-3)
    model, sgd = amp.initialize(model, sgd, opt_level="O2", loss_scale=1.0)
    for _ in range(5):
        sgd.zero_grad()
        with amp.scale_loss(model(weft.ones(1, 1)).sum(), sgd) as scaled:
            scaled.backward()
        sgd.step()
    (master,) = amp.master_params(sgd)
    assert master.item() == pytest.approx(0.995)
    assert model.weight.dtype == BF16 and model.weight.item() == 0.99609375
    state = model.state_dict()
    assert state["weight"].dtype == weft.float32 and state["weight"].equal(master)
    other = nn.Linear(1, 1, bias=False)
    sgd2 = weft.optim.SGD(other.parameters(), lr=1e-3)
    other, sgd2 = amp.initialize(other, sgd2, opt_level="O2", loss_scale=1.0)
    other.load_state_dict(state)
    assert next(amp.master_params(sgd2)).equal(master) and other.weight.equal(model.weight)
    more = nn.Parameter(weft.ones(2, dtype=BF16))
    sgd2.add_param_group({"params": [more]})
    assert [p.dtype for p in amp.master_params(sgd2)] == [weft.float32] * 2


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_copies_are_apart(level: str) -> None:
    """A copy of a prepared model computes with its own parameters."""
    model, _ = started(level)
    twin = copy.deepcopy(model).eval()
    model.eval()
    x = data()[0]
    assert twin(x).equal(model(x)) and twin(x).dtype == weft.float32
    with weft.no_grad():
        for p in twin.parameters():
            p.zero_()
    assert not twin(x).any() and model(x).any()


@pytest.mark.parametrize("first", ["scheduler", "initialize"])
def test_schedulers_see_the_steps(first: str) -> None:
    """Made before or after, without a warning."""
    model = network()
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
    if first == "scheduler":
        scheduler = weft.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    model, optimizer = amp.initialize(model, optimizer)
    if first == "initialize":
        scheduler = weft.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            step(model, optimizer)
            scheduler.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.025)


def test_float16() -> None:
    """The small dtype is a setting of autocast, or of the model."""
    weft.set_autocast_dtype("cpu", weft.float16)
    try:
        model = amp.initialize(nn.Linear(2, 1))
    finally:
        weft.set_autocast_dtype("cpu", BF16)
    seen: list[Any] = []
    inner = type(model).forward

    class Watched(nn.Linear):
        def forward(self, x: Any) -> Any:
            y = inner(self, x)
            seen.append(y.dtype)
            return y

    model.__class__ = Watched
    assert model(weft.ones(1, 2)).dtype == weft.float32 and seen == [weft.float16]
    half = amp.initialize(nn.Linear(2, 1), opt_level="O3", cast_model_type=weft.float16)
    assert half.weight.dtype == weft.float16 and half(weft.ones(1, 2)).dtype == weft.float32
    kept = amp.initialize(nn.Linear(2, 1), opt_level="O3", cast_model_outputs=BF16)
    assert kept(weft.ones(1, 2)).dtype == BF16


def test_switched_off() -> None:
    """Nothing is changed, and the loss is the loss."""
    model, optimizer = started("O2", enabled=False)
    assert {p.dtype for p in model.parameters()} == {weft.float32}
    loss = model(data()[0]).sum()
    with amp.scale_loss(loss, optimizer) as scaled:
        assert scaled is loss


def test_lists_of_models_and_optimizers() -> None:
    """Come back as they were given."""
    models = [nn.Linear(1, 1), nn.Linear(1, 1)]
    optimizers = [weft.optim.SGD(m.parameters(), lr=1.0) for m in models]
    assert amp.initialize(models, optimizers) == (models, optimizers)
    loss = models[1](models[0](weft.ones(1, 1))).sum()
    with amp.scale_loss(loss, optimizers) as scaled:
        scaled.backward()
    assert models[0].weight.grad.item() == pytest.approx(models[1].weight.item(), rel=1e-2)


def test_errors() -> None:
    """What cannot be done is said, with its values."""
    model = nn.Linear(1, 1)
    sgd = weft.optim.SGD(model.parameters(), lr=1.0)
    with (
        pytest.raises(RuntimeError, match=r"amp.initialize, which has to be called first"),
        amp.scale_loss(weft.ones(()), sgd),
    ):
        pass
    with pytest.raises(RuntimeError, match=r"opt_level must be one of O0, O1, O2, O3.*'01'"):
        amp.initialize(model, opt_level="01")
    with pytest.raises(RuntimeError, match=r"cast_model_type must not be given"):
        amp.initialize(model, opt_level="O1", cast_model_type=weft.float16)
    with pytest.raises(ValueError, match=r"cast_model_type must be .* got torch.float64"):
        amp.initialize(model, opt_level="O2", cast_model_type=weft.float64)
    with pytest.raises(RuntimeError, match=r"keep_batchnorm_fp32 is for levels"):
        amp.initialize(model, opt_level="O1", keep_batchnorm_fp32=True)
    with pytest.raises(TypeError, match=r"models must be Module or a list of them, got int"):
        amp.initialize(3)
    model, sgd = amp.initialize(model, sgd)
    with pytest.raises(RuntimeError, match=r"initialized before"):
        amp.initialize(model, sgd)
    with pytest.raises(NotImplementedError, match=r"closure"):
        sgd.step(lambda: 0.0)
    with (
        pytest.raises(NotImplementedError, match=r"model"),
        amp.scale_loss(weft.ones(()), sgd, model=model),
    ):
        pass
    with pytest.raises(RuntimeError, match=r"expected the keys loss_scaler0, got none"):
        amp.load_state_dict({})
