"""Names what is in small colour images: a residual network on files in CIFAR-10's format, augmented.

Without the real CIFAR-10 the program draws its own, once: ten kinds of shapes and textures in all colours,
sizes and turns, over gradients and clutter, with noise, stored in the published binary format. Worker
processes read, crop, mirror and recolour the images while the network learns. ``--root FOLDER`` uses the
unpacked files of the real one instead, and takes far longer.

Goal: at least 85 % of unseen images are named right.

    python -m weft examples cifar
"""

import math
import os
import random
import shutil
from pathlib import Path

import numpy as np
from common import DATA, SMOKE, arguments, conclude, figure
from PIL import Image, ImageDraw, ImageFilter

import weft
from weft import nn
from weft.optim.lr_scheduler import OneCycleLR
from weft.train import Trainer
from weft.utils.data import DataLoader
from weft.vision import transforms
from weft.vision.datasets import CIFAR10
from weft.vision.models.resnet import BasicBlock

KINDS = "circle square triangle star ring cross stripes checkers crescent arrow".split()
PER_FILE = 40 if SMOKE else 900  # images in each of the six files
DRAWN = DATA / f"cifar-{PER_FILE}"
BIG, ROOM = 96, 144  # images are drawn large and made small; before they are turned they need room
STAR = [
    ((1 - k % 2 * 0.58) * math.sin(math.pi * k / 5), (k % 2 * 0.58 - 1) * math.cos(math.pi * k / 5))
    for k in range(10)
]
CORNERS = {
    "square": [(-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)],
    "triangle": [(0, -1), (0.9, 0.7), (-0.9, 0.7)],
    "star": STAR,
    "cross": [
        (0.3, -1), (0.3, -0.3), (1, -0.3), (1, 0.3), (0.3, 0.3), (0.3, 1),
        (-0.3, 1), (-0.3, 0.3), (-1, 0.3), (-1, -0.3), (-0.3, -0.3), (-0.3, -1),
    ],
    "arrow": [(0, -1), (0.7, -0.2), (0.25, -0.2), (0.25, 1), (-0.25, 1), (-0.25, -0.2), (-0.7, -0.2)],
}  # fmt: skip


def mask(kind: str) -> Image.Image:
    """Where the shape is: white, turned and shifted at random."""
    canvas = Image.new("L", (ROOM, ROOM))
    draw, middle, size = ImageDraw.Draw(canvas), ROOM / 2, random.uniform(22, 42)

    def disc(x: float, y: float, radius: float, fill: int) -> None:
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)

    if kind in CORNERS:
        draw.polygon([(middle + size * x, middle + size * y) for x, y in CORNERS[kind]], fill=255)
    elif kind in ("stripes", "checkers"):
        step = random.randint(9, 16)
        for i in range(0, ROOM, 2 * step):
            draw.rectangle((i, 0, i + step - 1, ROOM), fill=255)
        if kind == "checkers":
            across = canvas.transpose(Image.Transpose.ROTATE_90)
            canvas = Image.composite(across.point(lambda v: 255 - v), across, canvas)
    else:
        disc(middle, middle, size, 255)
        if kind == "ring":
            disc(middle, middle, size * random.uniform(0.5, 0.7), 0)
        elif kind == "crescent":
            disc(middle + size * random.uniform(0.45, 0.65), middle, size * 0.9, 0)
    canvas = canvas.rotate(random.uniform(0, 360), Image.Resampling.BILINEAR)
    left, top = ((ROOM - BIG) // 2 + random.randint(-10, 10) for _ in range(2))
    return canvas.crop((left, top, left + BIG, top + BIG))


def colour() -> np.ndarray:
    return np.array([random.uniform(20, 235) for _ in range(3)])


def gradient(first: np.ndarray, second: np.ndarray) -> Image.Image:
    """From one colour to another, in some direction."""
    ramp = Image.linear_gradient("L").rotate(random.choice([0, 90, 180, 270])).resize((BIG, BIG))
    ends = [Image.new("RGB", (BIG, BIG), tuple(int(v) for v in end)) for end in (first, second)]
    return Image.composite(ends[0], ends[1], ramp)


def drawn(kind: str) -> np.ndarray:
    """One image of this kind: (32, 32, 3), uint8."""
    ground, front = colour(), colour()
    while np.abs(ground - front).sum() < 150:
        front = colour()
    image = gradient(ground, 0.7 * ground + 0.3 * colour())
    draw = ImageDraw.Draw(image)
    for _ in range(random.randint(0, 5)):  # clutter
        ends = [random.uniform(0, BIG) for _ in range(4)]
        tone = tuple(int(v) for v in 0.5 * ground + 0.5 * colour())
        draw.line(ends, fill=tone, width=random.randint(2, 5))
    image.paste(gradient(front, 0.7 * front + 0.3 * colour()), mask=mask(kind))
    image = image.filter(ImageFilter.GaussianBlur(random.uniform(0, 2)))
    small = np.asarray(image.resize((32, 32), Image.Resampling.BOX), np.float32)
    noisy = small + np.random.normal(0, random.uniform(2, 22), small.shape)
    return noisy.clip(0, 255).astype(np.uint8)


def draw_files(root: Path) -> None:
    """Write files as CIFAR-10's: records of a byte for the label and 3 planes of 32 x 32 bytes."""
    print(f"drawing {6 * PER_FILE} images into {os.path.relpath(root)}", flush=True)
    random.seed(1)
    np.random.seed(1)
    part = root.with_name(f"{root.name}.part-{os.getpid()}")
    folder = part / CIFAR10.binary_folder
    folder.mkdir(parents=True)
    (folder / "batches.meta.txt").write_text("\n".join(KINDS) + "\n")
    for name, _ in (*CIFAR10.train_list, *CIFAR10.test_list):
        with open(folder / f"{name}.bin", "wb") as file:
            for k in range(PER_FILE):
                label = k % len(KINDS)
                file.write(bytes([label]) + drawn(KINDS[label]).transpose(2, 0, 1).tobytes())
    if root.exists():  # somebody was faster
        shutil.rmtree(part)
    else:
        part.rename(root)


def network(width: int, classes: int) -> nn.Sequential:
    """Three stages of residual blocks, each with half the size and twice the channels."""

    def norm_relu(channels: int) -> list[nn.Module]:
        return [nn.BatchNorm2d(channels), nn.ReLU()]

    layers = [nn.Conv2d(3, width, 3, padding=1, bias=False), *norm_relu(width)]
    for stage in range(3):
        wide = width << stage
        layers.append(BasicBlock(wide, wide))
        if stage < 2:
            smaller = nn.Conv2d(wide, 2 * wide, 3, stride=2, padding=1, bias=False)
            layers += [smaller, *norm_relu(2 * wide)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, classes)]
    return nn.Sequential(*layers)


