"""``amp.initialize`` and ``amp.scale_loss``: mixed precision by one line, as NVIDIA's Apex has it.

What an optimiser needs to know hangs on it: which parameters have a master copy in float32, and
whether its next step is to be left out.
"""

from __future__ import annotations

import contextlib
import types

import weft
from weft import nn
from weft.optim import Optimizer

from .autocast import _cast, autocast, get_autocast_dtype
from .grad_scaler import unscale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from weft import Tensor

__all__ = ["initialize", "load_state_dict", "master_params", "scale_loss", "state_dict"]

# What each level means; an argument of initialize that is not None takes the place of an entry.
_LEVELS: dict[str, dict[str, Any]] = {
    "O0": {
        "cast_model_type": None, "patch_torch_functions": False, "keep_batchnorm_fp32": None,
        "master_weights": False, "loss_scale": 1.0,
    },
    "O1": {
        "cast_model_type": None, "patch_torch_functions": True, "keep_batchnorm_fp32": None,
        "master_weights": False, "loss_scale": "dynamic",
    },
    "O2": {
        "cast_model_type": "small", "patch_torch_functions": False, "keep_batchnorm_fp32": True,
        "master_weights": True, "loss_scale": "dynamic",
    },
    "O3": {
        "cast_model_type": "small", "patch_torch_functions": False, "keep_batchnorm_fp32": False,
        "master_weights": False, "loss_scale": 1.0,
    },
}  # fmt: skip

_started: list[_Training] = []  # by the last initialize: for state_dict


class _LossScale:
    """The factor of one loss: fixed, or halved after an overflow and doubled after good steps."""

    def __init__(self, scale: float | str, least: float | None, most: float) -> None:
        """Start at a scale, or at 65536 if it is to follow the gradients."""
        self.dynamic = scale == "dynamic"
        self.scale = min(most, 2.0**16) if self.dynamic else float(scale)
        self.least, self.most = least, most
        self.window, self.unskipped, self.overflowed = 2000, 0, False

    def update(self) -> bool:
        """Adapt to what was met since the last update; return whether the step is to be left out."""
        overflowed, self.overflowed = self.overflowed, False
        if not self.dynamic:
            return False
        if overflowed:
            self.scale, self.unskipped = max(self.scale / 2, self.least or 0.0), 0
            return True
        self.unskipped += 1
        if self.unskipped == self.window:
            self.scale, self.unskipped = min(self.scale * 2, self.most), 0
        return False


class _Training:
    """What one call of ``initialize`` set up."""

    def __init__(self, enabled: bool, verbosity: int, losses: list[_LossScale]) -> None:
        """Keep the settings."""
        self.enabled, self.verbosity, self.losses = enabled, verbosity, losses
        self.master_weights = False


class _Held:
    """What ``initialize`` hangs on an optimiser."""

    def __init__(self, training: _Training) -> None:
        """Start without master weights."""
        self.training = training
        self.pairs: list[tuple[Tensor, Tensor]] = []  # a parameter of the model, its master
        self.skips = False  # whether the next step is left out
        self.scaled = False  # whether gradients are still scaled: scale_loss(delay_unscale=True)
        self.before: dict[int, Tensor] = {}  # gradients from before this backward, unscaled


# ---- initialize ---------------------------------------------------------------------------------


