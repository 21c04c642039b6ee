"""What all optimisers share: groups, state, hooks, closures, copies, and what is refused."""

from __future__ import annotations

import copy
import doctest
import importlib
import io
import pickle
import pkgutil
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import weft
from weft import optim
from weft.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    required,
)

NAMES = ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adadelta", "Adagrad", "RMSprop"]
NAMES += ["Rprop", "ASGD", "Adafactor", "Muon", "LBFGS"]
OPTIONS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.1, "momentum": 0.9},
    "Adam": {"lr": 0.1, "amsgrad": True},
    "RMSprop": {"lr": 0.01, "momentum": 0.5, "centered": True},
}
each = pytest.mark.parametrize("name", NAMES)


def leaf(*shape: int) -> Any:
    """A tensor to optimise."""
    return weft.ones(*shape, requires_grad=True)


def problem(seed: int = 0) -> tuple[list[Any], Any]:
    """Two matrices and a loss."""
    rng = np.random.RandomState(seed)
    a, b, x, y = (weft.tensor(rng.standard_normal(s)) for s in ((3, 4), (4, 2), (5, 3), (5, 2)))
    params = [a.requires_grad_(), b.requires_grad_()]
    return params, lambda: ((x @ params[0]).tanh() @ params[1] - y).square().mean()


def steps(optimizer: Any, loss: Any, count: int) -> None:
    """Train."""

    def closure() -> Any:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    for _ in range(count):
        assert optimizer.step(closure) is not None


# ---- groups -------------------------------------------------------------------------------------


def test_groups_have_their_own_options() -> None:
    """What a group brings is kept, the rest are defaults."""
    a, b, c = leaf(1), leaf(2), leaf(3)
    optimizer = optim.SGD([{"params": a}, {"params": [b], "lr": 0.5}], lr=0.1, momentum=0.9)
    optimizer.add_param_group({"params": (p for p in [c]), "momentum": 0.0})
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 0.5, 0.1]
    assert [g["momentum"] for g in optimizer.param_groups] == [0.9, 0.9, 0.0]
    for p in (a, b, c):
        p.grad = weft.ones_like(p)
    optimizer.step()
    assert [p[0].item() for p in (a, b, c)] == pytest.approx([0.9, 0.5, 0.9])


