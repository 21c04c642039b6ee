"""Einsum: sums of products, written with one letter per dimension."""

from __future__ import annotations

from functools import lru_cache

from weft._C import Tensor
from weft.ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@op(method=False)
def einsum(*args: Any) -> Tensor:
    """Return the sum of products that an equation describes.

    >>> weft.einsum("ij,jk->ik", weft.ones(2, 3), weft.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
    equation, values = _read(args)
    for name, at, rest in _plan(equation, *[t.shape for t in values]):
        other = (values[rest],) if type(rest) is int else rest
        values.append(getattr(values[at], name)(*other))
    return values[-1]


class _Planned:
    """An operand that has a shape only: what is done with it is noted, to be done with tensors."""

    def __init__(self, shape: Any, steps: list[Any], at: int) -> None:
        """Stand for the value with that number."""
        self.shape, self.ndim, self.steps, self.at = list(shape), len(shape), steps, at

    def _then(self, shape: Any, name: str, rest: Any) -> _Planned:
        operands, steps = self.steps[0], self.steps
        steps.append((name, self.at, rest))
        return _Planned(shape, steps, operands + len(steps) - 2)

    def diagonal(self, i: int, j: int) -> _Planned:
        shape = [n for k, n in enumerate(self.shape) if k not in (i, j)] + [self.shape[i]]
        return self._then(shape, "diagonal", (0, i, j))

    def sum(self, gone: list[int]) -> _Planned:
        return self._then([n for i, n in enumerate(self.shape) if i not in gone], "sum", (gone,))

    def permute(self, order: list[int]) -> _Planned:
        if order == [*range(self.ndim)]:
            return self
        return self._then([self.shape[i] for i in order], "permute", (order,))

    def reshape(self, shape: list[int]) -> _Planned:
        return self if shape == self.shape else self._then(shape, "reshape", (shape,))

    def expand(self, shape: list[int]) -> _Planned:
        return self if shape == self.shape else self._then(shape, "expand", (shape,))

    def times(self, other: _Planned) -> _Planned:
        shape = [m if n == 1 else n for m, n in zip(self.shape, other.shape)]
        return self._then(shape, "mul", other.at)

    def matmul(self, other: _Planned) -> _Planned:
        name = "bmm" if self.ndim == 3 else "mm"
        return self._then([*self.shape[:-1], other.shape[-1]], name, other.at)


@lru_cache(256)
def _plan(equation: str, *shapes: Any) -> tuple[Any, ...]:
    """Return the steps for operands of these shapes: (method, value, arguments or another value).

    Values are numbered, the operands first, then the results of the steps.
    """
    steps: list[Any] = [len(shapes)]
    operands = [_Planned(shape, steps, i) for i, shape in enumerate(shapes)]
    labels, result = _parse(equation, operands)
    sizes: dict[str, int] = {}
    terms = [_diagonals(t, names, sizes) for t, names in zip(operands, labels)]
    for name in result:
        if name not in sizes:
            raise RuntimeError(
                f"einsum(): output subscript {name} does not appear in the equation for any input "
                "operand"
            )
    total, names = terms[0]
    total, names = _sum_away(total, names, set(result).union(*(set(n) for _, n in terms[1:])))
    for i, (t, other) in enumerate(terms[1:], 1):
        later = set(result).union(*(set(n) for _, n in terms[i + 1 :]))
        t, other = _sum_away(t, other, later | set(names))
        total, names = _multiply(total, names, t, other, later)
    _in_order(total, names, result)
    return tuple(steps[1:])


def _read(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    """Return the equation and the operands, also of calls with lists of numbers for letters."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if isinstance(args[0], Tensor):
        return _from_numbers(args)
    operands = (
        list(args[1]) if len(args) == 2 and isinstance(args[1], (list, tuple)) else list(args[1:])
    )
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    return args[0], operands


