"""How weft's own optimisers are declared: options with their checks, names of states, the formula.

A subclass of :class:`DeclaredOptimizer` states these three, in the letters of its paper::

    class Momentum(DeclaredOptimizer):
        states = ("velocity",)

        @options(mu=rule(lambda x: 0 <= x < 1, "Invalid mu value: {}"))
        def __init__(self, params, lr=1e-3, mu=0.9): ...

        @staticmethod
        def update(p, g, v, *, lr, mu):
            v.mul_(mu).add_(g)
            add_(p, v, -lr)

Groups, checks, states, weight decay, complex parameters, counting, loading old checkpoints and the
form as a function of lists (``momentum = Momentum.functional``) follow from them.
"""

from __future__ import annotations

import functools
from operator import itemgetter, methodcaller
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import weft
from weft import _C, Tensor

from .optimizer import Optimizer, required

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Sequence

    Init = TypeVar("Init", bound=Callable[..., None])

# ---- options and their checks -------------------------------------------------------------------


def rule(holds: Callable[[Any], bool], message: str) -> Callable[[Any], None]:
    """Return a check that raises ``message`` for values that ``holds`` says no to."""

    def check(value: Any) -> None:
        if not holds(value):
            raise ValueError(message.format(value))

    return check


def not_negative(name: str) -> Callable[[Any], None]:
    """Return a check that refuses values below zero."""
    return rule(lambda x: 0.0 <= x, f"Invalid {name} value: {{}}")


def learning_rate(value: Any, message: str = "Invalid learning rate: {}") -> None:
    """Refuse a learning rate below zero, and a tensor with several elements."""
    if isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    rule(lambda x: 0.0 <= x, message)(value)


def decay_rates(betas: Any) -> None:
    """Refuse decay rates outside of [0, 1)."""
    for i in (0, 1):
        rule(lambda x: 0.0 <= x < 1.0, f"Invalid beta parameter at index {i}: {{}}")(betas[i])


#: What options of these names are checked by, unless ``options`` is given another check.
CHECKS: dict[str, Callable[[Any], None]] = {
    "lr": learning_rate,
    "betas": decay_rates,
    "eps": not_negative("epsilon"),
    "weight_decay": not_negative("weight_decay"),
    "momentum": not_negative("momentum"),
    "momentum_decay": not_negative("momentum_decay"),
    "lr_decay": not_negative("lr_decay"),
    "initial_accumulator_value": not_negative("initial_accumulator_value"),
}


def options(order: str = "", **checks: Callable[[Any], None] | None) -> Callable[[Init], Init]:
    """Declare the parameters of ``__init__`` after ``params`` as options, with their checks.

    The body of ``__init__`` runs last, when the groups are there: it checks what concerns several
    options, or the parameters.

    Args:
        order: of the options in groups, as PyTorch's state dicts have it, if it is another one.
        checks: for options that are not checked as :data:`CHECKS` says; None for no check.
    """

    def declare(init: Init) -> Init:
        positional, keyword_only = _parameters(init)
        names = (*positional[2:], *keyword_only)  # without self and params
        defaults = dict(zip(reversed(positional), reversed(init.__defaults__ or ())))
        defaults |= init.__kwdefaults__ or {}
        rules = [(x, check) for x in names if (check := {**CHECKS, **checks}.get(x)) is not None]
        sequence, known = order.split() or names, {"params", *names}

        @functools.wraps(init)
        def make(self: Any, *args: Any, **kwargs: Any) -> None:
            by_place = dict(zip(positional[1:], args))
            given = {**defaults, **kwargs, **by_place}
            if given.keys() != known or len(by_place) < len(args) or kwargs.keys() & by_place:
                init(self, *args, **kwargs)  # raises a TypeError, for the arguments do not fit
            if isinstance(self, DeclaredOptimizer) and not hasattr(self, "update"):
                raise TypeError(f"{type(self).__name__} declares no update")
            for name, check in rules:
                check(given[name])
            _check_implementation(type(self).__name__, given)
            fixed = getattr(self, "fixed", {})
            Optimizer.__init__(self, given["params"], {x: given[x] for x in sequence} | fixed)
            init(self, *args, **kwargs)

        return make  # type: ignore[return-value]

    return declare