def test_names_of_parameters() -> None:
    """(name, tensor) pairs are kept beside the tensors and in the state dict."""
    optimizer = optim.SGD([("w", leaf(1)), ("b", leaf(1))], lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["w", "b"]
    state = optimizer.state_dict()
    assert state["param_groups"][0]["param_names"] == ["w", "b"]
    assert next(iter(state["param_groups"][0])) == "param_names"
    with pytest.raises(ValueError, match="cannot add param group without names"):
        optimizer.add_param_group({"params": [leaf(1)]})


@pytest.mark.parametrize(
    ("params", "error", "said"),
    [
        (
            lambda: weft.ones(1),
            TypeError,
            "iterable of Tensors or dicts, but got torch.FloatTensor",
        ),
        (list, ValueError, "empty parameter list"),
        (lambda: [3], TypeError, "one of the params is int"),
        (lambda: [leaf(1) * 2], ValueError, "non-leaf"),
        (lambda: [{"params": {leaf(1)}}], TypeError, "ordered collections"),
        (lambda: [("a", leaf(1)), leaf(1)], ValueError, "names are missing"),
        (lambda: [{"params": [leaf(1)]}, [leaf(1)]], TypeError, "must be a dict"),
    ],
)
def test_bad_parameters(params: Any, error: type[Exception], said: str) -> None:
    """What PyTorch refuses is refused, by the same exception."""
    with pytest.raises(error, match=said):
        optim.SGD(params(), lr=0.1)


def test_duplicates() -> None:
    """Twice in a group is warned of, in two groups refused."""
    p = leaf(1)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([p, p], lr=0.1)
    with pytest.raises(ValueError, match="more than one parameter group"):
        optim.SGD([{"params": [p]}, {"params": [p]}], lr=0.1)


def test_required_options() -> None:
    """A default that every group must replace."""
    with pytest.raises(ValueError, match="required optimization parameter lr"):
        Optimizer([leaf(1)], {"lr": required})
    assert repr(required) == "<required parameter>"
    assert Optimizer([{"params": leaf(1), "lr": 1}], {"lr": required}).param_groups[0]["lr"] == 1
    with pytest.raises(NotImplementedError):
        Optimizer([leaf(1)], {}).step()


BAD: list[tuple[str, dict[str, Any], type[Exception]]] = [
    ("SGD", {"lr": -1}, ValueError),
    ("SGD", {"momentum": -1}, ValueError),
    ("SGD", {"weight_decay": -1}, ValueError),
    ("SGD", {"nesterov": True}, ValueError),
    ("SGD", {"foreach": True, "fused": True}, RuntimeError),
    ("SGD", {"differentiable": True, "fused": True}, RuntimeError),
    ("SGD", {"lr": weft.ones(2)}, ValueError),
    ("SGD", {"lr": "x"}, TypeError),
    ("Adam", {"betas": (1.0, 0.9)}, ValueError),
    ("Adam", {"betas": (0.9, -0.1)}, ValueError),
    ("Adam", {"eps": -1}, ValueError),
    ("Adam", {"betas": (0.9, weft.tensor(0.9))}, ValueError),
    ("Adam", {"lr": weft.tensor(0.1), "foreach": True}, ValueError),
    ("NAdam", {"momentum_decay": -1}, ValueError),
    ("Adadelta", {"rho": 1.5}, ValueError),
    ("Adagrad", {"lr_decay": -1}, ValueError),
    ("Adagrad", {"initial_accumulator_value": -1}, ValueError),
    ("RMSprop", {"alpha": -1}, ValueError),
    ("Rprop", {"etas": (1.0, 0.5)}, ValueError),
    ("Adafactor", {"d": 0.5}, ValueError),
    ("Adafactor", {"beta2_decay": 1.0}, ValueError),
    ("Adafactor", {"eps": (-1.0, 1.0)}, ValueError),
    ("SparseAdam", {"eps": 0.0}, ValueError),
    ("Muon", {"adjust_lr_fn": "other"}, ValueError),
]


@pytest.mark.parametrize(("name", "options", "error"), BAD)
def test_bad_options(name: str, options: dict[str, Any], error: type[Exception]) -> None:
    """What PyTorch refuses is refused, by the same exception."""
    with pytest.raises(error):
        getattr(optim, name)([leaf(2, 2)], **options)


def test_text() -> None:
    """The options of each group, sorted."""
    optimizer = optim.Adagrad([{"params": leaf(1)}, {"params": leaf(1), "lr": 0.5}])
    assert str(optimizer) == (
        "Adagrad (\nParameter Group 0\n    differentiable: False\n    eps: 1e-10\n    foreach: None\n"
        "    fused: None\n    initial_accumulator_value: 0\n    lr: 0.01\n    lr_decay: 0\n"
        "    maximize: False\n    weight_decay: 0\n\nParameter Group 1\n    differentiable: False\n"
        "    eps: 1e-10\n    foreach: None\n    fused: None\n    initial_accumulator_value: 0\n"
        "    lr: 0.5\n    lr_decay: 0\n    maximize: False\n    weight_decay: 0\n)"
    )


# ---- gradients ----------------------------------------------------------------------------------


def test_zero_grad() -> None:
    """None, or zeros that are not part of a graph."""
    p, q = leaf(2), leaf(2)
    optimizer = optim.SGD([p, q], lr=0.1)
    (p * p).sum().backward(create_graph=True)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0, 0] and p.grad.grad_fn is None and q.grad is None
    optimizer.zero_grad()
    assert p.grad is None


@each
def test_parameters_without_gradient_stay(name: str) -> None:
    """They do not move and get no state."""
    p, q = leaf(2, 2), leaf(2, 2)
    optimizer = getattr(optim, name)([p, q])
    p.grad = weft.ones(2, 2)
    optimizer.step(lambda: weft.tensor(1.0))
    assert q.tolist() == [[1, 1], [1, 1]] and p.tolist() != [[1, 1], [1, 1]]
    assert name in ("Adagrad", "LBFGS") or q not in optimizer.state


