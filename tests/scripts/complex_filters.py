"""A signal's spectrum: complex weights, their powers, named results as they are printed."""

import torch
from common import numbers, report
from torch import nn


class SpectralLayer(nn.Module):
    def __init__(self, channels, modes):
        super().__init__()
        self.modes = modes
        start = torch.complex(
            numbers(3, channels, channels, modes), numbers(4, channels, channels, modes)
        )
        self.weight = nn.Parameter(start / channels)

    def forward(self, x):
        spectrum = torch.fft.rfft(x)
        out = torch.zeros_like(spectrum)
        low = spectrum[..., : self.modes]
        out[..., : self.modes] = torch.einsum("bix,iox->box", low, self.weight**2)
        return torch.fft.irfft(out, n=x.size(-1))


def main():
    x = numbers(0, 4, 2, 32)
    layer = SpectralLayer(2, 6)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.02)
    for _ in range(10):
        optimizer.zero_grad()
        loss = (layer(x) - x.roll(1, -1)).pow(2).mean()
        loss.backward()
        optimizer.step()
    z = torch.tensor([1 + 1j, 2, -1.5 - 0.5j])
    assert (z**2).tolist() == [2j, 4, 2 + 1.5j], z**2
    assert (z**3).tolist()[0] == -2 + 2j, z**3
    peak = torch.fft.rfft(x[0, 0]).abs().max(0)
    assert str(peak).startswith("torch.return_types.max(\nvalues=tensor("), peak
    window = torch.hann_window(16)
    short = torch.stft(x[0], 16, 4, window=window, return_complex=True)
    back = torch.istft(short, 16, 4, window=window, length=32)
    report(loss=loss, size=layer.weight.abs().sum(), peak=peak.values, place=peak.indices)
    report(energy=short.abs().pow(2).sum(), back=(back - x[0]).abs().max().item() < 1e-5)


if __name__ == "__main__":
    main()
