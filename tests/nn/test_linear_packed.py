"""Weights that linear layers keep packed where nothing learns: the same bits, and never an old weight."""

from __future__ import annotations

import random
import threading

import weft
from weft.nn import functional as F


def test_random_changes() -> None:
    """Between calls, weights change in all ways that there are; results are those of gradient mode, bit for bit."""
    rng = random.Random(5)
    weft.manual_seed(5)
    for _ in range(30):
        rows, k, n = rng.randint(1, 70), rng.randint(1, 200), rng.randint(1, 700)
        dtype = rng.choice((weft.float32, weft.float32, weft.float64))
        x, w, b = (weft.randn(*s, dtype=dtype) for s in ((rows, k), (n, k), (n,)))
        layer = weft.nn.Linear(k, n, dtype=dtype)
        for _ in range(6):
            change = rng.randrange(8)
            with weft.no_grad():
                if change == 0:
                    w.mul_(0.5)
                elif change == 1:
                    w[rng.randrange(n)] = 1.0
                elif change == 2:
                    w = w.view(-1).roll(1).view(n, k)
                elif change == 3:
                    w.data = weft.randn(n, k, dtype=dtype)
                elif change == 4:
                    layer.weight.copy_(w)
                elif change == 5:
                    w.view(-1)[0] += 1
                elif change == 6:
                    w.numpy()[0] = 3.0
                got = F.linear(x, w, b), layer(x), F.linear(x, w.view(n, k)), F.relu(F.linear(x, w))
            want = F.linear(x, w, b), layer(x), F.linear(x, w), F.relu(F.linear(x, w))
            assert all(weft.equal(g, e) for g, e in zip(got, want))


def test_one_memory_for_linear_and_convolution() -> None:
    """The kernel of a 1x1 convolution, seen as a weight: each packs it in its own way."""
    kernel = weft.randn(128, 200, 1, 1)
    image, rows = weft.randn(2, 200, 6, 6), weft.randn(20, 200)
    with weft.no_grad():
        for _ in range(3):
            a, b = F.conv2d(image, kernel), F.linear(rows, kernel.view(128, 200))
            c = F.linear(weft.randn(20, 100), kernel.view(256, 100))
    assert c.shape == (20, 256)
    assert weft.allclose(a, weft.einsum("oi,nihw->nohw", kernel[:, :, 0, 0], image), atol=1e-4)
    assert weft.allclose(b, rows @ kernel.view(128, 200).T, atol=1e-4)


def test_threads() -> None:
    """Threads use a weight while it changes: what is kept in the end belongs to its last state."""
    w, x = weft.ones(300, 100), weft.ones(16, 100)

    def use() -> None:
        with weft.no_grad():
            for _ in range(200):
                F.linear(x, w)

    users = [threading.Thread(target=use) for _ in range(3)]
    for t in users:
        t.start()
    with weft.no_grad():
        for i in range(50):
            w.fill_(float(i + 1))
    for t in users:
        t.join()
    with weft.no_grad():
        assert weft.equal(F.linear(x, w), weft.full((16, 300), 5000.0))
