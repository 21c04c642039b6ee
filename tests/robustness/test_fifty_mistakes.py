"""Each classic mistake names the op or layer, the rule, the values and the user's line.

``python tests/robustness/test_fifty_mistakes.py`` writes ``docs/errors.md``, with the messages as they are now.
"""

from __future__ import annotations

import random
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import weft
from weft import _C

sys.path.insert(0, str(Path(__file__).parent))
from mistakes import MISTAKES, Mistake

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
HEAD = """\
# What mistakes say

Each message says which op or layer refuses, the rule, the values that break it, and the line of your
program. Below are the classic mistakes, what weft says, and what PyTorch 2.13 says. The programs begin with

```
import weft as torch
from torch import nn
```

and are called `train.py`. This page is made of `tests/robustness/mistakes.py` by
`tests/robustness/test_fifty_mistakes.py`, which fails when a message changes and the page does not.

Neither library says anything about these: `zero_grad()` forgotten (the gradients of all steps add up),
`eval()` forgotten before a test, a softmax before `CrossEntropyLoss`, a loss added to a list without `.item()`
or `.detach()` (it keeps its graph).
"""


def run(mistake: Mistake) -> tuple[str, list[int]]:
    """Return kind and text of what the program raises or warns of, and the lines of the program that it names."""
    code = compile(mistake.code, "train.py", "exec")
    weft.manual_seed(0)
    scope: dict[str, Any] = {"torch": weft, "nn": weft.nn, "__name__": "train"}
    lines: list[int] = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            exec(code, scope)
        except Exception as e:
            text = f"{type(e).__name__}: {e}"
        else:
            assert len(seen) == 1, [str(w.message) for w in seen]
            text = f"{seen[0].category.__name__}: {seen[0].message}"
            lines += [seen[0].lineno] if seen[0].filename == "train.py" else []
    lines += [int(n) for n in re.findall(r"\n  at train\.py:(\d+)", text)]
    return text, lines


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.title)
def test_the_message_names_all_it_takes(mistake: Mistake) -> None:
    text, lines = run(mistake)
    for part in mistake.needs:
        assert part in text
    assert (mistake.line or mistake.code.count("\n") + 1) in lines, text
    assert text.partition(":")[0] == mistake.torch.partition(":")[0] or "cuda" in mistake.code


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.title)
def test_the_message_shows_no_part_of_an_op(mistake: Mistake) -> None:
    hidden = {row["base"] for row in _C._ops() if row["hidden"]}
    shown = {row["base"] for row in _C._ops() if not row["hidden"]} | set(dir(weft.nn.functional))
    words = set(re.findall(r"[A-Za-z_0-9.]+", run(mistake)[0].partition("\n  at ")[0]))
    assert not {w for w in words & (hidden - shown) if "_" in w}


def test_there_are_fifty_and_each_is_another() -> None:
    assert len(MISTAKES) >= 50
    assert len({m.code for m in MISTAKES}) == len({m.title for m in MISTAKES}) == len(MISTAKES)


def test_what_nobody_says_is_so() -> None:
    w = weft.ones(1, requires_grad=True)
    for _ in range(2):
        (3 * w).sum().backward()
    assert w.grad.item() == 6  # zero_grad() forgotten


def page() -> str:
    """Return the page of all mistakes."""
    parts, group = [HEAD], ""
    for mistake in MISTAKES:
        if mistake.group != group:
            group = mistake.group
            parts.append(f"## {group}\n")
        parts.append(f"### {mistake.title}\n\n```\n{mistake.code}\n```\n")
        text = re.sub(r"[ \t]+$", "", run(mistake)[0].replace("\t", "  "), flags=re.MULTILINE)
        parts.append(f"weft:\n\n```text\n{text}\n```\n")
        parts.append(f"PyTorch:\n\n```text\n{mistake.torch}\n```\n")
    return "\n".join(parts)


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"run: python {Path(__file__).name}"


def last_step(subscript: list[Any], sizes: tuple[int, ...]) -> str:
    """What PyTorch calls the last view that a subscript takes."""
    name, d = "Alias", 0
    for part in subscript:
        if part is None:
            name = "Unsqueeze"
            continue
        if isinstance(part, int):
            name = "Select"
        elif len(subscript) == 1 or part.indices(sizes[d]) != (0, sizes[d], 1):
            name = "Slice"
        d += 1
    return f"{name}Backward0"


def test_views_have_the_name_of_their_last_step() -> None:
    draw = random.Random(7)
    for _ in range(300):
        sizes = tuple(draw.randint(2, 5) for _ in range(draw.randint(1, 4)))
        subscript: list[Any] = []
        for size in sizes[: draw.randint(1, len(sizes))]:
            start = draw.randint(0, size - 1)
            some = [start, slice(None), slice(start, None), slice(start, size, 2)]
            subscript += [None] * (draw.random() < 0.2) + [draw.choice(some)]
        x = weft.ones(sizes, requires_grad=True)
        y = x[tuple(subscript)]
        assert y.grad_fn.name() == last_step(subscript, sizes), (sizes, subscript)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
