"""An average of weights and an optimiser, both written over lists of tensors at once."""

import copy

import torch
import torch.nn.functional as F
from common import fill, numbers, report, whole
from torch import nn
from torch.optim import Optimizer


class Momentum(Optimizer):
    def __init__(self, params, lr=0.1, beta=0.9, weight_decay=0.01):
        super().__init__(params, dict(lr=lr, beta=beta, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            grads = [p.grad for p in params]
            for p in params:
                self.state[p].setdefault("buffer", torch.zeros_like(p))
            buffers = [self.state[p]["buffer"] for p in params]
            torch._foreach_mul_(params, 1 - group["lr"] * group["weight_decay"])
            torch._foreach_lerp_(buffers, grads, 1 - group["beta"])
            scale = torch._foreach_add(torch._foreach_norm(buffers), 1.0)
            torch._foreach_addcdiv_(params, buffers, list(scale), -group["lr"])


def main():
    net = fill(nn.Sequential(nn.Linear(6, 16), nn.Mish(), nn.Linear(16, 4)))
    average = copy.deepcopy(net)
    x, y = numbers(0, 32, 6), whole(1, 4, 32)
    optimizer = Momentum(net.parameters())
    for _ in range(15):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            kept = [p.data for p in average.parameters()]
            torch._foreach_mul_(kept, 0.9)
            torch._foreach_add_(kept, [p.data for p in net.parameters()], alpha=0.1)
    report(loss=loss, averaged=F.cross_entropy(average(x), y), weight=net[0].weight.norm())


if __name__ == "__main__":
    main()
