"""The one graph: what it refuses, and that printed, stored and read back it is the same.

GraphCache are those of random functions, made of the lines of ``compile_programs``.
"""

from __future__ import annotations

import io
import random
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from jit import compile_programs as lines

import weft
import weft.nn.functional as F
from weft.jit import passes
from weft.jit.graph import Graph, Value
from weft.jit.serialization import Reader, Writer

SEEDS = range(120)
PIPELINES = (passes.PASSES, passes.LAYERS, passes.STEPS, passes.RELAXED)
OUTSIDE = weft.rand(3, 4)


def branches(x: weft.Tensor) -> Any:
    """Control flow, whose graphs lie inside a node."""
    return weft.cond(x.sum() > 0, lambda a: a * OUTSIDE, lambda a: a - OUTSIDE.exp(), (x,))


def some_function(seed: int) -> Callable[..., Any]:
    """A random function of two tensors."""
    rng = random.Random(seed)
    unary = [lines.TEMPLATES.get(name, f"{{0}}.{name}()") for name in lines.UNARY]
    kinds = [
        unary,
        lines.BINARY,
        lines.VIEWS[:-4],
        lines.CHANCE[:3],
        lines.INPLACE[:10],
        ["branches({0})"],
    ]
    names, body = ["x", "y"], ["x, y = x * 1.5, y + 0.5"]
    for i in range(rng.randrange(3, 12)):
        (kind,) = rng.choices(kinds, [4, 4, 3, 1, 2, 1])
        a, b = rng.choice(names), rng.choice(names)
        line = rng.choice(kind).format(a, b).replace(".view(", ".reshape(")
        if kind is kinds[4]:
            body.append(line)
        else:
            body.append(f"v{i} = {line}")
            names.append(f"v{i}")
    body.append(f"return {{'a': {names[-1]}, 'b': [{rng.choice(names)}, 3]}}")
    space: dict[str, Any] = {"weft": weft, "F": F, "branches": branches}
    exec("def f(x, y):\n    " + "\n    ".join(body), space)
    made: Callable[..., Any] = space["f"]
    return made


def traced(seed: int) -> Graph:
    """The graph of one."""
    weft.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph: Graph = weft.jit.trace(
            some_function(seed), (weft.randn(3, 4), weft.randn(3, 4))
        ).graph
    return graph


def results(graph: Graph, seed: int) -> list[weft.Tensor]:
    """What a graph gives, with the random numbers of a seed."""
    weft.manual_seed(seed)
    x, y = weft.randn(3, 4), weft.randn(3, 4)
    made = graph.run(x, y)
    return [made["a"], made["b"][0], x, y]


@pytest.mark.parametrize("seed", SEEDS)
def test_stored_and_read_back_it_is_the_same(seed: int) -> None:
    """Its text, what is stored of it, what it computes; also within a file."""
    graph = traced(seed)
    stored = Writer().graph(graph)
    again = Reader({}, "a test").graph(stored, None)
    assert repr(again) == repr(graph)
    assert repr(Writer().graph(again)) == repr(stored)
    file = io.BytesIO()
    weft.jit.save(weft.jit.TracedFunction(graph, "f"), file)
    file.seek(0)
    for other in (again, weft.jit.load(file).graph):
        for a, b in zip(results(graph, seed), results(other, seed)):
            assert a.contiguous().view(weft.int32).equal(b.contiguous().view(weft.int32))


@pytest.mark.parametrize("seed", SEEDS)
def test_each_pass_leaves_a_graph(seed: int) -> None:
    """Passes make graphs that hold what ``verify`` asks for, and whose ids go on."""
    graph = traced(seed)
    for steps in PIPELINES:
        made = graph
        for improve in steps:
            made = improve(made)
            made.verify()
            assert made.count >= graph.count
        inputs = [(v.id, v.name) for v in graph.inputs]
        assert [(v.id, v.name) for v in made.inputs] == inputs


