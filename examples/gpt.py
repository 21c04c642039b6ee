"""A small GPT learns to write like Python's documentation, letter by letter.

The text is Python's own reference, which every Python brings (some 450,000 letters). The network sees 64
letters and says the next one; then it writes a paragraph of its own.

Goal: at most 2.6 bits per letter on text that it has not seen (counting letters alone needs 4.5).

    python -m weft examples gpt
"""

import math
import re

from common import arguments, conclude, figure, rounds, say

import weft
from weft import nn
from weft.nn import functional as F

LENGTH = 64


def reference() -> str:
    """The text, without tables and rulers."""
    from pydoc_data.topics import topics

    text = "\n".join(topics[name] for name in sorted(topics))
    text = re.sub(r"[*=\-~^+]{4,}", "", text)
    return re.sub(r"[^\n -~]", "", re.sub(r"\n\s*\n+", "\n\n", text))


class Block(nn.Module):
    """Attention to what came before, then a small network for each place."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.ask, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.think = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        batch, length, width = x.shape
        parts = self.ask(self.before(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.join(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.think(self.after(x))


class GPT(nn.Module):
    """Letters and places as vectors, blocks, and a score for each letter."""

    def __init__(self, letters: int, width: int, blocks: int, heads: int) -> None:
        super().__init__()
        self.letter, self.place = nn.Embedding(letters, width), nn.Embedding(LENGTH, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.norm, self.score = nn.LayerNorm(width), nn.Linear(width, letters)
        for table in (self.letter, self.place):
            nn.init.normal_(table.weight, std=0.05)

    def forward(self, index: weft.Tensor) -> weft.Tensor:
        x = self.letter(index) + self.place(weft.arange(index.shape[1]))
        return self.score(self.norm(self.blocks(x)))

    def write(self, index: weft.Tensor, count: int, warmth: float = 0.7) -> weft.Tensor:
        """Go on with a text (1, n), drawing one letter after the other."""
        with weft.no_grad():
            for _ in range(count):
                chances = (self(index[:, -LENGTH:])[:, -1] / warmth).softmax(1)
                index = weft.cat([index, chances.multinomial(1)], dim=1)
        return index


def main() -> None:
    args = arguments(__doc__, steps=900, width=96, blocks=3, heads=4, batch=32)
    weft.manual_seed(0)
    text = reference()
    letters = sorted(set(text))
    number = {letter: k for k, letter in enumerate(letters)}
    data = weft.tensor([number[letter] for letter in text])
    cut = int(0.92 * len(data))
    window = weft.arange(LENGTH + 1)
    model = GPT(len(letters), args.width, args.blocks, args.heads)
    optimizer = weft.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.99), weight_decay=0.1)
    scheduler = weft.optim.lr_scheduler.OneCycleLR(
        optimizer, 3e-3, total_steps=args.steps, pct_start=0.1
    )

    def loss_at(first: int, last: int, count: int) -> weft.Tensor:
        rows = data[weft.randint(first, last - LENGTH, (count, 1)) + window]
        scores = model(rows[:, :-1])
        return F.cross_entropy(scores.flatten(0, 1), rows[:, 1:].flatten())

    history = []
    for _ in (bar := rounds(args.steps, "step")):
        loss = loss_at(0, cut, args.batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        history.append(loss.item() / math.log(2))
        say(bar, bits=history[-1])

    model.eval()
    with weft.no_grad():
        bits = sum(loss_at(cut, len(data), 64).item() for _ in range(10)) / 10 / math.log(2)
    start = "The statement "
    written = model.write(
        weft.tensor([[number[letter] for letter in start]]), 300 if len(history) > 2 else 5
    )
    print("".join(letters[k] for k in written[0].tolist()))
    picture, axes = figure()
    axes.plot(history)
    axes.set(xlabel="step", ylabel="bits per letter")
    conclude("bits per letter on unseen text", bits, at_most=2.6, picture=picture)


if __name__ == "__main__":
    main()
