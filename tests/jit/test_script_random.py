"""Random programs of the language give what plain Python gives."""

from __future__ import annotations

import io
import linecache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import weft

_count = 0


@st.composite
def expressions(draw: Any, kind: str, depth: int = 2) -> str:
    """An expression of a kind: i(nt), f(loat), b(ool), t(ensor)."""

    def sub(k: str) -> str:
        return draw(expressions(k, depth - 1))

    leaves = {
        "i": ["n", "m", "2", "-3", "len(xs)"],
        "f": ["a", "0.5", "float(n)"],
        "b": ["n > m", "a < 1.0", "True", "len(xs) > 1"],
        "t": ["x", "y", "xs[-1]"],
    }[kind]
    if depth == 0:
        return draw(st.sampled_from(leaves))
    makers = {
        "i": [
            lambda: f"({sub('i')} {draw(st.sampled_from(['+', '-', '*', '&', '|']))} {sub('i')})",
            lambda: f"({sub('i')} % 7)",
            lambda: f"min({sub('i')}, {sub('i')})",
            lambda: f"abs({sub('i')})",
            lambda: f"sum([k * {sub('i')} for k in range(3) if {sub('b')}])",
            lambda: f"({sub('i')} if {sub('b')} else {sub('i')})",
            lambda: f"[{sub('i')}, {sub('i')}][{sub('i')} % 2]",
            lambda: f"{{'p': {sub('i')}}}['p']",
        ],
        "f": [
            lambda: f"({sub('f')} {draw(st.sampled_from(['+', '-', '*']))} {sub('f')})",
            lambda: f"math.sin({sub('f')})",
            lambda: f"max({sub('f')}, 0.25)",
            lambda: f"({sub('i')} / 3)",
        ],
        "b": [
            lambda: f"({sub('b')} and {sub('b')})",
            lambda: f"({sub('b')} or not {sub('b')})",
            lambda: f"({sub('i')} < {sub('i')} <= 5)",
            lambda: f"bool({sub('t')}.sum() > {sub('f')})",
        ],
        "t": [
            lambda: f"({sub('t')} {draw(st.sampled_from(['+', '-', '*']))} {sub('t')})",
            lambda: f"({sub('t')} * {sub('f')})",
            lambda: f"torch.tanh({sub('t')})",
            lambda: f"{sub('t')}.relu()",
            lambda: f"torch.where({sub('t')} > 0, {sub('t')}, {sub('t')})",
            lambda: f"torch.stack([{sub('t')}, {sub('t')}]).mean(0)",
            lambda: f"({sub('t')} if {sub('b')} else {sub('t')})",
        ],
    }[kind]
    return draw(st.sampled_from(makers))()


@st.composite
def blocks(draw: Any, depth: int, loop: bool) -> list[str]:
    """Statements, indented as the body of something."""

    def body(inside: bool) -> list[str]:
        return ["    " + line for line in draw(blocks(depth - 1, inside))]

    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = ["assign", "assign", "update", "append", "tuple"]
        kinds += ["if", "for", "while", "return"] if depth else []
        kinds += ["leave"] if loop else []
        kind = draw(st.sampled_from(kinds))
        if kind == "assign":
            name, k = draw(st.sampled_from([("n", "i"), ("a", "f"), ("x", "t"), ("y", "t")]))
            lines.append(f"{name} = {draw(expressions(k))}")
        elif kind == "update":
            name, k = draw(st.sampled_from([("m", "i"), ("a", "f")]))
            lines.append(f"{name} += {draw(expressions(k, 1))}")
        elif kind == "append":
            lines.append(f"xs.append({draw(expressions('t', 1))})")
        elif kind == "tuple":
            lines.append("x, y = y, x")
        elif kind == "return":
            lines += [f"if {draw(expressions('b'))}:", f"    return {draw(expressions('t', 1))}, n"]
        elif kind == "leave":
            word = draw(st.sampled_from(["break", "continue"]))
            lines += [f"if {draw(expressions('b', 1))}:", f"    {word}"]
        elif kind == "if":
            lines += [f"if {draw(expressions('b'))}:", *body(loop), "else:", *body(loop)]
        elif kind == "for":
            lines += [f"for i{depth} in range({draw(st.integers(0, 3))}):", *body(True)]
        else:
            lines += [f"w{depth} = 0", f"while w{depth} < 3:", f"    w{depth} += 1", *body(True)]
    return lines


def made(lines: list[str]) -> Any:
    """The function of these lines, with a source that can be found."""
    global _count
    _count += 1
    file = f"<random {_count}>"
    head = "def f(x, y, n: int, m: int, a: float):"
    text = "\n".join([head, *("    " + line for line in ["xs = [x]", *lines, "return x + y, n"])])
    linecache.cache[file] = (len(text), None, [line + "\n" for line in text.split("\n")], file)
    import math

    space: dict[str, Any] = {"torch": weft, "math": math}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def outcome(f: Any, args: list[Any]) -> Any:
    """Result and gradients as numbers, or the type of the error."""
    x, y = (weft.tensor(v, requires_grad=True) for v in args[:2])
    try:
        result, n = f(x, y, *args[2:])
    except (OverflowError, ZeroDivisionError) as e:
        return type(e)
    if result.requires_grad:
        result.sum().backward()
    return repr([result.tolist(), n, *(t.grad is not None and t.grad.tolist() for t in (x, y))])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(blocks(2, False), st.integers(-3, 6), st.integers(-3, 6), st.floats(-2, 2))
def test_random_programs(lines: list[str], n: int, m: int, a: float) -> None:
    """Scripted, and scripted, stored and loaded, programs equal Python."""
    f = made(lines)
    args = [[0.5, -1.0], [2.0, 0.25], n, m, a]
    wanted = outcome(f, args)
    scripted, file = weft.jit.script(f), io.BytesIO()
    assert outcome(scripted, args) == wanted, scripted.code
    scripted.save(file)
    assert outcome(weft.jit.load(io.BytesIO(file.getvalue())), args) == wanted, scripted.code
