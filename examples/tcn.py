"""Forecasts a chaotic series with temporal convolutions, each looking twice as far back.

The series follows the equation of Mackey and Glass, which describes how the body makes blood cells. It
never repeats. The network sees the past and says the value six steps ahead.

Goal: the error is at most 8 % of that of saying the present value.

    python -m weft examples tcn
"""

from common import arguments, conclude, figure, rounds, say

import weft
from weft import nn
from weft.nn import functional as F

AHEAD = 6


def mackey_glass(length: int, delay: int = 17) -> weft.Tensor:
    """The series, sampled once per unit of time, without its beginning."""
    fine = 10  # steps of the solver per unit
    x = [1.2] * (delay * fine + 1)
    for _ in range((length + 300) * fine):
        past = x[-delay * fine - 1]
        x.append(x[-1] + (0.2 * past / (1 + past**10) - 0.1 * x[-1]) / fine)
    return weft.tensor(x[-length * fine :: fine])


class Block(nn.Module):
    """Two convolutions that see the past only, and a way around them."""

    def __init__(self, inputs: int, outputs: int, dilation: int) -> None:
        super().__init__()
        self.past = 2 * dilation
        self.first = nn.Conv1d(inputs, outputs, 3, dilation=dilation)
        self.second = nn.Conv1d(outputs, outputs, 3, dilation=dilation)
        self.around = nn.Conv1d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        y = F.gelu(self.first(F.pad(x, (self.past, 0))))
        y = F.gelu(self.second(F.pad(y, (self.past, 0))))
        return y + self.around(x)


def main() -> None:
    args = arguments(__doc__, steps=600, width=24, levels=5)
    weft.manual_seed(0)
    weft.set_num_threads(1)  # the network is too small for more
    series = mackey_glass(3000)
    learn, test = series[:2400], series[2400:]
    blocks = [Block(1 if k == 0 else args.width, args.width, 2**k) for k in range(args.levels)]
    model = nn.Sequential(*blocks, nn.Conv1d(args.width, 1, 1))
    optimizer = weft.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = weft.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    length = 256
    window = weft.arange(length)
    losses = []
    for _ in (bar := rounds(args.steps, "step")):
        at = weft.randint(0, len(learn) - length - AHEAD, (16, 1)) + window
        past, future = learn[at].unsqueeze(1), learn[at + AHEAD].unsqueeze(1)
        change = model(past - 0.9)
        loss = F.mse_loss((past + change)[..., 64:], future[..., 64:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        say(bar, loss=losses[-1])

    with weft.no_grad():
        past, future = test[:-AHEAD], test[AHEAD:]
        said = past + model(past.view(1, 1, -1) - 0.9).view(-1)
        error = (said - future)[128:].square().mean().sqrt().item()
        lazy = (past - future)[128:].square().mean().sqrt().item()
    picture, axes = figure()
    axes.plot(future[128:400].numpy(), label="what came")
    axes.plot(said[128:400].numpy(), "--", label=f"said {AHEAD} steps before")
    axes.set(xlabel="time")
    axes.legend()
    table = [
        ("error of", "root mean square"),
        ("network", f"{error:.4f}"),
        ("present value", f"{lazy:.4f}"),
    ]
    conclude(
        "error over that of the present value",
        error / lazy,
        at_most=0.08,
        picture=picture,
        table=table,
    )


if __name__ == "__main__":
    main()
