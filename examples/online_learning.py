"""Learns from a stream that drifts: each example is seen once, and what is true changes.

Points come one at a time and must be separated by a line that turns slowly, and then jumps. A network
that was trained on the first thousand points is left behind; one that takes a step after every answer
keeps up.

Goal: the network that goes on learning is right at least 90 % of the time over the whole stream.

    python -m weft examples online_learning
"""

import math

from common import arguments, conclude, figure, rounds, say

import weft
from weft import nn
from weft.nn import functional as F

FROZEN_AFTER = 1000


def angle(step: int, total: int) -> float:
    """Of the line: it turns, and jumps in the middle of the stream."""
    return math.pi * step / total + (2.0 if step > total // 2 else 0.0)


def network() -> nn.Sequential:
    """A small one: it must be quick to change its mind."""
    return nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))


def main() -> None:
    args = arguments(__doc__, points=20000)
    weft.manual_seed(0)
    weft.set_num_threads(1)
    learner, frozen = network(), network()
    optimizer = weft.optim.SGD(learner.parameters(), lr=0.1)
    right: list[tuple[bool, bool]] = []
    for step in (bar := rounds(args.points, "point")):
        x = weft.randn(2)
        turn = angle(step, args.points)
        label = (x[0] * math.cos(turn) + x[1] * math.sin(turn) > 0).float()
        score = learner(x)[0]
        with weft.no_grad():
            old = frozen(x)[0]
        right.append((bool((score > 0) == (label > 0)), bool((old > 0) == (label > 0))))
        loss = F.binary_cross_entropy_with_logits(score, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < FROZEN_AFTER:
            frozen.load_state_dict(learner.state_dict())
        if step % 500 == 0:
            say(bar, right=sum(r for r, _ in right[-500:]) / len(right[-500:]))

    window = max(1, len(right) // 80)
    parts = [right[i : i + window] for i in range(0, len(right), window)]
    picture, axes = figure()
    for k, text in enumerate(("goes on learning", f"stopped after {FROZEN_AFTER} points")):
        share = [sum(r[k] for r in part) / len(part) for part in parts]
        axes.plot([window * i for i in range(len(parts))], share, label=text)
    axes.set(xlabel="point", ylabel="right answers", ylim=(0, 1.05))
    axes.legend()
    means = [sum(r[k] for r in right) / len(right) for k in (0, 1)]
    conclude(
        "right answers over the whole stream",
        means[0],
        at_least=0.9,
        picture=picture,
        table=[("goes on", f"{means[0]:.1%}"), ("stopped", f"{means[1]:.1%}")],
    )


if __name__ == "__main__":
    main()
