"""Every row of ``weft/jit/codegen/pointwise_ops.py`` against eager, bit for bit; run as a program, for one WEFT_ISA."""

import itertools
import os
import sys

import weft
from weft import _C
from weft.jit.codegen.fused_group import KIND_OF, Group, Ref, Step
from weft.jit.codegen.loop import missing
from weft.jit.codegen.pointwise_ops import ROWS

DTYPES = {kind: name for name, kind in KIND_OF.items()}
OPERANDS = {"where": 3, "masked_fill": 3}
_FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 0.75, -0.75, 1e-3, 20.0, -20.0, 40.5, -40.5, 88.0, -88.0,
    88.8, -104.5, 150.0, 700.0, -745.0, 1e4, 99999.0, 100001.0, -3e6, 1e10, 3.1415927, 1.5707964, 1e-8, -1e-8,
    1e-30, 1e-40, -1e-44, 1e38, -3e38, 1e-310, 1e308, float("inf"), float("-inf"), float("nan"),
]  # fmt: skip
_WHOLE = [0, 1, -1, 2, -2, 3, 7, 63, -64, 1000, -(2**31), 2**31 - 1, 2**40, -(2**63), 2**63 - 1]


def bits(t):
    """The elements as bytes, all NaN alike."""
    array = t.detach().contiguous().numpy().copy()
    if array.dtype.kind == "f":
        array[array != array] = float("nan")
    return array.tobytes()


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and bits(a) == bits(b)


def operands(kind, count, seed):
    """Special numbers in all pairs, or in many triples, then random ones of all sizes."""
    weft.manual_seed(seed)
    dtype = getattr(weft, DTYPES[kind])
    if kind == "i1":
        rows = list(itertools.product([False, True], repeat=count)) * 3
        return [weft.tensor(column, dtype=dtype) for column in zip(*rows)]
    special = _FLOATS if kind[0] == "f" else [_fit(x, kind) for x in _WHOLE]
    rows = list(itertools.product(special, repeat=min(count, 2)))
    columns = [list(c) for c in zip(*rows)]
    for k in range(2, count):
        columns.append([special[(7 * i + 3 * k) % len(special)] for i in range(len(rows))])
    made = []
    for column in columns:
        if kind[0] == "f":
            random = weft.randn(1001, dtype=dtype) * 10 ** weft.randint(-6, 4, (1001,)).to(dtype)
        else:
            random = weft.randint(-1000, 1000, (1001,)).to(dtype)
        made.append(weft.cat([weft.tensor(column, dtype=dtype), random]))
    return made


def _fit(x, kind):
    width = 32 if kind == "i32" else 64
    return (x + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))


def count_of(name):
    if name in OPERANDS:
        return OPERANDS[name]
    signature = next(r["signature"] for r in _C._ops() if r["name"] == name)
    return signature.replace("*, ", "").split(")")[0].count(",") + 1


def check(name, kind):
    """Compare a row and its derivatives with eager; return how many results were compared."""
    row, dtype, count = ROWS[name], DTYPES[kind], count_of(name)
    inputs = operands(kind, count, len(name))
    condition = {"where": 0, "masked_fill": 1}.get(name)
    if condition is not None:
        inputs[condition] = inputs[condition] > 0
    if name == "masked_fill":
        inputs[2] = inputs[2][3].clone()
    result = "bool" if row.rule != "result" else dtype
    if missing(name, (), [dtype] * count, result, _C._isa()):
        return 0
    group, want = Group(), [_C._call_op(name, tuple(inputs), False)[0]]
    group.inputs = [(str(t.dtype).rpartition(".")[2], t.dim() == 0) for t in inputs]
    refs = tuple(map(Ref, range(count)))
    given = list(inputs)
    back = [i for i, f in enumerate(row.back) if f] if kind[0] == "f" and name != "where" else []
    if back:
        given.append(weft.randn(len(inputs[0]), dtype=getattr(weft, dtype)))
        group.inputs.append((dtype, False))
    first = len(given)
    group.steps.append(Step(name, refs, result))
    for i in back:
        takes_y = name not in ("sin", "cos")  # whose derivatives see a far result as a far angle
        y = (want[0] if takes_y else None,)
        rest = (None,) * (4 - count)
        want.append(
            _C._call_op("pointwise_gradient", (name, i, given[-1], *inputs, *y, *rest), False)[0]
        )
        args = (name, i, Ref(first - 1), *refs, Ref(first) if takes_y else None, *rest)
        group.steps.append(Step("pointwise_gradient", args, dtype))
    group.outputs = list(range(first, first + len(want)))
    got = _C._call_op("fused", (given, str(group)), False)
    for k, (a, b) in enumerate(zip(got, want)):
        if not same(a, b):
            where = [i for i in range(len(a)) if not same(a[i : i + 1], b[i : i + 1])][:5]
            shown = [
                (*(t.flatten()[i % t.numel()].item() for t in given), a[i].item(), b[i].item())
                for i in where
            ]
            raise AssertionError(f"{name} {kind} result {k} ({_C._isa()}): {len(where)}, {shown}")
    return len(want)


if __name__ == "__main__":
    os.environ["WEFT_CACHE"] = ""
    total = sum(check(name, kind) for name, row in ROWS.items() for kind in sorted(row.kinds))
    sys.stdout.write(f"{_C._isa()} {total}\n")
