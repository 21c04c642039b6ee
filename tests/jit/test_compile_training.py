"""Layers, hooks and training tricks, compiled and eager in lock step: equal bit for bit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from jit.compile_calls import runs
from jit.compile_models import Attention, Checkpointed, Custom, Recurrent, Symmetric

import weft
import weft.nn.functional as F
from weft import nn
from weft.nn.utils import clip_grad_norm_, clip_grad_value_, parametrizations, parametrize

pytestmark = [
    pytest.mark.filterwarnings("ignore:compile"),
    pytest.mark.filterwarnings("ignore:Full backward hook"),
]


def bits(x: Any) -> Any:
    if isinstance(x, weft.Tensor):
        data = np.ascontiguousarray(x.detach().numpy()).tobytes()
        return str(x.dtype), tuple(x.shape), x.requires_grad, data
    if isinstance(x, dict):
        return {k: bits(v) for k, v in x.items()}
    return [bits(v) for v in x] if isinstance(x, (list, tuple)) else x


class Case:
    """A model, a training step, and what happens between steps. Subclasses say what is special."""

    size = (4, 6)
    replays = True  # some calls are made from what was captured

    def __init__(self) -> None:
        self.model = self.make_model()
        self.opt = self.make_optimizer()
        self.extra: list[Any] = []  # more that must be the same

    def make_model(self) -> Any:
        return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))

    def make_optimizer(self) -> Any:
        return weft.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)

    def loss(self, x: Any, y: Any) -> Any:
        return F.cross_entropy(self.model(x), y)

    def step(self, x: Any, y: Any) -> Any:
        self.opt.zero_grad()
        loss = self.loss(x, y)
        loss.backward()
        self.opt.step()
        return loss

    def between(self, turn: int) -> None:
        """What happens after a step."""

    def data(self, turn: int) -> tuple[Any, Any]:
        return weft.randn(*self.size), weft.randint(0, 3, (4,))

    def seen(self) -> Any:
        params = list(self.model.parameters())
        state = [v for p in params for v in self.opt.state.get(p, {}).values()]
        grads = [p.grad for p in params]
        return [
            bits(params),
            bits(list(self.model.buffers())),
            bits(grads),
            bits(state),
            self.extra,
        ]


def lock_step(case: type[Case], wrap: Callable[[Case], Any], turns: int = 10) -> int:
    """Run a case twice; ``wrap`` gives the compiled step. Returns how many calls were replayed."""
    cases = []
    for _ in range(2):
        weft.manual_seed(0)
        cases.append(case())
    cases[1].model.load_state_dict(cases[0].model.state_dict())
    steps = [cases[0].step, wrap(cases[1])]
    for turn in range(turns):
        results = []
        for c, step in zip(cases, steps):
            weft.manual_seed(turn)
            result = step(*c.data(turn))
            c.between(turn)
            results.append([bits(result), c.seen(), weft.get_rng_state().tolist()])
        assert results[0] == results[1], (case.__name__, turn)
    compiled = steps[1] if hasattr(steps[1], "report") else cases[1].compiled  # type: ignore[attr-defined]
    return runs(compiled)


def whole(case: Case) -> Any:
    return weft.compile(case.step)


def model_only(case: Case) -> Any:
    inner = case.model
    case.compiled = weft.compile(inner)  # type: ignore[attr-defined]
    loss = case.loss

    def with_compiled(x: Any, y: Any) -> Any:
        case.model = case.compiled  # type: ignore[attr-defined]
        try:
            return loss(x, y)
        finally:
            case.model = inner

    case.loss = with_compiled  # type: ignore[method-assign]
    return case.step


CASES: dict[str, type[Case]] = {}


def case(cls: type[Case]) -> type[Case]:
    CASES[cls.__name__] = cls
    return cls


@case
class Plain(Case):
    pass


@case
class Schedule(Case):
    """The rate is changed outside, by a scheduler."""

    def __init__(self) -> None:
        super().__init__()
        self.scheduler = weft.optim.lr_scheduler.ExponentialLR(self.opt, 0.9)

    def between(self, turn: int) -> None:
        self.scheduler.step()


@case
class ScheduleInside(Schedule):
    """By a scheduler inside."""

    replays = False

    def step(self, x: Any, y: Any) -> Any:
        loss = super().step(x, y)
        self.scheduler.step()
        return loss

    def between(self, turn: int) -> None:
        self.extra = [self.scheduler.get_last_lr()]


@case
class Frozen(Case):
    """Parameters are frozen and thawed between calls."""

    def between(self, turn: int) -> None:
        if turn in (3, 6):
            for p in self.model[0].parameters():
                p.requires_grad_(turn == 6)


@case
class Modes(Case):
    def make_model(self) -> Any:
        return nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Dropout(0.5), nn.Linear(5, 3))

    def between(self, turn: int) -> None:
        self.model.train(turn % 6 < 4)


@case
class Loaded(Case):
    """State is loaded into the model and the optimiser."""

    def between(self, turn: int) -> None:
        if turn == 2:
            self.kept = copy.deepcopy((self.model.state_dict(), self.opt.state_dict()))
        if turn == 5:
            self.model.load_state_dict(self.kept[0])
            self.opt.load_state_dict(self.kept[1])


@case
class MoreGroups(Case):
    """A group of parameters is added."""

    def make_optimizer(self) -> Any:
        return weft.optim.Adam(self.model[0].parameters(), lr=0.01)

    def between(self, turn: int) -> None:
        if turn == 4:
            self.opt.add_param_group({"params": list(self.model[2].parameters()), "lr": 0.1})


@case
class ZeroGrads(Case):
    def step(self, x: Any, y: Any) -> Any:
        self.opt.zero_grad(set_to_none=False)
        loss = self.loss(x, y)
        loss.backward()
        self.opt.step()
        return loss


@case
class Clipped(Case):
    def step(self, x: Any, y: Any) -> Any:
        self.opt.zero_grad()
        loss = self.loss(x, y) * 10
        loss.backward()
        norm = clip_grad_norm_(self.model.parameters(), 0.5)
        clip_grad_value_(self.model.parameters(), 0.2)
        self.opt.step()
        return loss, norm


@case
class Accumulated(Case):
    """Over micro-batches, inside."""

    def step(self, x: Any, y: Any) -> Any:
        self.opt.zero_grad()
        total = weft.zeros(())
        for part, target in zip(x.chunk(2), y.chunk(2)):
            loss = self.loss(part, target) / 2
            loss.backward()
            total += loss.detach()
        self.opt.step()
        return total


@case
class AccumulatedOutside(Case):
    """Over calls; the step is made outside."""

    def step(self, x: Any, y: Any) -> Any:
        loss = self.loss(x, y)
        loss.backward()
        return loss

    def between(self, turn: int) -> None:
        if turn % 3 == 2:
            self.opt.step()
            self.opt.zero_grad()


@case
class Averaged(Case):
    """An average of the weights is kept, inside."""

    def __init__(self) -> None:
        super().__init__()
        self.average = [p.detach().clone() for p in self.model.parameters()]

    def step(self, x: Any, y: Any) -> Any:
        loss = super().step(x, y)
        with weft.no_grad():
            for a, p in zip(self.average, self.model.parameters()):
                a.lerp_(p, 0.1)
        return loss

    def between(self, turn: int) -> None:
        self.extra = bits(self.average)


@case
class SwaModel(Case):
    """`AveragedModel` counts in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.average = weft.optim.swa_utils.AveragedModel(self.model)

    def step(self, x: Any, y: Any) -> Any:
        loss = super().step(x, y)
        self.average.update_parameters(self.model)
        return loss

    replays = False

    def between(self, turn: int) -> None:
        self.extra = bits(list(self.average.state_dict().values()))


