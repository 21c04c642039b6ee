"""Linear and polynomial regression: by hand, by autograd, by nn and by each optimiser."""

from itertools import count

import torch
import torch.nn.functional as F
from common import fill, numbers, report

POLY_DEGREE = 4
W_target = numbers(1, POLY_DEGREE, 1, scale=5.0)
b_target = numbers(2, 1, scale=5.0)


def make_features(x):
    x = x.unsqueeze(1)
    return torch.cat([x**i for i in range(1, POLY_DEGREE + 1)], 1)


def f(x):
    return x.mm(W_target) + b_target.item()


def get_batch(seed, batch_size=32):
    x = make_features(numbers(seed, batch_size, scale=0.5))
    return x, f(x)


def polynomial():
    fc = fill(torch.nn.Linear(W_target.size(0), 1), 3)
    for batch_idx in count(1):
        batch_x, batch_y = get_batch(100 + batch_idx)
        fc.zero_grad()
        output = F.smooth_l1_loss(fc(batch_x), batch_y)
        loss = output.item()
        output.backward()
        for param in fc.parameters():
            param.data.add_(-0.1 * param.grad)
        if loss < 1e-3 or batch_idx == 40:
            break
    return loss, fc


def by_hand():
    x, y = numbers(4, 20, 5), numbers(5, 20, 2)
    w1, w2 = numbers(6, 5, 8, scale=0.3), numbers(7, 8, 2, scale=0.3)
    for _ in range(30):
        h = x.mm(w1)
        h_relu = h.clamp(min=0)
        y_pred = h_relu.mm(w2)
        loss = (y_pred - y).pow(2).sum().item()
        grad_y_pred = 2.0 * (y_pred - y)
        grad_w2 = h_relu.t().mm(grad_y_pred)
        grad_h = grad_y_pred.mm(w2.t()).clone()
        grad_h[h < 0] = 0
        w1 -= 1e-3 * x.t().mm(grad_h)
        w2 -= 1e-3 * grad_w2
    return loss, w1.sum() + w2.sum()


def by_optimizer(name, **kwargs):
    x, y = numbers(8, 20, 3), numbers(9, 20, 1)
    model = fill(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)))
    optimizer = getattr(torch.optim, name)(model.parameters(), **kwargs)
    loss_fn = torch.nn.MSELoss(reduction="sum")
    for _ in range(10):
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss


loss, fc = polynomial()
report(poly_loss=loss, poly_bias=fc.bias[0], poly_w=fc.weight.view(-1)[1])
loss, total = by_hand()
report(hand_loss=loss, hand_sum=total)
for name, kwargs in {
    "SGD": dict(lr=0.005, momentum=0.9, nesterov=True, weight_decay=1e-4),
    "Adam": dict(lr=0.01, amsgrad=True),
    "AdamW": dict(lr=0.01),
    "RMSprop": dict(lr=0.01, centered=True, momentum=0.5),
    "Adagrad": dict(lr=0.05),
    "Adadelta": dict(lr=1.0),
    "Adamax": dict(lr=0.01),
    "NAdam": dict(lr=0.01),
    "RAdam": dict(lr=0.01),
    "ASGD": dict(lr=0.005),
    "Rprop": dict(lr=0.01),
}.items():
    report(**{name: by_optimizer(name, **kwargs)})
