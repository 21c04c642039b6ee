"""Learns the constants of a damped pendulum by differentiating through its own solver.

A pendulum was filmed: its angle at 60 moments, with noise. Its length, its damping and how it started
are not known. The equation of motion is solved by Runge-Kutta steps in weft, so that the error of the
solution can be differentiated with respect to them.

Goal: length and damping are within 2 % of the true ones.

    python -m weft examples physics
"""

from common import arguments, conclude, figure, rounds, say

import weft

GRAVITY, STEP, STEPS = 9.81, 0.05, 120
TRUE = {"length": 1.3, "damping": 0.25, "angle": 1.2, "speed": 0.0}


def solve(
    length: weft.Tensor, damping: weft.Tensor, angle: weft.Tensor, speed: weft.Tensor
) -> weft.Tensor:
    """The angles at all moments."""

    def slope(state: weft.Tensor) -> weft.Tensor:
        a, v = state
        return weft.stack([v, -GRAVITY / length * a.sin() - damping * v])

    state = weft.stack([angle, speed])
    angles = [state[0]]
    for _ in range(STEPS):
        k1 = slope(state)
        k2 = slope(state + STEP / 2 * k1)
        k3 = slope(state + STEP / 2 * k2)
        k4 = slope(state + STEP * k3)
        state = state + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        angles.append(state[0])
    return weft.stack(angles)


def main() -> None:
    args = arguments(__doc__, steps=250)
    weft.manual_seed(0)
    weft.set_num_threads(1)  # the network is too small for more
    with weft.no_grad():
        true = solve(*(weft.tensor(value) for value in TRUE.values()))
        seen = true[::2] + 0.03 * weft.randn(len(true[::2]))

    start = {"length": 1.0, "damping": 0.05, "angle": 1.0, "speed": 0.3}
    constants = {name: weft.tensor(value, requires_grad=True) for name, value in start.items()}
    optimizer = weft.optim.Adam(constants.values(), lr=0.02)
    losses = []
    for _ in (bar := rounds(args.steps, "step")):
        # The beginning of the film first: a long solution has many false minima.
        known = min(len(seen), 15 + 90 * len(losses) // args.steps)
        loss = (solve(**constants)[::2][:known] - seen[:known]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        say(bar, loss=losses[-1], length=constants["length"].item())

    found = {name: value.item() for name, value in constants.items()}
    worst = max(abs(found[n] / TRUE[n] - 1) for n in ("length", "damping"))
    picture, (left, right) = figure(1, 2)
    times = [STEP * i for i in range(STEPS + 1)]
    left.scatter(times[::2], seen.numpy(), s=8, label="filmed")
    left.plot(times, solve(**constants).detach().numpy(), "C1", label="solved with what was learnt")
    left.set(xlabel="seconds", ylabel="angle")
    left.legend()
    right.plot(losses)
    right.set(xlabel="step", ylabel="mean squared error", yscale="log")
    table = [("", "true", "found"), *((n, f"{TRUE[n]:.3f}", f"{found[n]:.3f}") for n in TRUE)]
    conclude(
        "largest relative error of length and damping",
        worst,
        at_most=0.02,
        picture=picture,
        table=table,
    )


if __name__ == "__main__":
    main()
