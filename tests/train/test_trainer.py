"""``Trainer``: results, batches of all kinds, accumulation, hooks, and clear errors."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import weft
from weft import nn
from weft.nn import functional as F
from weft.optim import lr_scheduler
from weft.train import Callback, GradientClipping, LRMonitor, NaNGuard, Timer, Trainer
from weft.train.step import BatchError


def data(n: int = 20, seed: int = 0) -> tuple[Any, Any]:
    """Inputs, and a linear function of them."""
    generator = weft.Generator().manual_seed(seed)
    x = weft.rand(n, 3, generator=generator)
    return x, x.sum(1, keepdim=True)


def batches(n: int = 20, size: int = 4) -> list[Any]:
    x, y = data(n)
    return [(x[i : i + size], y[i : i + size]) for i in range(0, n, size)]


def linear(seed: int = 0) -> nn.Module:
    weft.manual_seed(seed)
    return nn.Linear(3, 1)


def quiet(model: Any = None, **options: Any) -> Trainer:
    """A trainer that shows nothing."""
    options.setdefault("max_epochs", 2)
    if "step" not in options:
        options.setdefault("loss", "mse")
    return Trainer(model or linear(), progress=False, **options)


def same(a: nn.Module, b: nn.Module) -> bool:
    pairs = zip(a.state_dict().values(), b.state_dict().values())
    return all(bool((x == y).all()) for x, y in pairs)


# ---- training -----------------------------------------------------------------------------------


def test_fit_is_the_plain_loop() -> None:
    """Weights and losses are those of a loop written by hand, bit for bit."""
    model, plain = linear(), linear()
    trainer = quiet(model, optimizer=weft.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    history = trainer.fit(batches(18, 4))  # the last batch has 2 samples
    optimizer = weft.optim.SGD(plain.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(2):
        total = 0.0
        for x, y in batches(18, 4):
            optimizer.zero_grad()
            loss = F.mse_loss(plain(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        assert history[epoch] == {"epoch": epoch + 1, "loss": total / 18}
    assert same(model, plain)
    assert trainer.steps == 10


def test_validation_and_metrics() -> None:
    trainer = quiet(metrics=["mae", "r2"], max_epochs=3, validate_every=2)
    history = trainer.fit(batches(), validation=data(7, seed=1))
    assert list(history[0]) == ["epoch", "loss", "mae", "r2"]
    assert list(history[1])[4:] == ["val_loss", "val_mae", "val_r2"]
    assert "val_loss" in history[2]  # the last is always validated
    x, y = data(7, seed=1)
    results = trainer.test((x, y))
    assert results["loss"] == pytest.approx(F.mse_loss(trainer.model(x), y).item())
    assert results == {k[4:]: v for k, v in history[2].items() if k.startswith("val_")}
    assert trainer.validate([(x[:5], y[:5]), (x[5:], y[5:])])["loss"] == pytest.approx(
        results["loss"]
    )


def test_evaluation_leaves_modes_and_gradients_alone() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
    model[1].eval()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    trainer = quiet(model)
    trainer.test(data())
    assert [m.training for m in model] == [True, False, True, True]
    assert all(bool((before[k] == v).all()) for k, v in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


def test_predict() -> None:
    x, y = data(50)
    trainer = quiet(batch_size=16)
    expected = trainer.model(x)
    assert weft.allclose(trainer.predict(x), expected)
    assert weft.allclose(trainer.predict([x[:30], x[30:]]), expected)
    assert weft.allclose(trainer.predict([(x, y)]), expected)
    assert not trainer.predict(x).requires_grad

    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(weft.ones(1))

        def forward(self, x: Any) -> Any:
            return {"sum": x.sum() * self.w}

    assert [list(o) for o in quiet(Two()).predict([x, x])] == [["sum"], ["sum"]]


class Sum(nn.Module):
    """Adds the results for two inputs."""

    def __init__(self) -> None:
        super().__init__()
        weft.manual_seed(0)
        self.part = nn.Linear(3, 1)

    def forward(self, a: Any, b: Any) -> Any:
        return self.part(a) + self.part(b)


def test_all_kinds_of_batches_give_the_same() -> None:
    x, y = data(8)
    reference = quiet(Sum()).fit([(x, x, y)])
    assert quiet(Sum()).fit([[x, x, y]]) == reference
    assert quiet(Sum()).fit([{"a": x, "b": x, "label": y}]) == reference
    own = quiet(Sum(), step=lambda model, batch: F.mse_loss(model(*batch[0]), batch[1]))
    assert own.fit([((x, x), y)]) == reference
    assert quiet().fit([{"input": x, "target": y}]) == quiet().fit([(x, y)])


def test_step_returns_more() -> None:
    def step(model: Any, batch: Any) -> dict[str, Any]:
        x, y = batch
        output = model(x)
        return {"loss": F.mse_loss(output, y), "output": output, "target": y, "size": len(x)}

    row = quiet(step=step, metrics="mse").fit(batches(10, 4), validation=batches(10, 4))[0]
    assert row["size"] == pytest.approx((4 * 4 + 4 * 4 + 2 * 2) / 10)
    assert row["mse"] == pytest.approx(row["loss"]) and "val_size" in row


def test_model_with_its_own_loss() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(weft.ones(3, 1))

        def forward(self, x: Any, y: Any) -> Any:
            return {"loss": F.mse_loss(x @ self.w * 2, y)}

    x, y = data()
    for batch in ({"x": x, "y": y}, (x, y)):
        history = quiet(Own(), loss=None, lr=0.1).fit([batch])
        assert history[1]["loss"] < history[0]["loss"]


@pytest.mark.parametrize("sizes", [(4, 4, 4, 4), (4, 4, 4, 1), (5, 2, 5, 3)])
def test_accumulation_is_a_larger_batch(sizes: tuple[int, ...]) -> None:
    x, y = (t.double() for t in data(sum(sizes)))
    small = list(zip(x.split(list(sizes)), y.split(list(sizes))))
    models = [linear().double() for _ in range(2)]
    for model, train, accumulate in zip(models, (small, [(x, y)]), (4, 1)):
        quiet(model, optimizer="sgd", lr=0.1, accumulate=accumulate, max_epochs=3).fit(train)
    for a, b in zip(*(model.parameters() for model in models)):
        assert float((a - b).abs().max()) < 1e-14
    trainer = quiet(accumulate=3, max_epochs=1)
    trainer.fit(batches(20, 4))  # five batches: three and the rest of two
    assert trainer.steps == 2


def test_accumulated_sums() -> None:
    x, y = data(8)
    models = linear(), linear()
    loss = nn.MSELoss(reduction="sum")
    quiet(models[0], loss=loss, optimizer="sgd", lr=0.01, accumulate=2).fit(batches(8, 4))
    quiet(models[1], loss=loss, optimizer="sgd", lr=0.01).fit([(x, y)])
    for a, b in zip(*(model.parameters() for model in models)):
        assert weft.allclose(a, b)


def test_schedulers() -> None:
    rates = []

    class Rates(Callback):
        def on_batch_begin(self, trainer: Trainer) -> None:
            rates.append(trainer.optimizer.param_groups[0]["lr"])

    def fit(scheduler: Any, **options: Any) -> list[Any]:
        rates.clear()
        callbacks = [Rates(), LRMonitor()]
        trainer = quiet(
            optimizer="sgd", lr=1e-3, scheduler=scheduler, callbacks=callbacks, **options
        )
        return [row["lr"] for row in trainer.fit(batches(8, 4))]

    assert fit(lambda o: lr_scheduler.StepLR(o, 1, 0.5)) == [1e-3, 5e-4]
    assert rates == [1e-3, 1e-3, 5e-4, 5e-4]
    assert fit(lambda o: lr_scheduler.StepLR(o, 1, 0.5), scheduler_interval="step") == [
        5e-4,
        1.25e-4,
    ]
    fit(lambda o: lr_scheduler.OneCycleLR(o, 1e-3, total_steps=4))
    assert len(set(rates)) == 4  # by steps, of itself
    plateau = fit(
        lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=0, threshold=1e9), max_epochs=4
    )
    assert plateau[0] > plateau[-1]
    with pytest.raises(ValueError, match="no result 'val_los' to monitor: did you mean"):
        quiet(scheduler=lr_scheduler.ReduceLROnPlateau, monitor="val_los").fit(
            batches(), validation=batches()
        )


def test_lbfgs() -> None:
    trainer = quiet(optimizer=lambda p: weft.optim.LBFGS(p, max_iter=20), max_epochs=3)
    assert trainer.fit([data()])[-1]["loss"] < 1e-6
    with pytest.raises(NotImplementedError, match="accumulate=2"):
        quiet(optimizer=weft.optim.LBFGS, accumulate=2)


def test_seeded_runs_are_equal() -> None:
    def run(seed: int) -> Any:
        trainer = Trainer(
            lambda: nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1)),
            loss="mse",
            seed=seed,
            deterministic=True,
            progress=False,
            max_epochs=3,
            batch_size=4,
        )
        return trainer.fit(data()), trainer.model

    (first, model), (second, again) = run(1), run(1)
    assert first == second and same(model, again)
    assert run(2)[0] != first


def test_deterministic_finds_what_is_not() -> None:
    calls = iter(range(100))

    def step(model: Any, batch: Any) -> Any:
        return F.mse_loss(model(batch[0]), batch[1]) + next(calls)

    with pytest.raises(RuntimeError, match="the loss is not the same when the first batch"):
        quiet(step=step, seed=0, deterministic=True).fit(batches())
    with pytest.raises(ValueError, match="needs a seed"):
        quiet(deterministic=True)


def test_hooks_come_in_order() -> None:
    calls: list[str] = []

    class All(Callback):
        def on_fit_begin(self, trainer: Trainer) -> None:
            calls.append("fit")

        def on_epoch_begin(self, trainer: Trainer) -> None:
            calls.append(f"epoch {trainer.epoch}")

        def on_batch_begin(self, trainer: Trainer) -> None:
            calls.append(f"batch {trainer.batch_index}")

        def on_backward_end(self, trainer: Trainer) -> None:
            assert all(p.grad is not None for p in trainer.model.parameters())
            calls.append("backward")

        def on_batch_end(self, trainer: Trainer) -> None:
            calls.append(f"step {trainer.steps}")

        def on_validation_begin(self, trainer: Trainer) -> None:
            assert "loss" in trainer.logs
            calls.append("validation")

        def on_validation_end(self, trainer: Trainer) -> None:
            assert "val_loss" in trainer.logs
            trainer.logs["mine"] = 7
            calls.append("validated")

        def on_epoch_end(self, trainer: Trainer) -> None:
            calls.append("epoch end")

        def on_fit_end(self, trainer: Trainer) -> None:
            calls.append("end")

    history = quiet(callbacks=All(), max_epochs=1).fit(batches(8, 4), validation=batches())
    expected = "fit, epoch 1, batch 0, backward, step 1, batch 1, backward, step 2, validation, "
    assert ", ".join(calls) == expected + "validated, epoch end, end"
    assert history[0]["mine"] == 7


def test_a_hook_with_a_slip_is_refused() -> None:
    class Slip(Callback):
        def on_epoch_ends(self, trainer: Trainer) -> None:
            pass

    with pytest.raises(TypeError, match="did you mean 'on_epoch_end'"):
        quiet(callbacks=Slip())
    with pytest.raises(TypeError, match=r"give an object, Timer\(\)"):
        quiet(callbacks=[Timer])


def test_stopping() -> None:
    assert quiet(max_steps=7, max_epochs=9).fit(batches())[-1]["epoch"] == 2
    trainer = quiet(callbacks=Timer(limit=1e-9), max_epochs=9)
    assert len(trainer.fit(batches(), validation=batches())) == 1
    assert trainer.steps == 1 and "val_loss" in trainer.logs and "Timer" in str(trainer.stopped)


class Largest(Callback):
    """The largest norm of all gradients."""

    order = 1

    def __init__(self, kind: float) -> None:
        self.kind, self.norm = kind, 0.0

    def on_backward_end(self, trainer: Trainer) -> None:
        grads = weft.cat([p.grad.flatten() for p in trainer.model.parameters()])
        self.norm = max(self.norm, float(grads.norm(self.kind)))


def test_gradients_are_cut() -> None:
    for clipping, kind in (
        (GradientClipping(norm=0.01), 2.0),
        (GradientClipping(value=0.01), float("inf")),
    ):
        largest = Largest(kind)
        quiet(callbacks=[largest, clipping]).fit(batches())
        assert 0.0099 < largest.norm <= 0.01001
    with pytest.raises(ValueError, match="one of norm and value"):
        GradientClipping()


# ---- errors -------------------------------------------------------------------------------------


def fails(error: type[Exception], match: str, train: Any = None, **options: Any) -> None:
    with pytest.raises(error, match=match):
        quiet(**options).fit(batches() if train is None else train)


def test_errors_of_losses() -> None:
    x, y = data(4)
    rule = r"epoch 1, batch 0: the loss of MSELoss must be one number, got shape \[4, 1\]"
    fails(BatchError, rule, loss=nn.MSELoss(reduction="none"))
    fails(
        BatchError,
        r"output has shape \[4, 1\] and the target \[4\]; target.reshape",
        [(x, y[:, 0])],
    )
    fails(BatchError, r"cross_entropy does not take an output of shape \[4, 1\] and dtype float32 "
          r"with a target of shape \[3\]", [(x, weft.zeros(3, dtype=weft.long))], loss="cross_entropy")  # fmt: skip
    fails(BatchError, "must be a tensor, got a float", step=lambda model, batch: 1.0)
    fails(BatchError, "does not depend on any parameter", step=lambda model, batch: weft.ones(()))
    fails(BatchError, "epoch 1, batch 1: a batch must be", [(x, y), x])
    fails(BatchError, "one of the keys target, targets", [{"x": x, "z": y}])
    fails(
        BatchError, "metrics .mae. need an output", step=lambda m, b: m(b[0]).sum(), metrics="mae"
    )
    with pytest.raises(BatchError, match=r"validation, batch 1: .*compares element by element"):
        quiet().fit(batches(), validation=[(x, y), (x, y[:, 0])])


def test_errors_of_data() -> None:
    x, y = data(4)
    fails(ValueError, "train: the list has no batches", [])
    fails(ValueError, "an iterator gives its batches only once", iter(batches()))
    fails(TypeError, "batches .a loader, a list. or a tuple of tensors", 3)
    fails(ValueError, r"as many samples in each: got shapes \[4, 3\], \[3, 1\]", (x, y[:3]))
    with pytest.raises(ValueError, match="validation: the list has no batches"):
        quiet().fit(batches(), validation=[])
    with pytest.raises(ValueError, match="test: the list has no batches"):
        quiet().test([])


def test_errors_of_arguments() -> None:
    fails(
        ValueError,
        "loss: unknown name 'cross_entopy': did you mean 'cross_entropy'",
        loss="cross_entopy",
    )
    fails(ValueError, "optimizer: unknown name 'adm': did you mean 'adam'", optimizer="adm")
    fails(ValueError, "unknown name 'acuracy': did you mean 'accuracy'", metrics=["acuracy"])
    fails(TypeError, r"is a class: give an object, MSELoss\(\)", loss=nn.MSELoss)
    fails(ValueError, "max_epochs must be an integer of at least 1, got 0", max_epochs=0)
    fails(ValueError, "accumulate must be", accumulate=0.5)
    model = linear()
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
    fails(ValueError, "has a learning rate already", model=model, optimizer=optimizer, lr=1.0)
    other = lr_scheduler.StepLR(weft.optim.SGD(model.parameters(), lr=0.1), 1)
    fails(
        ValueError, "made for another optimiser", model=model, optimizer=optimizer, scheduler=other
    )
    fails(ValueError, "loss or step, not both", step=lambda m, b: 0, loss="mse")
    fails(ValueError, "has no parameters to train", model=nn.Identity())
    with pytest.raises(TypeError, match=r"must be an nn\.Module, got int"):
        Trainer(3)


def test_optimizers_of_another_model_warn() -> None:
    with pytest.warns(UserWarning, match="none of the parameters of Linear"):
        quiet(optimizer=weft.optim.SGD(linear().parameters(), lr=0.1))
    model = linear()
    with pytest.warns(UserWarning, match="lacks 1 of the 2 parameters of Linear .*: bias"):
        quiet(model, optimizer=weft.optim.SGD([model.weight], lr=0.1))
    model.bias.requires_grad_(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet(model, optimizer=weft.optim.SGD([model.weight], lr=0.1))


class Log(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.log()


def test_nan_losses_name_the_culprit() -> None:
    x, y = data(4)
    bad = x.clone()
    bad[1, 1] = float("nan")
    fails(
        FloatingPointError,
        r"epoch 1, batch 1: the loss is nan: .* data: batch\[0\]",
        [(x, y), (bad, y)],
    )
    model = nn.Sequential(nn.Linear(3, 1), nn.ReLU(), Log(), nn.Linear(1, 1))
    with weft.no_grad():
        model[0].weight.fill_(-1)
        model[0].bias.fill_(0)
    fails(
        FloatingPointError,
        r"2 \(Log\) gives NaN or infinity for a finite input",
        [(x, y)],
        model=model,
    )
    fails(FloatingPointError, "the loss itself is not finite for outputs in",
          [(x, y)], loss=lambda output, target: (output - output).log().sum() * 0)  # fmt: skip
    fails(FloatingPointError, "parameters are NaN or infinite since an earlier step: weight",
          batches(), loss=lambda output, target: (output * 0).abs().sqrt().sum())  # fmt: skip


def test_nan_gradients_name_the_line() -> None:
    def roots(model: Any, batch: Any) -> Any:
        return (model(batch[0]) * 0).abs().sqrt().sum()

    with pytest.raises(FloatingPointError) as caught:
        quiet(step=roots, callbacks=NaNGuard()).fit(batches())
    text = str(caught.value)
    assert "the gradient of weight, bias is NaN" in text and "AbsBackward0" in text
    assert "test_trainer.py" in text
