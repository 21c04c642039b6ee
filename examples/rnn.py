"""Adds two marked numbers of a long sequence: what a recurrent network must remember.

Each step of a sequence brings a number and a mark. The sum of the two marked numbers is asked for at
the end, fifty steps later. Guessing the mean gives an error of 0.17.

Goal: a mean squared error of at most 0.01.

    python -m weft examples rnn
"""

from common import arguments, conclude, figure, rounds, say

import weft
from weft import nn


def sequences(count: int, length: int) -> tuple[weft.Tensor, weft.Tensor]:
    """Numbers and marks (count, length, 2), and the sums of what is marked."""
    numbers = weft.rand(count, length)
    marks = weft.zeros(count, length)
    half = length // 2
    marks.scatter_(1, weft.randint(0, half, (count, 1)), 1.0)
    marks.scatter_(1, weft.randint(half, length, (count, 1)), 1.0)
    return weft.stack([numbers, marks], dim=2), (numbers * marks).sum(1)


class Adder(nn.Module):
    """A gated recurrent layer, and a linear one that reads its last state."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.memory = nn.GRU(2, width, batch_first=True)
        self.read = nn.Linear(width, 1)

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        _, last = self.memory(x)
        return self.read(last[0]).squeeze(1)


def main() -> None:
    args = arguments(__doc__, steps=1200, length=50, width=32)
    weft.manual_seed(0)
    weft.set_num_threads(1)  # the network is too small for more
    model = Adder(args.width)
    optimizer = weft.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = weft.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=args.steps)
    losses = []
    for _ in (bar := rounds(args.steps, "step")):
        x, y = sequences(64, args.length)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        say(bar, loss=losses[-1])

    with weft.no_grad():
        x, y = sequences(1000, args.length)
        guess = model(x)
        error = nn.functional.mse_loss(guess, y).item()
    picture, (left, right) = figure(1, 2)
    left.plot(losses)
    left.set(xlabel="step", ylabel="mean squared error", yscale="log")
    right.scatter(y.numpy(), guess.numpy(), s=3)
    right.plot([0, 2], [0, 2], "C1", lw=1)
    right.set(xlabel="sum", ylabel="what the network says")
    conclude("mean squared error on new sequences", error, at_most=0.01, picture=picture)


if __name__ == "__main__":
    main()
