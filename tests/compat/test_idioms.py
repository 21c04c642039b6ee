"""Small idioms of PyTorch programs that have no place of their own."""

from __future__ import annotations

import pytest

import weft
from weft.compat.names import find
from weft.nn.conv import _ConvNd
from weft.nn.modules.utils import _pair


def test_the_class_of_a_node_carries_its_name() -> None:
    x = weft.ones(2, requires_grad=True)
    y = (x * 2).sum()
    assert type(y.grad_fn).__name__ == "SumBackward0"
    assert y.grad_fn.next_functions[0][0].__class__.__name__ == "MulBackward0"
    leaf = y.grad_fn.next_functions[0][0].next_functions[0][0]
    assert type(leaf).__name__ == "AccumulateGrad" and leaf.variable is x
    assert isinstance(y.grad_fn, weft.autograd.graph.Node)
    assert y.grad_fn == y.grad_fn and y.grad_fn != leaf
    loss = weft.nn.functional.cross_entropy(weft.ones(1, 2, requires_grad=True), weft.tensor([0]))
    assert type(loss.grad_fn).__name__ == "NllLossBackward0"


def test_nodes_are_not_made_by_hand() -> None:
    node = (weft.ones(1, requires_grad=True) * 2).grad_fn
    for kind in (type(node), weft.autograd.graph.Node):
        with pytest.raises(TypeError):
            kind()


def test_a_function_of_ones_own_names_its_node() -> None:
    class Twice(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    assert type(Twice.apply(weft.ones(1, requires_grad=True)).grad_fn).__name__ == "TwiceBackward"


def test_named_results_print_a_line_for_each() -> None:
    text = "torch.return_types.max(\nvalues=tensor([1., 1.]),\nindices=tensor([0, 1]))"
    assert repr(weft.eye(2).max(0)) == text == f"{weft.eye(2).max(0)}"


def test_small_powers_of_complex_numbers_are_exact() -> None:
    z = weft.tensor([1 + 1j, 0, -1.5 - 0.5j])
    assert (z**2).tolist() == [2j, 0, 2 + 1.5j]
    assert (z**3).tolist() == [-2 + 2j, 0, -2.25 - 3.25j]
    assert (z[:1] ** -1).tolist() == [0.5 - 0.5j]


def test_types_of_gpu_tensors_are_only_names() -> None:
    kind = weft.cuda.FloatTensor if weft.cuda.is_available() else weft.FloatTensor
    assert kind([1]).dtype == weft.float32
    assert not isinstance(weft.ones(1), weft.cuda.FloatTensor)
    with pytest.raises((RuntimeError, AssertionError), match=r"cuda\.LongTensor"):
        weft.cuda.LongTensor([1])


def test_old_sparse_types() -> None:
    i, v = weft.tensor([[0, 1], [1, 0]]), weft.tensor([2.0, 3.0])
    s = weft.sparse.FloatTensor(i, v, weft.Size([2, 3]))
    assert s.to_dense().tolist() == [[0, 2, 0], [3, 0, 0]]
    assert isinstance(s, weft.sparse.FloatTensor) and not isinstance(s, weft.sparse.LongTensor)
    assert not isinstance(v, weft.sparse.FloatTensor)
    assert weft.sparse.DoubleTensor(2, 3).to_dense().tolist() == [[0, 0, 0], [0, 0, 0]]
    with pytest.raises(TypeError, match=r"expected values of torch.int64, got torch.float32"):
        weft.sparse.LongTensor(i, v)


def test_a_convolution_on_its_base_class_prints_as_others() -> None:
    class Standardised(_ConvNd):
        def __init__(self, i, o, k):
            one, zero = _pair(1), _pair(0)
            super().__init__(i, o, _pair(k), one, zero, one, False, zero, 1, True, "zeros")

    assert repr(Standardised(2, 3, 3)) == "Standardised(2, 3, kernel_size=(3, 3), stride=(1, 1))"


@pytest.mark.parametrize(
    "name",
    [
        "torch.utils.hooks.RemovableHandle",
        "torch.utils.dlpack.from_dlpack",
        "torch.utils.data._utils.collate.default_collate",
        "torch.utils._pytree.tree_map",
        "torch.optim.__dict__",
        "torch._foreach_lerp_",
        "torch.legacy_contiguous_format",
    ],
)
def test_names_that_programs_use_are_found(name: str) -> None:
    assert find(name) is not None
