"""Mistakes that a checker must find: one on each line that ends in ``# wrong``, and no others."""

from __future__ import annotations

import weft
import weft.nn as nn
import weft.nn.functional as F

x = weft.randn(2, 3)
layer = nn.Linear(3, 4)
optimizer = weft.optim.SGD(layer.parameters(), lr=0.1)


class Twice(nn.Module):
    """A layer with an argument."""

    def forward(self, x: weft.Tensor, times: int = 2) -> weft.Tensor:
        return x * times


x.sotfmax(0)  # wrong
weft.sotfmax(x, 0)  # wrong
F.rleu(x)  # wrong
x.softmax("last")  # wrong
weft.zeros(2, 3, dtyp=weft.float32)  # wrong
weft.zeros(2, 3, dtype="float32")  # wrong
nn.Linear(3, 4, biass=False)  # wrong
Twice()(x, "three")  # wrong
Twice()(x, time=3)  # wrong
weft.cat(x, 0)  # wrong
words: str = x.sum()  # wrong
weft.fft.ftt(x)  # wrong
weft.cuda.is_avaliable()  # wrong
bench: bool = weft.backends.cudnn.bench  # wrong
"""What is right must pass."""
y: weft.Tensor = Twice()(x, times=3).softmax(0)
values, indices = y.max(dim=1)
size: int = y.size(0)
shape: weft.Size = y.size()
