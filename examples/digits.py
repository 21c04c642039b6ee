"""Trains a small convolutional network on the 1,797 handwritten digits that come with weft.

Goal: at least 97 % of the 360 digits that it has not seen are recognised.

    make run                          or
    python examples/digits.py --epochs 20

After every epoch all that the training needs is saved. So the program can be stopped at any time
(Ctrl-C) and started again: it goes on where it was, and the result is the same, bit for bit.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from common import BUILD, conclude

import weft
from weft import nn
from weft.nn import functional as F
from weft.utils.data import ShuffledBatches
from weft.utils.data.digits import load_digits

EPOCHS = 12
CHECKPOINT = BUILD / "digits.weft"
AFRESH = "--fresh begins anew (make run ARGS=--fresh)."


class Net(nn.Module):
    """Three convolutions, each with batch norm and ReLU, and a linear layer."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *self.block(1, width),
            *self.block(width, width),
            nn.MaxPool2d(2),  # 8x8 pixels to 4x4
            *self.block(width, 2 * width),
            nn.MaxPool2d(2),  # 4x4 to 2x2
        )
        self.classify = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(2 * width * 4, 10))

    @staticmethod
    def block(channels: int, width: int) -> list[nn.Module]:
        return [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]

    def forward(self, images: weft.Tensor) -> weft.Tensor:
        return self.classify(self.features(images))


def split_digits() -> list[tuple[weft.Tensor, weft.Tensor]]:
    """Images and labels to learn from (80 %), and others to test with."""
    images, labels = (weft.from_numpy(array) for array in load_digits())
    images = images.unsqueeze(1)  # one channel: grey
    order = weft.randperm(len(images), generator=weft.Generator().manual_seed(0))
    cut = int(0.8 * len(images))
    return [(images[part], labels[part]) for part in (order[:cut], order[cut:])]


def start(samples: int, epochs: int) -> weft.TrainingState:
    """All that a training needs, at its beginning."""
    weft.manual_seed(0)
    model = Net()
    optimizer = weft.optim.AdamW(model.parameters(), lr=3e-3)
    return weft.TrainingState(
        model=model,
        optimizer=optimizer,
        scheduler=weft.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs),
        batches=ShuffledBatches(samples, batch_size=32, seed=0),
        epochs=epochs,
    )


def progress(text: str, done: int, total: int, result: str = "") -> None:
    """Draw a bar: in place on a terminal, else one line when there is a result."""
    terminal = sys.stdout.isatty()
    if terminal or result:
        bar = "#" * (30 * done // total)
        start, end = ("\r" if terminal else ""), ("\n" if result else "")
        print(f"{start}{text} [{bar:<30}] {result}", end=end, flush=True)


def train(run: weft.TrainingState, images: weft.Tensor, labels: weft.Tensor, text: str) -> float:
    """Train for one epoch and return the mean loss."""
    run.model.train()
    total = 0.0
    for index in run.batches:
        loss = F.cross_entropy(run.model(images[index]), labels[index])
        run.optimizer.zero_grad()
        loss.backward()
        run.optimizer.step()
        total += loss.item() * len(index)
        progress(text, run.batches.next_batch, len(run.batches))
    run.scheduler.step()
    return total / len(images)


def accuracy(model: nn.Module, images: weft.Tensor, labels: weft.Tensor) -> float:
    """The part of the images that the model recognises."""
    model.eval()
    with weft.no_grad():
        return (model(images).argmax(dim=1) == labels).float().mean().item()


def main() -> int:
    parser = argparse.ArgumentParser(description="Trains a network on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--fresh", action="store_true", help="begin anew, without the checkpoint")
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT, help="where it is saved")
    args = parser.parse_args()
    where = os.path.relpath(args.checkpoint)

    weft.set_num_threads(1)  # the network is too small for more
    learn, test = split_digits()
    run = start(len(learn[0]), args.epochs)
    size = sum(p.numel() for p in run.model.parameters())
    print(f"{len(learn[0])} digits to learn from, {len(test[0])} to test with; {size} parameters")

    args.checkpoint.parent.mkdir(parents=True, exist_ok=True)
    saved = 0
    if not args.fresh and run.resume(args.checkpoint):
        saved = run.batches.epoch
        if run.epochs != args.epochs:
            print(f"{where} is from a training of {run.epochs} epochs, not {args.epochs}: {AFRESH}")
            return 2
        rest = "the training is complete" if saved == run.epochs else "going on from there"
        print(f"{where} has {saved} of {run.epochs} epochs: {rest}. {AFRESH}")
    begin = time.perf_counter()
    try:
        for epoch in range(saved, run.epochs):
            text = f"epoch {epoch + 1:>2}/{run.epochs}"
            loss = train(run, *learn, text)
            right = accuracy(run.model, *test)
            progress(text, 1, 1, f"loss {loss:.4f}, {right:.1%} of unseen digits right")
            run.save(args.checkpoint)
            saved = epoch + 1
    except KeyboardInterrupt:
        if saved:
            print(f"\nStopped: {saved} of {run.epochs} epochs are in {where}; make run goes on.")
        else:
            print("\nStopped in the first epoch: nothing is saved yet.")
        return 130
    print(f"{time.perf_counter() - begin:.1f} s; the network is in {where}")
    right = accuracy(run.model, *test)
    print(f"test accuracy {right:.1%} on {len(test[0])} unseen digits")
    if args.epochs >= EPOCHS:  # fewer promise nothing
        conclude("accuracy on unseen digits", right, at_least=0.97)
    return 0


if __name__ == "__main__":
    sys.exit(main())
