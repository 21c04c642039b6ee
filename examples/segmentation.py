"""Colours every pixel of microscope images: a U-Net that finds cells, their nuclei, and bacteria.

The images are drawn by the program: cells with wobbly outlines that overlap, rods, uneven light, dust,
blur and noise. The network halves the image three times to see what is around a pixel, and goes back up
with bridges to what is near it.

Goal: the mean intersection over union of the four classes in unseen images is at least 0.85.

    python -m weft examples segmentation
"""

import math
import random

from common import SMOKE, arguments, conclude, figure, rounds, say

import weft
from weft.nn import functional as F
from weft.vision import models

SIZE = 64
CLASSES = ("background", "cell", "nucleus", "bacterium")
COLOURS = weft.tensor(
    [[0.93, 0.93, 0.90], [0.55, 0.75, 0.60], [0.25, 0.20, 0.50], [0.85, 0.35, 0.20]]
)
Y, X = weft.meshgrid(weft.arange(SIZE) + 0.5, weft.arange(SIZE) + 0.5, indexing="ij")


def blob(x: float, y: float, radius: float) -> weft.Tensor:
    """The pixels within a wobbly outline around a point."""
    dx, dy = X - x, Y - y
    angle, outline = weft.atan2(dy, dx), radius
    for waves in (2, 3, 5):
        swing, turn = random.uniform(0, 0.3 / waves), random.uniform(0, math.tau)
        outline = outline + radius * swing * (waves * angle + turn).cos()
    return dx.square() + dy.square() < outline * outline


def rod(x: float, y: float) -> weft.Tensor:
    """The pixels near a short line."""
    turn, half = random.uniform(0, math.pi), random.uniform(2.5, 5)
    along = (X - x) * math.cos(turn) + (Y - y) * math.sin(turn)
    across = (Y - y) * math.cos(turn) - (X - x) * math.sin(turn)
    return (along.abs() - half).clamp(min=0).square() + across.square() < 1.6**2


def smooth(channels: int, cells: int) -> weft.Tensor:
    """Random hills and valleys, (channels, SIZE, SIZE)."""
    rough = weft.randn(1, channels, cells, cells)
    return F.interpolate(rough, size=(SIZE, SIZE), mode="bicubic", align_corners=False)[0]


def scene() -> tuple[weft.Tensor, weft.Tensor]:
    """An image (3, SIZE, SIZE) and the class of each of its pixels."""
    truth = weft.zeros(SIZE, SIZE, dtype=weft.int64)
    tint = COLOURS + 0.06 * weft.randn(len(COLOURS), 3)
    image = tint[0][:, None, None].expand(3, SIZE, SIZE).clone()

    def paint(inside: weft.Tensor, kind: int, shade: float = 0.05) -> None:
        colour = tint[kind] + shade * weft.randn(3)
        image[:, inside] = (0.2 * image + 0.8 * colour[:, None, None])[:, inside]
        truth[inside] = kind

    for _ in range(random.randint(2, 6)):
        x, y, radius = random.uniform(0, SIZE), random.uniform(0, SIZE), random.uniform(7, 14)
        paint(blob(x, y, radius), 1)
        shift = radius / 4
        x, y = x + random.uniform(-shift, shift), y + random.uniform(-shift, shift)
        paint(blob(x, y, radius * random.uniform(0.35, 0.5)), 2)
    for _ in range(random.randint(0, 6)):
        paint(rod(random.uniform(0, SIZE), random.uniform(0, SIZE)), 3)
    for _ in range(random.randint(0, 6)):  # dust: dark dots that belong to nothing
        x, y = random.uniform(0, SIZE), random.uniform(0, SIZE)
        image[:, (X - x).square() + (Y - y).square() < random.uniform(0.5, 2)] *= 0.6
    image = F.avg_pool2d(F.pad(image[None], (1, 1, 1, 1), mode="reflect"), 3, 1)[0]
    image = image * (1 + 0.12 * smooth(1, 3)) + 0.04 * smooth(3, 16) + 0.04 * weft.randn_like(image)
    return image.clamp(0, 1), truth


def scenes(count: int) -> tuple[weft.Tensor, weft.Tensor]:
    images, truths = zip(*(scene() for _ in range(count)))
    return weft.stack(images), weft.stack(truths)


def overlaps(guess: weft.Tensor, truth: weft.Tensor) -> list[float]:
    """Of each class: the pixels found and true, by the pixels found or true."""
    scores = []
    for kind in range(len(CLASSES)):
        found, there = guess == kind, truth == kind
        scores.append((found & there).sum().item() / max((found | there).sum().item(), 1))
    return scores


def main() -> None:
    args = arguments(__doc__, epochs=10, images=480, width=8)
    weft.manual_seed(0)
    random.seed(0)
    weft.set_num_threads(1)  # the images are too small for more
    images, truths = scenes(16 if SMOKE else args.images)
    test_images, test_truths = scenes(8 if SMOKE else 100)
    model = models.unet(in_channels=3, out_channels=len(CLASSES), width=args.width, depth=3)
    optimizer = weft.optim.AdamW(model.parameters())
    steps = args.epochs * -(-len(images) // 8)
    scheduler = weft.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=steps)
    weight = weft.tensor([0.5, 1.0, 2.0, 2.0])  # so that small things count
    for _ in (bar := rounds(args.epochs)):
        for batch in weft.randperm(len(images)).split(8):
            x, y = images[batch], truths[batch]
            if random.random() < 0.5:
                x, y = x.flip(-1), y.flip(-1)
            if random.random() < 0.5:
                x, y = x.transpose(-1, -2), y.transpose(-1, -2)
            loss = F.cross_entropy(model(x), y, weight)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        say(bar, loss=loss.item())

    model.eval()
    with weft.no_grad():
        guess = weft.cat([model(part).argmax(1) for part in test_images.split(25)])
    scores = overlaps(guess, test_truths)
    table = [("class", "IoU"), *((name, f"{score:.3f}") for name, score in zip(CLASSES, scores))]
    picture, axes = figure(3, 6, width=9, height=4.9)
    for column in range(6):
        tiles = (
            test_images[column].permute(1, 2, 0),
            COLOURS[test_truths[column]],
            COLOURS[guess[column]],
        )
        for row, (tile, text) in enumerate(zip(tiles, ("image", "truth", "found"))):
            axes[row, column].imshow(tile.numpy())
            axes[row, column].set(xticks=[], yticks=[])
            if column == 0:
                axes[row, column].set_ylabel(text)
    conclude(
        "mean intersection over union",
        sum(scores) / len(scores),
        at_least=0.85,
        picture=picture,
        table=table,
    )


if __name__ == "__main__":
    main()
