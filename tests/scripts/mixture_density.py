"""A mixture density network fits a function with several values."""

import math

import torch
import torch.nn as nn
from common import fill, numbers, report

ONE_DIV_SQRT_2PI = 1.0 / math.sqrt(2 * math.pi)


class MDN(nn.Module):
    def __init__(self, n_hidden, n_gaussians):
        super(MDN, self).__init__()
        self.z_h = nn.Sequential(nn.Linear(1, n_hidden), nn.Tanh())
        self.z_pi = nn.Linear(n_hidden, n_gaussians)
        self.z_mu = nn.Linear(n_hidden, n_gaussians)
        self.z_sigma = nn.Linear(n_hidden, n_gaussians)

    def forward(self, x):
        z_h = self.z_h(x)
        pi = nn.functional.softmax(self.z_pi(z_h), -1)
        return pi, torch.exp(self.z_sigma(z_h)), self.z_mu(z_h)


def gaussian_distribution(y, mu, sigma):
    result = (y.expand_as(mu) - mu) * torch.reciprocal(sigma)
    result = -0.5 * (result * result)
    return (torch.exp(result) * torch.reciprocal(sigma)) * ONE_DIV_SQRT_2PI


def mdn_loss_fn(pi, sigma, mu, y):
    result = gaussian_distribution(y, mu, sigma) * pi
    result = torch.sum(result, dim=1)
    return torch.mean(-torch.log(result + 1e-9))


def main():
    y = torch.linspace(-3, 3, 80).unsqueeze(1)
    x = 7.0 * torch.sin(0.75 * y) / 7 + 0.5 * y / 7 + numbers(0, 80, 1, scale=0.05)
    network = fill(MDN(n_hidden=12, n_gaussians=4), 1)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for epoch in range(30):
        pi, sigma, mu = network(x)
        loss = mdn_loss_fn(pi, sigma, mu, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 10 == 0:
            print("epoch", epoch, "loss", loss.data.tolist())
    with torch.no_grad():
        pi, sigma, mu = network(torch.linspace(-1, 1, 5).view(-1, 1))
        best = mu.gather(1, pi.argmax(dim=1, keepdim=True))
        spread = torch.logsumexp(sigma.log() + pi.log(), dim=1)
    report(loss=loss, best=best.sum(), spread=spread.sum(), weights=pi.max(dim=1).values.mean())


if __name__ == "__main__":
    main()
