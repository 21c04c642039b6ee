"""Quantiles by the pinball loss; ranges that hold what they promise; CTC and other losses beside."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, numbers, report, whole


class QuantileLoss(nn.Module):
    def __init__(self, quantiles):
        super().__init__()
        self.register_buffer("quantiles", torch.tensor(quantiles))

    def forward(self, preds, target):
        assert not target.requires_grad
        assert preds.size(0) == target.size(0)
        errors = target.unsqueeze(1) - preds
        return torch.max((self.quantiles - 1) * errors, self.quantiles * errors).sum(dim=1).mean()


class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh())
        self.base = nn.Linear(16, 1)
        self.gaps = nn.Linear(16, n - 1)

    def forward(self, x):
        h = self.net(x)
        start = self.base(h)
        return torch.cat([start, start + torch.cumsum(F.softplus(self.gaps(h)), dim=1)], dim=1)


quantiles = [0.05, 0.5, 0.95]
x = torch.linspace(-2, 2, 100).unsqueeze(1)
y = (x**2).squeeze(1) + numbers(0, 100) * (0.2 + 0.3 * x.abs().squeeze(1))
model, criterion = fill(Net(3), 1), QuantileLoss(quantiles)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=20)
for _ in range(60):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    scheduler.step()
with torch.no_grad():
    p = model(x)
    covered = ((y > p[:, 0]) & (y < p[:, 2])).float().mean()
    width = (p[:, 2] - p[:, 0]).mean()
    empirical = torch.quantile(y - p[:, 1], torch.tensor(quantiles))
report(loss=loss, covered=covered, width=width, empirical=empirical.sum())

log_probs = F.log_softmax(numbers(1, 12, 3, 6), dim=2).requires_grad_()
targets = whole(2, 5, 3, 4) + 1
ctc = nn.CTCLoss()(log_probs, targets, torch.full((3,), 12), torch.tensor([4, 3, 2]))
ctc.backward()
report(ctc=ctc, ctc_slope=log_probs.grad.abs().sum())
a, b = numbers(3, 8, 5), numbers(4, 8, 5)
report(
    gaussian=F.gaussian_nll_loss(a, b, (a * 0.1).exp()),
    poisson=F.poisson_nll_loss(a, b.abs()),
    soft_margin=F.soft_margin_loss(a, b.sign()),
    multi_margin=F.multi_margin_loss(a, whole(5, 5, 8)),
    smooth=F.smooth_l1_loss(a, b, beta=0.5),
    hinge=F.hinge_embedding_loss(a, b.sign()),
    focal=((1 - torch.exp(-F.cross_entropy(a, whole(5, 5, 8), reduction="none"))) ** 2).mean(),
)