def initialize(
    models: Any,
    optimizers: Any = None,
    enabled: bool = True,
    opt_level: str = "O1",
    cast_model_type: weft.dtype | None = None,
    patch_torch_functions: bool | None = None,
    keep_batchnorm_fp32: bool | str | None = None,
    master_weights: bool | None = None,
    loss_scale: float | str | None = None,
    cast_model_outputs: weft.dtype | None = None,
    num_losses: int = 1,
    verbosity: int = 1,
    min_loss_scale: float | None = None,
    max_loss_scale: float = 2.0**24,
) -> Any:
    """Prepare models and optimisers for mixed precision; change them, and return them.

    ========  ====================================================================  =============
    level     what it does                                                           loss scale
    ========  ====================================================================  =============
    ``"O0"``  nothing: float32                                                      1
    ``"O1"``  the forward of a model runs under ``autocast``                        dynamic
    ``"O2"``  parameters in the small dtype but those of batch norm; the optimiser  dynamic
              works on master weights in float32
    ``"O3"``  all parameters in the small dtype                                     1
    ========  ====================================================================  =============

    The small dtype is that of autocast, bfloat16 unless ``weft.set_autocast_dtype`` says otherwise.
    Models return their results in float32, so that losses are computed in it.

    Args:
        models: a module, or a list of them.
        optimizers: an optimiser, a list of them, or None.
        enabled: False switches all of this off; ``scale_loss`` then does nothing.
        opt_level: ``"O0"``, ``"O1"``, ``"O2"`` or ``"O3"``.
        cast_model_type: the dtype of parameters, in ``"O2"`` and ``"O3"``.
        patch_torch_functions: whether forwards run under autocast.
        keep_batchnorm_fp32: whether batch norm keeps its parameters in float32.
        master_weights: whether the optimiser works on copies in float32.
        loss_scale: a number, or ``"dynamic"``.
        cast_model_outputs: the dtype of what models return, float32 by default.
        num_losses: how many losses have a scale of their own: see ``scale_loss(loss_id=)``.
        verbosity: 0 to say nothing when a step is left out.
        min_loss_scale, max_loss_scale: bounds of a dynamic scale.

    Returns:
        The models, or models and optimisers.

    >>> model = weft.nn.Linear(2, 1)
    >>> sgd = weft.optim.SGD(model.parameters(), lr=0.1)
    >>> model, sgd = weft.amp.initialize(model, sgd, opt_level="O1")
    >>> loss = model(weft.ones(4, 2)).square().mean()
    >>> with weft.amp.scale_loss(loss, sgd) as scaled_loss:
    ...     scaled_loss.backward()
    >>> bool((model.weight.grad.abs() < 100).all())
    True
    >>> sgd.step()
    """
    if opt_level not in _LEVELS:
        raise RuntimeError(
            f"amp.initialize: opt_level must be one of {', '.join(_LEVELS)} (the letter O, then a "
            f"digit), got {opt_level!r}"
        )
    given = {
        "cast_model_type": cast_model_type, "patch_torch_functions": patch_torch_functions,
        "keep_batchnorm_fp32": _truth(keep_batchnorm_fp32), "master_weights": master_weights,
        "loss_scale": loss_scale,
    }  # fmt: skip
    chosen = {**_LEVELS[opt_level], **{k: v for k, v in given.items() if v is not None}}
    _check(chosen, given, opt_level)
    all_models = _listed(models, nn.Module, "models")
    all_optimizers = [] if optimizers is None else _listed(optimizers, Optimizer, "optimizers")
    scale = float(chosen["loss_scale"]) if chosen["loss_scale"] != "dynamic" else "dynamic"
    losses = [_LossScale(scale, min_loss_scale, max_loss_scale) for _ in range(num_losses)]
    training = _Training(enabled, verbosity, losses)
    training.master_weights = chosen["master_weights"]
    _started[:] = [training]
    for optimizer in all_optimizers:
        if hasattr(optimizer, "_amp"):
            raise RuntimeError("amp.initialize: this optimizer has been initialized before")
        optimizer._amp = _Held(training)
    if enabled:
        for model in all_models:
            _prepare_model(model, chosen, cast_model_outputs)
        for optimizer in all_optimizers:
            _prepare_optimizer(optimizer, chosen["master_weights"])
    return models if optimizers is None else (models, optimizers)


def _truth(value: Any) -> Any:
    return {"True": True, "False": False}.get(value, value) if isinstance(value, str) else value


def _check(chosen: dict[str, Any], given: dict[str, Any], level: str) -> None:
    cast, small = chosen["cast_model_type"], (weft.float16, weft.bfloat16, weft.float32)
    if cast not in (None, "small", *small):
        raise ValueError(
            "amp.initialize: cast_model_type must be torch.bfloat16, torch.float16 or "
            f"torch.float32, got {cast}"
        )
    if chosen["patch_torch_functions"] and cast is not None:
        raise RuntimeError(
            "amp.initialize: with patch_torch_functions (O1) parameters stay in float32: "
            f"cast_model_type must not be given, got {cast}"
        )
    if cast is None and given["keep_batchnorm_fp32"] is not None:
        raise RuntimeError(
            f"amp.initialize: keep_batchnorm_fp32 is for levels that cast the model, not {level}"
        )


