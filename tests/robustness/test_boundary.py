"""Every op of the registry refuses hostile arguments, which a graph, a file or a program may give to it."""

from __future__ import annotations

import copy
import io
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fuzz import hidden_ops, runner
from robustness import boundary

import weft
from weft import _C, jit


def test_every_op_has_a_valid_call() -> None:
    """The registry is enumerated: an op without one would not be tested below."""
    calls = boundary.valid_calls()
    assert [
        name for name, op in boundary.ops().items() if not op["composed"] and name not in calls
    ] == []


def hostile_values(arg: Any, rng: random.Random) -> Iterator[Any]:
    """What stands in for an argument: some of every kind."""
    yield from (None, True, "x", [], [1], {"object": 0}, {"float": "nan"}, {"float": "1e300"})
    if isinstance(arg, int) and not isinstance(arg, bool):
        yield from boundary.NUMBERS
    for rank in range(7):
        yield {"tensor": ["float32", [2] * rank, "plain", None]}
    yield {"tensor": ["complex64", [0, 3], "plain", None]}
    for _ in range(10):
        yield boundary.hostile(arg, rng)


def cases(op: str) -> Iterator[boundary.Call]:
    """Each parameter of an op's first calls replaced by each hostile value."""
    rng = random.Random(op)
    for call in boundary.valid_calls()[op][:2]:
        yield {**call, "inplace": not call["inplace"]}
        for i, arg in enumerate(call["args"]):
            for value in hostile_values(arg, rng):
                changed = copy.deepcopy(call)
                changed["args"][i] = value
                yield changed


def shares() -> list[list[str]]:
    """The ops in shares, one for each child."""
    names = sorted(boundary.valid_calls())
    return [names[i::8] for i in range(8)]


