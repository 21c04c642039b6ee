"""A program for the browser tests: trains what its argument names, until it is ended."""

from __future__ import annotations

import sys
import time
from typing import Any

import weft
from weft import nn

F = nn.functional
PAYLOADS = [
    "<script>document.title='owned'</script>", "<img src=x onerror=document.title='owned'>",
    "'><svg onload=document.title='owned'>", "</script><script>document.title='owned'</script>",
    "javascript:document.title='owned'", "<!--<script>", "${document.title='owned'}", "<b>bold</b>",
    "<iframe srcdoc='<script>parent.document.title=1</script>'></iframe>", "\u2028<style>*{display:none}</style>",
]  # fmt: skip


class Block(nn.Module):
    """A residual block."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: Any) -> Any:
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    """A stem, two groups of blocks, a head."""

    def __init__(self, payloads: bool) -> None:
        super().__init__()
        self.stem = nn.Linear(16, 32)
        self.layer1 = nn.Sequential(Block(32), Block(32))
        self.layer2 = nn.Sequential(Block(32), Block(32))
        self.head = nn.Linear(32, 4)
        if payloads:
            for text in PAYLOADS:
                self.add_module(text.replace(".", "\u2024"), nn.Linear(32, 32))

    def forward(self, x: Any) -> Any:
        x = self.layer2(self.layer1(self.stem(x)))
        for name, m in self.named_children():
            if name not in ("stem", "layer1", "layer2", "head"):
                x = m(x)
        return self.head(x)


def main(kind: str) -> None:
    """Train until somebody ends it."""
    weft.manual_seed(0)
    if kind == "payloads":
        import linecache

        sys.argv[0] = PAYLOADS[1]
        linecache.clearcache()
    net = Net(kind == "payloads")
    x, y = weft.randn(8, 16), weft.randint(0, 4, (8,))
    optimizer = weft.optim.AdamW(net.parameters(), lr=1e-3)
    page = weft.view.watch(net, open_browser=False)
    scores = weft.compile(lambda t: F.softmax(t * 2 + t * 0, -1))
    step = 0
    while True:
        step += 1
        sample = x * float("nan") if kind == "nan" and step == 400 else x
        out = net(sample)
        loss = F.cross_entropy(out, y)
        if kind == "long":
            for _ in range(10_000):
                loss = loss + 0.0
        note = PAYLOADS[step % len(PAYLOADS)]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scores(out.detach())
        if kind == "nan" and step == 400:
            print("step 400 is over", file=sys.stderr, flush=True)
        time.sleep(0.002)
        del note
    page.close()


if __name__ == "__main__":
    main(sys.argv[1])