def _from_numbers(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    def letters(numbers: Any) -> str:
        out = []
        for n in numbers:
            if n is Ellipsis:
                out.append("...")
            elif not 0 <= n < len(_LETTERS):
                raise ValueError(f"einsum(): subscript {n} is not within the valid range [0, 52)")
            else:
                out.append(_LETTERS[n])
        return "".join(out)

    equation = ",".join(letters(s) for s in args[1::2])
    if len(args) % 2:
        equation = ",".join(letters(s) for s in args[1:-1:2]) + "->" + letters(args[-1])
    return equation, list(args[: len(args) // 2 * 2 : 2])


def _parse(equation: str, operands: list[_Planned]) -> tuple[list[list[str]], list[str]]:
    """Return the names of the dimensions of each operand and of the result.

    Those under an ellipsis are numbered.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise RuntimeError(
            f"einsum(): {'more' if len(operands) > len(terms) else 'fewer'} operands were provided "
            "than specified in the equation"
        )
    covered = 0
    for term, t in zip(terms, operands):
        named = len(term.replace("...", "", 1))
        _check_term(term, "operand")
        if "..." in term:
            covered = max(covered, t.ndim - named)
        if t.ndim != named and ("..." not in term or t.ndim < named):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the "
                f"number of dimensions ({t.ndim}) for an operand"
                f"{'' if '...' in term else ' and no ellipsis was given'}"
            )
    labels = [
        _names(term, t.ndim - len(term.replace("...", "", 1)), covered)
        for term, t in zip(terms, operands)
    ]
    if arrow:
        _check_term(right, "output")
        result = _names(right, covered, covered)
        for name in result:
            if result.count(name) > 1:
                raise RuntimeError(
                    f"einsum(): output subscript {name} appears more than once in the output"
                )
        return labels, result
    letters = sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1)
    return labels, _names("..." if "..." in left else "", covered, covered) + letters


def _check_term(term: str, what: str) -> None:
    for c in term.replace("...", "", 1):
        if not (c.isalpha() and c.isascii()):
            raise RuntimeError(
                f"einsum(): invalid subscript given: {c!r} in {what} '{term}'; subscripts must be "
                "in [a-zA-Z]"
            )


def _names(term: str, covered: int, most: int) -> list[str]:
    """Return one name per dimension; an ellipsis stands for the last of the numbered ones."""
    before, dots, after = term.partition("...")
    middle = [str(i) for i in range(most - covered, most)] if dots else []
    return [*before, *middle, *after]


def _diagonals(t: _Planned, names: list[str], sizes: dict[str, int]) -> tuple[_Planned, list[str]]:
    """Take the diagonal where a name is repeated, and note the sizes."""
    names = list(names)
    for name in set(names):
        while names.count(name) > 1:
            i = names.index(name)
            j = names.index(name, i + 1)
            if t.shape[i] != t.shape[j]:
                raise RuntimeError(
                    f"einsum(): subscript {name} is repeated for an operand but the sizes don't "
                    f"match, {t.shape[i]} != {t.shape[j]}"
                )
            t = t.diagonal(i, j)
            names = names[:i] + names[i + 1 : j] + names[j + 1 :] + [name]
    for name, n in zip(names, t.shape):
        known = sizes.get(name, 1)
        if known != n and known != 1 and n != 1:
            raise RuntimeError(
                f"einsum(): operands do not broadcast with remapped shapes: subscript {name} has "
                f"size {n} for an operand which does not broadcast with previously seen size "
                f"{known}"
            )
        sizes[name] = known if n == 1 else n
    return t, names


def _sum_away(t: _Planned, names: list[str], wanted: set[str]) -> tuple[_Planned, list[str]]:
    """Sum over the dimensions that nobody asks for any more."""
    gone = [i for i, n in enumerate(names) if n not in wanted]
    return (t.sum(gone), [n for n in names if n in wanted]) if gone else (t, names)


def _multiply(
    a: _Planned, a_names: list[str], b: _Planned, b_names: list[str], later: set[str]
) -> tuple[_Planned, list[str]]:
    """Multiply two operands as a batch of matrices, summing over what only they share."""
    shared = [n for n in a_names if n in b_names]
    batch = [n for n in shared if n in later]
    inner = [n for n in shared if n not in later]
    rows = [n for n in a_names if n not in b_names]
    cols = [n for n in b_names if n not in a_names]
    a, b = _in_order(a, a_names, batch + rows + inner), _in_order(b, b_names, batch + inner + cols)
    nb, nr, nc, ni = len(batch), len(rows), len(cols), len(inner)
    names = batch + rows + cols
    if not inner:
        b = b.reshape([*b.shape[:nb], *[1] * nr, *b.shape[nb:]])
        return a.reshape([*a.shape, *[1] * nc]).times(b), names
    joint = [max(x, y) if x and y else 0 for x, y in zip(a.shape[:nb], b.shape[:nb])]
    depth = [max(x, y) if x and y else 0 for x, y in zip(a.shape[nb + nr :], b.shape[nb : nb + ni])]
    high, wide = list(a.shape[nb : nb + nr]), list(b.shape[nb + ni :])
    several = [_size(joint)] if joint else []
    a = a.expand(joint + high + depth).reshape([*several, _size(high), _size(depth)])
    b = b.expand(joint + depth + wide).reshape([*several, _size(depth), _size(wide)])
    return a.matmul(b).reshape(joint + high + wide), names


def _size(shape: list[int]) -> int:
    n = 1
    for s in shape:
        n *= s
    return n


def _in_order(t: _Planned, names: list[str], order: list[str]) -> _Planned:
    return t.permute([names.index(n) for n in order])
