"""Parametrizations: registering, assigning, stacking, removing, and those that are ready."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import weft
from weft import nn
from weft.nn.utils import parametrizations, parametrize


class Symmetric(nn.Module):
    """Mirrors the upper triangle."""

    def forward(self, x: Any) -> Any:
        """Return x made symmetric."""
        return x.triu() + x.triu(1).T

    def right_inverse(self, a: Any) -> Any:
        """Return the upper triangle."""
        return a.triu()


class Halves(nn.Module):
    """A tensor as the sum of two."""

    def forward(self, a: Any, b: Any) -> Any:
        """Return the sum."""
        return a + b

    def right_inverse(self, x: Any) -> Any:
        """Return the halves."""
        return x / 2, x / 2


def test_register_and_remove() -> None:
    """The tensor is computed when read, trained by its original, and becomes a tensor again."""
    m = nn.Linear(3, 3)
    before = m.weight
    parametrize.register_parametrization(m, "weight", Symmetric())
    assert (m.weight == m.weight.T).all() and m.parametrizations.weight.original is before
    assert list(m.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert parametrize.is_parametrized(m) and parametrize.is_parametrized(m, "weight")
    assert not parametrize.is_parametrized(m, "bias")
    assert type(m).__name__ == "ParametrizedLinear" and isinstance(m, nn.Linear)
    assert parametrize.type_before_parametrizations(m) is nn.Linear
    assert repr(m) == (
        "ParametrizedLinear(\n"
        "  in_features=3, out_features=3, bias=True\n"
        "  (parametrizations): ModuleDict(\n"
        "    (weight): ParametrizationList(\n"
        "      (0): Symmetric()\n"
        "    )\n"
        "  )\n"
        ")"
    )
    m(weft.ones(1, 3)).sum().backward()
    assert before.grad is not None and (before.grad.tril(-1) == 0).all()
    value = weft.arange(9.0).reshape(3, 3)
    m.weight = value + value.T
    assert weft.allclose(m.weight, value + value.T)
    parametrize.remove_parametrizations(m, "weight")
    assert type(m) is nn.Linear and m.weight is before and weft.allclose(m.weight, value + value.T)
    assert list(m.state_dict()) == ["bias", "weight"] and not hasattr(m, "parametrizations")
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(m, "weight")


def test_remove_leaves_original() -> None:
    """``leave_parametrized=False`` brings the original back."""
    m = nn.Linear(2, 2, bias=False)
    parametrize.register_parametrization(m, "weight", Symmetric())
    with weft.no_grad():
        m.parametrizations.weight.original.copy_(weft.tensor([[1.0, 2.0], [9.0, 3.0]]))
    parametrize.remove_parametrizations(m, "weight", leave_parametrized=False)
    assert m.weight.tolist() == [[1, 2], [9, 3]]


def test_several_originals() -> None:
    """``right_inverse`` may return several tensors."""
    m = nn.Linear(2, 2)
    w = m.weight.detach().clone()
    parametrize.register_parametrization(m, "weight", Halves())
    assert list(m.state_dict())[1:] == [f"parametrizations.weight.original{i}" for i in (0, 1)]
    assert weft.allclose(m.weight, w) and not m.parametrizations.weight.is_tensor
    m.weight = weft.ones(2, 2)
    assert m.parametrizations.weight.original1.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(ValueError, match="Cannot leave unparametrized"):
        parametrize.remove_parametrizations(m, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(m, "weight")
    assert isinstance(m.weight, nn.Parameter) and m.weight.tolist() == [[1, 1], [1, 1]]


def test_stack_buffer_and_two_tensors() -> None:
    """Several parametrizations of a tensor, of a buffer, of two tensors of one module."""

    class Double(nn.Module):
        def forward(self, x: Any) -> Any:
            return 2 * x

    m = nn.Linear(2, 2)
    m.register_buffer("b", weft.ones(2))
    parametrize.register_parametrization(m, "b", Double())
    parametrize.register_parametrization(m, "weight", Symmetric())
    parametrize.register_parametrization(m, "weight", Double())
    assert m.b.tolist() == [2, 2] and list(m.parametrizations) == ["b", "weight"]
    assert len(m.parametrizations.weight) == 2
    assert weft.allclose(
        m.weight, 2 * m.parametrizations.weight[0](m.parametrizations.weight.original)
    )
    assert "original" in m.parametrizations.b._buffers
    with pytest.raises(RuntimeError, match="does not implement right_inverse"):
        m.weight = weft.ones(2, 2)
    parametrize.remove_parametrizations(m, "b")
    assert parametrize.is_parametrized(m) and m._buffers["b"].tolist() == [2, 2]


def test_checks() -> None:
    """Type, shape and dtype stay, unless told ``unsafe``."""

    def make(f: Any) -> nn.Module:
        class Made(nn.Module):
            def forward(self, x: Any) -> Any:
                return f(x)

        return Made()

    register = parametrize.register_parametrization
    with pytest.raises(ValueError, match="may not change the shape"):
        register(nn.Linear(2, 2), "weight", make(lambda x: x.sum()))
    with pytest.raises(ValueError, match="may not change the dtype"):
        register(nn.Linear(2, 2), "weight", make(lambda x: x.double()))
    with pytest.raises(ValueError, match="must return a tensor"):
        register(nn.Linear(2, 2), "weight", make(lambda x: 3))
    with pytest.raises(ValueError, match="with name 'zz'"):
        register(nn.Linear(2, 2), "zz", make(lambda x: x))
    m = register(nn.Linear(2, 2), "weight", make(lambda x: x.sum()), unsafe=True)
    assert m.weight.shape == ()


def test_cached_copied_transferred() -> None:
    """One computation per block; deep copies are independent; pickles are refused."""
    m = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    with parametrize.cached():
        first = m.weight
        assert m.weight is first
    assert m.weight is not first
    other = copy.deepcopy(m)
    with weft.no_grad():
        other.parametrizations.weight.original.zero_()
    assert other.weight.abs().sum() == 0 and m.weight.abs().sum() > 0
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(m)
    target = parametrize.transfer_parametrizations_and_params(m, nn.Linear(2, 2))
    assert (target.weight == m.weight).all() and parametrize.is_parametrized(target)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)])
@pytest.mark.parametrize("how", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("base", [True, False])
def test_orthogonal(shape: tuple[int, int], how: str | None, base: bool) -> None:
    """Orthogonal at first, after a step, and after an assignment."""
    m = nn.Linear(*shape).double()
    parametrizations.orthogonal(m, orthogonal_map=how, use_trivialization=base)

    def check() -> None:
        w = m.weight.detach()
        gram = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
        assert weft.allclose(gram, weft.eye(gram.shape[0], dtype=w.dtype), atol=1e-8)

    check()
    m(weft.randn(5, shape[0], dtype=weft.float64)).square().sum().backward()
    original = m.parametrizations.weight.original
    assert original.grad is not None and original.grad.abs().sum() > 0
    with weft.no_grad():
        original.sub_(0.01 * original.grad)
    check()
    target = nn.init.orthogonal_(weft.empty(shape[1], shape[0], dtype=weft.float64))
    kind = how or ("matrix_exp" if shape == (3, 3) else "householder")
    if base or kind == "householder":
        m.weight = target
        assert weft.allclose(m.weight, target, atol=1e-7)
    else:
        with pytest.raises(NotImplementedError, match="use_trivialization=False"):
            m.weight = target


def test_orthogonal_errors() -> None:
    """A map must be known, and a weight a matrix."""
    with pytest.raises(ValueError, match="orthogonal_map has to be one of"):
        parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="zz")
    with pytest.raises(ValueError, match="Got a tensor of 1 dimensions"):
        parametrizations.orthogonal(nn.Linear(2, 2), "bias")


def test_weight_norm() -> None:
    """Length and direction are originals 0 and 1; states of the older form are read."""
    m = nn.Linear(3, 2)
    w = m.weight.detach().clone()
    parametrizations.weight_norm(m)
    assert weft.allclose(m.weight, w)
    assert m.parametrizations.weight.original0.shape == (2, 1)
    old = nn.utils.weight_norm(nn.Linear(3, 2))
    m.load_state_dict(old.state_dict())
    x = weft.randn(4, 3)
    assert weft.allclose(m(x), old(x), atol=1e-6)


def test_spectral_norm() -> None:
    """The largest singular value is one; vectors are scaled to length one."""
    m = parametrizations.spectral_norm(nn.Linear(6, 5))
    for _ in range(30):
        m(weft.ones(1, 6))
    assert weft.linalg.matrix_norm(m.weight.detach(), 2).item() == pytest.approx(1, abs=1e-3)
    m.eval()
    assert (m.weight == m.weight).all()
    names = list(m.state_dict())
    assert names[2:] == ["parametrizations.weight.0._u", "parametrizations.weight.0._v"]
    v = parametrizations.spectral_norm(nn.BatchNorm1d(3))
    assert weft.linalg.vector_norm(v.weight).item() == pytest.approx(1)
