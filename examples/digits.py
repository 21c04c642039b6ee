"""Trains a small network on the 1,797 handwritten digits that come with weft.

    make run                          or
    python examples/digits.py --epochs 40 --hidden 64

Only tensors and the tape: the layers, the loss and the optimiser are written out below.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator
from itertools import pairwise

import weft
from weft.data.digits import load_digits


def make_parameters(sizes: list[int]) -> list[weft.Tensor]:
    """Weights and biases of a chain of linear layers, drawn so that tanh keeps the scale."""
    parameters = []
    for fan_in, fan_out in pairwise(sizes):
        w = weft.randn(fan_in, fan_out) * math.sqrt(2 / (fan_in + fan_out))
        b = weft.zeros(fan_out)
        parameters += [w.requires_grad_(), b.requires_grad_()]
    return parameters


def network(x: weft.Tensor, parameters: list[weft.Tensor]) -> weft.Tensor:
    """Scores of the ten digits: linear layers with tanh between them."""
    for w, b in zip(parameters[:-2:2], parameters[1:-2:2]):
        x = weft.tanh(x @ w + b)
    w, b = parameters[-2:]
    return x @ w + b


def nll(scores: weft.Tensor, labels: weft.Tensor) -> weft.Tensor:
    """The mean negative log-likelihood of the right digits."""
    log_p = weft.log_softmax(scores, dim=1)
    return -log_p.gather(1, labels.unsqueeze(1)).mean()


def accuracy(x: weft.Tensor, labels: weft.Tensor, parameters: list[weft.Tensor]) -> float:
    with weft.no_grad():
        guesses = network(x, parameters).argmax(dim=1)
        return (guesses == labels).float().mean().item()


def sgd(
    parameters: list[weft.Tensor], velocities: list[weft.Tensor], lr: float, momentum: float
) -> None:
    """One step of v = momentum * v + gradient, p = p - lr * v; then forgets the gradients."""
    with weft.no_grad():
        for p, v in zip(parameters, velocities):
            v.mul_(momentum).add_(p.grad)
            p.sub_(lr * v)
            p.grad = None


def batches(
    x: weft.Tensor, labels: weft.Tensor, size: int
) -> Iterator[tuple[weft.Tensor, weft.Tensor]]:
    order = weft.randperm(x.shape[0])
    for start in range(0, x.shape[0], size):
        index = order[start : start + size]
        yield x[index], labels[index]


def progress(done: int, total: int, text: str) -> None:
    """Draws a bar on stderr: in place on a terminal, else a line now and then."""
    terminal = sys.stderr.isatty()
    if not terminal and done % max(1, total // 5) and done != total:
        return
    bar = "#" * (30 * done // total)
    start, end = ("\r", "\n" if done == total else "") if terminal else ("", "\n")
    print(f"{start}[{bar:<30}] {done}/{total}  {text}", end=end, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a small network on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    weft.manual_seed(args.seed)
    images, digits = load_digits()
    x, labels = weft.from_numpy(images).reshape(-1, 64), weft.from_numpy(digits)
    order = weft.randperm(x.shape[0])
    cut = int(0.8 * x.shape[0])
    train, test = order[:cut], order[cut:]

    parameters = make_parameters([64, args.hidden, 10])
    velocities = [weft.zeros_like(p) for p in parameters]
    begin = time.perf_counter()
    for epoch in range(1, args.epochs + 1):
        total = 0.0
        for xs, ys in batches(x[train], labels[train], args.batch):
            loss = nll(network(xs, parameters), ys)
            loss.backward()
            sgd(parameters, velocities, args.lr, args.momentum)
            total += loss.item() * xs.shape[0]
        progress(epoch, args.epochs, f"loss {total / cut:.4f}")
    seconds = time.perf_counter() - begin

    reached = accuracy(x[test], labels[test], parameters)
    print(f"test accuracy {reached:.1%} on {test.shape[0]} unseen digits, {seconds:.2f} s")


if __name__ == "__main__":
    main()
