"""Splits a karate club with a graph network that knows the side of two members only.

The graph is Zachary's: 34 members, 78 friendships, and the two clubs into which they parted in 1972. The
network knows where the instructor and the president went, and tells the others from who knows whom.

Goal: at least 94 % of the members (32 of 34) are put into the club that they chose.

    python -m weft examples gcn
"""

import math

from common import arguments, conclude, figure, rounds, say

import weft
from weft import nn
from weft.nn import functional as F

FRIENDS = """
1: 2 3 4 5 6 7 8 9 11 12 13 14 18 20 22 32, 2: 3 4 8 14 18 20 22 31, 3: 4 8 9 10 14 28 29 33, 4: 8 13 14,
5: 7 11, 6: 7 11 17, 7: 17, 9: 31 33 34, 10: 34, 14: 34, 15: 33 34, 16: 33 34, 19: 33 34, 20: 34,
21: 33 34, 23: 33 34, 24: 26 28 30 33 34, 25: 26 28 32, 26: 32, 27: 30 34, 28: 34, 29: 32 34, 30: 33 34,
31: 33 34, 32: 33 34, 33: 34
"""
WITH_INSTRUCTOR = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22}


def club() -> tuple[weft.Tensor, weft.Tensor]:
    """The friendships, each in both directions and everyone with themselves; and the sides."""
    edges = [(i, i) for i in range(34)]
    for entry in FRIENDS.split(","):
        one, others = entry.split(":")
        for other in others.split():
            a, b = int(one) - 1, int(other) - 1
            edges += [(a, b), (b, a)]
    sides = weft.tensor([0 if i + 1 in WITH_INSTRUCTOR else 1 for i in range(34)])
    return weft.tensor(edges).t(), sides


class GraphLayer(nn.Module):
    """Every node becomes the weighted mean of what its neighbours say."""

    def __init__(self, inputs: int, outputs: int, edges: weft.Tensor) -> None:
        super().__init__()
        self.say = nn.Linear(inputs, outputs)
        source, target = edges
        degree = weft.bincount(target).float()
        self.register_buffer("source", source)
        self.register_buffer("target", target)
        self.register_buffer("weight", (degree[source] * degree[target]).rsqrt().unsqueeze(1))

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        said = self.say(x)
        return weft.zeros_like(said).index_add(0, self.target, said[self.source] * self.weight)


def main() -> None:
    args = arguments(__doc__, epochs=200, width=16)
    weft.manual_seed(0)
    edges, sides = club()
    told = weft.tensor([0, 33])  # the instructor and the president
    first, second = GraphLayer(34, args.width, edges), GraphLayer(args.width, 2, edges)
    model = nn.Sequential(first, nn.Tanh(), second)
    optimizer = weft.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-3)
    people = weft.eye(34)
    for _ in (bar := rounds(args.epochs)):
        scores = model(people)
        loss = F.cross_entropy(scores[told], sides[told])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        say(bar, loss=loss.item())

    with weft.no_grad():
        scores = model(people)
    right = (scores.argmax(1) == sides).float().mean().item()
    lean = scores.softmax(1)[:, 1].tolist()
    picture, axes = figure(height=4.5)
    order = sorted(range(34), key=lambda i: lean[i])
    place = {
        i: (math.cos(2 * math.pi * k / 34), math.sin(2 * math.pi * k / 34))
        for k, i in enumerate(order)
    }
    for a, b in edges.t().tolist():
        axes.plot(*zip(place[a], place[b]), "0.85", lw=0.7, zorder=0)
    xs, ys = zip(*(place[i] for i in range(34)))
    axes.scatter(
        xs,
        ys,
        c=lean,
        cmap="coolwarm",
        s=180,
        edgecolors=["C0" if s == 0 else "C3" for s in sides.tolist()],
        linewidths=2,
    )
    for i in range(34):
        axes.text(*place[i], str(i + 1), ha="center", va="center", size=7)
    axes.set_aspect("equal")
    axes.axis("off")
    axes.set_title("fill: what the network says; edge: which club they chose", size=9)
    conclude("members put into the right club", right, at_least=0.94, picture=picture)


if __name__ == "__main__":
    main()
