"""Fools a network with changes that one hardly sees, shows what it looks at, and makes it robust.

The gradient of the loss with respect to the image says which pixels to change (fast gradient sign
method). Its size says what the network looks at (saliency). Trained on attacked images as well, the
network withstands.

Goal: robust training saves at least 40 points of accuracy under attack.

    python -m weft examples adversarial
"""

from common import arguments, conclude, figure, rounds, say

import weft
from weft import nn
from weft.nn import functional as F
from weft.utils.data.digits import load_digits

STRENGTH = 0.2  # of the attack; pixels lie between 0 and 1


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 16, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


def attack(model: nn.Module, images: weft.Tensor, labels: weft.Tensor) -> weft.Tensor:
    """Images changed by STRENGTH, each pixel in the direction that raises the loss."""
    images = images.detach().requires_grad_()
    (slope,) = weft.autograd.grad(F.cross_entropy(model(images), labels), images)
    return (images.detach() + STRENGTH * slope.sign()).clamp(0, 1)


def train(images: weft.Tensor, labels: weft.Tensor, epochs: int, robust: bool) -> nn.Module:
    model = network()
    optimizer = weft.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in (bar := rounds(epochs, "robust" if robust else "plain")):
        for batch in weft.randperm(len(images)).split(64):
            x, y = images[batch], labels[batch]
            loss = F.cross_entropy(model(x), y)
            if robust:
                loss = loss + F.cross_entropy(model(attack(model, x, y)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        say(bar, loss=loss.item())
    return model


def accuracy(model: nn.Module, images: weft.Tensor, labels: weft.Tensor) -> float:
    with weft.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def main() -> None:
    args = arguments(__doc__, epochs=15)
    weft.manual_seed(0)
    weft.set_num_threads(1)  # the networks are too small for more
    images, labels = (weft.from_numpy(array) for array in load_digits())
    images = images.unsqueeze(1)
    order = weft.randperm(len(images))
    learn, test = order[360:], order[:360]
    x, y = images[test], labels[test]
    models = {
        kind: train(images[learn], labels[learn], args.epochs, kind == "robust")
        for kind in ("plain", "robust")
    }
    table = [("training", "clean", "attacked")]
    under_attack = {}
    for kind, model in models.items():
        under_attack[kind] = accuracy(model, attack(model, x, y), y)
        table.append((kind, f"{accuracy(model, x, y):.1%}", f"{under_attack[kind]:.1%}"))

    plain = models["plain"]
    attacked = attack(plain, x, y)
    fooled = (plain(attacked).argmax(1) != y).nonzero().flatten()[:6]
    if len(fooled) < 6:
        fooled = weft.arange(6)
    shown = x[fooled].requires_grad_()
    F.cross_entropy(plain(shown), y[fooled], reduction="sum").backward()
    picture, axes = figure(3, 6, width=8, height=4.4)
    for k, i in enumerate(fooled.tolist()):
        guess = plain(attacked[i : i + 1]).argmax().item()
        rows = (
            (x[i, 0], f"{y[i].item()}", "gray_r"),
            (attacked[i, 0], f"taken for {guess}", "gray_r"),
            (shown.grad[k, 0].abs(), "looked at", "inferno"),
        )
        for row, (tile, text, colours) in enumerate(rows):
            axes[row, k].imshow(tile.numpy(), cmap=colours)
            axes[row, k].set_title(text, size=8)
            axes[row, k].axis("off")
    gain = 100 * (under_attack["robust"] - under_attack["plain"])
    conclude(
        "points of accuracy that robust training saves",
        gain,
        at_least=40,
        picture=picture,
        table=table,
    )


if __name__ == "__main__":
    main()
