"""An autoencoder whose bottleneck is shared by tied weights, with a denoising loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, numbers, report
from torch.utils.data import DataLoader, TensorDataset


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(36, 24), nn.ReLU(True), nn.Linear(24, 12), nn.ReLU(True), nn.Linear(12, 3)
        )
        self.decoder = nn.Sequential(
            nn.Linear(3, 12), nn.ReLU(True), nn.Linear(12, 24), nn.ReLU(True)
        )
        self.bias = nn.Parameter(torch.zeros(36))

    def forward(self, x):
        hidden = self.decoder(self.encoder(x))
        return torch.tanh(F.linear(hidden, self.encoder[0].weight.t(), self.bias))


def main():
    data = torch.tanh(numbers(0, 60, 2) @ numbers(1, 2, 36))
    noisy = data + numbers(2, 60, 36, scale=0.1)
    loader = DataLoader(TensorDataset(noisy, data), batch_size=20, shuffle=False)
    model = fill(Autoencoder(), 3)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)
    history = []
    for epoch in range(8):
        for image, clean in loader:
            output = model(image.view(image.size(0), -1))
            loss = criterion(output, clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        history.append(loss.data.item())
        print(f"epoch [{epoch + 1}/8], loss:{loss.data:.4f}")
    codes = model.encoder(data).detach()
    report(first=history[0], last=history[-1], codes=codes.std(dim=0).sum(), corner=codes[0, 0])


if __name__ == "__main__":
    main()
