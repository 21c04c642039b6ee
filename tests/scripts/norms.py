"""Weight norm, spectral norm, parametrisations and pruning: layers whose weights are made."""

import torch
import torch.nn as nn
import torch.nn.utils.parametrize as parametrize
from common import fill, numbers, report
from torch.nn.utils import prune
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)


class MatrixExponential(nn.Module):
    def forward(self, X):
        return torch.matrix_exp(X)


def train(model, x, y, steps=5):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss


x, y = numbers(1, 20, 6), numbers(2, 20, 6)

layer = weight_norm(fill(nn.Linear(6, 6), 3), dim=0)
report(weight_norm=train(layer, x, y), g=layer.parametrizations.weight.original0.sum())

spectral = fill(nn.Linear(6, 6), 4)
u = nn.functional.normalize(numbers(5, 6), dim=0)
spectral = spectral_norm(spectral, n_power_iterations=20)
with torch.no_grad():
    spectral.parametrizations.weight[0]._u.copy_(u)
for _ in range(3):
    out = spectral(x)
largest = torch.linalg.matrix_norm(spectral.weight, ord=2)
report(largest=largest, spectral=out.norm())

symmetric = fill(nn.Linear(6, 6), 6)
parametrize.register_parametrization(symmetric, "weight", Symmetric())
loss = train(symmetric, x, y)
report(symmetric=loss, is_symmetric=torch.allclose(symmetric.weight, symmetric.weight.T))
parametrize.register_parametrization(symmetric, "weight", MatrixExponential())
report(exponential=symmetric.weight.det(), count=len(symmetric.parametrizations.weight))
parametrize.remove_parametrizations(symmetric, "weight")
report(removed=not parametrize.is_parametrized(symmetric))

ortho = orthogonal(fill(nn.Linear(6, 6), 7))
report(orthogonal=(ortho.weight @ ortho.weight.T - torch.eye(6)).abs().max() < 1e-5)

net = fill(nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 6)), 8)
prune.l1_unstructured(net[0], name="weight", amount=0.3)
prune.ln_structured(net[2], name="weight", amount=0.4, n=2, dim=1)
report(pruned=train(net, x, y), zeros=sum(int((m.weight == 0).sum()) for m in (net[0], net[2])))
prune.remove(net[0], "weight")
report(buffers=len(list(net.buffers())), kept=net[0].weight.abs().sum())

for norm in (nn.GroupNorm(2, 6), nn.InstanceNorm1d(6, affine=True), nn.RMSNorm(8), nn.LayerNorm(8)):
    out = norm(numbers(9, 4, 6, 8))
    report(**{type(norm).__name__: out.pow(3).sum()})
report(local=nn.LocalResponseNorm(3)(numbers(10, 2, 6, 5, 5)).sum())
