"""``nn.utils``: clipping, vectors, packing, norms, skip_init, functional_call, fusion."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import weft
from weft import nn
from weft.nn import utils
from weft.nn.utils import rnn
from weft.nn.utils.stateless import functional_call


def with_grads(*values: float) -> list[Any]:
    """Parameters of one element with these gradients."""
    made = []
    for value in values:
        p = nn.Parameter(weft.zeros(1))
        p.grad = weft.tensor([value])
        made.append(p)
    return made


# ---- gradients and vectors ----------------------------------------------------------------------


def test_clip_grad_norm() -> None:
    """Gradients are scaled by one factor, if they are too long; the norm before is returned."""
    params = [*with_grads(3.0, -4.0), nn.Parameter(weft.zeros(1))]
    assert utils.clip_grad_norm_(params, 10.0).item() == 5
    assert params[0].grad.item() == 3
    assert utils.clip_grad_norm_(params, 1.0).item() == 5
    assert [round(p.grad.item(), 4) for p in params[:2]] == [0.6, -0.8]
    params = with_grads(3.0, -4.0)
    assert utils.clip_grad_norm_(params, 2.0, norm_type=float("inf")).item() == 4
    assert params[1].grad.item() == pytest.approx(-2, abs=1e-5)
    assert utils.clip_grad_norm_(iter(params), 1e9, norm_type=1).item() == pytest.approx(3.5)
    assert utils.get_total_norm([]).item() == 0
    bad = with_grads(float("nan"))
    with pytest.raises(RuntimeError, match=r"The total norm .* is non-finite"):
        utils.clip_grad_norm_(bad, 1.0, error_if_nonfinite=True)
    assert utils.clip_grad_norm_([], 1.0).item() == 0
    with pytest.warns(UserWarning, match="empty generator"):
        utils.clip_grad_norm_(nn.ReLU().parameters(), 1.0)


def test_clip_grad_value() -> None:
    """Elements are cut at both ends."""
    params = with_grads(3.0, -4.0, 0.5)
    utils.clip_grad_value_(params, 1)
    assert [p.grad.item() for p in params] == [1, -1, 0.5]


def test_vectors() -> None:
    """All parameters as a vector, with gradients, and back."""
    m = nn.Linear(2, 3)
    v = utils.parameters_to_vector(m.parameters())
    assert v.shape == (9,) and v.requires_grad
    utils.vector_to_parameters(weft.arange(9.0), m.parameters())
    assert m.weight.tolist() == [[0, 1], [2, 3], [4, 5]] and m.bias.tolist() == [6, 7, 8]
    with pytest.raises(TypeError, match=r"expected torch.Tensor, but got: list"):
        utils.vector_to_parameters([1], m.parameters())
    with pytest.raises(RuntimeError, match="invalid for input of size"):
        utils.vector_to_parameters(weft.zeros(8), m.parameters())


# ---- sequences ----------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_first", [False, True])
def test_pack_and_pad(batch_first: bool) -> None:
    """Packing and padding undo each other, in any order of lengths, with gradients."""
    lengths = [2, 4, 1]
    x = weft.randn(3, 4, 2, dtype=weft.float64)
    for i, n in enumerate(lengths):
        x[i, n:] = 0
    x = (x if batch_first else x.transpose(0, 1)).requires_grad_()
    packed = rnn.pack_padded_sequence(x, lengths, batch_first, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1] and packed.data.shape == (7, 2)
    assert packed.sorted_indices.tolist() == [1, 0, 2]
    padded, found = rnn.pad_packed_sequence(packed, batch_first)
    assert found.tolist() == lengths and (padded == x).all()
    padded.sum().backward()
    mask = (x != 0).to(x.dtype).detach()
    assert (x.grad == mask).all()
    longer, _ = rnn.pad_packed_sequence(packed, batch_first, padding_value=-1.0, total_length=6)
    assert longer.shape == ((3, 6, 2) if batch_first else (6, 3, 2))
    assert (longer.sum() - padded.sum()).item() == pytest.approx(-(18 - 7) * 2)


def test_pack_order() -> None:
    """Elements are packed step by step."""
    x = weft.arange(12.0).reshape(2, 3, 2)
    packed = rnn.pack_padded_sequence(x, [3, 1], batch_first=True)
    assert packed.data.tolist() == [[0, 1], [6, 7], [2, 3], [4, 5]]
    assert packed.sorted_indices is None and packed.unsorted_indices is None
    assert packed.to(weft.float64).data.dtype == packed.double().data.dtype == weft.float64
    assert [t.tolist() for t in rnn.unpack_sequence(packed)] == [
        [[0, 1], [2, 3], [4, 5]],
        [[6, 7]],
    ]
    again = rnn.pack_sequence([x[0], x[1, :1]])
    assert (again.data == packed.data).all()
    assert rnn.invert_permutation(weft.tensor([2, 0, 1])).tolist() == [1, 2, 0]
    assert isinstance(copy.deepcopy(packed), rnn.PackedSequence)


def test_pack_errors() -> None:
    """Lengths that do not fit are refused."""
    x = weft.zeros(2, 3)
    for lengths, message in [
        ([1, 3], "must be sorted in decreasing order"),
        ([1, 0], "has to be greater than 0"),
        ([1], r"equal to batch_size, but got 1 \(batch_size=2\)"),
        ([4, 1], "input has 3 steps"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            rnn.pack_padded_sequence(x, lengths, batch_first=True)
    packed = rnn.pack_sequence([weft.ones(3), weft.ones(1)])
    with pytest.raises(ValueError, match="total_length=2 and max sequence length being 3"):
        rnn.pad_packed_sequence(packed, total_length=2)


def test_pad_sequence() -> None:
    """Sequences are padded on either side."""
    parts = [weft.ones(2), weft.ones(3)]
    assert rnn.pad_sequence(parts).tolist() == [[1, 1], [1, 1], [0, 1]]
    left = rnn.pad_sequence(parts, True, 9.0, "left")
    assert left.tolist() == [[9, 1, 1], [1, 1, 1]]
    back = rnn.unpad_sequence(rnn.pad_sequence(parts, True), weft.tensor([2, 3]), True)
    assert [t.tolist() for t in back] == [[1, 1], [1, 1, 1]]
    with pytest.raises(RuntimeError, match="empty list"):
        rnn.pad_sequence([])
    with pytest.raises(TypeError, match="element 1 is list, not a Tensor"):
        rnn.pad_sequence([weft.ones(2), [1.0]])  # type: ignore[list-item]
    with pytest.raises(RuntimeError, match="left or right, but got x"):
        rnn.pad_sequence(parts, padding_side="x")


# ---- norms of weights, by hooks -----------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim: int | None) -> None:
    """The weight is the same at first; its length is g; both parts are trained."""
    m = nn.Linear(3, 2)
    w = m.weight.detach().clone()
    utils.weight_norm(m, dim=dim)
    assert weft.allclose(m.weight, w) and list(m.state_dict()) == ["bias", "weight_g", "weight_v"]
    with weft.no_grad():
        m.weight_g.mul_(3)
    m(weft.ones(1, 3)).sum().backward()
    assert weft.allclose(m.weight, 3 * w, atol=1e-6)
    assert m.weight_g.grad is not None and m.weight_v.grad is not None
    with pytest.raises(RuntimeError, match="Cannot register two weight_norm hooks"):
        utils.weight_norm(m)
    utils.remove_weight_norm(m)
    assert isinstance(m.weight, nn.Parameter) and weft.allclose(m.weight, 3 * w, atol=1e-6)
    assert list(m.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
        utils.remove_weight_norm(m)


def test_spectral_norm() -> None:
    """After some calls the largest singular value is one; evaluation leaves u and v alone."""
    m = utils.spectral_norm(nn.Linear(6, 5))
    assert list(m.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    assert m.state_dict()._metadata[""]["spectral_norm"] == {"weight.version": 1}
    for _ in range(50):
        m(weft.ones(1, 6))
    assert weft.linalg.matrix_norm(m.weight.detach(), 2).item() == pytest.approx(1, abs=1e-3)
    u = m.weight_u.clone()
    m.eval()(weft.ones(1, 6)).sum().backward()
    assert (m.weight_u == u).all() and m.weight_orig.grad.abs().sum() > 0
    m.train()
    (m(weft.ones(1, 6)) + m(weft.ones(1, 6))).sum().backward()  # two calls, one backward
    utils.remove_spectral_norm(m)
    assert list(m.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError, match="n_power_iterations to be positive"):
        utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)


@pytest.mark.parametrize("norm", [utils.weight_norm, utils.spectral_norm])
def test_norms_are_copied(norm: Any) -> None:
    """A copy of a module makes its own weight from its own parts."""
    m = norm(nn.Linear(3, 2)).eval()
    c = copy.deepcopy(m)
    assert not c.weight.requires_grad and weft.equal(c.weight, m.weight)
    assert weft.allclose(c(weft.ones(1, 3)), m(weft.ones(1, 3))) and c.weight.requires_grad
    c.weight.sum().backward()
    assert all(p.grad is None for p in m.parameters())


def test_weight_norm_needs_a_dimension() -> None:
    """A dimension that the weight does not have is refused, in both forms."""
    for norm in (utils.weight_norm, utils.parametrizations.weight_norm):
        with pytest.raises(IndexError, match=r"in \[-2, 1\] for a weight of shape \[2, 3\], got 2"):
            norm(nn.Linear(3, 2), dim=2)


# ---- the rest -----------------------------------------------------------------------------------


def test_skip_init() -> None:
    """Nothing is drawn, and the functions of nn.init are themselves again."""
    before = weft.get_rng_state()
    m = utils.skip_init(nn.Linear, 20, 30)
    assert (weft.get_rng_state() == before).all() and m.weight.shape == (30, 20)
    assert nn.init.ones_(weft.empty(1)).item() == 1
    with pytest.raises(RuntimeError, match="must support a 'device' arg"):
        utils.skip_init(nn.ReLU)


def test_functional_call() -> None:
    """Other tensors for one call, with gradients to them; the module keeps its own."""
    m = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    own = m[0].weight
    w = weft.eye(2).requires_grad_()
    given = {"0.weight": w, "0.bias": weft.zeros(2)}
    x = weft.tensor([[1.0, 2.0], [3.0, 5.0]])
    y = functional_call(m[0], {"weight": w, "bias": weft.zeros(2)}, x)
    assert (y == x).all()
    y.sum().backward()
    assert w.grad is not None and m[0].weight is own and own.grad is None
    functional_call(m, given, (x,))
    assert m[0].weight is own and m[0]._parameters["weight"] is own
    functional_call(m, ({"0.weight": w}, {"0.bias": weft.zeros(2)}), x)
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): 'q'"):
        functional_call(m[0], {"q": w}, x, strict=True)
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        functional_call(m, ({"a": w}, {"a": w}), x)
    with pytest.raises(RuntimeError):
        functional_call(m, given, weft.ones(2, 3))
    assert m[0].weight is own


def test_functional_call_tied() -> None:
    """A tensor that is in two places is replaced in both."""
    layer = nn.Linear(2, 2)
    m = nn.Sequential(layer, layer)
    given = {"0.weight": 2 * weft.eye(2), "0.bias": weft.zeros(2)}
    assert functional_call(m, given, weft.ones(1, 2)).tolist() == [[4, 4]]
    twice = {"0.weight": weft.eye(2), "1.weight": weft.zeros(2, 2)}
    with pytest.raises(ValueError, match="which are tied"):
        functional_call(m, twice, weft.ones(1, 2))


@pytest.mark.parametrize("kind", ["Conv1d", "Conv2d", "Linear", "ConvTranspose2d"])
def test_fusion(kind: str) -> None:
    """A fused layer does what layer and batch norm do."""
    dims = {"Conv1d": 1, "Conv2d": 2, "Linear": 0, "ConvTranspose2d": 2}[kind]
    layer = getattr(nn, kind)(3, 4, *([3] if dims else []), bias=kind != "Conv1d")
    bn = (nn.BatchNorm2d if dims == 2 else nn.BatchNorm1d)(4)
    x = weft.randn(5, 3, *[6] * dims)
    for _ in range(3):
        bn(layer(x))  # running statistics to fuse
    with weft.no_grad():
        bn.weight.uniform_(0.5, 2)
        bn.bias.normal_()
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        utils.fuse_conv_bn_eval(layer, bn)
    layer.eval()
    bn.eval()
    if kind == "Linear":
        fused = utils.fuse_linear_bn_eval(layer, bn)
    else:
        fused = utils.fuse_conv_bn_eval(layer, bn, transpose=kind.startswith("ConvT"))
    assert type(fused) is type(layer) and fused is not layer
    assert weft.allclose(fused(x), bn(layer(x)), atol=1e-4)


def test_prefix() -> None:
    """A prefix is cut off the names of a state dict."""
    state = nn.DataParallel(nn.Linear(1, 1)).state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert sorted(state) == ["bias", "weight"]
    nn.Linear(1, 1).load_state_dict(state)
    assert nn.modules.utils._pair(3) == (3, 3) and nn.modules.utils._triple([1, 2, 3]) == (1, 2, 3)