@case
class DataTricks(Case):
    """`p.data` is changed inside, and replaced outside."""

    replays = False

    def step(self, x: Any, y: Any) -> Any:
        loss = super().step(x, y)
        for p in self.model.parameters():
            p.data.clamp_(-0.5, 0.5)
            p.grad.data.mul_(0.5)
        return loss

    def between(self, turn: int) -> None:
        if turn == 5:
            self.model[0].weight.data = self.model[0].weight.data * 0.5


@case
class Tied(Case):
    def make_model(self) -> Any:
        model = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6), nn.Linear(6, 3))
        model[2].weight = model[0].weight
        return model


@case
class SpectralNorm(Case):
    def make_model(self) -> Any:
        return nn.Sequential(parametrizations.spectral_norm(nn.Linear(6, 5)), nn.Linear(5, 3))


@case
class WeightNorm(Case):
    def make_model(self) -> Any:
        return nn.Sequential(parametrizations.weight_norm(nn.Linear(6, 5)), nn.Linear(5, 3))


@case
class Parametrized(Case):
    def make_model(self) -> Any:
        model = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 3))
        parametrize.register_parametrization(model[0], "weight", Symmetric())
        return model


@case
class Lazy(Case):
    """Shapes are known after the first call."""

    def make_model(self) -> Any:
        model = nn.Sequential(nn.LazyLinear(5), nn.LazyBatchNorm1d(), nn.Linear(5, 3))
        model(weft.ones(4, 6))
        return model


