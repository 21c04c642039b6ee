"""The twelve classic mistakes: each message names op, rule, values and the user's line."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import weft


def line() -> str:
    """The file and line of the caller, as messages write them."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return f"{__file__}:{frame.f_back.f_lineno}"


def message(kind: type[BaseException], f: Callable[[], Any]) -> str:
    """What ``f`` raises, which must be exactly of ``kind``."""
    with pytest.raises(kind) as caught:
        f()
    assert type(caught.value) is kind
    return str(caught.value)


def has(text: str, *parts: str) -> None:
    for part in parts:
        assert part in text, f"{part!r} is not in: {text}"


# 1-3: shapes


def test_matmul_shapes() -> None:
    a, b = weft.ones(3, 4), weft.ones(5, 6)
    text, at = message(RuntimeError, lambda: a @ b), line()
    has(text, "mat1 and mat2 shapes cannot be multiplied", "[3, 4]", "[5, 6]", at)
    has(message(RuntimeError, lambda: weft.mm(a, b)), "mm", "[3, 4]", "[5, 6]")


def test_add_shapes() -> None:
    a, b = weft.ones(3, 4), weft.ones(3, 5)
    text, at = message(RuntimeError, lambda: a + b), line()
    has(text, "add: the size of tensor a (4) must match the size of tensor b (5)", "dimension 1")
    has(text, "[3, 4]", "[3, 5]", at)


def test_add_in_place_cannot_grow() -> None:
    a = weft.ones(3, 1)
    text, at = message(RuntimeError, lambda: a.add_(weft.ones(3, 4))), line()
    has(text, "add_", "[3, 1]", "doesn't match the broadcast shape [3, 4]", at)


def test_cat_shapes() -> None:
    text, at = message(RuntimeError, lambda: weft.cat([weft.ones(2, 3), weft.ones(2, 4)])), line()
    has(text, "cat", "Sizes of tensors must match except in dimension 0", "tensor number 1")
    has(text, "[2, 3]", "[2, 4]", at)


# 4: the dtype of an index


def test_index_dtype() -> None:
    x, i = weft.ones(3), weft.tensor([0.0])
    text, at = message(IndexError, lambda: x[i]), line()
    has(text, "tensors used as indices must be long, int, byte or bool tensors", "float32", at)
    text, at = message(RuntimeError, lambda: weft.index_select(x, 0, i)), line()
    has(text, "index_select", "int64", "float32", at)
    text, at = message(RuntimeError, lambda: weft.gather(x, 0, i)), line()
    has(text, "gather", "int64", "float32", at)


# 5: a saved tensor was changed in place


def test_saved_tensor_changed_in_place() -> None:
    x = weft.ones(3, requires_grad=True)
    y = x * 2
    z, made = y * y, line()
    changed = (y.add_(1), line())[1]
    text, at = message(RuntimeError, lambda: z.sum().backward()), line()
    has(text, "modified by an inplace operation", "mul", "float32", "[3]")
    has(text, "version 0", "version 1", f"forward call at {made}", f"in place at {changed}", at)


def test_saved_output_changed_in_place() -> None:
    x = weft.ones(3, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    has(message(RuntimeError, lambda: y.sum().backward()), "inplace operation", "output 0 of exp")


def test_saved_tensor_of_a_function_changed_in_place() -> None:
    class Double(weft.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: weft.Tensor) -> weft.Tensor:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: weft.Tensor) -> weft.Tensor:
            return g * 2 + 0 * ctx.saved_tensors[0]

    x = weft.ones(3, requires_grad=True) * 1
    y, made = Double.apply(x), line()
    changed = (x.add_(1), line())[1]
    text = message(RuntimeError, lambda: y.sum().backward())
    has(text, "DoubleBackward", "inplace operation", made, changed)


# 6: backward twice


def test_backward_twice() -> None:
    x = weft.ones(3, requires_grad=True)
    y, made = x.exp(), line()
    y.sum().backward()
    text, at = message(RuntimeError, lambda: y.sum().backward()), line()
    has(text, "backward through the graph a second time", "ExpBackward0", f"made at {made}")
    has(text, "carried over", "retain_graph=True", at)


def test_a_state_that_was_carried_over() -> None:
    w, h = weft.ones(2, requires_grad=True), weft.zeros(2)
    made = ""
    for step in range(2):
        h, here = (h * w).tanh(), line()
        if step == 0:
            h.sum().backward()
            made = here
    text = message(RuntimeError, lambda: h.sum().backward())
    has(text, "second time", "TanhBackward0", made, "carried over", "detach()")


# 7: backward from more than one element


def test_backward_on_a_vector() -> None:
    x = weft.ones(2, 3, requires_grad=True)
    y, made = x * 2, line()
    text, at = message(RuntimeError, lambda: y.backward()), line()
    has(text, "grad can be implicitly created only for scalar outputs", "[2, 3]", ".sum()")
    has(text, "MulBackward0", made, at)


