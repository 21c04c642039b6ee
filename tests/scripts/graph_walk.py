"""The graph behind a loss, walked by the names of its nodes; hooks on modules, kept as handles."""

from collections import Counter

import torch
import torch.nn.functional as F
from common import fill, numbers, report, whole
from torch import nn
from torch.utils.hooks import RemovableHandle


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor, None


def names(node, found):
    if node is None:
        return found
    found[type(node).__name__] += 1
    for following, _ in node.next_functions:
        names(following, found)
    return found


def main():
    net = fill(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)))
    shapes, handles = [], []
    for module in net:
        handle = module.register_forward_hook(lambda m, args, out: shapes.append(out.shape[1]))
        assert isinstance(handle, RemovableHandle)
        handles.append(handle)
    out = Scale.apply(net(numbers(0, 5, 4)), 3.0)
    for handle in handles:
        handle.remove()
    loss = F.cross_entropy(out, whole(1, 3, 5))
    assert type(loss.grad_fn).__name__ == "NllLossBackward0", loss.grad_fn
    assert str(loss).endswith("grad_fn=<NllLossBackward0>)")
    found = names(loss.grad_fn, Counter())
    leaves = found["AccumulateGrad"]
    loss.backward()
    net(numbers(0, 5, 4))
    report(loss=loss, leaves=leaves, tanh=found["TanhBackward0"], own=found["ScaleBackward"])
    report(hooked=sum(shapes), gradient=net[0].weight.grad.norm())


if __name__ == "__main__":
    main()
