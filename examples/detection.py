"""Finds and names handwritten digits in scenes: a small detector that looks once (YOLO).

Each scene holds several of the bundled digits, in all sizes, light or dark, on a ground of clouds, lines
and noise. For each cell of a grid the network says whether a digit has its centre there, how large it is,
and which one it is. Digits in the test were never seen in training.

Goal: the mean average precision over the ten digits at an IoU of 0.5 is at least 0.7.

    python -m weft examples detection
"""

import random

from common import SMOKE, arguments, conclude, figure, rounds, say

import weft
from weft.nn import functional as F
from weft.utils.data.digits import load_digits
from weft.vision import models
from weft.vision.ops import box_iou, nms

SIZE = 96
COLOURS = "orangered orange gold yellowgreen limegreen turquoise deepskyblue cornflowerblue orchid hotpink".split()
Target = dict[str, weft.Tensor]


def enlarged(image: weft.Tensor, height: int, width: int) -> weft.Tensor:
    size = (height, width)
    return F.interpolate(image[None, None], size=size, mode="bilinear", align_corners=False)[0, 0]


def background() -> weft.Tensor:
    """Clouds, a few lines, and noise: (SIZE, SIZE) around 0.5."""
    clouds = enlarged(weft.randn(6, 6), SIZE, SIZE)
    ground = 0.5 + 0.08 * clouds + 0.05 * weft.randn(SIZE, SIZE)
    for _ in range(random.randint(0, 3)):
        where, change = random.randrange(SIZE), random.uniform(-0.3, 0.3)
        if random.random() < 0.5:
            ground[where] += change
        else:
            ground[:, where] += change
    return ground


def meets(a: list[int], b: list[int], gap: int = 3) -> bool:
    """Whether two boxes overlap, or nearly do."""
    return a[0] - gap < b[2] and b[0] - gap < a[2] and a[1] - gap < b[3] and b[1] - gap < a[3]


def scene(digits: weft.Tensor, labels: weft.Tensor) -> tuple[weft.Tensor, Target]:
    """An image (1, SIZE, SIZE) of some digits, with their boxes and labels."""
    image, boxes, names = background(), [], []
    for _ in range(random.randint(3, 8)):
        k = random.randrange(len(digits))
        height = random.randint(18, 36)
        width = round(height * random.uniform(0.8, 1.2))
        ink = enlarged(digits[k], height, width)
        rows = (ink.amax(1) > 0.3).nonzero().flatten()
        columns = (ink.amax(0) > 0.3).nonzero().flatten()
        top, left = random.randint(0, SIZE - height), random.randint(0, SIZE - width)
        corners = (columns[0] + left, rows[0] + top, columns[-1] + left + 1, rows[-1] + top + 1)
        box = [int(edge) for edge in corners]
        if any(meets(box, other) for other in boxes):
            continue
        tone = random.choice([-1, 1]) * random.uniform(0.3, 0.5)
        image[top : top + height, left : left + width] += tone * ink
        boxes.append(box)
        names.append(labels[k])
    target = {"boxes": weft.tensor(boxes).float(), "labels": weft.stack(names)}
    return image.clamp(0, 1)[None], target


def scenes(
    count: int, digits: weft.Tensor, labels: weft.Tensor
) -> tuple[weft.Tensor, list[Target]]:
    images, targets = zip(*(scene(digits, labels) for _ in range(count)))
    return weft.stack(images), list(targets)


def average_precision(found: list[Target], targets: list[Target], label: int) -> float:
    """The area under precision over recall of one class, as in PASCAL VOC since 2010.

    Detections are taken from the surest on. One is right if it overlaps a box of its class with an IoU of
    0.5 or more that no surer one has taken. Precision counts as the best at this recall or a higher one.
    """
    guesses, wanted, taken = [], [], []
    for image, (have, want) in enumerate(zip(found, targets)):
        mine = have["labels"] == label
        pairs = zip(have["scores"][mine].tolist(), have["boxes"][mine])
        guesses += [(score, image, box) for score, box in pairs]
        wanted.append(want["boxes"][want["labels"] == label])
        taken.append([False] * len(wanted[-1]))
    right = []
    for _, image, box in sorted(guesses, key=lambda guess: -guess[0]):
        best, where = 0.0, 0
        if len(wanted[image]):
            overlap, index = box_iou(box[None], wanted[image])[0].max(0)
            best, where = overlap.item(), index.item()
        right.append(best >= 0.5 and not taken[image][where])
        if right[-1]:
            taken[image][where] = True
    total = sum(map(len, wanted))
    if not right or not total:
        return 0.0
    hits = weft.tensor(right).float().cumsum(0)
    precision = hits / weft.arange(1, len(right) + 1)
    best = precision.flip(0).cummax(0).values.flip(0)
    return (best[weft.tensor(right)].sum() / total).item()


def main() -> None:
    args = arguments(__doc__, steps=500, width=8)
    weft.manual_seed(0)
    random.seed(0)
    weft.set_num_threads(1)  # the scenes are too small for more
    digits, labels = (weft.from_numpy(array) for array in load_digits())
    order = weft.randperm(len(digits))
    learn, test = order[360:], order[:360]
    model = models.yolo(
        num_classes=10, in_channels=1, width=args.width, depth=3, anchors=[(10, 14), (16, 24)]
    )
    optimizer = weft.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    scheduler = weft.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=args.steps)
    losses = []
    for _ in (bar := rounds(args.steps, "step")):
        images, targets = scenes(16, digits[learn], labels[learn])
        loss = model.loss(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        say(bar, loss=losses[-1])

    model.eval()
    images, targets = scenes(20 if SMOKE else 200, digits[test], labels[test])
    found = []
    with weft.no_grad():
        for part in images.split(25):
            found += model.detect(model(part), threshold=0.02)
    scores = [average_precision(found, targets, label) for label in range(10)]
    count = [sum((t["labels"] == label).sum().item() for t in targets) for label in range(10)]
    table = [("digit", "in the test", "average precision")]
    table += [(f"{k}", f"{count[k]}", f"{scores[k]:.3f}") for k in range(10)]

    picture, axes = figure(2, 4, width=10, height=5.2)
    for k, spot in enumerate(axes.flat):
        spot.imshow(images[k, 0].numpy(), cmap="gray", vmin=0, vmax=1)
        spot.axis("off")
        sure = found[k]["scores"] > 0.3
        boxes, guesses, certain = (found[k][what][sure] for what in ("boxes", "labels", "scores"))
        for i in nms(boxes, certain, 0.5):  # one name for each place
            box, label = boxes[i].tolist(), guesses[i].item()
            left, top, right, bottom = (
                edge - 0.5 for edge in box
            )  # pixels are drawn around whole numbers
            colour = COLOURS[label]
            spot.plot(
                [left, right, right, left, left],
                [top, top, bottom, bottom, top],
                color=colour,
                lw=1.5,
            )
            note = {"fc": colour, "ec": "none", "pad": 1}
            spot.text(left, top, f"{label}", size=8, va="bottom", bbox=note)
    conclude("mean average precision", sum(scores) / 10, at_least=0.7, picture=picture, table=table)


if __name__ == "__main__":
    main()