# 8: backward from what has no history: the message names the cut


def test_cut_by_detach() -> None:
    x = weft.ones(3, requires_grad=True)
    y, at = (x * 2).detach(), line()
    text, here = message(RuntimeError, lambda: (y * 3).sum().backward()), line()
    has(text, "element 0 of tensors does not require grad", "cut by detach()", at, here)


def test_cut_by_no_grad() -> None:
    x = weft.ones(3, requires_grad=True)
    with weft.no_grad():
        y, at = x * 2, line()
    has(message(RuntimeError, lambda: (y + 1).sum().backward()), "mul ran under no_grad", at)


def test_cut_by_an_integer_op() -> None:
    x = weft.ones(3, requires_grad=True)
    y, at = x > 0, line()
    has(
        message(RuntimeError, lambda: y.to(weft.float32).sum().backward()),
        "gt",
        "no derivative",
        at,
    )


def test_cut_by_numpy() -> None:
    x = weft.ones(3, requires_grad=True)
    y, at = weft.from_numpy(x.detach().numpy() * 2), line()
    has(message(RuntimeError, lambda: y.sum().backward()), "NumPy", at)


def test_numpy_of_a_tensor_with_history() -> None:
    x = weft.ones(3, requires_grad=True)
    has(
        message(RuntimeError, lambda: x.numpy()),
        "Can't call numpy() on Tensor that requires grad",
        "detach()",
    )


def test_nothing_requires_grad() -> None:
    x = weft.ones(3)
    text, at = message(RuntimeError, lambda: x.sum().backward()), line()
    has(text, "no tensor that went into it requires grad", "requires_grad=True", at)


def test_integers_have_no_gradient() -> None:
    has(
        message(RuntimeError, lambda: weft.ones(1, dtype=weft.int64).sum().backward()),
        "int64",
        "floating point",
    )
    text = message(RuntimeError, lambda: weft.ones(1, dtype=weft.int64).requires_grad_())
    has(text.lower(), "only tensors of floating point and complex dtype can require gradients")


# 9: a leaf changed in place


def test_leaf_in_place() -> None:
    x = weft.ones(3, requires_grad=True)
    text, at = message(RuntimeError, lambda: x.add_(1)), line()
    has(text, "add", "a leaf Variable that requires grad", "in-place operation", "no_grad", at)
    text = message(RuntimeError, lambda: x[0].mul_(2))
    has(text, "mul", "a view of a leaf Variable that requires grad", "in-place")
    assert x.tolist() == [1, 1, 1] and x._version == 0


# 10: the gradient of an unused input


def test_unused_input() -> None:
    x, u = weft.ones(3, requires_grad=True), weft.ones(2, 5, requires_grad=True)
    text, at = message(RuntimeError, lambda: weft.autograd.grad(x.sum(), [x, u])), line()
    has(
        text,
        "appears to not have been used in the graph",
        "input 1",
        "[2, 5]",
        "allow_unused=True",
        at,
    )


# 11: a device that isn't there


@pytest.mark.parametrize(
    "f",
    [
        lambda: weft.ones(2, device="cuda"),
        lambda: weft.ones(2).to("cuda:0"),
        lambda: weft.ones(2, device=weft.device("cuda")),
        lambda: weft.tensor([1.0], device="cuda"),
    ],
)
def test_device(f: Callable[[], Any]) -> None:
    has(message(RuntimeError, f), "cuda", "weft has no such device", "'cpu'")


def test_cuda_method() -> None:
    has(message(RuntimeError, lambda: weft.ones(2).cuda()), "cuda", "'cpu'")


# 12: NaN in backward