def _listed(x: Any, kind: type, name: str) -> list[Any]:
    found = list(x) if isinstance(x, (list, tuple)) else [x]
    for one in found:
        if not isinstance(one, kind):
            raise TypeError(
                f"amp.initialize: {name} must be {kind.__name__} or a list of them, got "
                f"{type(one).__name__}"
            )
    return found


# ---- models -------------------------------------------------------------------------------------


class _Forward:
    """How the forward of a model is called: hangs on the model, and is copied with it."""

    def __init__(self, small: Any, casts: bool, inputs: Any, outputs: Any, own: Any) -> None:
        """Keep the dtypes, and the forward of the instance if it had one."""
        self.small, self.casts, self.inputs, self.outputs, self.own = (
            small, casts, inputs, outputs, own,
        )  # fmt: skip

    def call(self, module: Any, args: Any, kwargs: Any) -> Any:
        """Call the module's own forward on cast inputs, and return its results cast."""
        forward = self.own or types.MethodType(type(module).forward, module)
        if self.inputs is not None:
            args, kwargs = _cast(args, self.inputs), _cast(kwargs, self.inputs)
        with autocast("cpu", self.small, enabled=True) if self.casts else contextlib.nullcontext():
            result = forward(*args, **kwargs)
        return _cast(result, self.outputs)