def main() -> None:
    args = arguments(__doc__, epochs=8, width=16, workers=2, root="")
    if not args.root and not DRAWN.exists():
        draw_files(DRAWN)
    root = Path(args.root) if args.root else DRAWN
    weft.set_num_threads(1)  # the other core is for the workers
    look = [transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.25] * 3)]
    change = [
        transforms.RandomCrop(32, padding=3, padding_mode="reflect"),
        transforms.RandomHorizontalFlip(),
        transforms.ColorJitter(brightness=0.2, contrast=0.2, saturation=0.2),
    ]
    learn = CIFAR10(root, train=True, transform=transforms.Compose(change + look))
    test = CIFAR10(root, train=False, transform=transforms.Compose(look))
    options = {"num_workers": args.workers, "persistent_workers": args.workers > 0}
    batches = DataLoader(learn, batch_size=64, shuffle=True, drop_last=True, **options)
    tests = DataLoader(test, batch_size=100, **options)
    trainer = Trainer(
        lambda: network(args.width, len(learn.classes)),
        loss=nn.CrossEntropyLoss(label_smoothing=0.05),
        optimizer="adamw",
        metrics="accuracy",
        scheduler=lambda o: OneCycleLR(o, 1e-2, total_steps=args.epochs * len(batches)),
        max_epochs=args.epochs,
        max_steps=2 if SMOKE else None,
        seed=0,
    )
    history = trainer.fit(batches, tests)
    accuracy = history[-1]["val_accuracy"]

    guess = trainer.predict(tests).argmax(1)
    truth = weft.tensor(test.targets)
    table = [("kind", "right")]
    for label, name in enumerate(test.classes):
        mine = truth == label
        table.append((name, f"{(guess[mine] == label).float().mean().item():.1%}"))
    picture, axes = figure(4, 8, width=10, height=6.4)
    wrong = (guess != truth).nonzero().flatten().tolist()[:6]
    others = [k for k in range(len(truth)) if k not in wrong]
    for spot, k in zip(axes[:3].flat, wrong + others):
        name, true = test.classes[guess[k].item()], test.classes[test.targets[k]]
        spot.imshow(test.data[k])
        spot.set_title(
            name if name == true else f"{name} ({true})", size=8, color="k" if name == true else "r"
        )
        spot.axis("off")
    grid = axes[0, 0].get_gridspec()
    for spot in axes[3]:
        spot.remove()
    epochs = [row["epoch"] for row in history]
    for place, what, text in (
        (grid[3, :4], "loss", "loss"),
        (grid[3, 4:], "accuracy", "part that is right"),
    ):
        spot = picture.add_subplot(place)
        spot.plot(epochs, [row[what] for row in history], ".-", label="training")
        spot.plot(epochs, [row[f"val_{what}"] for row in history], ".-", label="unseen")
        spot.set_xlabel("epoch")
        spot.set_title(text, size=9)
        spot.legend(fontsize=8)
    conclude("unseen images named right", accuracy, at_least=0.85, picture=picture, table=table)


if __name__ == "__main__":
    main()
