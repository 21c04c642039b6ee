"""gradcheck must pass what is right and catch each way of being wrong, and say which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft.autograd import Function, gradcheck, gradgradcheck
from weft.autograd.gradcheck import GradcheckError

both_modes = pytest.mark.parametrize("fast", [False, True])


def leaf(*shape: int, dtype: Any = weft.float64) -> weft.Tensor:
    return weft.rand(shape, dtype=weft.float64).add(0.5).to(dtype).requires_grad_()


def faulty(
    forward: Callable[..., Any], derivative: Callable[..., Any], materialize: bool = True
) -> Callable[..., Any]:
    """The function ``forward(x)`` with a derivative ``derivative(x, *grads)`` of our choice."""

    class Faulty(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.set_materialize_grads(materialize)
            return forward(x)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return derivative(ctx.saved_tensors[0], *grads)

    return Faulty.apply


RIGHT: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {
    "one": (lambda x: x.sin(), lambda: (leaf(3),)),
    "scalar": (lambda x: x * x, lambda: (leaf(),)),
    "broadcast": (lambda x, y: x * y, lambda: (leaf(2, 1), leaf(3))),
    "outputs": (lambda x: (x.exp(), (x * x).sum(), x > 0), lambda: (leaf(2, 2),)),
    "arguments": (lambda x, k, name: x**k, lambda: (leaf(2), 3, "name")),
    "unused": (lambda x, y: x * 2, lambda: (leaf(2), leaf(2))),
    "fixed input": (lambda x, y: x * y, lambda: (leaf(2), weft.ones(2, dtype=weft.float64))),
    "strided": (lambda x: x.tanh(), lambda: (leaf(3, 4).detach().t()[::2].requires_grad_(),)),
    "view": (lambda x: x[1:].reshape(-1), lambda: (leaf(3, 2),)),
    "identity": (lambda x: x, lambda: (leaf(2),)),
    "nested": (lambda xs: xs[0] * xs[1], lambda: ([leaf(2), leaf(2)],)),
    "empty": (lambda x: x * 2, lambda: (leaf(0),)),
    "constant": (lambda x: weft.ones(2, dtype=weft.float64), lambda: (leaf(2),)),
    "integers": (lambda x: x.long(), lambda: (leaf(2),)),
}


@both_modes
@pytest.mark.parametrize("name", RIGHT)
def test_right_is_right(name: str, fast: bool) -> None:
    f, make = RIGHT[name]
    inputs = make()
    values = [t.tolist() for t in inputs if isinstance(t, weft.Tensor)]
    assert gradcheck(f, inputs, fast_mode=fast) is True
    assert values == [t.tolist() for t in inputs if isinstance(t, weft.Tensor)]
    if name not in ("constant", "integers"):
        assert gradgradcheck(f, inputs, fast_mode=fast) is True
        assert gradgradcheck(f, inputs, gen_non_contig_grad_outputs=True, fast_mode=fast) is True


def test_one_tensor_needs_no_tuple() -> None:
    assert gradcheck(weft.sin, leaf(2))
    assert gradgradcheck(weft.sin, leaf(2), leaf(2))


@both_modes
def test_wrong_derivative_is_shown(fast: bool) -> None:
    x = weft.tensor([1.0, 2.0], dtype=weft.float64, requires_grad=True)
    f = faulty(lambda x: x**2, lambda x, g: 3 * x * g)
    with pytest.raises(GradcheckError) as caught:
        gradcheck(f, (x,), fast_mode=fast)
    assert isinstance(caught.value, RuntimeError)
    text = str(caught.value)
    assert "Jacobian mismatch for output 0 with respect to input 0,\nnumerical:tensor([[2." in text
    assert "analytical:tensor([[3., 0.],\n        [0., 6.]]" in text
    assert "the largest difference is 2" in text
    assert x.tolist() == [1.0, 2.0]
    assert gradcheck(f, (x,), raise_exception=False, fast_mode=fast) is False


@both_modes
def test_the_wrong_pair_is_named(fast: bool) -> None:
    wrong = faulty(lambda x: x * 1, lambda x, g: 2 * g)
    with pytest.raises(GradcheckError, match="output 2 with respect to input 1,"):
        gradcheck(
            lambda x, y, k: (x > 0, x * k, x + wrong(y)), (leaf(2), leaf(2), 3), fast_mode=fast
        )


@both_modes
def test_transposed_derivative_is_caught(fast: bool) -> None:
    m = weft.arange(9, dtype=weft.float64).reshape(3, 3)
    f = faulty(lambda x: m @ x, lambda x, g: m @ g)
    assert not gradcheck(f, (leaf(3),), raise_exception=False, fast_mode=fast)


def test_off_by_little_is_caught_at_the_tolerance() -> None:
    f = faulty(lambda x: x * 1, lambda x, g: g * 1.01)
    assert not gradcheck(f, (leaf(2),), raise_exception=False)
    assert gradcheck(f, (leaf(2),), atol=0.02)
    assert gradcheck(f, (leaf(2),), rtol=0.02)


def test_second_derivative() -> None:
    f = faulty(lambda x: x**3, lambda x, g: 3 * x.detach() ** 2 * g)
    x = leaf(2)
    assert gradcheck(f, (x,))
    with pytest.raises(GradcheckError, match="output 0 with respect to input 0,"):
        gradgradcheck(f, (x,))
    with pytest.raises(ValueError, match="an output that requires grad"):
        gradgradcheck(lambda x: x.detach(), (x,))


FAULTS: dict[str, tuple[Callable[..., Any], str]] = {
    "not linear": (
        faulty(lambda x: x.sum(), lambda x, g: weft.ones_like(x)),
        "backward not multiplied by grad_output",
    ),
    "detached": (lambda x: x.detach() * 2, "expected to be zero: output 0 .* with input 0"),
    "undefined": (
        faulty(lambda x: (x * 1).sum(), lambda x, g: g * 1 + 0 * x, materialize=False),
        "handle undefined output grads: without those of outputs .0., it raised TypeError",
    ),
    "nan": (faulty(lambda x: x * 1, lambda x, g: g * float("nan")), "Jacobian mismatch"),
}


# weft does not run a node that no gradient reached, so "undefined" cannot go wrong in this way.
@pytest.mark.parametrize("name", [n for n in FAULTS if n != "undefined"])
def test_faults(name: str) -> None:
    f, message = FAULTS[name]
    with pytest.raises(GradcheckError, match=message):
        gradcheck(f, (leaf(2),))


def test_undefined_can_be_left_out() -> None:
    f, _ = FAULTS["undefined"]
    assert gradcheck(f, (leaf(2),), check_undefined_grad=False)


def test_two_runs_of_backward_must_agree() -> None:
    calls = []

    def drifting(x: weft.Tensor, g: weft.Tensor) -> weft.Tensor:
        calls.append(0)
        return g * (1 + 1e-9 * len(calls))

    f = faulty(lambda x: x * 1, drifting)
    with pytest.raises(GradcheckError, match=r"not reentrant.* tolerance .* was 0.0"):
        gradcheck(f, (leaf(2),))
    assert gradcheck(f, (leaf(2),), nondet_tol=1e-6)


def test_inputs_that_cannot_be_checked() -> None:
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(weft.sin, (weft.ones(2),))
    with pytest.raises(RuntimeError, match="The 1th input has a dimension with stride 0"):
        wide = weft.ones(1, dtype=weft.float64).expand(3).requires_grad_()
        gradcheck(lambda x, y: x * y, (leaf(3), wide))
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double"):
        assert gradcheck(weft.sin, (leaf(2, dtype=weft.float32),), eps=1e-2, atol=1e-2)
    with pytest.raises(ValueError, match="must return tensors, but output 0 is a int"):
        gradcheck(lambda x: 3, (leaf(2),))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: gradcheck(weft.sin, x, check_batched_grad=True),
            NotImplementedError,
            "check_batched_grad=True",
        ),
        (
            lambda x: gradcheck(weft.sin, x, check_forward_ad=True),
            NotImplementedError,
            "check_forward_ad=True",
        ),
        (
            lambda x: gradgradcheck(weft.sin, x, check_fwd_over_rev=True),
            NotImplementedError,
            "check_fwd_over_rev=True",
        ),
        (
            lambda x: gradcheck(weft.sin, x, check_backward_ad=False),
            AssertionError,
            "at least one of",
        ),
    ],
)
def test_what_weft_has_not(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(leaf(2))


def test_an_exception_leaves_the_input_as_it_was() -> None:
    x = weft.tensor([1.0, 2.0], dtype=weft.float64, requires_grad=True)

    def fails_when_moved(x: weft.Tensor) -> weft.Tensor:
        if x.tolist() != [1.0, 2.0]:
            raise KeyError
        return x * 2

    with pytest.raises(KeyError):
        gradcheck(fails_when_moved, (x,))
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.skipif(not hasattr(weft, "view_as_complex"), reason="no complex numbers yet")
@both_modes
def test_complex(fast: bool) -> None:
    z = weft.tensor([1 + 2j, 0.5 - 1j], dtype=weft.complex128, requires_grad=True)
    x = leaf(2)
    holomorphic = [lambda z: z * z, lambda z: (z.exp(), z.abs(), z.real, z.conj())]
    for f in holomorphic:
        assert gradcheck(f, (z,), fast_mode=fast)
        assert gradgradcheck(f, (z,), fast_mode=fast)
    assert gradcheck(lambda x: x * (1 + 2j), (x,), fast_mode=fast)
    assert gradcheck(lambda z, x: z * x, (z, x), fast_mode=fast)
    not_conjugated = faulty(lambda z: z * z, lambda z, g: g * 2 * z)
    with pytest.raises(GradcheckError, match="shown as two real ones"):
        gradcheck(not_conjugated, (z,), fast_mode=fast)
    # The gradient of a real number has no imaginary part.
    assert gradcheck(faulty(lambda x: x * 1j, lambda x, g: (g * -1j).real), (x,), fast_mode=fast)
