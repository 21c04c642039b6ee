"""Compresses digits to two numbers with an autoencoder, and draws new ones with a variational one.

Both are given the 8x8 pixels of the bundled digits. The autoencoder squeezes them through a few numbers
and must restore them. The variational one learns how these numbers are spread, so that numbers drawn at
random become digits that nobody wrote.

Goal: the variational autoencoder restores unseen digits with a mean squared error of at most 0.03.

    python -m weft examples vae
"""

from common import arguments, conclude, figure, rounds, say

import weft
from weft import nn
from weft.nn import functional as F
from weft.utils.data.digits import load_digits


def coder(inputs: int, outputs: int, width: int = 128) -> nn.Sequential:
    """A network from some numbers to others."""
    return nn.Sequential(
        nn.Linear(inputs, width),
        nn.SiLU(),
        nn.Linear(width, width),
        nn.SiLU(),
        nn.Linear(width, outputs),
    )


class Autoencoder(nn.Module):
    """To a code and back."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.encode, self.decode = coder(64, code), coder(code, 64)

    def loss(self, x: weft.Tensor) -> weft.Tensor:
        return F.mse_loss(self.decode(self.encode(x)).sigmoid(), x, reduction="sum") / len(x)


class VariationalAutoencoder(nn.Module):
    """To the mean and the spread of a code, a code drawn from there, and back."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.encode, self.decode = coder(64, 2 * code), coder(code, 64)

    def loss(self, x: weft.Tensor) -> weft.Tensor:
        mean, log_variance = self.encode(x).chunk(2, dim=1)
        code = mean + (0.5 * log_variance).exp() * weft.randn_like(mean)
        restored = F.mse_loss(self.decode(code).sigmoid(), x, reduction="sum")
        spread = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum()
        return (restored + 0.05 * spread) / len(x)

    def restore(self, x: weft.Tensor) -> weft.Tensor:
        return self.decode(self.encode(x).chunk(2, dim=1)[0]).sigmoid()


def fit(model: nn.Module, images: weft.Tensor, epochs: int, text: str) -> None:
    """Train a model that knows its loss."""
    optimizer = weft.optim.AdamW(model.parameters(), lr=2e-3)
    scheduler = weft.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in (bar := rounds(epochs, text)):
        for batch in weft.randperm(len(images)).split(64):
            loss = model.loss(images[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        say(bar, loss=loss.item())


def main() -> None:
    args = arguments(__doc__, epochs=60, code=8)
    weft.manual_seed(0)
    weft.set_num_threads(1)  # the networks are too small for more
    images, labels = (weft.from_numpy(array) for array in load_digits())
    images = images.reshape(len(images), 64)
    order = weft.randperm(len(images))
    learn, test = order[360:], order[:360]
    flat, drawing = Autoencoder(2), VariationalAutoencoder(args.code)
    fit(flat, images[learn], args.epochs, "autoencoder")
    fit(drawing, images[learn], args.epochs, "variational")

    picture, (left, middle, right) = figure(1, 3, width=10, height=3.5)
    with weft.no_grad():
        error = F.mse_loss(drawing.restore(images[test]), images[test]).item()
        codes = flat.encode(images[test]).numpy()
        pairs = weft.cat([images[test[:30]], drawing.restore(images[test[:30]])])
        drawn = drawing.decode(weft.randn(100, args.code)).sigmoid()

    def grid(tiles: weft.Tensor, columns: int) -> weft.Tensor:
        rows = tiles.reshape(-1, columns, 8, 8)
        return F.pad(rows, (1, 1, 1, 1), value=0.3).permute(0, 2, 1, 3).reshape(len(rows) * 10, -1)

    left.scatter(codes[:, 0], codes[:, 1], c=labels[test].numpy(), cmap="tab10", s=8)
    left.set_title("unseen digits as two numbers", size=9)
    middle.imshow(grid(pairs, 10), cmap="gray_r")
    middle.set_title("unseen digits, and restored from eight numbers", size=9)
    right.imshow(grid(drawn, 10), cmap="gray_r")
    right.set_title("drawn from random numbers", size=9)
    for axes in (middle, right):
        axes.axis("off")
    conclude("mean squared error of unseen digits", error, at_most=0.03, picture=picture)


if __name__ == "__main__":
    main()
