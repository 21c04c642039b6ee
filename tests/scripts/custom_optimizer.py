"""Optimisers of one's own: a sign method, LAMB-like steps, and per-parameter options."""

import math

import torch
import torch.nn as nn
from common import fill, numbers, report
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, OneCycleLR


class Lion(Optimizer):
    """Steps by the sign of an interpolated momentum."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        if not 0.0 <= lr:
            raise ValueError("Invalid learning rate: {}".format(lr))
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                beta1, beta2 = group["betas"]
                update = state["exp_avg"] * beta1 + p.grad * (1 - beta1)
                p.add_(torch.sign(update), alpha=-group["lr"])
                state["exp_avg"].mul_(beta2).add_(p.grad, alpha=1 - beta2)
        return loss


class Lamb(Optimizer):
    """Adam's direction, scaled to the size of the weights."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in filter(lambda q: q.grad is not None, group["params"]):
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
                state["step"] += 1
                b1, b2 = group["betas"]
                state["m"].lerp_(p.grad, 1 - b1)
                state["v"].mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
                m = state["m"] / (1 - b1 ** state["step"])
                v = state["v"] / (1 - b2 ** state["step"])
                direction = m / v.sqrt().add_(group["eps"])
                ratio = p.norm() / direction.norm().clamp(min=1e-12)
                p.addcmul_(direction, ratio, value=-group["lr"])


def train(make, steps=12):
    model = fill(nn.Sequential(nn.Linear(6, 8), nn.Softplus(), nn.Linear(8, 1)), 1)
    optimizer, scheduler = make(model)
    x, y = numbers(2, 30, 6), numbers(3, 30, 1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.huber_loss(model(x), y, delta=0.7)
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    return loss, optimizer


def lion(model):
    groups = [
        {"params": model[0].parameters()},
        {"params": model[2].parameters(), "lr": 2e-3, "weight_decay": 0.1},
    ]
    optimizer = Lion(groups, lr=1e-2)
    return optimizer, LambdaLR(optimizer, lambda t: 0.5 * (1 + math.cos(math.pi * t / 12)))


def lamb(model):
    optimizer = Lamb(model.parameters(), lr=0.02)
    return optimizer, None


def one_cycle(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return optimizer, OneCycleLR(optimizer, max_lr=0.2, total_steps=12)


loss, optimizer = train(lion)
report(lion=loss, rate=optimizer.param_groups[1]["lr"], kept=len(optimizer.state))
report(momentum=sum(s["exp_avg"].abs().sum() for s in optimizer.state.values()))
report(lamb=train(lamb)[0])
loss, optimizer = train(one_cycle)
report(one_cycle=loss, last_rate=optimizer.param_groups[0]["lr"])
state = optimizer.state_dict()
report(saved=sum(v["momentum_buffer"].sum() for v in state["state"].values()))
try:
    Lion([numbers(0, 1).requires_grad_()], lr=-1)
except ValueError:
    report(refused=1)