def _forward(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self._amp_forward.call(self, args, kwargs)


def _prepare_model(model: Any, chosen: dict[str, Any], outputs: weft.dtype | None) -> None:
    casts = bool(chosen["patch_torch_functions"])
    small = inputs = None
    if chosen["cast_model_type"] is not None:
        small = inputs = chosen["cast_model_type"]
        if small == "small":
            small = inputs = get_autocast_dtype("cpu")
        _cast_parameters(model, small, bool(chosen["keep_batchnorm_fp32"]))
    elif casts:
        small = get_autocast_dtype("cpu")
    if not casts and inputs is None and outputs is None:
        return
    if hasattr(model, "_amp_forward"):
        raise RuntimeError("amp.initialize: this model has been initialized before")
    own = model.__dict__.get("forward")
    model._amp_forward = _Forward(small, casts, inputs, outputs or weft.float32, own)
    model.forward = types.MethodType(_forward, model)


def _cast_parameters(model: Any, dtype: weft.dtype, keep_batchnorm: bool) -> None:
    for module in model.modules():
        if keep_batchnorm and isinstance(module, nn.modules.batchnorm._BatchNorm):
            continue
        for t in (*module._parameters.values(), *module._buffers.values()):
            if t is not None and t.is_floating_point() and t.dtype != weft.float64:
                t.data = t.data.to(dtype)
    model._register_state_dict_hook(_masters_out)
    model._register_load_state_dict_pre_hook(_masters_in, with_module=True)


def _masters_out(module: Any, state: dict[str, Any], prefix: str, _: Any) -> None:
    """A saved model is in float32: the master weights where there are some."""
    for name, p in module.named_parameters():
        if prefix + name in state and p.is_floating_point() and p.dtype != weft.float64:
            state[prefix + name] = getattr(p, "_amp_master", p).detach().float()


def _masters_in(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """What is loaded into a model is loaded into its master weights too."""
    for name, p in module.named_parameters():
        master, new = getattr(p, "_amp_master", None), state.get(prefix + name)
        if master is not None and new is not None and new.shape == master.shape:
            master.data.copy_(new)


# ---- optimisers ---------------------------------------------------------------------------------


def _prepare_optimizer(optimizer: Any, master_weights: bool) -> None:
    if master_weights:
        for group in optimizer.param_groups:
            _put_masters(optimizer, group)
        _put_method(optimizer, "zero_grad", _zero_grad)
        _put_method(optimizer, "add_param_group", _add_param_group)
    _put_step(optimizer)


def _put_step(optimizer: Any) -> None:
    own = optimizer.__dict__.get("step")  # a scheduler that was made before watches it

    def step(self: Any, closure: Any = None) -> Any:
        return _step(self, own, closure)

    step.__dict__.update(getattr(own, "__dict__", {}))
    _put_method(optimizer, "step", step)


def _put_method(optimizer: Any, name: str, method: Callable[..., Any]) -> None:
    setattr(optimizer, name, types.MethodType(method, optimizer))


def _put_masters(optimizer: Any, group: dict[str, Any]) -> None:
    for i, p in enumerate(group["params"]):
        if p.dtype not in (weft.float16, weft.bfloat16):
            continue
        master = nn.Parameter(p.detach().float())
        p._amp_master = master
        group["params"][i] = master
        if p in optimizer.state:
            optimizer.state[master] = _cast(optimizer.state.pop(p), weft.float32)
        optimizer._amp.pairs.append((p, master))


def _step(self: Any, own: Callable[[], Any] | None, closure: Any) -> Any:
    held = self._amp
    if closure is not None:
        raise NotImplementedError("step(closure): closures do not go with amp.initialize")
    if held.skips:
        held.skips = False
        return None
    result = type(self).step(self) if own is None else own()
    with weft.no_grad():
        for p, master in held.pairs:
            p.copy_(master)
    return result


def _zero_grad(self: Any, set_to_none: bool = True) -> None:
    type(self).zero_grad(self, set_to_none)
    for p, _ in self._amp.pairs:
        p.grad = None


def _add_param_group(self: Any, param_group: dict[str, Any]) -> None:
    type(self).add_param_group(self, param_group)
    _put_masters(self, self.param_groups[-1])


def master_params(optimizer: Any) -> Iterator[Tensor]:
    """Return the parameters that an optimiser works on, e.g. to clip their gradients.

    >>> model = weft.nn.Linear(2, 1)
    >>> sgd = weft.optim.SGD(model.parameters(), lr=0.1)
    >>> model, sgd = weft.amp.initialize(model, sgd, opt_level="O2")
    >>> model.weight.dtype, [p.dtype for p in weft.amp.master_params(sgd)]
    (torch.bfloat16, [torch.float32, torch.float32])
    """
    for group in optimizer.param_groups:
        yield from group["params"]


# ---- losses -------------------------------------------------------------------------------------


@contextlib.contextmanager
def scale_loss(
    loss: Tensor,
    optimizers: Any,
    loss_id: int = 0,
    model: Any = None,
    delay_unscale: bool = False,
    delay_overflow_check: bool = False,
) -> Iterator[Any]:
    """Give a loss times its scale to a block; after it, gradients are unscaled.

    Where one of them is not finite, the next step of the optimisers is left out, and a dynamic
    scale is halved. Gradients of several blocks add up.

    Args:
        loss: the loss.
        optimizers: the optimisers that gradients are for, from ``amp.initialize``.
        loss_id: which scale to use, if ``initialize(num_losses=)`` made several.
        model: not supported, as in Apex.
        delay_unscale: leave gradients scaled: another block that adds to them will unscale all.
        delay_overflow_check: leave the decision about the next step to another block.

    >>> p = weft.nn.Linear(1, 1, bias=False)
    >>> sgd = weft.optim.SGD(p.parameters(), lr=1.0)
    >>> p, sgd = weft.amp.initialize(p, sgd, opt_level="O1", loss_scale=128.0)
    >>> with weft.amp.scale_loss(p(weft.ones(1, 1)).sum(), sgd) as scaled_loss:
    ...     scaled_loss.backward()
    >>> p.weight.grad
    tensor([[1.]])
    """
    if model is not None:
        raise NotImplementedError("amp.scale_loss(model=...): it has no meaning yet")
    held = [
        _held(o) for o in (optimizers if isinstance(optimizers, (list, tuple)) else [optimizers])
    ]
    training = held[0][1].training
    if not training.enabled:
        yield loss
        return
    if not 0 <= loss_id < len(training.losses):
        raise RuntimeError(
            f"amp.scale_loss: loss_id {loss_id}, but amp.initialize was given num_losses="
            f"{len(training.losses)}"
        )
    scaler = training.losses[loss_id]
    if not training.master_weights and not scaler.dynamic and scaler.scale == 1.0:
        yield loss.float()
        return
    for optimizer, one in held:
        if not one.scaled:
            _put_aside(optimizer, one)
    try:
        yield loss.float() * scaler.scale
    except BaseException:
        for optimizer, one in held:
            _put_back(optimizer, one)
        raise
    if delay_unscale:
        for _, one in held:
            one.scaled = True
        return
    for optimizer, one in held:
        scaler.overflowed |= _unscale(optimizer, one, scaler.scale)
        one.scaled = False
    if not delay_overflow_check and scaler.update():
        for _, one in held:
            one.skips = True
        if training.verbosity:
            print(
                f"Gradient overflow. Skipping step, loss scaler {loss_id} reducing loss scale to "
                f"{scaler.scale}"
            )


def _held(optimizer: Any) -> tuple[Any, _Held]:
    held = getattr(optimizer, "_amp", None)
    if held is None:
        raise RuntimeError(
            "amp.scale_loss: this optimizer was not given to amp.initialize, which has to be "
            "called first"
        )
    return optimizer, held


def _put_aside(optimizer: Any, held: _Held) -> None:
    """Take away gradients of blocks before, which are unscaled."""
    for p, _ in held.pairs:
        p.grad = None
    masters = {id(master) for _, master in held.pairs}
    for p in master_params(optimizer):
        if p.grad is not None and id(p) not in masters:
            held.before[id(p)], p.grad = p.grad, None


def _put_back(optimizer: Any, held: _Held) -> None:
    for p in master_params(optimizer):
        if id(p) in held.before:
            p.grad = held.before.pop(id(p))


def _unscale(optimizer: Any, held: _Held, scale: float) -> bool:
    """Unscale the gradients, add those of before; return whether one is not finite."""
    overflowed = False
    masters = {id(master): p for p, master in held.pairs}
    with weft.no_grad():
        for p in master_params(optimizer):
            source = masters.get(id(p), p)
            grad, before = source.grad, held.before.pop(id(p), None)
            if source is not p:
                before, source.grad = p.grad, None
                grad = None if grad is None else grad.float()
            if grad is not None:
                overflowed |= unscale([grad], scale)
                grad = grad if before is None else grad.add_(before)
            p.grad = before if grad is None else grad
    return overflowed


# ---- state --------------------------------------------------------------------------------------


def state_dict() -> dict[str, dict[str, float]]:
    """Return the loss scales of what ``amp.initialize`` set up last.

    >>> model = weft.amp.initialize(weft.nn.Linear(1, 1), opt_level="O1")
    >>> weft.amp.state_dict()
    {'loss_scaler0': {'loss_scale': 65536.0, 'unskipped': 0}}
    """
    return {
        f"loss_scaler{i}": {"loss_scale": loss.scale, "unskipped": loss.unskipped}
        for i, loss in enumerate(_last("state_dict").losses)
    }


def load_state_dict(state_dict: dict[str, dict[str, float]]) -> None:
    """Restore what ``state_dict`` gave, after ``amp.initialize``.

    >>> model = weft.amp.initialize(weft.nn.Linear(1, 1), opt_level="O1")
    >>> weft.amp.load_state_dict({"loss_scaler0": {"loss_scale": 128.0, "unskipped": 3}})
    >>> weft.amp.state_dict()["loss_scaler0"]["loss_scale"]
    128.0
    """
    losses = _last("load_state_dict").losses
    wanted = [f"loss_scaler{i}" for i in range(len(losses))]
    if sorted(state_dict) != sorted(wanted):
        raise RuntimeError(
            f"amp.load_state_dict: expected the keys {', '.join(wanted)}, got "
            f"{', '.join(state_dict) or 'none'}"
        )
    for name, loss in zip(wanted, losses):
        loss.scale = float(state_dict[name]["loss_scale"])
        loss.unskipped = int(state_dict[name]["unskipped"])


def _last(name: str) -> _Training:
    if not _started:
        raise RuntimeError(f"amp.{name}: call amp.initialize first")
    return _started[0]
