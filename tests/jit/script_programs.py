"""Functions in the language of scripts, each with arguments to call it with."""

# ruff: noqa: UP006, UP007, UP035, UP045

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Tuple, Union

import weft
import weft as torch
import weft.nn.functional as F
from weft import Tensor

SCALE = 3


def plain(x, y):
    return x * 2 - y / 3 + x @ y.t()


def defaults(x, n: int = 3, scale: float = 0.5, *, flag: bool = True):
    return x * n * scale if flag else x


def branches(x, n: int):
    if n > 2:
        y = x + 1
    elif n == 2:
        y = x * x
    else:
        y = -x
    return y


def on_data(x):
    if x.sum() > 0:
        return x.relu()
    return x.exp()


def loops(x, n: int):
    total = torch.zeros_like(x)
    for i in range(n):
        if i == 1:
            continue
        if i > 4:
            break
        total += x * i
    return total


def whiles(x):
    count = 0
    while x.abs().sum() < 50 and count < 20:
        x = x * 1.5
        count += 1
    return x, count


def nested(x, n: int):
    out = []
    for i in range(n):
        for j in range(i):
            if j == 2:
                break
            out.append(x[0] * (i + j))
    return torch.stack(out).sum(0)


def early(x, n: int) -> Tensor:
    for i in range(n):
        if i == 3:
            return x * i
    return x


def forever(n: int) -> int:
    k = 0
    while True:
        k += 2
        if k > n:
            break
    return k


def containers(x):
    items: List[Tensor] = [x, x * 2]
    items.append(x * 3)
    items[0] = x - 1
    d: Dict[str, Tensor] = {"a": items[0], "b": items[-1]}
    d["c"] = d["a"] + d["b"]
    del d["a"]
    first, (second, third) = d["b"], (items[1], d["c"])
    return first + second, third, sorted(d.keys()), len(items)


def comprehensions(n: int):
    squares = [i * i for i in range(n) if i % 2 == 0]
    table = {str(i): i + 1 for i in squares}
    pairs = [(i, j) for i in range(2) for j in range(i, 3)]
    return squares, table, pairs


def iteration(x):
    rows = torch.zeros(x.shape[1])
    for row in x:
        rows = rows + row
    for i, (a, b) in enumerate(zip([1, 2], ["p", "q"])):
        rows = rows + i * a + len(b)
    for v in reversed([1, 2, 3]):
        rows = rows * v
    return rows


def text(n: int, x: float, s: str):
    t = f"{n:04d}|{x:.2f}|{s!r}|{{}}"
    return t + f" {n} {s.upper()}" + "-".join(["a", "b"]), s[::-1], s in t


def logic(a: int, b: int):
    return a and b, a or b, not a, 0 < a < b <= 9, a if b else 7, a is not None, 3 in [a, b]


def numbers(a: int, b: float):
    return (
        a // 2, a % 3, a**2, -a, ~a, a << 1, a >> 1, a & 1, a | 4, a ^ 5, b // 0.3, b % 0.3,
        divmod(a, 3), round(b, 1), abs(-a), min(a, 2), max(a, b), sum([a, a]), int(b), float(a),
        bool(a), str(a), math.sqrt(a), math.floor(b), math.pi, math.gcd(a, 6), pow(a, 2),
    )  # fmt: skip


def indexing(x):
    y = x.clone()
    y[0] = 5
    y[:, 1:] *= 2
    y[..., -1] = y[..., 0]
    return y[0], y[:, 1], y[None], x[x > 0], y[[0, 1]], x.shape[0], x.size(-1), y[::2]


def optional(x, bias: Optional[Tensor] = None):
    if bias is not None:
        x = x + bias
    return x


def union(x: Union[int, str]):
    if isinstance(x, int):
        return x + 1
    return len(x)


def unpacked(x):
    values, places = x.max(1)
    top = torch.topk(x, 2)
    return values, places, top.values, top.indices


def helper(x, n: int = 2):
    return x * n


def calls(x):
    return helper(x) + helper(x, n=5) + helper(n=1, x=x)


def factorial(n: int) -> int:
    return 1 if n <= 1 else n * factorial(n - 1)


def even(n: int) -> bool:
    return True if n == 0 else odd(n - 1)


def odd(n: int) -> bool:
    return False if n == 0 else even(n - 1)


def layers(x):
    y = F.relu(torch.tanh(x)) + F.softmax(x, dim=-1)
    return (
        F.layer_norm(y, [x.shape[-1]]) + torch.linalg.norm(x) + torch.ones(3, dtype=torch.float32)
    )


def outside(x):
    return x * SCALE + math.e


def commented(x, n):
    # type: (Tensor, int) -> Tensor
    k = n  # type: int
    return x * k


def modes(x):
    with torch.no_grad():
        y = x * 2
    with torch.set_grad_enabled(True):
        z = x * 3
    return y + z


def tuples(p: Tuple[int, Tensor]) -> Tuple[Tensor, int]:
    n, x = p
    return x * n, n


def checks(x, n: int):
    assert n > 0, f"n is {n}"
    if n > 5:
        raise ValueError("too large")
    return x * n


def annotated(n: int):
    xs = torch.jit.annotate(List[int], [])
    for i in range(n):
        xs.append(i)
    return xs


def where_am_i(x):
    if torch.jit.is_scripting():
        y = x
    else:
        y = eval("x")
    return y


def forked(x):
    a = torch.jit.fork(helper, x, n=3)
    b = torch.jit.fork(torch.exp, x)
    return torch.jit.wait(a) + b.wait()


def _x() -> Any:
    return weft.tensor([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0], [0.1, 2.0, 4.0]])


CASES: list[tuple[Any, list[tuple[Any, ...]]]] = [
    (plain, [(_x(), _x() + 1)]),
    (defaults, [(_x(),), (_x(), 4, 2.0)]),
    (branches, [(_x(), 1), (_x(), 2), (_x(), 3)]),
    (on_data, [(_x(),), (-_x() - 3,)]),
    (loops, [(_x(), 0), (_x(), 3), (_x(), 9)]),
    (whiles, [(_x(),)]),
    (nested, [(_x(), 5)]),
    (early, [(_x(), 2), (_x(), 5)]),
    (forever, [(7,)]),
    (containers, [(_x(),)]),
    (comprehensions, [(6,)]),
    (iteration, [(_x(),)]),
    (text, [(7, 2.5, "abc")]),
    (logic, [(0, 3), (2, 5), (4, 0)]),
    (numbers, [(5, 2.75)]),
    (indexing, [(_x(),)]),
    (optional, [(_x(),), (_x(), _x())]),
    (union, [(3,), ("four",)]),
    (unpacked, [(_x(),)]),
    (calls, [(_x(),)]),
    (factorial, [(6,)]),
    (even, [(5,), (8,)]),
    (layers, [(_x(),)]),
    (outside, [(_x(),)]),
    (commented, [(_x(), 3)]),
    (modes, [(_x(),)]),
    (tuples, [((2, _x()),)]),
    (checks, [(_x(), 2)]),
    (annotated, [(4,)]),
    (where_am_i, [(_x(),)]),
    (forked, [(_x(),)]),
]
