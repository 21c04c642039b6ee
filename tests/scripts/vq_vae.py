"""A quantised autoencoder: nearest codes, straight-through gradients, codes that follow their means."""

import torch
import torch.nn.functional as F
from common import fill, numbers, report
from torch import nn


class Quantizer(nn.Module):
    def __init__(self, count, width, decay=0.9, eps=1e-5):
        super().__init__()
        self.codes = nn.Embedding(count, width)
        self.codes.weight.data = numbers(7, count, width)
        self.register_buffer("sizes", torch.zeros(count))
        self.sums = nn.Parameter(torch.Tensor(count, width))
        self.sums.data = numbers(8, count, width)
        self.decay, self.eps = decay, eps

    def forward(self, x):
        x = x.permute(0, 2, 3, 1).contiguous()
        flat = x.view(-1, x.shape[-1])
        w = self.codes.weight
        distance = (flat**2).sum(1, keepdim=True) + (w**2).sum(1) - 2 * flat @ w.t()
        index = torch.argmin(distance, dim=1).unsqueeze(1)
        hot = torch.zeros_like(distance, memory_format=torch.legacy_contiguous_format)
        hot.scatter_(1, index, 1.0)
        q = (hot @ w).view(x.shape)
        if self.training:
            sizes = self.sizes * self.decay + (1 - self.decay) * hot.sum(0)
            n = sizes.data.sum()
            self.sizes = (sizes + self.eps) / (n + len(sizes) * self.eps) * n
            self.sums = nn.Parameter(self.sums * self.decay + (1 - self.decay) * hot.t() @ flat)
            self.codes.weight = nn.Parameter(self.sums / self.sizes.unsqueeze(1))
        loss = 0.25 * F.mse_loss(q.detach(), x)
        used = hot.mean(0)
        perplexity = torch.exp(-(used * torch.log(used + 1e-10)).sum())
        return loss, (x + (q - x).detach()).permute(0, 3, 1, 2).contiguous(), perplexity


def main():
    encoder = fill(nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 4, 1)))
    decoder = fill(
        nn.Sequential(nn.ConvTranspose2d(4, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 1, 1)), 2
    )
    quantizer = Quantizer(6, 4)
    x = numbers(1, 4, 1, 8, 8)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
    for _ in range(8):
        optimizer.zero_grad()
        extra, q, perplexity = quantizer(encoder(x))
        loss = F.mse_loss(decoder(q), x) + extra
        loss.backward()
        optimizer.step()
    report(loss=loss, perplexity=perplexity, sizes=quantizer.sizes.max(), extra=extra)


if __name__ == "__main__":
    main()