def _swap(graph: Graph, rng: random.Random) -> bool:
    at = [
        i
        for i, n in enumerate(graph.nodes[1:])
        if any(v in n.inputs() for v in graph.nodes[i].outputs)
    ]
    if not at:
        return False
    i = rng.choice(at)
    graph.nodes[i : i + 2] = graph.nodes[i : i + 2][::-1]
    return True


def _drop(graph: Graph, rng: random.Random) -> bool:
    read = {v for n in graph for v in n.inputs()} | set(graph.results())
    at = [i for i, n in enumerate(graph) if not read.isdisjoint(n.outputs)]
    del graph.nodes[rng.choice(at)]
    return True


def _repeat(graph: Graph, rng: random.Random) -> bool:
    graph.nodes.append(rng.choice(graph.nodes))
    return True


def _share_an_id(graph: Graph, rng: random.Random) -> bool:
    rng.choice(graph.nodes).outputs[0].id = graph.inputs[0].id
    return True


def _count_back(graph: Graph, rng: random.Random) -> bool:
    graph.count = graph.nodes[-1].outputs[0].id
    return True


def _misname(graph: Graph, rng: random.Random) -> bool:
    node = rng.choice(graph.nodes)
    node.op = f"{node.op}_of_nothing"
    node.graphs = ()
    return True


def _argument(change: Callable[[Any], Any], kind: type) -> Callable[[Graph, random.Random], bool]:
    def changed(graph: Graph, rng: random.Random) -> bool:
        at = [
            (n, i) for n in graph if not n.graphs for i, a in enumerate(n.args) if type(a) is kind
        ]
        if not at:
            return False
        node, i = rng.choice(at)
        node.args = (*node.args[:i], change(node.args[i]), *node.args[i + 1 :])
        return True

    return changed


def _one_more_argument(graph: Graph, rng: random.Random) -> bool:
    node = rng.choice(graph.nodes)
    node.args = (*node.args, *[None] * 20)
    return True


def _no_arguments(graph: Graph, rng: random.Random) -> bool:
    rng.choice([n for n in graph if n.inputs()]).args = ()
    return True


def _one_more_result(graph: Graph, rng: random.Random) -> bool:
    node = rng.choice(
        [n for n in graph if n.op not in ("split", "unbind", "chunk", "tensor_split")]
    )
    node.give([*node.outputs, graph.fresh("more", (3, 4), weft.float32)])
    return True


def _stray(graph: Graph, rng: random.Random) -> bool:
    node = rng.choice(graph.nodes)
    node.outputs[0].producer = None
    return True


def _foreign_result(graph: Graph, rng: random.Random) -> bool:
    graph.outputs[0] = Graph().fresh("other", (3, 4), weft.float32)
    return True


def _shapeless(graph: Graph, rng: random.Random) -> bool:
    value: Any = rng.choice(graph.nodes).outputs[0]
    value.shape = None
    return True


MUTATIONS = [
    _swap, _drop, _repeat, _share_an_id, _count_back, _misname, _one_more_argument, _no_arguments,
    _one_more_result, _stray, _foreign_result, _shapeless, _argument(lambda v: "text", Value),
    _argument(lambda v: Graph().fresh("other", v.shape, v.dtype), Value),
    _argument(lambda a: "text", int), _argument(lambda a: (*a, "text"), tuple),
    _argument(lambda a: (a,), float),
]  # fmt: skip


@pytest.mark.parametrize("mutation", range(len(MUTATIONS)))
def test_what_is_no_graph_is_refused(mutation: int) -> None:
    """Each way to damage a graph is found, wherever it happens."""
    rng, done = random.Random(mutation), 0
    for seed in SEEDS:
        graph = traced(seed)
        graph.verify()
        if MUTATIONS[mutation](graph, rng):
            done += 1
            with pytest.raises(ValueError, match="graph"):
                graph.verify()
    assert done > len(SEEDS) // 20
