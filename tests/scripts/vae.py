"""A variational autoencoder; the noise of its samples comes from NumPy."""

import argparse

import torch
import torch.utils.data
from common import fill, numbers, report
from torch import nn, optim
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self, size=64, hidden=32, latent=4):
        super().__init__()
        self.fc1 = nn.Linear(size, hidden)
        self.fc21 = nn.Linear(hidden, latent)
        self.fc22 = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, size)
        self.draws = 0

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        self.draws += 1
        eps = numbers(self.draws, *std.shape)
        return mu + eps * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    bce = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld, kld


def main():
    parser = argparse.ArgumentParser(description="VAE")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=16)
    args = parser.parse_args()
    data = (numbers(0, 64, 1, 8, 8) > 0.5).float()
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(data), batch_size=args.batch_size, shuffle=False
    )
    model = fill(VAE(), 1)
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(args.epochs):
        model.train()
        train_loss = 0
        for (batch,) in loader:
            optimizer.zero_grad()
            loss, kld = loss_function(*_with(batch, model(batch)))
            loss.backward()
            train_loss += loss.item()
            optimizer.step()
        print(f"====> Epoch: {epoch} Average loss: {train_loss / len(loader.dataset):.4f}")
    model.eval()
    with torch.no_grad():
        image = model.decode(numbers(99, 1, 4))
    report(train_loss=train_loss, kld=kld, image=image.sum(), first=image[0, 0])


def _with(batch, result):
    recon, mu, logvar = result
    return recon, batch, mu, logvar


if __name__ == "__main__":
    main()
