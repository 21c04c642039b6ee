"""Two networks play: one draws digits, the other tells them from real ones.

A third network, trained on real digits, judges what was drawn: how sure it is, and how evenly the ten
digits appear.

Goal: the judge is at least 80 % sure of the drawn digits in the mean, and sees all ten.

    python -m weft examples gan
"""

from itertools import pairwise

from common import arguments, conclude, figure, rounds, say

import weft
from weft import nn
from weft.nn import functional as F
from weft.utils.data.digits import load_digits

NOISE = 24


def layers(*widths: int) -> nn.Sequential:
    """Linear layers with LeakyReLU between them."""
    parts: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        parts += [nn.Linear(inputs, outputs), nn.LeakyReLU(0.2)]
    return nn.Sequential(*parts[:-1])


def train_judge(images: weft.Tensor, labels: weft.Tensor) -> nn.Module:
    """A classifier of real digits."""
    judge = layers(64, 128, 128, 10)
    optimizer = weft.optim.AdamW(judge.parameters(), lr=2e-3)
    for _ in rounds(20, "judge"):
        for batch in weft.randperm(len(images)).split(64):
            noisy = images[batch] + 0.1 * weft.randn(len(batch), 64)
            loss = F.cross_entropy(judge(noisy), labels[batch], label_smoothing=0.02)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return judge


def main() -> None:
    args = arguments(__doc__, epochs=300)
    weft.manual_seed(0)
    weft.set_num_threads(1)  # the networks are too small for more
    images, labels = (weft.from_numpy(array) for array in load_digits())
    images = images.reshape(len(images), 64) * 2 - 1
    judge = train_judge(images, labels)
    draw = nn.Sequential(layers(NOISE, 128, 256, 64), nn.Tanh())
    doubt = layers(64, 256, 128, 1)
    drawer = weft.optim.Adam(draw.parameters(), lr=3e-4, betas=(0.5, 0.9))
    doubter = weft.optim.Adam(doubt.parameters(), lr=3e-4, betas=(0.5, 0.9))
    history: list[tuple[float, float]] = []
    for _ in (bar := rounds(args.epochs)):
        for batch in weft.randperm(len(images)).split(64):
            real = images[batch].requires_grad_()
            fake = draw(weft.randn(len(batch), NOISE))
            score = doubt(real)
            # The slope of the doubter at real digits is kept small: then the game settles.
            (slope,) = weft.autograd.grad(score.sum(), real, create_graph=True)
            loss = F.softplus(-score).mean() + F.softplus(doubt(fake.detach())).mean()
            loss = loss + 0.5 * slope.square().sum(1).mean()
            doubter.zero_grad()
            loss.backward()
            doubter.step()
            fooled = F.softplus(-doubt(fake)).mean()
            drawer.zero_grad()
            fooled.backward()
            drawer.step()
        history.append((loss.item(), fooled.item()))
        say(bar, doubter=history[-1][0], drawer=history[-1][1])

    with weft.no_grad():
        drawn = draw(weft.randn(1000, NOISE))
        chances = judge(drawn).softmax(1)
    sure = chances.max(1).values.mean().item()
    counts = weft.bincount(chances.argmax(1), minlength=10).tolist()
    picture, (left, right) = figure(1, 2)
    tiles = F.pad(drawn[:60].reshape(6, 10, 8, 8), (1, 1, 1, 1), value=-0.5)
    left.imshow(tiles.permute(0, 2, 1, 3).reshape(60, 100), cmap="gray_r")
    left.axis("off")
    left.set_title("drawn digits", size=9)
    right.bar(range(10), counts)
    right.set(xlabel="digit, as the judge sees it", ylabel="of 1000 drawn", xticks=range(10))
    result = sure if min(counts) >= 10 else 0.0
    table = [("digit", *map(str, range(10))), ("drawn", *map(str, counts))]
    conclude(
        "how sure the judge is in the mean", result, at_least=0.8, picture=picture, table=table
    )


if __name__ == "__main__":
    main()
