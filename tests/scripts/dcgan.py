"""A generator and a discriminator of images, trained against each other."""

import argparse

import torch
import torch.nn as nn
import torch.optim as optim
from common import fill, numbers, report

parser = argparse.ArgumentParser()
parser.add_argument("--nz", type=int, default=8)
parser.add_argument("--ngf", type=int, default=8)
parser.add_argument("--ndf", type=int, default=8)
parser.add_argument("--niter", type=int, default=3)
parser.add_argument("--batchSize", type=int, default=8)
parser.add_argument("--beta1", type=float, default=0.5)
opt = parser.parse_args()


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(opt.nz, opt.ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(opt.ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(opt.ngf * 2, opt.ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(opt.ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(opt.ngf, 3, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(3, opt.ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(opt.ndf, opt.ndf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(opt.ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(opt.ndf * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("BatchNorm") != -1:
        nn.init.ones_(m.weight)
        nn.init.zeros_(m.bias)


device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
netG = fill(Generator(), 1).to(device)
netD = fill(Discriminator(), 2).to(device)
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
fixed_noise = numbers(7, opt.batchSize, opt.nz, 1, 1).to(device)
optimizerD = optim.Adam(netD.parameters(), lr=2e-4, betas=(opt.beta1, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=2e-4, betas=(opt.beta1, 0.999))

for step in range(opt.niter):
    netD.zero_grad()
    real = torch.tanh(numbers(100 + step, opt.batchSize, 3, 16, 16)).to(device)
    label = torch.full((opt.batchSize,), 1.0, dtype=real.dtype, device=device)
    errD_real = criterion(netD(real), label)
    errD_real.backward()
    noise = numbers(200 + step, opt.batchSize, opt.nz, 1, 1).to(device)
    fake = netG(noise)
    label.fill_(0.0)
    errD_fake = criterion(netD(fake.detach()), label)
    errD_fake.backward()
    errD = errD_real + errD_fake
    optimizerD.step()

    netG.zero_grad()
    label.fill_(1.0)
    output = netD(fake)
    errG = criterion(output, label)
    errG.backward()
    optimizerG.step()
    print(f"[{step}/{opt.niter}] Loss_D: {errD.item():.4f} Loss_G: {errG.item():.4f}")

with torch.no_grad():
    sample = netG(fixed_noise)
report(
    loss_d=errD, loss_g=errG, d_of_g=output.mean(), pixel=sample[0, 0, 3, 3], spread=sample.std()
)
