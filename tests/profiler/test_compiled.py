"""Compiled programs: an event for each instruction, with its line, shapes and operations."""

from __future__ import annotations

import pathlib
import threading

import weft
from weft import nn
from weft.profiler import profile


def compiled_step() -> tuple[object, weft.Tensor, weft.Tensor]:
    w = weft.rand(4, 5, requires_grad=True)
    x = weft.rand(3, 4)

    @weft.compile
    def step(x: weft.Tensor, w: weft.Tensor) -> weft.Tensor:
        y = x @ w
        return y.cumsum(0).sum()

    for _ in range(6):
        step(x, w)
    return step, x, w


def test_instructions_lie_in_their_program() -> None:
    step, x, w = compiled_step()
    with profile(record_shapes=True, with_flops=True) as prof:
        step(x, w)  # type: ignore[operator]
    events = prof.events()
    program = next(e for e in events if e.kind == "program")
    inside = [e for e in events if e.kind == "instruction"]
    assert program.name == "compiled program"
    assert inside
    assert all(e.cpu_parent is program and e.phase == "compiled" for e in inside)
    product = next(e for e in inside if e.name in ("matmul", "mm", "matrix_product"))
    assert product.input_shapes[:2] == [[3, 4], [4, 5]]
    assert product.own_flops == 2 * 3 * 4 * 5
    assert product.file == __file__
    assert product.function == "step"
    line = pathlib.Path(__file__).read_text(encoding="utf-8").splitlines()[product.line - 1]
    assert "x @ w" in line


def test_results_are_the_same_while_it_records() -> None:
    step, x, w = compiled_step()
    before = step(x, w)  # type: ignore[operator]
    with profile():
        inside = step(x, w)  # type: ignore[operator]
    assert weft.equal(before, inside)
    assert weft.equal(step(x, w), before)  # type: ignore[operator]


def test_a_program_that_is_compiled_while_it_records() -> None:
    f = weft.compile(lambda x: (x @ x).cumsum(0).exp())
    x = weft.rand(5, 5)
    expected = (x @ x).cumsum(0).exp()
    with profile() as prof:
        for _ in range(6):
            assert weft.equal(f(x), expected)
    kinds = {e.kind for e in prof.events()}
    assert "op" in kinds
    assert "instruction" in kinds


def test_a_compiled_training_step() -> None:
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
    x, y = weft.rand(8, 6), weft.rand(8, 2)

    @weft.compile
    def step(x: weft.Tensor, y: weft.Tensor) -> weft.Tensor:
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(6):
        step(x, y)
    with profile(with_flops=True) as prof:
        for _ in range(3):
            step(x, y)
    programs = [e for e in prof.events() if e.kind == "program"]
    assert len(programs) == 3
    first, *others = [[c.name for c in e.cpu_children] for e in programs]
    assert first
    assert all(names == first for names in others)
    assert sum(e.own_flops for e in prof.events()) >= 3 * 2 * 8 * (6 * 16 + 16 * 2)


def test_instructions_on_other_threads() -> None:
    """Steps that run side by side are events of the threads on which they ran."""

    def f(x: weft.Tensor, y: weft.Tensor) -> weft.Tensor:
        a, b = x, y
        for _ in range(3):
            a, b = (a @ a).tanh(), (b @ b).tanh()
        return a.sum() + b.sum()

    x, y = weft.rand(64, 64), weft.rand(64, 64)
    traced = weft.jit.trace(f, (x, y))
    graph = traced.graph
    program, _ = weft.jit.graph.program_of(graph, (x, y), graph._results())
    program.spread()
    (expected,) = program.run((x, y))
    with profile() as prof:
        (found,) = program.run((x, y))
    assert weft.equal(expected, found)
    instructions = [e for e in prof.events() if e.kind == "instruction"]
    assert len(instructions) >= 12
    assert program.concurrent_ops


def test_threads_that_call_one_program() -> None:
    step, x, w = compiled_step()
    with weft.no_grad(), profile() as prof:
        threads = [
            threading.Thread(target=lambda: [step(x, w) for _ in range(20)])  # type: ignore[operator]
            for _ in range(3)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    for e in prof.events():
        if e.kind == "instruction":
            assert e.cpu_parent is not None
            assert e.cpu_parent.thread == e.thread
