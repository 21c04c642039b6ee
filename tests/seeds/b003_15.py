"""An optimiser of one's own."""

import weft
from weft.optim.optimizer import Optimizer


class MyOptimizer(Optimizer):
    def __init__(self, params, lr=0.01):
        defaults = dict(lr=lr)
        super(MyOptimizer, self).__init__(params, defaults)

    def step(self, closure=None):
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                d_p = p.grad.data
                p.data.sub_(group["lr"] * d_p)
        return loss


# Use it.
p = weft.nn.Parameter(weft.tensor([1.0, -2.0]))
optimizer = MyOptimizer([p], lr=0.1)


def closure():
    optimizer.zero_grad()
    loss = (p * p).sum()
    loss.backward()
    return loss


losses = [optimizer.step(closure).item() for _ in range(5)]