def nan_message(anomaly_in_forward: bool) -> tuple[str, str]:
    x = weft.tensor([0.0, 4.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if anomaly_in_forward:
            with weft.autograd.detect_anomaly():
                y, made = (x * 0) / x, line()
                return message(RuntimeError, lambda: y.sum().backward()), made
        y, made = (x * 0) / x, line()
        with weft.autograd.detect_anomaly():
            return message(RuntimeError, lambda: y.sum().backward()), made


@pytest.mark.parametrize("in_forward", [True, False])
def test_nan_in_backward(in_forward: bool) -> None:
    text, made = nan_message(in_forward)
    has(
        text,
        "Function 'DivBackward0' returned nan values in its",
        f"forward call was made at {made}",
    )
    has(
        text,
        "float32 tensor of shape [2] in [0, 4]",
        "gradient: float32 tensor of shape [2] in [1, 1]",
    )


def test_nan_names_inputs_that_nothing_kept() -> None:
    """Under detect_anomaly in forward, inputs' ranges are known even where backward needs none."""
    x = weft.tensor([0.0, 9.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with weft.autograd.detect_anomaly():
            y = x.sqrt() * 0.0
            text = message(RuntimeError, lambda: y.sum().backward())
    has(text, "SqrtBackward0", "input: float32 tensor of shape [2] in [0, 9]")


def test_no_error_without_anomaly_mode_or_check() -> None:
    x = weft.zeros(1, requires_grad=True)
    ((x * 0) / x).sum().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with weft.autograd.detect_anomaly(check_nan=False):
            ((x * 0) / x).sum().backward()
    assert x.grad is not None and x.grad.isnan().tolist() == [True]


# ---- further: the module path, argument errors, dims


def test_module_path_in_messages_and_nodes() -> None:
    x = weft.ones(3, requires_grad=True)
    before = weft._C._enter_module("net.layer1.linear")
    try:
        y, made = x * 2, line()
        text = message(RuntimeError, lambda: y + weft.ones(4))
    finally:
        weft._C._leave_module(before)
    has(text, "(module net.layer1.linear)", __file__)
    assert y.grad_fn.origin.startswith(made)
    assert y.grad_fn.origin.endswith("(module net.layer1.linear)")
    assert "(module" not in (x * 2).grad_fn.origin
    z = y * y
    y.add_(1)
    has(message(RuntimeError, lambda: z.sum().backward()), "inplace operation")


def test_module_path_of_a_freed_node() -> None:
    x = weft.ones(3, requires_grad=True)
    before = weft._C._enter_module("encoder.0")
    y = x.exp()
    weft._C._leave_module(before)
    y.sum().backward()
    has(message(RuntimeError, lambda: y.sum().backward()), "(module encoder.0)")


def test_wrong_argument_types_name_the_signature() -> None:
    text = message(TypeError, lambda: weft.exp("x"))  # type: ignore[arg-type]
    has(text, "exp", "must be Tensor, not str", "exp(Tensor input)")
    text = message(TypeError, lambda: weft.ones(2).add(1, nothing=3))  # type: ignore[call-arg]
    has(text, "add", "nothing")


def test_dimension_out_of_range() -> None:
    text, at = message(IndexError, lambda: weft.ones(2, 3).sum(5)), line()
    has(text, "sum", "[-2, 1]", "5", at)


def test_item_of_many() -> None:
    has(message(RuntimeError, lambda: weft.ones(2, 3).item()), "item", "6 elements", "[2, 3]")
    assert re.search("ambiguous", message(RuntimeError, lambda: bool(weft.ones(2))))


def test_other_devices() -> None:
    text, at = message(RuntimeError, lambda: weft.zeros(2, device="cuda")), line()
    has(text, "device('cuda')", "'cpu'", at)
    text, at = message(RuntimeError, lambda: weft.ones(2).to("cuda")), line()
    has(text, "device('cuda')", at)


def test_numpy_of_a_recorded_tensor() -> None:
    x = weft.ones(2, requires_grad=True)
    text, at = message(RuntimeError, lambda: x.numpy()), line()
    has(text, "detach().numpy()", at)
    text, at = message(TypeError, lambda: weft.ones(2, dtype=weft.bfloat16).numpy()), line()
    has(text, "bfloat16", at)


def test_ops_made_of_ops() -> None:
    """They name themselves, not their parts, and a wrong type is a TypeError."""
    text, at = message(RuntimeError, lambda: weft.vander(weft.ones(2, 2))), line()
    has(text, "vander", "[2, 2]", at)
    text, at = message(TypeError, lambda: weft.cov("text")), line()
    has(text, "cov: argument 'input' must be Tensor, not str", at)


def test_calls_that_fit_no_overload() -> None:
    """Every overload is named, each with what kept the call from it."""
    x = weft.ones(2, 3)
    sum_all, sum_dim = "\n * sum(Tensor input, *", "\n * sum.dim(Tensor input, int"
    text = message(TypeError, lambda: weft.sum(x, "a"))
    has(text, "invalid combination of arguments", sum_all, sum_dim)
    has(text, "(takes 1 positional arguments but 2 were given)")
    has(text, "(argument 'dim' must be int or sequence of ints, not str)")
    text = message(TypeError, lambda: weft.sum(x, 1, dim=1))
    has(text, sum_all, sum_dim, "(got multiple values for argument 'dim')")
    text = message(TypeError, lambda: weft.sum(x, dimm=1))
    assert text.count("(got an unexpected keyword argument 'dimm')") == 2
    has(message(TypeError, lambda: weft.add(x)), "(missing argument 'other')")
    has(
        message(TypeError, lambda: x.permute(0, "a")),
        "permute(): argument 'dims': expected ints, got str. Expected",
    )
    has(message(TypeError, lambda: x.sum(1, out=3)), "(argument 'out' is not right: got int)")