def test_steps_are_not_recorded() -> None:
    """A step leaves no graph, and the grad mode as it was."""
    p = leaf(2)
    p.grad = weft.ones(2)
    optim.Adam([p]).step()
    assert p.is_leaf and p.requires_grad and weft.is_grad_enabled()
    with weft.no_grad():
        optim.Adam([p]).step()
        assert not weft.is_grad_enabled()


def test_closures_see_gradients() -> None:
    """Also if a step is made under no_grad."""
    (a, b), loss = problem()
    optimizer = optim.SGD([a, b], lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    with weft.no_grad():
        first = optimizer.step(closure)
    assert first.item() > loss().item()


# ---- state --------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("way", ["direct", "file", "pickle", "deepcopy"])
def test_resume_is_bit_exact(name: str, way: str) -> None:
    """Five steps, a save, five more: the same bits as ten steps."""
    options = OPTIONS.get(name, {})
    whole, loss = problem()
    steps(getattr(optim, name)(whole, **options), loss, 10)
    params, loss = problem()
    optimizer = getattr(optim, name)(params, **options)
    steps(optimizer, loss, 5)
    state = {"p": [p.detach() for p in params], "optimizer": optimizer.state_dict()}
    if way == "file":
        f = io.BytesIO()
        weft.save(state, f)
        state = weft.load(io.BytesIO(f.getvalue()))
    elif way == "pickle":
        state = pickle.loads(pickle.dumps(state))
    elif way == "deepcopy":
        state = copy.deepcopy(state)
    again, loss = problem()
    for p, saved in zip(again, state["p"]):
        p.data.copy_(saved)
    optimizer = getattr(optim, name)(again, **options)
    optimizer.load_state_dict(state["optimizer"])
    steps(optimizer, loss, 5)
    assert all(weft.equal(p, q) for p, q in zip(whole, again))


@each
def test_copies_go_on_alone(name: str) -> None:
    """deepcopy and pickle take optimiser and parameters together."""
    params, _ = problem()
    optimizer = getattr(optim, name)(params)
    for p in params:
        p.grad = weft.ones_like(p)
    optimizer.step(lambda: weft.tensor(1.0))
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert type(other) is type(optimizer)
        mine = other.param_groups[0]["params"]
        assert mine[0] is not params[0] and weft.equal(mine[0], params[0])
        for p in mine:
            p.grad = weft.ones_like(p)
        before = params[0].detach().clone()
        other.step(lambda: weft.tensor(1.0))
        assert weft.equal(params[0], before)
        assert not weft.equal(mine[0], before)
        assert str(other) == str(optimizer)


def test_states_take_the_dtype_of_parameters() -> None:
    """Counters keep theirs."""
    p, q = leaf(2), weft.ones(2, dtype=weft.float64, requires_grad=True)
    p.grad = weft.ones(2)
    one, two = optim.Adam([p]), optim.Adam([q])
    one.step()
    two.load_state_dict(one.state_dict())
    assert two.state[q]["exp_avg"].dtype == weft.float64
    assert two.state[q]["step"].dtype == weft.float32


def test_state_dicts_that_do_not_fit() -> None:
    """Another number of groups, or of parameters."""
    one, two = optim.SGD([leaf(1)], lr=0.1), optim.SGD([leaf(1), leaf(1)], lr=0.1)
    with pytest.raises(ValueError, match="doesn't match the size"):
        one.load_state_dict(two.state_dict())
    two.add_param_group({"params": [leaf(1)]})
    with pytest.raises(ValueError, match="different number of parameter groups"):
        one.load_state_dict(two.state_dict())


def test_lbfgs_refuses_a_second_group() -> None:
    """Its step would leave it where it is."""
    optimizer = optim.LBFGS([leaf(2)])
    with pytest.raises(ValueError, match="parameter groups"):
        optimizer.add_param_group({"params": [leaf(1)]})
    assert len(optimizer.param_groups) == 1


def test_a_state_dict_is_not_changed_by_loading() -> None:
    """Options are copied; the loaded optimiser may change them."""
    optimizer = optim.SGD([leaf(1)], lr=0.1)
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    optimizer.param_groups[0]["lr"] = 9
    assert state["param_groups"][0]["lr"] == 0.1
    assert state["param_groups"][0]["params"] == [0]


# ---- hooks --------------------------------------------------------------------------------------


def test_step_hooks() -> None:
    """Before and after, own and global; they can be removed, and change the arguments."""
    said: list[str] = []
    p = leaf(1)
    optimizer = optim.SGD([p], lr=0.1)
    handles = [
        register_optimizer_step_pre_hook(lambda *_: said.append("global pre")),
        optimizer.register_step_pre_hook(lambda *_: said.append("pre")),
        optimizer.register_step_post_hook(lambda *_: said.append("post")),
        register_optimizer_step_post_hook(lambda *_: said.append("global post")),
    ]
    optimizer.step()
    assert said == ["global pre", "pre", "post", "global post"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(said) == 4

    def change(opt: Any, args: Any, kwargs: Any) -> Any:
        assert args == (opt,)  # as in PyTorch, the optimiser is the first of them
        return (*args, lambda: "given"), kwargs

    with optimizer.register_step_pre_hook(change):
        assert optimizer.step() == "given"
    assert optimizer.step() is None
    optimizer.register_step_pre_hook(lambda *_: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()


def test_state_dict_hooks() -> None:
    """Before and after saving and loading; what they return is taken."""
    said: list[str] = []
    optimizer = optim.SGD([leaf(1)], lr=0.1)
    optimizer.register_state_dict_pre_hook(lambda opt: said.append("save"))
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "more": 1})
    optimizer.register_state_dict_post_hook(lambda opt, state: said.append("first"), prepend=True)
    state = optimizer.state_dict()
    assert state["more"] == 1 and said == ["save", "first"]

    def faster(opt: Any, state: Any) -> Any:
        groups = [{**group, "lr": 7} for group in state["param_groups"]]
        return {**state, "param_groups": groups}

    optimizer.register_load_state_dict_pre_hook(faster)
    optimizer.register_load_state_dict_post_hook(lambda opt: said.append("loaded"))
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["lr"] == 7 and said[-1] == "loaded"


def test_subclasses_of_users() -> None:
    """Their step gets hooks and closures; super().step() works."""

    class Mine(optim.SGD):
        def step(self, closure: Any = None) -> Any:
            self.calls = getattr(self, "calls", 0) + 1
            return super().step(closure)

    p = leaf(1)
    optimizer = Mine([p], lr=0.1)
    said: list[int] = []
    optimizer.register_step_post_hook(lambda *_: said.append(1))
    p.grad = weft.ones(1)
    optimizer.step()
    assert optimizer.calls == 1 and said and p.item() == pytest.approx(0.9)


# ---- the house ----------------------------------------------------------------------------------


def modules() -> list[Any]:
    """All of weft.optim."""
    names = [m.name for m in pkgutil.walk_packages(optim.__path__, "weft.optim.")]
    return [optim, *(importlib.import_module(name) for name in names)]


def test_examples_run() -> None:
    """Every class shows how it is used."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runs = 0
    for module in modules():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = doctest.testmod(module, extraglobs={"weft": weft}, optionflags=flags)
        assert not done.failed, module.__name__
        runs += done.attempted
    assert runs > 200
    public = [getattr(optim, n) for n in optim.__all__] + [
        getattr(optim.lr_scheduler, n) for n in optim.lr_scheduler.__all__
    ]
    assert all(">>>" in (x.__doc__ or "") for x in public if isinstance(x, type))


def test_loaded_on_first_use() -> None:
    """``import weft`` does not pay for optimisers."""
    code = "import sys, weft; assert 'weft.optim' not in sys.modules; weft.optim.SGD"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