def _parameters(function: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the positional and the keyword-only parameters (``inspect`` is slow)."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)  # absent where a user's class has another callable
    if code is None:
        return (), ()
    first, n = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    return code.co_varnames[:first], code.co_varnames[first:n]


def _check_implementation(name: str, given: dict[str, Any]) -> None:
    """Refuse choices of implementation that contradict each other, or that weft does not have."""
    if given.get("capturable"):
        raise NotImplementedError(
            f"{name}(capturable=True): weft runs on the CPU, where no graphs are captured"
        )
    if given.get("fused") and given.get("differentiable"):
        raise RuntimeError("`fused` does not support `differentiable`")
    if given.get("fused") and given.get("foreach"):
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


# ---- states -------------------------------------------------------------------------------------


def zeros(p: Tensor, group: dict[str, Any]) -> Tensor:
    """Return zeros laid out like ``p``."""
    return weft.zeros_like(p, memory_format=weft.preserve_format)


def filled(option: str) -> Callable[[Tensor, dict[str, Any]], Tensor]:
    """Return what makes tensors like a parameter whose elements are an option of its group."""

    def start(p: Tensor, group: dict[str, Any]) -> Tensor:
        x = float(group[option])
        return weft.full_like(p.detach(), complex(x, x) if p.is_complex() else x)

    return start


def counter(value: float = 0.0) -> Tensor:
    """Return a number as a tensor, which is how PyTorch's state dicts hold it."""
    wide = weft.get_default_dtype() == weft.float64
    return weft.tensor(value, dtype=weft.float64 if wide else weft.float32)


class State(NamedTuple):
    """A state that each parameter has: what the state dict calls it, and how it begins."""

    name: str
    start: Callable[[Tensor, dict[str, Any]], Any] | None = zeros  # None: ``update`` begins it
    when: str | Callable[[Tensor], bool] = ""  # an option that asks for it, or a test of p
    scalar: bool = False  # one number for a whole parameter: loading does not cast it
    plural: str = ""  # the name of the list of them in the function of lists


STEP = State("step", lambda p, group: counter(), scalar=True, plural="state_steps")

# ---- the optimiser ------------------------------------------------------------------------------

_PLAIN = frozenset((float, int, bool, str, type(None)))  # types of options that no step converts

# What formulas need not know, for it is the same for all of them.
_SHARED = ("weight_decay", "decoupled_weight_decay", "maximize")

# Options that are pairs: the names that formulas have for their two numbers.
_PAIRS = {
    "betas": ("beta1", "beta2"),
    "eps": ("eps1", "eps2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}


class DeclaredOptimizer(Optimizer):
    """An optimiser that is declared by its options, its states and its update formula.

    These options mean the same for all of them:

    * ``maximize``: climb instead of descending.
    * ``weight_decay``: strength of the L2 penalty, added to the gradient as ``weight_decay p``.
    * ``decoupled_weight_decay``: shrink the parameters by ``lr weight_decay`` instead.
    * ``differentiable``: let derivatives flow through the step.
    * ``foreach``, ``fused``: choices of implementation in PyTorch; here all give the same.
    * ``capturable``: not supported.
    """

    states: ClassVar[tuple[State | str, ...]] = ()  # as ``update`` takes them; a name for zeros
    fixed: ClassVar[dict[str, Any]] = {}  # options that are no parameters of ``__init__``
    takes_sparse: ClassVar[bool] = False
    takes_complex: ClassVar[bool] = True
    functional: ClassVar[Callable[..., None]]  # the update of lists, which PyTorch has as well
    _states: ClassVar[tuple[State, ...]]
    _columns: ClassVar[tuple[tuple[Callable[[Any], Any], str], ...]]  # getter, option that asks
    _asked: ClassVar[tuple[str, ...]]  # options without which there is no state at all
    _begun: ClassVar[str]  # the first state, if ``update`` begins it
    _formula_takes: ClassVar[tuple[str, ...]]
    _takes: ClassVar[tuple[str, ...]] = ()  # also what is the same for all formulas
    _singles: ClassVar[tuple[str, ...]]
    _pairs: ClassVar[tuple[tuple[str, str, str], ...]]

    #: Updates a parameter and its states in place, ``update(p, g, *states, **options)``; the state
    #: ``step`` comes as a number, already counted up. Returns a state that begins with it, or None.
    update: ClassVar[Callable[..., Any]]
    #: Updates lists of parameters by one op, or returns False where that cannot be.
    native: ClassVar[Callable[..., bool] | None] = None

    def __init_subclass__(cls) -> None:
        """Derive what is read of the groups, and the function of lists."""
        super().__init_subclass__()
        if not hasattr(cls, "update"):  # a base of others
            return
        if "update" in vars(cls) and "native" not in vars(cls):
            cls.native = None  # what a base has is for the formula of the base
        cls._native = cls.native is not None
        every = [State(x) if isinstance(x, str) else x for x in cls.states]
        cls._states = tuple(STEP if x == State("step") else x for x in every)
        cls._columns = tuple(
            (methodcaller("get", x.name), x.when if isinstance(x.when, str) else "")
            if callable(x.when) or x.start is None  # then a parameter may be without it
            else (itemgetter(x.name), x.when)
            for x in cls._states
        )
        asks = [asks for _, asks in cls._columns]
        cls._asked = tuple(asks) if all(asks) else ()
        cls._begun = "".join(x.name for x in cls._states[:1] if x.start is None)
        cls._numbers = tuple(x.name for x in cls._states if x.scalar)
        cls._formula_takes = _parameters(cls.update)[1]
        own = [name for names in _parameters(cls.__init__) for name in names]
        shared = [x for x in _SHARED if x in (*own, *cls.fixed, *cls._takes)]
        cls._takes = tuple(dict.fromkeys((*cls._formula_takes, *shared)))
        cls._pairs = tuple((x, *two) for x, two in _PAIRS.items() if two[0] in cls._takes)
        cls._singles = tuple(x for x in cls._takes if not any(x in two for two in cls._pairs))
        cls.functional = Functional(cls)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once, by their gradients.

        Args:
            closure: evaluates the model again and returns the loss.

        Returns:
            What the closure returned, or None.

        >>> x = weft.tensor([1.0], requires_grad=True)
        >>> optimizer = weft.optim.SGD([x], lr=0.25)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.5000], requires_grad=True)
        """
        loss = None
        if closure is not None:
            with weft.enable_grad():
                loss = closure()
        before = _C._grad_enabled()
        _C._set_grad_enabled(bool(self.defaults.get("differentiable")))
        try:
            for group in self.param_groups:
                params, grads = [], []
                for p in group["params"]:
                    g = p.grad
                    if g is not None:
                        params.append(p)
                        grads.append(g)
                if params:
                    self._step_group(group, params, grads)
        finally:
            _C._set_grad_enabled(before)
        return loss

    def _step_group(self, group: dict[str, Any], params: list[Tensor], grads: list[Tensor]) -> None:
        native = self.native
        if native is None:
            self._check(params, grads)
        states = self._states_of(group, params)
        lists = [
            [*map(get, states)] if not asks or group[asks] else [] for get, asks in self._columns
        ]
        try:
            values = {x: group[x] for x in self._singles}
            for option, one, two in self._pairs:
                values[one], values[two] = group[option]
        except KeyError as e:
            name = type(self).__name__
            raise KeyError(f"{name}.update takes {e}, which is no option of its groups") from None
        if _C._grad_enabled():  # differentiable: options may be tensors with derivatives
            native = None
        elif not _PLAIN.issuperset(map(type, values.values())):
            values = {n: x.item() if isinstance(x, Tensor) else x for n, x in values.items()}
        once = native is not None and len({*map(id, params)}) == len(params)
        if not (once and native(params, grads, *lists, **values)):  # type: ignore[misc]
            if self.native is not None:
                self._check(params, grads)
            self._run(params, grads, lists, values)
        if self._begun:
            for s, value in zip(states, lists[0]):
                s[self._begun] = value

    def _check(self, params: list[Tensor], grads: list[Tensor]) -> None:
        """Refuse gradients and parameters that the formula does not hold for."""
        name = type(self).__name__
        if not self.takes_sparse:
            for g in grads:
                if g.is_sparse:
                    instead = "please consider SparseAdam instead"
                    raise RuntimeError(f"{name} does not support sparse gradients, {instead}")
        if not self.takes_complex and any(p.is_complex() for p in params):
            raise RuntimeError(f"{name} does not support complex parameters")

    def _states_of(self, group: dict[str, Any], params: list[Tensor]) -> list[dict[str, Any]]:
        """Return the state of each parameter, begun where it is empty."""
        if not self._states or (self._asked and not any(map(group.__getitem__, self._asked))):
            return []
        states = [self.state[p] for p in params]
        if not all(states):
            begin = sorted(self._states, key=lambda x: x.name != "step")
            for p, s in zip(params, states):
                for x in () if s else begin:
                    if x.when(p) if callable(x.when) else not x.when or group[x.when]:
                        s[x.name] = x.start and x.start(p, group)
        return states

    @classmethod
    def _run(
        cls, params: list[Any], grads: list[Any], lists: list[list[Any]], values: dict[str, Any]
    ) -> None:
        """Update all parameters and their states one by one, by the formula."""
        first, given = (lists[0] if lists else []), params
        params, grads, *lists = _as_real(params, grads, *lists)
        grads = cls._decayed(params, grads, values)
        columns = [
            _count(xs) if x.name == "step" else xs or [None] * len(params)
            for x, xs in zip(cls._states, lists)
        ]
        update = functools.partial(cls.update, **{x: values[x] for x in cls._formula_takes})
        for i, begun in enumerate(map(update, params, grads, *columns)):
            if begun is not None:
                first[i] = weft.view_as_complex(begun) if given[i].is_complex() else begun

    @classmethod
    def _decayed(cls, params: list[Any], grads: list[Any], values: dict[str, Any]) -> list[Any]:
        """Return the gradients to descend by, and shrink parameters whose decay is decoupled."""
        if values.get("maximize"):
            grads = [g.neg() for g in grads]
        decay = 0 if "weight_decay" in cls._formula_takes else values.get("weight_decay", 0)
        if not isinstance(decay, Tensor) and decay == 0:
            return list(grads)
        if values.get("decoupled_weight_decay"):
            for p in params:
                p.mul_(1 - values["lr"] * decay)
            return list(grads)
        if isinstance(decay, Tensor):
            return [g + decay * p for g, p in zip(grads, params)]
        return [g.add(p, alpha=decay) for g, p in zip(grads, params)]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a state, also one of an older version: options it lacks get their defaults."""
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in self.defaults.items():
                if default is not required and name != "differentiable":
                    group.setdefault(name, default)
            group.update(self.fixed)
        if STEP not in self._states:  # they count in Python
            return
        for value in self.state.values():
            if isinstance(value, dict) and isinstance(value.get("step"), (int, float)):
                value["step"] = counter(float(value["step"]))


class Functional:
    """The update of an optimiser as a function of lists: ``adam(params, grads, exp_avgs, ...)``."""

    def __init__(self, optimizer: type[DeclaredOptimizer]) -> None:
        """Note whose update it is."""
        self.optimizer = optimizer
        self.__name__ = self.__qualname__ = optimizer.__module__.rpartition(".")[2]
        self.__module__ = optimizer.__module__
        self.__doc__ = f"Update ``params`` and their states in place, as {optimizer.__name__} does."

    @functools.cached_property
    def __signature__(self) -> inspect.Signature:
        from inspect import Parameter, Signature  # slow: only on first use

        cls = self.optimizer
        lists = [x.plural or x.name + "s" for x in cls._states]
        defaults = {**dict.fromkeys(_SHARED, 0), **(cls.update.__kwdefaults__ or {})}
        return Signature(
            [Parameter(x, Parameter.POSITIONAL_OR_KEYWORD) for x in ("params", "grads", *lists)]
            + [
                Parameter(x, Parameter.KEYWORD_ONLY, default=defaults.get(x, Parameter.empty))
                for x in cls._takes
            ]
        )

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Update all parameters and their states, one by one."""
        given = self.__signature__.bind(*args, **kwargs)
        given.apply_defaults()
        params, grads, *states = given.args
        cls, values = self.optimizer, given.kwargs
        plain = not _C._grad_enabled() and _PLAIN.issuperset(map(type, values.values()))
        if cls.native is not None and plain and len({*map(id, params)}) == len(params):
            if cls.native(params, grads, *states, **values):
                return
        cls._run(params, grads, states, values)


# ---- words of the formulas ----------------------------------------------------------------------


def _count(steps: list[Any]) -> list[float]:
    """Add one to each counter and return them as numbers; plain numbers are counted already."""
    return [t.add_(1).item() if isinstance(t, Tensor) else t for t in steps]


def _as_real(*lists: list[Any]) -> Sequence[list[Any]]:
    """Return lists of tensors with complex ones seen as pairs of reals; the first list decides."""
    for p in lists[0]:  # three times as fast as any()
        if p.is_complex():
            break
    else:
        return lists
    return [
        [weft.view_as_real(x) if isinstance(x, Tensor) and x.is_complex() else x for x in xs]
        for xs in lists
    ]


def add_(p: Tensor, d: Tensor, alpha: Any) -> None:
    """``p += alpha d``, where ``alpha`` may be a tensor that has a derivative."""
    if isinstance(alpha, Tensor):
        p.add_((d * alpha).to(p.dtype))
    else:
        p.add_(d, alpha=alpha)


def addcdiv_(p: Tensor, a: Tensor, b: Tensor, value: Any) -> None:
    """``p += value a / b``, where ``value`` may be a tensor that has a derivative."""
    if isinstance(value, Tensor):
        p.add_((a * value / b).to(p.dtype))
    else:
        p.addcdiv_(a, b, value=value)


def average_square_(v: Tensor, g: Tensor, beta: Any) -> None:
    """``v = beta v + (1 - beta) g^2``, where ``beta`` may be a tensor that has a derivative."""
    v.mul_(beta)
    if isinstance(beta, Tensor):
        add_(v, g * g, 1 - beta)
    else:
        v.addcmul_(g, g, value=1 - beta)
