"""Recommends films: learns the tastes of people and the traits of films from a few ratings each.

There are 600 people and 400 films of five kinds. Everyone has rated some 40 films, from one to five
stars, by taste, mood and chance. The network knows the numbers of people and films only.

Goal: the error on hidden ratings is at most 30 % above that of somebody who knows all tastes.

    python -m weft examples recommendation
"""

from common import arguments, conclude, figure, rounds, say

import weft
from weft import nn
from weft.nn import functional as F

PEOPLE, FILMS, TRAITS = 600, 400, 5


def ratings() -> tuple[weft.Tensor, weft.Tensor, weft.Tensor, weft.Tensor]:
    """Who rated which film how, and what they would have said without mood."""
    kinds = weft.eye(TRAITS)[weft.arange(FILMS) % TRAITS]
    traits = 0.8 * kinds + 0.25 * weft.randn(FILMS, TRAITS)
    tastes = weft.randn(PEOPLE, TRAITS)
    liked = 0.5 * weft.randn(FILMS)
    kindness = 0.4 * weft.randn(PEOPLE)
    person = weft.arange(PEOPLE).repeat_interleave(40)
    film = weft.rand(PEOPLE, FILMS).argsort(1)[:, :40].reshape(-1)
    true = 3.3 + (tastes[person] * traits[film]).sum(1) + liked[film] + kindness[person]
    stars = (true + 0.5 * weft.randn(len(true))).round().clamp(1, 5)
    return person, film, stars, true.clamp(1, 5)


class Factors(nn.Module):
    """A vector and a number for each person and each film."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.people, self.films = nn.Embedding(PEOPLE, width), nn.Embedding(FILMS, width)
        self.kindness, self.liked = nn.Embedding(PEOPLE, 1), nn.Embedding(FILMS, 1)
        self.mean = nn.Parameter(weft.tensor(3.3))
        for table in (self.people, self.films, self.kindness, self.liked):
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, person: weft.Tensor, film: weft.Tensor) -> weft.Tensor:
        match = (self.people(person) * self.films(film)).sum(1)
        return self.mean + match + self.kindness(person)[:, 0] + self.liked(film)[:, 0]

    def size(self, person: weft.Tensor, film: weft.Tensor) -> weft.Tensor:
        """How long the vectors are: kept small, since few ratings prove little."""
        rows = (self.people(person), self.kindness(person), self.films(film), self.liked(film))
        sizes = (row.square().sum(1).mean() for row in rows)
        return sum(sizes, weft.tensor(0.0))


def main() -> None:
    args = arguments(__doc__, epochs=40, width=6)
    weft.manual_seed(0)
    weft.set_num_threads(1)  # the network is too small for more
    person, film, stars, true = ratings()
    order = weft.randperm(len(stars))
    learn, hidden = order[: int(0.9 * len(order))], order[int(0.9 * len(order)) :]
    model = Factors(args.width)
    optimizer = weft.optim.Adam(model.parameters(), lr=2e-2)
    scheduler = weft.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    history: list[tuple[float, float]] = []
    for _ in (bar := rounds(args.epochs)):
        total = 0.0
        for batch in learn[weft.randperm(len(learn))].split(512):
            who, what = person[batch], film[batch]
            loss = F.mse_loss(model(who, what), stars[batch]) + 0.05 * model.size(who, what)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        scheduler.step()
        with weft.no_grad():
            said = model(person[hidden], film[hidden]).clamp(1, 5)
            error = F.mse_loss(said, stars[hidden]).sqrt().item()
        history.append(((total / len(learn)) ** 0.5, error))
        say(bar, hidden=error)

    floor = F.mse_loss(true[hidden], stars[hidden]).sqrt().item()
    mean = (stars[hidden] - stars[learn].mean()).square().mean().sqrt().item()
    with weft.no_grad():  # the films of each kind should lie together
        films = model.films.weight - model.films.weight.mean(0)
        flat = (films @ weft.linalg.svd(films, full_matrices=False)[2][:2].t()).numpy()
    picture, (left, right) = figure(1, 2)
    for k, text in enumerate(("ratings it learnt from", "hidden ratings")):
        left.plot([h[k] for h in history], label=text)
    left.axhline(floor, color="0.6", ls=":", label="knowing all tastes")
    left.set(xlabel="epoch", ylabel="error in stars")
    left.legend()
    right.scatter(flat[:, 0], flat[:, 1], c=[i % TRAITS for i in range(FILMS)], s=8, cmap="tab10")
    right.set_title("films, coloured by kind", size=9)
    table = [
        ("error in stars", ""),
        ("network", f"{history[-1][1]:.3f}"),
        ("knowing all tastes", f"{floor:.3f}"),
        ("mean rating", f"{mean:.3f}"),
    ]
    conclude(
        "error over that of knowing all tastes",
        history[-1][1] / floor,
        at_most=1.3,
        picture=picture,
        table=table,
    )


if __name__ == "__main__":
    main()
