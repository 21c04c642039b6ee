"""autograd.Function: both styles, everything on ctx, and what it says when it is used wrongly."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

import weft
from weft.autograd import Function, gradcheck, gradgradcheck
from weft.autograd.function import once_differentiable


class Cube(Function):
    """forward takes ctx; an output of the node itself is saved."""

    @staticmethod
    def forward(ctx: Any, x: weft.Tensor, k: float = 1.0) -> weft.Tensor:
        assert not weft.is_grad_enabled()
        y = k * x**3
        ctx.k = k
        ctx.save_for_backward(x, None, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: weft.Tensor) -> Any:
        x, nothing, y = ctx.saved_tensors
        assert nothing is None
        assert weft.allclose(y, ctx.k * x**3)
        return (3 * ctx.k * x**2 * g, None)[: len(ctx.needs_input_grad)]


class CubeSeparate(Function):
    """The same with setup_context."""

    @staticmethod
    def forward(x: weft.Tensor, k: float = 1.0) -> weft.Tensor:
        return k * x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: weft.Tensor) -> None:
        x, ctx.k = inputs
        ctx.save_for_backward(x, None, output)

    @staticmethod
    def backward(ctx: Any, g: weft.Tensor) -> Any:
        x = ctx.saved_tensors[0]
        return 3 * ctx.k * x**2 * g, None


def leaf(*values: float) -> weft.Tensor:
    return weft.tensor(values, dtype=weft.float64, requires_grad=True)


@pytest.mark.parametrize("cube", [Cube, CubeSeparate])
def test_both_styles_and_two_orders(cube: type[Function]) -> None:
    x = leaf(1.0, -2.0)
    y = cube.apply(x, 2.0)
    assert y.tolist() == [2.0, -16.0]
    assert y.grad_fn.name() == f"{cube.__name__}Backward"
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 24.0]
    assert gradcheck(cube.apply, (leaf(0.5, -1.5), 3.0))
    assert gradgradcheck(cube.apply, (leaf(0.5, -1.5), 3.0))
    assert cube.apply(leaf(2.0)).item() == 8.0
    assert cube.apply(k=2.0, x=leaf(2.0)).item() == 16.0


def test_defaults_are_inputs_in_the_separate_style() -> None:
    x = leaf(2.0)
    CubeSeparate.apply(x).backward()
    assert x.grad.tolist() == [12.0]


def test_not_recorded_without_need() -> None:
    assert not Cube.apply(weft.ones(1)).requires_grad
    x = leaf(1.0)
    with weft.no_grad():
        assert not Cube.apply(x).requires_grad
    assert weft.is_grad_enabled()


def test_needs_input_grad_and_edges() -> None:
    seen = []

    class Pick(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            seen.append(ctx.needs_input_grad)
            return a * c

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(ctx.needs_input_grad)
            return None, None, g * 2, None

    a, c = weft.ones(2), weft.ones(2, requires_grad=True)
    y = Pick.apply(a, "b", c, weft.arange(2))
    assert [node is None for node, _ in y.grad_fn.next_functions] == [True, False, True]
    y.sum().backward()
    assert seen == [(False, False, True, False)] * 2
    assert c.grad.tolist() == [2.0, 2.0]
    assert a.grad is None


def test_outputs_of_every_kind() -> None:
    seen = []

    class Many(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            fixed = x + 1
            ctx.mark_non_differentiable(fixed)
            return x * 2, "text", x > 0, fixed, x * 3

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            seen.append(grads)
            return grads[4] * 3

    x = leaf(1.0, 2.0)
    double, text, positive, fixed, triple = Many.apply(x)
    assert text == "text"
    assert [t.requires_grad for t in (double, positive, fixed, triple)] == [
        True,
        False,
        False,
        True,
    ]
    assert positive.dtype == weft.bool
    triple.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    # What had no gradient is zeros of its shape and dtype; what is no tensor is None.
    g = seen[0]
    assert g[0].tolist() == [0.0, 0.0]
    assert g[0].dtype == weft.float64
    assert g[1] is None
    assert g[2].tolist() == [False, False]
    assert g[3].tolist() == [0.0, 0.0]
    assert g[4].tolist() == [1.0, 1.0]


def test_missing_gradients_are_none_if_asked() -> None:
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            seen.append((g is None, h is None))
            return h * 3

    Two.apply(leaf(1.0))[1].sum().backward()
    assert seen == [(True, False)]


def test_vjp_is_another_name_of_backward() -> None:
    class Double(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return g * 2

    x = leaf(1.0)
    Double.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0]


class Identity(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x, x

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        return 2 * g + 3 * h


def test_returned_input_gets_a_history_of_its_own() -> None:
    x = leaf(1.0)
    a, b = Identity.apply(x)
    assert a is not x
    assert a is not b
    assert x.grad_fn is None
    assert a.data_ptr() == x.data_ptr()
    (5 * a + 7 * b).sum().backward()
    assert x.grad.tolist() == [2 * 5.0 + 3 * 7.0]


class AddOneInPlace(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x += 1
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 10


def test_dirty_input_is_the_output() -> None:
    x = leaf(1.0)
    y = x * 2
    before = y._version
    z = AddOneInPlace.apply(y)
    assert z is y
    assert y._version > before
    assert y.grad_fn.name() == "AddOneInPlaceBackward"
    y.sum().backward()
    assert x.grad.tolist() == [20.0]


def test_dirty_spoils_what_was_saved() -> None:
    y = leaf(1.0) * 2
    square = y * y
    AddOneInPlace.apply(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.sum().backward()


def test_dirty_leaf_and_dirty_not_returned_are_refused() -> None:
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        AddOneInPlace.apply(leaf(1.0))

    class Lost(AddOneInPlace):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return AddOneInPlace.forward(ctx, x) * 1

    with pytest.raises(RuntimeError, match=r"marked as dirty .* were not returned"):
        Lost.apply(leaf(1.0) * 1)


def answering(answer: Any) -> type[Function]:
    """A function of a tensor and a number whose backward returns ``answer``."""

    class Odd(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, k: Any) -> Any:
            return x * k

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return answer

    return Odd


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (weft.ones(2), r"function OddBackward .*number of gradients \(expected 2, got 1\)"),
        ((None, None, weft.ones(2)), r"incorrect number of gradients \(expected 2, got 3\)"),
        ((None, weft.ones(2)), "different than None at position 2"),
        ((weft.ones(3), None), r"at index 0 - got \[3\] but expected shape compatible with \[2\]"),
        ((1.0, None), r"expected Variable or None \(got float\)"),
    ],
)
def test_wrong_answers_of_backward(answer: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        answering(answer).apply(weft.ones(2, requires_grad=True), 3).sum().backward()


def test_answers_are_fitted_to_the_input() -> None:
    x = weft.ones(2, requires_grad=True)
    wide = weft.arange(6, dtype=weft.float64).reshape(3, 2)
    answering((wide, None, None)).apply(x, 3).sum().backward()
    assert x.grad.tolist() == [6.0, 9.0]
    assert x.grad.dtype == weft.float32
    x.grad = None
    answering((None, None)).apply(x, 3).sum().backward()
    assert x.grad is None


def test_misuse() -> None:
    x = leaf(1.0)

    class Empty(Function):
        pass

    class NoBackward(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    class SavesNumber(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, 3)
            return x

    with pytest.raises(NotImplementedError, match="implement the forward function"):
        Empty.apply(x)
    with pytest.raises(NotImplementedError, match="backward or vjp"):
        NoBackward.apply(x).sum().backward()
    with pytest.raises(TypeError, match="argument 1 is of type int"):
        SavesNumber.apply(x)
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = NoBackward()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        made(x)
    assert weft.is_grad_enabled()  # also after an exception in forward


def test_saved_tensors_are_freed_and_watched() -> None:
    x = leaf(2.0) * 1
    y = Cube.apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
    y = Cube.apply(x).sum()
    with weft.no_grad():
        x += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_saved_tensors_pass_through_hooks() -> None:
    packed: list[Any] = []

    def pack(t: weft.Tensor) -> int:
        packed.append(t.detach().clone())
        return len(packed) - 1

    x = leaf(2.0)
    with weft.autograd.graph.saved_tensors_hooks(pack, lambda i: packed[i]):
        y = CubeSeparate.apply(x)
    y.sum().backward()
    assert [t.item() for t in packed] == [2.0, 8.0]
    assert x.grad.tolist() == [12.0]
    with weft.autograd.graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"):
            weft.autograd.graph.saved_tensors_hooks(pack, lambda i: packed[i]).__enter__()


def test_threads_may_walk_one_graph() -> None:
    x = leaf(2.0)
    y = Cube.apply(x).sum()
    found: list[Any] = []

    def walk() -> None:
        found.extend(weft.autograd.grad(y, x, retain_graph=True)[0].item() for _ in range(50))

    threads = [threading.Thread(target=walk) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [12.0] * 200


def test_no_cycle_keeps_a_graph_alive() -> None:
    class Token:
        pass

    class Holds(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.token = Token()
            alive.append(weakref.ref(ctx.token))
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[1]

    alive: list[weakref.ref[Token]] = []
    gc.collect()
    gc.disable()
    try:
        y = Holds.apply(leaf(1.0))
        assert alive[0]() is not None
        del y
        assert alive[0]() is None
        y = Holds.apply(leaf(1.0))
        y.sum().backward()
        del y
        assert alive[1]() is None
    finally:
        gc.enable()


def test_once_differentiable() -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, k: float) -> Any:
            ctx.save_for_backward(x)
            return k * x * x

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            assert not weft.is_grad_enabled()
            return 4 * g * ctx.saved_tensors[0], None

    x = leaf(3.0)
    assert weft.autograd.grad(Square.apply(x, 2.0).sum(), x)[0].tolist() == [12.0]
    (g,) = weft.autograd.grad(Square.apply(x, 2.0).sum(), x, create_graph=True)
    assert g.tolist() == [12.0]
    # The second derivative must not be wrong silently, also where another term has one.
    for second in (lambda: g.sum().backward(), lambda: weft.autograd.grad((g + x).sum(), x)):
        with pytest.raises(RuntimeError, match=r"differentiate twice .*SquareBackward"):
            second()
