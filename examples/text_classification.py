"""Tells with a Transformer which part of Python's standard library a docstring comes from.

The texts are the docstrings of the Python that runs this: real, and on every machine. They are split into
words; names of the parts themselves are hidden.

Goal: at least 75 % of unseen docstrings are classified correctly, of six parts.

    python -m weft examples text_classification
"""

import ast
import re
import sysconfig
from collections import Counter
from pathlib import Path

from common import SMOKE, arguments, conclude, figure, rounds, say

import weft
from weft import nn
from weft.nn import functional as F

PARTS = ["asyncio", "email", "importlib", "logging", "unittest", "xml"]
LENGTH, VOCABULARY = 48, 2000


def docstrings() -> list[tuple[str, int]]:
    """Texts of at least five words and the number of their part."""
    library, found = Path(sysconfig.get_path("stdlib")), {}
    for label, part in enumerate(PARTS):
        for path in sorted((library / part).rglob("*.py")):
            if {"test", "tests"} & set(path.parts):
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    text = ast.get_docstring(node) or ""
                    if len(text.split()) >= 5:
                        found[text] = label
    return list(found.items())


def words(text: str) -> list[str]:
    """Lower-case words and signs, without the names of the parts."""
    pieces = re.findall(r"[a-z]+|[^\sa-z]", text.lower())
    return [piece for piece in pieces if piece not in PARTS][:LENGTH]


class Classifier(nn.Module):
    """Words and places as vectors, two layers of attention, the mean over the words."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.word = nn.Embedding(VOCABULARY + 2, width, padding_idx=0)
        self.place = nn.Parameter(0.02 * weft.randn(LENGTH, width))
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, 0.3, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.drop, self.say = nn.Dropout(0.3), nn.Linear(width, len(PARTS))

    def forward(self, index: weft.Tensor) -> weft.Tensor:
        empty = index == 0
        x = self.drop(self.word(index) + self.place)
        x = self.layers(x, src_key_padding_mask=empty)
        kept = (~empty).float().unsqueeze(2)
        return self.say((x * kept).sum(1) / kept.sum(1))


def main() -> None:
    args = arguments(__doc__, epochs=14, width=64, heads=4)
    weft.manual_seed(0)
    texts = docstrings()[:: 10 if SMOKE else 1]
    order = weft.randperm(len(texts)).tolist()
    cut = len(texts) // 5
    known = Counter(word for i in order[cut:] for word in words(texts[i][0]))
    number = {word: k + 2 for k, (word, _) in enumerate(known.most_common(VOCABULARY))}
    rows = [[number.get(word, 1) for word in words(text)] for text, _ in texts]
    x = weft.tensor([row + [0] * (LENGTH - len(row)) for row in rows])
    y = weft.tensor([label for _, label in texts])
    learn, test = weft.tensor(order[cut:]), weft.tensor(order[:cut])

    model = Classifier(args.width, args.heads)
    optimizer = weft.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    steps = args.epochs * (len(learn) // 32 + 1)
    scheduler = weft.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
    history: list[float] = []
    for _ in (bar := rounds(args.epochs)):
        model.train()
        for batch in learn[weft.randperm(len(learn))].split(32):
            loss = F.cross_entropy(model(x[batch]), y[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        model.eval()
        with weft.no_grad():
            guess = model(x[test]).argmax(1)
        history.append((guess == y[test]).float().mean().item())
        say(bar, loss=loss.item(), accuracy=history[-1])

    counts = weft.zeros(len(PARTS), len(PARTS))
    counts.index_put_((y[test], guess), weft.ones(len(test)), accumulate=True)
    picture, (left, right) = figure(1, 2, height=3.6)
    left.plot(history)
    left.set(xlabel="epoch", ylabel="accuracy on unseen docstrings")
    right.imshow((counts / counts.sum(1, keepdim=True)).numpy(), cmap="Blues")
    right.set_xticks(range(len(PARTS)), PARTS, rotation=60, size=8)
    right.set_yticks(range(len(PARTS)), PARTS, size=8)
    right.set_title("true part (down), predicted part (across)", size=9)
    shares = counts.diagonal() / counts.sum(1)
    table = [("part", "texts", "right")]
    table += [
        (p, f"{int(n)}", f"{s:.0%}")
        for p, n, s in zip(PARTS, counts.sum(1).tolist(), shares.tolist())
    ]
    conclude(
        "accuracy on unseen docstrings", history[-1], at_least=0.75, picture=picture, table=table
    )


if __name__ == "__main__":
    main()