@pytest.mark.parametrize("share", range(8))
def test_hostile_arguments_are_refused(share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only Python exceptions or a result, which a program gives too, bit for bit.

    Loops over a number however large it is, such as the order of a polynomial, end by Ctrl-C.
    """
    monkeypatch.setattr(runner, "SLOW", 0.5)
    worker = runner.Worker("hidden_ops")
    try:
        for op in shares()[share]:
            for case in cases(op):
                for _, kind, text in worker.run({"case": case}):
                    assert kind == "interrupted", f"{kind} in {case}: {text}"
    finally:
        worker.close()


# ---- what the fuzzers have found, and the rules one by one --------------------------------------


def call(op: str, *args: Any, inplace: bool = False) -> Any:
    """Call an op as graphs do."""
    return _C._call_op(op, args, inplace)


def x(*sizes: int) -> weft.Tensor:
    """A tensor of that shape."""
    return weft.ones(sizes)


INT = weft.tensor([0, 1])


@pytest.mark.parametrize(
    ("op", "args", "rule"),
    [
        ("softmax_backward", (x(2, 3), x(3), 1), r"result must have shape \[2, 3\]"),
        ("softmax_backward", (x(2, 3), x(2, 3), 5), "Dimension out of range"),
        ("join", ([x(2), x(3)], 0, (2, 4)), r"widths must be \[2, 3\]"),
        ("join", ([x(2)], 3, (2,)), "dim must be a dimension of 1"),
        ("join", ([], 0, ()), "tensors must have a tensor"),
        ("embedding_rows", (x(2, 3), INT, 4, 9), "padding_idx must be from -1 to 3"),
        ("embedding_rows", (weft.tensor(1.0), weft.tensor(0), 4, -1), "rows must have 1 to 64"),
        ("attend", (*[x(1, 2, 4)] * 3, x(3, 3), False, 1.0), "mask must broadcast"),
        ("attend_backward", (x(2), *[x(1, 2, 4)] * 3, None, x(1, 2, 4), x(1, 2), False, 1.0),
         r"grad must have shape \[1, 2, 4\]"),
        ("norm_rows", (x(2, 3), None, None, 4, 0.1), "count must make whole rows"),
        ("norm_rows", (x(2, 3), x(2), None, 3, 0.1), "weight must have 3 elements"),
        ("norm_rows_backward", (x(2, 3), x(2, 3), None, x(1), x(2), 3, True, True), "mean must"),
        ("norm_groups_backward", (*[x(1, 4)] * 2, None, x(2), x(2), 0, True, True, True), "groups"),
        ("cross_entropy_backward", (x(3), x(2, 3), INT, -100, 0), r"grad must have shape \[2\]"),
        ("cross_entropy_rows", (x(2, 3), INT, -100, 7), "reduction must be from 0 to 2"),
        ("roll.dim", (x(2), 1, 4), "dim must be a dimension of 1"),
        ("layout_as", (x(2, 3), (0, 1)), "strides must give each element"),
        ("layout_as", (x(2, 3), (-1, 1)), "strides must have no negative"),
        ("search_sorted", (x(2, 3), x(3), False), r"values must have shape \[2, 3\]"),
        ("search_sorted", (x(2), x(1), False, weft.tensor([0, 9])), "sorter index out of range"),
        ("histogram_counts", (x(3), 0, 0.0, 1.0), "bins must be from 1"),
        ("pool_put", (x(1, 2), weft.tensor([[0, 99]]), (1, 4), 1), "places of a plane"),
        ("pool_pick", (x(1, 2), weft.tensor([[0, -1]]), 1), "places of a plane"),
        ("index.places", (x(2), [INT, INT]), "too many indices"),
        ("index.places", (x(2), [None]), "at least one index"),
        ("matrix_product", (x(2, 3), x(2, 3), False, False), "cannot be multiplied"),
        ("replace_strided", (x(3), x(2).double(), (2,), (1,), 0), "src must be of float32"),
        ("replace_strided", (x(3), x(2), (2,), (), 0), "stride must have 1 numbers"),
        ("select_backward", (x(3), (2, 3), 0, 5), "index 5 is out of bounds"),
        ("slice_backward", (x(9), (3,), 0, 0, 2, 1), r"grad must have shape \[2\]"),
        ("diagonal_backward", (x(9), (3, 3), 0, 0, 1), r"grad must have shape \[3\]"),
        ("as_strided_backward", (x(2), (3,), (0,), (2,), (1,), 0), "share memory"),
        ("convolve_input", (x(1, 1, 1), x(1, 1, 1), (-1, 1, 1), (1,), (0,), (1,), 1), "negative"),
        ("recur", (x(2, 1, 4), x(1, 1), None, x(4, 1), None, None, 3, False), "c must be given"),
        ("recur", (x(2, 1, 4), x(1, 1), None, x(4, 1), None, None, 9, False), "cell must be from"),
        ("sparse_values", (x(2), INT, 1), "expected a tensor of a sparse layout"),
        ("sparse_make", (weft.tensor([[5]]), x(1), (3,), True), "index 5"),
        ("sgd_step_", ([x(3)], [x(2)], [], 0.1, 0.0, 0.0, 0.0, False, False, False), "its place"),
        ("pointwise_gradient", ("tanh", 0, x(2)), "must be given for tanh"),
        ("softmax", ("x", 0), "must be Tensor"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)  # fmt: skip
def test_rules(op: str, args: tuple[Any, ...], rule: str) -> None:
    """Each names the argument, the rule and what was given."""
    with pytest.raises((RuntimeError, TypeError, IndexError), match=rule):
        call(op, *args)


def program_with(op: str, plain: tuple[Any, ...], where: tuple[Any, ...], **options: Any) -> Any:
    """A program of one op on an input of shape [2, 3]."""
    program = _C.Program()
    program.add_input(x(2, 3))
    return program, lambda: program.add(op, plain, where, options.get("inplace", False), False)


@pytest.mark.parametrize(
    ("op", "plain", "where", "inplace", "rule"),
    [
        ("softmax", (None, None), (0, 0), False, "argument 'dim' must be int, got Tensor"),
        ("softmax", (None, 1), ([0], None), False, "argument 'input' must be Tensor, got"),
        ("stack", (None, 0), (0, None), False, "must be sequence of Tensors"),
        ("stack", (None, 0), ([0, -1], None), False, r"got \[Tensor\[2, 3\], None\]"),
        ("sum", (None,), (-1,), False, "argument 'input' must be Tensor, got None"),
        ("exp", (None,), (7,), False, "has no value 7"),
        ("exp", (), (), False, "missing argument"),
        ("zeros", ((2,),), (None,), True, "cannot run in place"),
        ("add", (1.0, None), (None, 0), True, "first argument must be a Tensor"),
        ("as_strided", (None, (9,), (1,)), (0, None, None), False, "begins elsewhere"),
    ],
)
def test_programs_match_arguments(
    op: str, plain: Any, where: Any, inplace: bool, rule: str
) -> None:
    """Values and plain data are matched against the parameters when a program is built."""
    program, add = program_with(op, plain, where, inplace=inplace)
    with pytest.raises((RuntimeError, TypeError, NotImplementedError), match=rule):
        add()
    with pytest.raises(RuntimeError, match="is broken"):  # what it holds is not whole
        program.finish([0])


def test_programs_are_built_once() -> None:
    """Nothing is added to a finished one, and numbers of results exist."""
    program, add = program_with("exp", (None,), (0,))
    (made,) = add()
    for results, lent in (([99], []), ([-1], []), ([made], [5])):
        broken, make = program_with("exp", (None,), (0,))
        make()
        with pytest.raises(RuntimeError, match="has no"):
            broken.finish(results, lent)
    assert program.run((x(2, 3),)) is None  # not yet finished
    program.finish([made])
    with pytest.raises(RuntimeError, match="is finished already"):
        add()
    with pytest.raises(RuntimeError, match="not a float"):
        program.run((x(2, 3),), [(0, 0, 1.0)])
    with pytest.raises(RuntimeError, match="has no op 7"):
        program.run((x(2, 3),), [(7, 0, 1.0)])
    assert program.run((x(2, 3),))[0].equal(x(2, 3).exp())


def test_an_input_seen_as_other_elements() -> None:
    """A program counts the bytes before an input, whatever its elements are seen as."""
    program = _C.Program()
    program.add_input(x(4))
    (made,) = program.add("view.dtype", (None, weft.uint8), (0, None), False, False)
    (copy,) = program.add("clone", (None,), (made,), False, False)
    program.finish([copy])
    behind = weft.arange(7.0)[3:]
    assert program.run((behind,))[0].equal(behind.view(weft.uint8))
    program = _C.Program()
    program.add_input(x(4))
    (made,) = program.add("view.dtype", (None, weft.float64), (0, None), False, False)
    (copy,) = program.add("clone", (None,), (made,), False, False)
    program.finish([copy])
    assert program.run((behind,)) is None  # begins inside of an element of eight bytes


def test_expanded_tensors_are_not_changed_in_place() -> None:
    """Several elements in one place: neither by name nor in a program."""
    many = x(1, 3).expand(2, 3)
    with pytest.raises(RuntimeError, match="single memory location"):
        call("exp", many, inplace=True)
    program = _C.Program()
    program.add_input(many)
    with pytest.raises(RuntimeError, match="single memory location"):
        program.add("exp", (None,), (0,), True, False)


def test_a_source_of_another_dtype() -> None:
    """as_strided_scatter writes elements of its input's dtype, whatever the source has."""
    y = weft.as_strided_scatter(weft.zeros(4), weft.ones(2, dtype=weft.float64), (2,), (2,))
    assert y.dtype == weft.float32 and y.tolist() == [1, 0, 1, 0]


def test_attention_to_values_without_elements() -> None:
    """What it keeps for the derivative is set although there is no result."""
    query = x(1, 2, 2)
    assert call("attend", query, query, x(1, 2, 0), None, True, 0.3)[1].tolist() == [[0, 0]]


def test_the_fuzzer_sees_other_results() -> None:
    """A canary: an op that a program computed otherwise would be found."""
    case = boundary.valid_calls()["softmax"][0]
    hidden_ops.check(case)
    found = boundary.outcome(case)[1]
    assert found != boundary.outcome({**case, "op": "log_softmax"})[1]


# ---- files --------------------------------------------------------------------------------------


def changed_trace(f: Any, example: weft.Tensor, change: Callable[[list[Any]], None]) -> Any:
    """A traced function as it comes back from a file whose nodes were changed."""
    file = io.BytesIO()
    jit.save(jit.trace(f, example), file)
    content = weft.load(io.BytesIO(file.getvalue()))
    change(content["traced"][1]["nodes"])
    again = io.BytesIO()
    weft.save(content, again)
    return jit.load(io.BytesIO(again.getvalue()))


def test_a_file_that_changes_a_name_a_kind_or_in_place() -> None:
    """One changed thing gives an exception when the file is loaded or run."""

    def other_name(nodes: list[Any]) -> None:
        nodes[0][0] = "view_at"

    def in_place(nodes: list[Any]) -> None:
        nodes[0][1][0], nodes[0][2] = {"data": 2.0}, True

    def other_kind(nodes: list[Any]) -> None:
        nodes[0][1][1] = nodes[0][1][0]

    for change in (other_name, in_place, other_kind):
        with pytest.raises((TypeError, RuntimeError)):
            changed_trace(lambda x: x.softmax(1), x(2, 3), change)(x(2, 3))
