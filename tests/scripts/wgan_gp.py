"""A Wasserstein GAN with gradient penalty (a derivative of a derivative), and physics by PINN."""

import torch
import torch.autograd as autograd
import torch.nn as nn
import torch.optim as optim
from common import fill, numbers, report
from torch.autograd import Variable


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, 16), nn.ReLU(True), nn.Linear(16, 2))

    def forward(self, noise):
        return self.main(noise)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, 16), nn.LeakyReLU(0.1), nn.Linear(16, 16), nn.Softplus(), nn.Linear(16, 1)
        )

    def forward(self, inputs):
        return self.main(inputs).view(-1)


def calc_gradient_penalty(netD, real_data, fake_data, step, lam=0.1):
    alpha = torch.sigmoid(numbers(1000 + step, len(real_data), 1)).expand(real_data.size())
    interpolates = alpha * real_data + ((1 - alpha) * fake_data)
    interpolates = autograd.Variable(interpolates, requires_grad=True)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(
        outputs=disc_interpolates, inputs=interpolates,
        grad_outputs=torch.ones(disc_interpolates.size()),
        create_graph=True, retain_graph=True, only_inputs=True,
    )[0]  # fmt: skip
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * lam


netG, netD = fill(Generator(), 1), fill(Critic(), 2)
optimizerD = optim.Adam(netD.parameters(), lr=1e-2, betas=(0.5, 0.9))
optimizerG = optim.Adam(netG.parameters(), lr=1e-2, betas=(0.5, 0.9))
for iteration in range(4):
    for p in netD.parameters():
        p.requires_grad = True
    for critic_step in range(2):
        real = Variable(numbers(10 * iteration + critic_step, 32, 2) * 0.3 + 1)
        netD.zero_grad()
        fake = netG(numbers(500 + 10 * iteration + critic_step, 32, 2)).detach()
        penalty = calc_gradient_penalty(netD, real.data, fake.data, iteration)
        D_cost = netD(fake).mean() - netD(real).mean() + penalty
        D_cost.backward()
        optimizerD.step()
    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    G_cost = -netD(netG(numbers(800 + iteration, 32, 2))).mean()
    G_cost.backward()
    optimizerG.step()
report(d_cost=D_cost, g_cost=G_cost, penalty=penalty)

# u'' + u = 0, u(0) = 0, u'(0) = 1: the solution is the sine.
net = fill(nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1)), 3)
optimizer = optim.Adam(net.parameters(), lr=0.02)
t = torch.linspace(0, 2, 16).view(-1, 1).requires_grad_(True)
for _ in range(25):
    optimizer.zero_grad()
    u = t * net(t) + 0 * t
    (du,) = autograd.grad(u.sum(), t, create_graph=True)
    (ddu,) = autograd.grad(du.sum(), t, create_graph=True)
    loss = (ddu + u).pow(2).mean() + (du[0] - 1).pow(2).sum()
    loss.backward()
    optimizer.step()
report(physics=loss, error=(u - torch.sin(t)).abs().max())