@case
class Lstm(Case):
    size = (4, 3, 6)

    def make_model(self) -> Any:
        return Recurrent(nn.LSTM)


@case
class Gru(Lstm):
    def make_model(self) -> Any:
        return Recurrent(nn.GRU)


@case
class Transformer(Case):
    size = (4, 3, 6)

    def make_model(self) -> Any:
        return Attention()


@case
class Translator(Case):
    size = (4, 3, 6)

    def make_model(self) -> Any:
        return nn.Transformer(6, 2, 1, 1, 8, batch_first=True)

    def loss(self, x: Any, y: Any) -> Any:
        return F.cross_entropy(self.model(x, x[:, :2])[:, 0, :3], y)


@case
class CustomFunction(Case):
    def make_model(self) -> Any:
        return Custom()


@case
class Checkpoint(Case):
    replays = False

    def make_model(self) -> Any:
        return Checkpointed(0.0)


@case
class CheckpointWithDropout(Case):
    replays = False

    def make_model(self) -> Any:
        return Checkpointed(0.5)


@case
class Closures(Case):
    """The loss is a closure made in each call; parts of it are not recorded."""

    def step(self, x: Any, y: Any) -> Any:
        def closure() -> Any:
            self.opt.zero_grad()
            loss = self.loss(x, y)
            with weft.set_grad_enabled(False):
                accuracy = (self.model(x).argmax(1) == y).float().mean()
            loss.backward()
            return loss, accuracy

        found = closure()
        self.opt.step()
        return found


@case
class StepWithClosure(Case):
    """The optimiser calls it."""

    replays = False

    def step(self, x: Any, y: Any) -> Any:
        def closure() -> Any:
            self.opt.zero_grad()
            loss = self.loss(x, y)
            loss.backward()
            return loss

        return self.opt.step(closure)


@case
class Numpy(Case):
    """An array is made and looked at inside."""

    replays = False

    def step(self, x: Any, y: Any) -> Any:
        scale = float(np.abs(x.numpy()).max())
        return super().step(x / scale + weft.from_numpy(np.ones(6, np.float32)), y)


@case
class Hooked(Case):
    """Hooks on modules and tensors come and go between calls."""

    def between(self, turn: int) -> None:
        if turn == 3:
            self.handles = [
                self.model[0].register_forward_hook(lambda m, i, o: o * 2),
                self.model[2].register_forward_pre_hook(lambda m, i: (i[0] + 1,)),
                self.model[0].weight.register_hook(lambda g: g * 3),
            ]
        if turn == 6:
            for h in self.handles:
                h.remove()


@case
class BackwardHooked(Case):
    """Full backward hooks and hooks after accumulation see each gradient once."""

    replays = False

    def __init__(self) -> None:
        super().__init__()
        self.model[0].register_full_backward_hook(lambda m, gi, go: self.note(go[0]))
        self.model[2].bias.register_post_accumulate_grad_hook(lambda p: self.note(p.grad))

    def note(self, g: Any) -> None:
        self.extra.append(bits(g))


@case
class OptimizerHooked(Case):
    """A hook on the optimiser's step."""

    def between(self, turn: int) -> None:
        if turn == 4:
            self.opt.register_step_post_hook(lambda o, a, k: self.extra.append(turn))


@case
class Scaled(Case):
    """A gradient scaler skips steps."""

    replays = False

    def __init__(self) -> None:
        super().__init__()
        self.scaler = weft.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)

    def step(self, x: Any, y: Any) -> Any:
        self.opt.zero_grad()
        loss = self.loss(x, y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss

    def data(self, turn: int) -> tuple[Any, Any]:
        x, y = super().data(turn)
        return (x * float("inf") if turn in (4, 7) else x), y

    def between(self, turn: int) -> None:
        self.extra = [self.scaler.get_scale()]


@case
class Lbfgs(Case):
    replays = False

    def make_optimizer(self) -> Any:
        return weft.optim.LBFGS(self.model.parameters(), lr=0.1, max_iter=3)

    def step(self, x: Any, y: Any) -> Any:
        def closure() -> Any:
            self.opt.zero_grad()
            loss = self.loss(x, y)
            loss.backward()
            return loss

        return self.opt.step(closure)

    def seen(self) -> Any:
        return bits(list(self.model.parameters()))


@pytest.mark.parametrize("name", CASES)
def test_whole_steps(name: str) -> None:
    """Forward, backward and update in one function."""
    count = lock_step(CASES[name], whole)
    assert count > 0 or not CASES[name].replays


@pytest.mark.parametrize("name", CASES)
def test_models(name: str) -> None:
    """The model alone is compiled; the backward pass is outside."""
    lock_step(CASES[name], model_only)
