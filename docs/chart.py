"""Draws `docs/pictures/speed.svg` from the figures in `bench/results/`; `docs/generate.py` calls it."""

from __future__ import annotations

import math
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/pictures/speed.svg"
SOURCES = {"eager": "bench/results/train.md", "compiled": "bench/results/compiled.md"}
COLOURS = {"eager": "#7fb0dd", "compiled": "#1f6fb2"}
# The networks of bench/models.py that both tables have, by the names that the picture gives them.
NAMES = {
    "linear_regression": "linear regression",
    "mlp": "MLP",
    "rnn": "RNN",
    "dqn": "DQN",
    "lenet": "LeNet",
    "wide_mlp": "wide MLP",
    "resnet18": "ResNet-18",
    "lstm_tagger": "LSTM tagger",
    "gru_seq2seq": "GRU with attention",
    "transformer": "Transformer",
    "gpt": "GPT",
}
LEFT, TOP, ROW, BAR, WIDTH, MOST = 150, 54, 36, 13, 520, 100


def ratios(path: str) -> dict[str, float]:
    """How many times faster than PyTorch each network trains on two threads: the first figure of each."""
    found: dict[str, float] = {}
    for line in (ROOT / path).read_text("utf-8").splitlines():
        row = re.match(r"(?:train|compiled)/(?:small|large)/(\w+) @2 .*? torch .*? x([\d.]+)", line)
        if row:
            found.setdefault(row.group(1), float(row.group(2)))
    return found


def along(ratio: float) -> float:
    """The place of a ratio on the axis, which is logarithmic."""
    return WIDTH * math.log(max(ratio, 1.0)) / math.log(MOST)


def speed() -> str:
    """The picture as SVG."""
    tables = {kind: ratios(path) for kind, path in SOURCES.items()}
    height = TOP + ROW * len(NAMES) + 16
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 60} {height}" role="img" '
        'font-family="Helvetica, Arial, sans-serif" font-size="14" fill="#1f2933" '
        'aria-label="Training steps: how many times faster than PyTorch">',
        f'<rect width="{LEFT + WIDTH + 60}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-weight="bold">A training step, times faster than PyTorch</text>',
    ]
    for mark in (1, 2, 5, 10, 20, 50, 100):
        x = LEFT + along(mark)
        out.append(
            f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - 12}" stroke="#d5dbe1"/>'
            f'<text x="{x:.1f}" y="{TOP - 14}" font-size="12" fill="#52606d" text-anchor="middle">{mark}</text>'
        )
    for i, (name, shown) in enumerate(NAMES.items()):
        y = TOP + ROW * i
        out.append(f'<text x="{LEFT - 10}" y="{y + 18}" text-anchor="end">{shown}</text>')
        for k, (kind, table) in enumerate(tables.items()):
            w, at = along(table[name]), y + k * (BAR + 1) + 1
            out.append(
                f'<rect x="{LEFT}" y="{at}" width="{w:.1f}" height="{BAR}" fill="{COLOURS[kind]}"/>'
                f'<text x="{LEFT + w + 5:.1f}" y="{at + 11}" font-size="12">{table[name]:.3g}</text>'
            )
    for k, (kind, colour) in enumerate(COLOURS.items()):
        x = LEFT + 340 + 90 * k
        out.append(
            f'<rect x="{x}" y="9" width="13" height="13" fill="{colour}"/><text x="{x + 19}" y="20">{kind}</text>'
        )
    return "\n".join([*out, "</svg>"]) + "\n"
