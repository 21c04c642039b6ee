"""Random training programs: functions over a small set of tensors, written as Python source.

A program is a text. `World` holds what it works on; two equal ones let it run twice in lock step.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import weft
import weft.nn.functional as F
from weft import nn

OPTIMIZERS = {
    "sgd": lambda p: weft.optim.SGD(p, lr=0.05),
    "momentum": lambda p: weft.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: weft.optim.Adam(p, lr=0.01),
    "adamw": lambda p: weft.optim.AdamW(p, lr=0.01, amsgrad=True),
    "rmsprop": lambda p: weft.optim.RMSprop(p, lr=0.01),
}
UNARY = """
tanh sigmoid relu exp_m abs neg sin square sqrt_m t_copy flip cumsum softmax gelu layer_norm round
""".split()
TEMPLATES = {
    "exp_m": "({0} * 0.1).exp()", "sqrt_m": "({0}.abs() + 0.5).sqrt()", "relu": "F.relu({0})",
    "t_copy": "{0}.t().contiguous().t()", "flip": "{0}.flip(1)", "cumsum": "{0}.cumsum(1) * 0.3",
    "softmax": "{0}.softmax(1)", "gelu": "F.gelu({0})", "layer_norm": "F.layer_norm({0}, (4,))",
}  # fmt: skip
BINARY = [
    "{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / ({1}.abs() + 1)", "weft.maximum({0}, {1})",
    "weft.where({0} > {1}, {0}, {1} * 0.5)", "({0} @ {1}.t()).tanh() @ {0}", "{0}.lerp({1}, 0.3)",
    "weft.cat([{0}, {1}])[1:4]", "weft.stack([{0}, {1}]).mean(0)", "{0} + {1}.sum(0)",
    "{0} + {1}.mean(1, keepdim=True)", "weft.addcmul({0}, {0}, {1}, value=0.2)",
]  # fmt: skip
VIEWS = [
    "{0}.view(12).view(3, 4)", "{0}.reshape(4, 3).t()", "{0}.t().t()", "{0}[:, :]",
    "{0}.unsqueeze(0).squeeze(0)", "{0}.chunk(2, 1)[0].repeat(1, 2)", "{0}[0].expand(3, 4)",
    "{0}.unbind(0)[1] + {0}", "{0}.narrow(1, 1, 2).sum() + {0}", "{0}[k] * 0.5",
    "{0}.gather(1, {0}.argsort(1))", "{0}.index_select(0, k)", "{0}.roll(1, 0)",
]  # fmt: skip
LAYERS = [
    "lin({0})",
    "norm({0})",
    "drop({0})",
    "F.dropout({0}, 0.4)",
    "{0} * q",
    "({0} @ p.t()) @ p * 0.3",
]
CHANCE = [
    "{0} + weft.rand(3, 4)",
    "{0} * weft.randn_like({0})",
    "{0} + weft.bernoulli(weft.full((3, 4), 0.5))",
    "{0} + weft.randperm(4)",
    "weft.rand(3, 4, generator=g) * {0}",
]
INPLACE = [
    "{0}.mul_(0.5)", "{0}.add_(1)", "{0}[0] += 1", "{0}[:, 1].mul_(0.5)", "{0}.t()[2].sub_(0.25)",
    "{0}[{0} > 1] = 0.5", "{0}[1:].zero_()", "{0}.clamp_(-1, 1)", "{0}.view(12)[3:7].neg_()",
    "{0}.copy_({1})", "{0}.addcmul_({1}, {1}, value=0.1)", "{0}[0], {0}[1] = {0}[1].clone(), {0}[0].clone()",
    "{0}.index_add_(0, k, {1})", "{0}.masked_fill_({1} > 1, 0.0)", "{0}.uniform_()",
]  # fmt: skip
CONTROL = [
    "weft.cond({0}.sum() > {2}, lambda a, b: a * 2 + b, lambda a, b: a - b.tanh() * q, ({0}, {1}))",
    "weft.cond(({0} > {2}).any(), lambda a: (a * p, a.sum()), lambda a: (a.sin(), p.sum()), ({0},))[1] + {1}",
    "weft.while_loop(lambda i, a: (i < 4) & (a.abs().max() < 9), lambda i, a: (i + 1, a * 1.3 + {2}),"
    " (weft.tensor(0), {0} * 1))[1] + {1}",
    "weft.while_loop(lambda n, c: n < {0}.abs().max(), lambda n, c: (n + 1, {{'a': c['a'] * 0.5 + q}}),"
    " (weft.tensor(0.0), {{'a': {1} * 1}}))[1]['a']",
    "weft.scan(lambda c, r: (c * 0.5 + r, c * q), {0}[0] * 1, {1})[1]",
    "weft.scan(lambda c, r: weft.cond(r.sum() > c.sum(), lambda c, r: (c + r, c * 2), lambda c, r: (c - r, r + q),"
    " (c, r)), weft.zeros(4), {0}, reverse=True)[1] + {1}",
    "weft.scan(lambda c, r: (c + r[0].mean(), r[1] * c), {0}.sum(), [{1}, {0}.tanh()], dim=1)[1] * {1}",
]
NUMBERS = [
    "{0}.sum() > {1}",
    "({0} > 0).all()",
    "{0}.mean() < {1}",
    "bool({0}[0, 0] > 0)",
    "{0}.max().item() > {1}",
]


class World:
    """What a program works on, besides its arguments."""

    def __init__(self, seed: int, optimizer: str) -> None:
        weft.manual_seed(seed)
        self.p, self.q = nn.Parameter(weft.randn(3, 4)), nn.Parameter(weft.randn(4))
        self.lin, self.norm, self.drop = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.3)
        self.b = weft.zeros(3, 4)
        self.g = weft.Generator().manual_seed(seed)
        self.scale, self.options = 1.0, {"power": 2}
        self.params = [self.p, self.q, *self.lin.parameters(), *self.norm.parameters()]
        self.opt = OPTIMIZERS[optimizer](self.params)

    def tensors(self) -> list[Any]:
        """Everything that a call can change."""
        found: list[Any] = [self.b, *self.params, *self.norm.buffers()]
        found += [p.grad for p in self.params]
        for p in self.params:
            found += [v for _, v in sorted(self.opt.state.get(p, {}).items(), key=lambda i: i[0])]
        return [*found, self.g.get_state(), [p.requires_grad for p in self.params]]


class Program:
    """A function's source, what happens between its calls, and what is done with its results."""

    def __init__(self, seed: int, control: int = 0) -> None:
        """Write a program with so many ops of control flow before its end."""
        self.seed = seed
        self.rng = random.Random(seed)
        self.optimizer = self.rng.choice(list(OPTIMIZERS))
        self.input_grad = self.rng.random() < 0.25
        self.shared_input = self.rng.random() < 0.15  # one tensor for two arguments
        self.outer_backward = self.rng.random() < 0.6
        self.walk = self.rng.choice(["retained", "each", "some", "changed"])
        self.names = ["x", "y"]
        self.count = 0
        body: list[str] = []
        for _ in range(self.rng.randint(2, 9)):
            body += self.statement(1)
        for _ in range(control):
            limit = round(self.rng.uniform(-1, 1), 1)
            form = self.rng.choice(CONTROL).format(self.pick(), self.pick(), limit)
            body.append(self.fresh(form))
        body += self.ending()
        self.source = "\n".join([
            "def make(w):",
            "    p, q, b, lin, norm, drop, opt, g = w.p, w.q, w.b, w.lin, w.norm, w.drop, w.opt, w.g",
            "    def f(x, y, k, s=1):",
            *[f"        {line}" for line in body],
            "    return f",
        ])  # fmt: skip
        self.events = {
            turn: self.rng.choice(EVENTS) for turn in range(8) if self.rng.random() < 0.2
        }

    # ---- statements ----------------------------------------------------------------------------

    def pick(self) -> str:
        return self.rng.choice([*self.names, *self.names[-2:]])

    def fresh(self, expression: str) -> str:
        self.count += 1
        name = f"t{self.count}"
        self.names.append(name)
        return f"{name} = {expression}"

    def expression(self) -> str:
        r = self.rng
        kind = r.choice("uuubbbvvllc")
        a, c = self.pick(), self.pick()
        if kind == "u":
            name = r.choice(UNARY)
            return TEMPLATES.get(name, f"{{0}}.{name}()").format(a)
        table = {"b": BINARY, "v": VIEWS, "l": LAYERS, "c": CHANCE}[kind]
        return r.choice(table).format(a, c)

    def block(self, depth: int, count: int) -> list[str]:
        """Statements whose names are not known afterwards."""
        names = list(self.names)
        lines = [line for _ in range(count) for line in self.statement(depth + 1)]
        self.names = names
        return [f"    {line}" for line in lines] or ["    pass"]

    def statement(self, depth: int) -> list[str]:
        r = self.rng
        kind = r.choices(
            ["value", "inplace", "given", "buffer", "weights", "branch", "loop", "number", "off",
             "detach", "python", "train", "grads"],
            [50, 10, 6, 6, 4, 6, 4, 3, 4, 4, 5, 4, 3],
        )[0]  # fmt: skip
        if depth > 2 and kind in ("branch", "loop", "off", "train"):
            kind = "value"
        a, c = self.pick(), self.pick()
        if kind == "inplace":
            first = self.fresh(r.choice(["{0}.clone()", "{0} * 1", "{0}.tanh()"]).format(a))
            return [first, r.choice(INPLACE).format(self.names[-1], c)]
        if kind == "given":
            return [r.choice(INPLACE).format(r.choice(["x", "y"]), c)]
        if kind == "buffer":
            if r.random() < 0.4:
                return [self.fresh(r.choice([f"b + {a}", "b * 2"]))]
            return [r.choice([
                f"b.mul_(0.9).add_({a}.detach(), alpha=0.1)", "b[0].add_(1)", f"b.copy_({a}.detach())",
            ])]  # fmt: skip
        if kind == "weights":
            return [r.choice([
                "with weft.no_grad(): p.mul_(0.99)", "p.data.add_(0.01)", "q.data[0] = 0.5",
                "with weft.no_grad(): p[0].copy_(p[1])",
            ])]  # fmt: skip
        if kind == "branch":
            test = r.choice(NUMBERS).format(a, round(r.uniform(-1, 1), 1))
            yes, no = self.block(depth, r.randint(1, 2)), self.block(depth, r.randint(0, 2))
            target = r.choice(self.names[2:] or ["x"])
            if target != "x":
                yes.append(f"    {target} = {target} * 2")
            return [f"if {test}:", *yes, "else:", *no]
        if kind == "loop":
            if r.random() < 0.5:
                return [f"for i in range({r.randint(1, 3)}):", *self.block(depth, 1)]
            start = self.fresh(f"{a}.detach().abs() + 0.1")
            name = self.names[-1]
            return [start, f"while {name}.max() < 4:", f"    {name} = {name} * 2"]
        if kind == "number":
            return [f"n = int({a}.argmax().item()) % 3", self.fresh(f"{c} + n")]
        if kind == "off":
            mode = r.choice(
                ["weft.no_grad()", "weft.set_grad_enabled(False)", "weft.enable_grad()"]
            )
            return [f"with {mode}:", *self.block(depth, 2)]
        if kind == "detach":
            return [self.fresh(f"{a}.detach() * {c}")]
        if kind == "python":
            return [self.fresh(r.choice([
                "{0} * s", "{0} * w.scale", "{0} ** w.options['power'] * 0.1",
                "{0} + weft.tensor([1.0, 2.0, 3.0, 4.0])", "{0} * (2 if w.norm.training else 3)",
            ]).format(a))]  # fmt: skip
        if kind == "train":
            return self.training(depth)
        if kind == "grads":
            return [
                f"(d,) = weft.autograd.grad(({a} * p).tanh().sum(), p, retain_graph=True)",
                self.fresh("d * 0.5"),
            ]
        return [self.fresh(self.expression())]

    def training(self, depth: int) -> list[str]:
        """A backward pass, perhaps with a step."""
        r = self.rng
        lines = []
        if r.random() < 0.7:
            lines.append(r.choice(["opt.zero_grad()", "opt.zero_grad(set_to_none=False)"]))
        loss = r.choice([
            "(lin({0}) * p).square().mean()", "({0} * q).sum() * 0.1", "F.mse_loss(norm({0}), p)",
            "F.cross_entropy(lin({0}), k)", "({0} @ p.t()).tanh().mean()",
        ])  # fmt: skip
        lines += [f"loss = {loss.format(self.pick())}", "loss.backward()"]
        if r.random() < 0.2:
            lines.append("nn.utils.clip_grad_norm_(w.params, 1.0)")
        if r.random() < 0.7:
            lines.append("opt.step()")
        self.losses = True
        return lines

    def ending(self) -> list[str]:
        r = self.rng
        lines = self.training(1) if r.random() < 0.4 else []
        a, c = self.names[-1], self.pick()
        lines.append(r.choice([
            f"return {a}", f"return {a}, {c}", f"return {{'a': {a}, 'c': {c}.sum()}}",
            f"return ({a} * {c}).sum()", f"return [{a}.detach(), {c}.t()]", f"return {a}.sum().item()",
            f"return {a}[1], 3", "return None", f"return {a}.chunk(2, 1)", f"return {a}.unbind(0)",
            f"return {a}, {a}[:, -1], {c}.detach()", f"return {{'h': {a}, 'c': [{c}.t(), {c}[:, :2]]}}",
            f"return [{', '.join(self.names[-6:])}]", f"return {a}.sum(), ({c} * p).mean(), lin({c})",
        ]))  # fmt: skip
        return lines

    # ---- running -------------------------------------------------------------------------------

    def function(self, world: World) -> Callable[..., Any]:
        """The program, on a world."""
        scope = {"weft": weft, "nn": nn, "F": F}
        exec(compile(self.source, f"<program {self.seed}>", "exec"), scope)
        return scope["make"](world)  # type: ignore[operator]

    def inputs(self, turn: int) -> list[Any]:
        """The arguments of a call."""
        weft.manual_seed(1000 * self.seed + turn)
        x, y = (weft.randn(3, 4) * (1 + turn % 3) for _ in range(2))
        k = weft.randint(0, 3, (3,))
        x.requires_grad_(self.input_grad)
        return [x, x if self.shared_input and turn != 4 else y, k, 1 + turn // 5]


def thaw(w: World) -> None:
    w.p.requires_grad_(not w.p.requires_grad)


def set_power(w: World) -> None:
    w.options["power"] = 3


def replace_weights(w: World) -> None:
    w.q.data = w.q.detach().clone() * 0.5


def reload(w: World) -> None:
    w.opt.load_state_dict(copy.deepcopy(w.opt.state_dict()))


EVENTS: list[Callable[[World], Any]] = [
    lambda w: (w.norm.eval(), w.drop.eval()),
    lambda w: w.norm.train(),
    lambda w: w.opt.param_groups[0].update(lr=0.02),
    lambda w: setattr(w, "scale", 0.5),
    lambda w: w.opt.zero_grad(),
    thaw, set_power, replace_weights, reload,
]  # fmt: skip
