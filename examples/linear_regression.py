"""Fits a line to noisy points and draws it.

Goal: the slope and the intercept are within 0.1 of the true ones.

    python -m weft examples linear_regression
"""

from common import arguments, conclude, figure, rounds, say

import weft
from weft import nn

SLOPE, INTERCEPT = 2.0, 0.5


def points(count: int) -> tuple[weft.Tensor, weft.Tensor]:
    """Points around the line, with noise."""
    x = weft.linspace(-1, 1, count).unsqueeze(1)
    return x, SLOPE * x + INTERCEPT + 0.2 * weft.randn(count, 1)


def main() -> None:
    args = arguments(__doc__, epochs=200, points=100)
    weft.manual_seed(0)
    x, y = points(args.points)
    model = nn.Linear(1, 1)
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in (bar := rounds(args.epochs)):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        say(bar, loss=losses[-1])

    slope, intercept = model.weight.item(), model.bias.item()
    picture, (left, right) = figure(1, 2)
    left.scatter(x.numpy(), y.numpy(), s=8, label="points")
    left.plot(x.numpy(), model(x).detach().numpy(), "C1", label=f"{slope:.2f} x + {intercept:.2f}")
    left.legend()
    right.plot(losses)
    right.set(xlabel="epoch", ylabel="mean squared error", yscale="log")
    conclude(
        "largest error of slope and intercept",
        max(abs(slope - SLOPE), abs(intercept - INTERCEPT)),
        at_most=0.1,
        picture=picture,
        table=[
            ("", "true", "fitted"),
            ("slope", f"{SLOPE}", f"{slope:.3f}"),
            ("intercept", f"{INTERCEPT}", f"{intercept:.3f}"),
        ],
    )


if __name__ == "__main__":
    main()
