"""Distinguishes malignant from benign tumours with a multi-layer perceptron.

The data are 569 real diagnoses of 30 numbers each, which scikit-learn brings (Wisconsin, UCI).

Goal: at least 95 % of the 143 patients that it has not seen are classified correctly.

    python -m weft examples mlp
"""

from common import arguments, conclude, figure, rounds, say

import weft
from weft import nn
from weft.nn import functional as F


def patients() -> tuple[weft.Tensor, ...]:
    """Standardised numbers and diagnoses, to learn from and to test with."""
    from sklearn.datasets import load_breast_cancer

    numbers, labels = load_breast_cancer(return_X_y=True)
    x, y = weft.from_numpy(numbers).float(), weft.from_numpy(labels)
    order = weft.randperm(len(x), generator=weft.Generator().manual_seed(0))
    learn, test = order[143:], order[:143]
    x = (x - x[learn].mean(0)) / x[learn].std(0)
    return x[learn], y[learn], x[test], y[test]


def main() -> None:
    args = arguments(__doc__, epochs=40, width=32)
    weft.manual_seed(0)
    weft.set_num_threads(1)  # the network is too small for more
    x, y, test_x, test_y = patients()
    model = nn.Sequential(
        nn.Linear(30, args.width),
        nn.GELU(),
        nn.Dropout(0.2),
        nn.Linear(args.width, args.width),
        nn.GELU(),
        nn.Linear(args.width, 2),
    )
    optimizer = weft.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    history: list[tuple[float, float]] = []
    for _ in (bar := rounds(args.epochs)):
        model.train()
        for batch in weft.randperm(len(x)).split(32):
            loss = F.cross_entropy(model(x[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with weft.no_grad():
            right = (model(test_x).argmax(1) == test_y).float().mean().item()
        history.append((loss.item(), right))
        say(bar, loss=loss.item(), accuracy=right)

    guess = model(test_x).argmax(1)
    counts = [[int(((test_y == i) & (guess == j)).sum()) for j in (0, 1)] for i in (0, 1)]
    picture, (left, middle) = figure(1, 2)
    left.plot([loss for loss, _ in history])
    left.set(xlabel="epoch", ylabel="loss of the last batch", yscale="log")
    middle.imshow(counts, cmap="Blues")
    for i in (0, 1):
        for j in (0, 1):
            middle.text(j, i, str(counts[i][j]), ha="center", va="center", size=18)
    names = ["malignant", "benign"]
    middle.set_xticks([0, 1], [f"predicted {name}" for name in names])
    middle.set_yticks([0, 1], names)
    table = [("", *names), *((f"is {name}", *map(str, row)) for name, row in zip(names, counts))]
    conclude(
        "accuracy on unseen patients", history[-1][1], at_least=0.95, picture=picture, table=table
    )


if __name__ == "__main__":
    main()
