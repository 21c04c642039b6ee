"""``gradcheck`` and ``gradgradcheck``: derivatives compared with finite differences.

Complex numbers are taken as pairs of real ones throughout: with ``z = x + iy``, the gradient that
backward returns is ``dL/dx + i dL/dy`` for a real ``L``. So both Jacobians are real, and one
comparison serves every combination of real and complex inputs and outputs.
"""

from __future__ import annotations

import weft

from .function import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from weft import Tensor

    Func = Callable[..., Tensor | Sequence[Tensor]]

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """What ``gradcheck`` and ``gradgradcheck`` raise when a derivative is wrong."""


def gradcheck(
    func: Func,
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of ``func`` with finite differences, element by element.

    Checked for every input that requires a gradient and every output that has one. Inputs should
    be of double precision, and may have any layout without overlap.

    Args:
        func: takes ``inputs`` and returns a tensor or a sequence of tensors.
        inputs: one tensor, or the arguments of ``func`` (also others than tensors).
        eps: step of the finite differences.
        atol: absolute tolerance.
        rtol: relative tolerance.
        raise_exception: raise instead of returning False.
        nondet_tol: how much two runs of the same backward may differ.
        check_undefined_grad: also check that missing output gradients count as zeros.
        check_grad_dtypes: also check that gradients have the dtypes of their inputs.
        check_batched_grad: not available in weft.
        check_batched_forward_grad: not available in weft.
        check_forward_ad: not available in weft.
        check_backward_ad: must be True.
        fast_mode: compare one random combination of the elements instead of each of them.
        masked: accepted for PyTorch's sake; it concerns sparse tensors only.

    Returns:
        True if all is right.

    Raises:
        GradcheckError: with both Jacobians, if not.

    >>> x = weft.tensor([0.5, -1.0], dtype=weft.float64, requires_grad=True)
    >>> weft.autograd.gradcheck(lambda x: x.sin() * x, (x,))
    True
    """
    if not (check_backward_ad or check_forward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    _refuse(
        "gradcheck",
        check_batched_grad=check_batched_grad,
        check_batched_forward_grad=check_batched_forward_grad,
        check_forward_ad=check_forward_ad,
    )
    args = (inputs,) if isinstance(inputs, weft.Tensor) else tuple(inputs)
    try:
        check = _Check(func, args, eps, atol, rtol)
        if check.any_output_requires_grad():
            (check.fast if fast_mode else check.full)()
            check.repeats(nondet_tol)
            check.linear(check_grad_dtypes)
            if check_undefined_grad:
                check.undefined()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Func,
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare the second derivatives of ``func`` with finite differences of the first.

    Checked with respect to ``inputs`` and to ``grad_outputs``, the vectors of the vector-Jacobian
    product, which are random if not given. The other arguments are those of :func:`gradcheck`.

    Args:
        gen_non_contig_grad_outputs: make the random ``grad_outputs`` non-contiguous.

    >>> x = weft.tensor([0.5, -1.0], dtype=weft.float64, requires_grad=True)
    >>> weft.autograd.gradgradcheck(lambda x: x.sin() * x, (x,))
    True
    """
    if not (check_rev_over_rev or check_fwd_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    _refuse("gradgradcheck", check_fwd_over_rev=check_fwd_over_rev)
    args = (inputs,) if isinstance(inputs, weft.Tensor) else tuple(inputs)
    outputs = _outputs(func, args)
    chosen = [k for k, y in enumerate(outputs) if y.requires_grad]
    if not chosen:
        raise ValueError("gradgradcheck expects the function to have an output that requires grad")
    if grad_outputs is None:
        vectors = _random_like([outputs[k] for k in chosen], gen_non_contig_grad_outputs)
    else:
        single = isinstance(grad_outputs, weft.Tensor)
        vectors = [grad_outputs] if single else list(grad_outputs)
        if len(vectors) != len(chosen):
            raise ValueError(
                f"gradgradcheck: {len(vectors)} grad_outputs were given for {len(chosen)} outputs "
                "that require grad"
            )

    def first_derivative(*both: Any) -> tuple[Tensor, ...]:
        own, vs = both[: len(args)], both[len(args) :]
        ys = _outputs(func, own)
        xs = [x for x in weft.utils.pytree.find_tensors(own) if x.requires_grad]
        grads = weft.autograd.grad(
            [ys[k] for k in chosen], xs, vs, create_graph=True, allow_unused=True
        )
        return tuple(g for g in grads if g is not None)

    return gradcheck(
        first_derivative,
        (*args, *vectors),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        masked=masked,
    )


class _Check:
    """One function at one point: its two Jacobians, and the questions asked of them."""

    def __init__(
        self, func: Func, args: tuple[Any, ...], eps: float, atol: float, rtol: float
    ) -> None:
        self.func, self.args = func, args
        self.eps, self.atol, self.rtol = eps, atol, rtol
        numbered = list(enumerate(weft.utils.pytree.find_tensors(args)))
        self.places = [i for i, x in numbered if x.requires_grad]
        self.xs = [x for _, x in numbered if x.requires_grad]
        if not self.xs:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of "
                "them have requires_grad=True."
            )
        for i, x in zip(self.places, self.xs):
            _check_input(i, x)
        outputs = _outputs(func, args)
        self.chosen = [k for k, y in enumerate(outputs) if y.requires_grad]

    def outputs(self) -> list[Tensor]:
        """Compute the outputs that have a gradient."""
        ys = _outputs(self.func, self.args)
        return [ys[k] for k in self.chosen]

    def any_output_requires_grad(self) -> bool:
        """Say so; where none does, check that none depends on the inputs."""
        if self.chosen:
            return True
        ys = _outputs(self.func, self.args)
        self.chosen = [k for k, y in enumerate(ys) if y.is_floating_point() or y.is_complex()]
        for i, x in zip(self.places, self.xs):
            for k, j in zip(self.chosen, self.numerical(x)):
                if j.numel() and not _close(weft.zeros_like(j), j, self.atol, self.rtol):
                    raise GradcheckError(
                        "Numerical gradient for function expected to be zero: output "
                        f"{k} does not require grad but changes with input {i},\nnumerical:{j}\n"
                    )
        return False

    # -- the two Jacobians: one row for each real number in the input, one column for each in the
    # -- output

    def numerical(self, x: Tensor) -> list[Tensor]:
        """Return the Jacobian of each output with respect to ``x``, by central differences."""
        rows: list[list[Tensor]] = [[] for _ in self.chosen]
        place = x.data
        for index in _indices(x.shape):
            value = place[index].item()
            for step in (self.eps, self.eps * 1j) if x.is_complex() else (self.eps,):
                try:
                    place[index] = value + step
                    above = [_flat(y) for y in self.outputs()]
                    place[index] = value - step
                    below = [_flat(y) for y in self.outputs()]
                finally:
                    place[index] = value
                for row, a, b in zip(rows, above, below):
                    row.append((a - b) / (2 * self.eps))
        return [
            weft.stack(row) if row else weft.zeros((0, _flat(y).numel()), dtype=weft.float64)
            for row, y in zip(rows, self.outputs())
        ]

    def analytical(self, y: Tensor) -> list[Tensor]:
        """Return the Jacobian of ``y`` with respect to each input, by backward."""
        columns: list[list[Tensor]] = [[] for _ in self.xs]
        for index in _indices(y.shape):
            for unit in (1.0, 1j) if y.is_complex() else (1.0,):
                g = weft.zeros_like(y).detach()
                g[index] = unit
                for column, gx in zip(columns, self.gradients([y], [g])):
                    column.append(gx)
        return [
            weft.stack(column, 1) if column else weft.zeros((_flat(x).numel(), 0))
            for column, x in zip(columns, self.xs)
        ]

    def gradients(self, ys: list[Tensor], gs: list[Tensor]) -> list[Tensor]:
        """Return the gradient of each input, as real numbers in a row; zeros where it is None."""
        grads = weft.autograd.grad(ys, self.xs, gs, retain_graph=True, allow_unused=True)
        return [_flat(weft.zeros_like(x) if g is None else g) for g, x in zip(grads, self.xs)]

    # -- the questions

    def full(self) -> None:
        """Do the Jacobians agree?"""
        numerical = [self.numerical(x) for x in self.xs]
        for k, y in enumerate(self.outputs()):
            for i, analytical in enumerate(self.analytical(y)):
                if not _close(analytical, numerical[i][k], self.atol, self.rtol):
                    raise GradcheckError(self.mismatch(k, i, numerical[i][k], analytical))

    def mismatch(self, k: int, i: int, numerical: Tensor, analytical: Tensor) -> str:
        """Tell both Jacobians of output ``k`` with respect to input ``i``."""
        x, y = self.xs[i], self.outputs()[k]
        parts = ""
        if x.is_complex() or y.is_complex():
            parts = "(complex numbers are shown as two real ones: real part, imaginary part)\n"
        worst = (numerical - analytical).abs().max().item()
        return (
            f"Jacobian mismatch for output {self.chosen[k]} with respect to input "
            f"{self.places[i]},\nnumerical:{numerical}\nanalytical:{analytical}\n{parts}"
            f"rows are elements of the input, of shape {list(x.shape)}, columns elements of the "
            f"output, of shape {list(y.shape)}; the largest difference is {worst:.6g}\n"
        )

    def fast(self) -> None:
        """Does one random combination of each Jacobian's elements agree?"""
        ys = self.outputs()
        # With u = v, a Jacobian and its transpose would look alike: one call makes both.
        uvs = _random_like([*self.xs, *ys], False, positive=True)
        us, vs = uvs[: len(self.xs)], uvs[len(self.xs) :]
        slopes = [self.slopes(x, u) for x, u in zip(self.xs, us)]
        for k, (y, v) in enumerate(zip(ys, vs)):
            for i, (u, g) in enumerate(zip(us, self.gradients([y], [v.detach()]))):
                numerical = (slopes[i][k] * _flat(v)).sum()
                analytical = (g * _flat(u)).sum()
                atol = self.atol * (_flat(u).sum() * _flat(v).sum()).item()
                if _close(analytical, numerical, max(atol, self.atol), self.rtol):
                    continue
                j = self.numerical(self.xs[i])[k]
                raise GradcheckError(
                    f"In fast mode, numerical:{numerical.item()} analytical:{analytical.item()}. "
                    + self.mismatch(k, i, j, self.analytical(y)[i])
                )

    def slopes(self, x: Tensor, u: Tensor) -> list[Tensor]:
        """Return the derivative of each output as ``x`` moves along ``u``."""
        place, u = x.data, u.detach()
        value = place.clone()
        try:
            place.copy_(value + self.eps * u)
            above = [_flat(y) for y in self.outputs()]
            place.copy_(value - self.eps * u)
            below = [_flat(y) for y in self.outputs()]
        finally:
            place.copy_(value)
        return [(a - b) / (2 * self.eps) for a, b in zip(above, below)]

    def repeats(self, tolerance: float) -> None:
        """Does the same backward give the same gradient twice?"""
        ys = self.outputs()
        gs = [g.detach() for g in _random_like(ys, False)]
        for i, a, b in zip(self.places, self.gradients(ys, gs), self.gradients(ys, gs)):
            difference = (a - b).abs().max().item() if a.numel() else 0.0
            if not difference <= tolerance:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and "
                    "grad_output multiple times gives different values, although analytical "
                    "gradient matches numerical gradient. The tolerance for nondeterminism was "
                    f"{tolerance}, the gradients of input {i} differ by {difference:.6g}."
                )

    def linear(self, dtypes: bool) -> None:
        """Is backward multiplied by the output's gradient, and does it keep the dtypes?"""
        ys = self.outputs()
        zeros = [weft.zeros_like(y).detach() for y in ys]
        grads = weft.autograd.grad(ys, self.xs, zeros, allow_unused=True)
        for i, x, g in zip(self.places, self.xs, grads):
            if g is None:
                continue
            if not bool((g.to_dense() == 0).all()):
                raise GradcheckError(
                    "backward not multiplied by grad_output: for a grad_output of zeros, the "
                    f"gradient of input {i} is\n{g}"
                )
            if dtypes and g.dtype != x.dtype:
                raise GradcheckError(
                    f"Gradient has dtype mismatch: input {i} has {x.dtype}, its gradient {g.dtype}"
                )
            if g.shape != x.shape:
                raise GradcheckError(
                    f"grad is incorrect size: input {i} has shape {list(x.shape)}, its gradient "
                    f"{list(g.shape)}"
                )

    def undefined(self) -> None:
        """Do missing gradients of outputs count as zeros: of all, and of each single one?"""
        count = len(self.chosen)
        cases = [set(range(count))]
        if count > 1:
            cases += [{k} for k in range(count)]
        for missing in cases:
            ys = self.outputs()
            gs = [g.detach() for g in _random_like(ys, False)]
            zeroed = [weft.zeros_like(g) if k in missing else g for k, g in enumerate(gs)]
            expected = self.gradients(ys, zeroed)
            holed = [_NoGradient.apply(y) if k in missing else y for k, y in enumerate(ys)]
            try:
                got = self.gradients(holed, gs)
            except Exception as error:
                raise GradcheckError(
                    "Expected backward function to handle undefined output grads: without those "
                    f"of outputs {[self.chosen[k] for k in sorted(missing)]}, it raised "
                    f"{type(error).__name__}: {error}"
                ) from error
            for i, a, b in zip(self.places, got, expected):
                if not _close(a, b, self.atol, self.rtol):
                    raise GradcheckError(
                        "Expected undefined output grads to count as zeros: without those of "
                        f"outputs {[self.chosen[k] for k in sorted(missing)]}, the gradient of "
                        f"input {i} is\n{a}\ninstead of\n{b}"
                    )


class _NoGradient(Function):
    """Identity whose gradient is missing."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> None:
        return None


def _refuse(name: str, **flags: bool) -> None:
    """Refuse what weft does not have."""
    for flag, wanted in flags.items():
        if wanted:
            raise NotImplementedError(f"{name}: {flag}=True is not implemented in weft")


def _outputs(func: Func, args: tuple[Any, ...]) -> list[Tensor]:
    """Call ``func``; return its result as a list of tensors."""
    result: Any = func(*args)
    ys = list(result) if isinstance(result, (tuple, list)) else [result]
    for k, y in enumerate(ys):
        if not isinstance(y, weft.Tensor):
            raise ValueError(
                f"gradcheck: the function must return tensors, but output {k} is a "
                f"{type(y).__name__}"
            )
    return ys


def _check_input(i: int, x: Tensor) -> None:
    """Check that finite differences can work on an input; warn if they will be too coarse."""
    if x.dtype not in (weft.float64, getattr(weft, "complex128", None)):
        import warnings

        warnings.warn(
            f"Input #{i} requires gradient and is not a double precision floating point or "
            "complex. This check will likely fail if all the inputs are not of double precision "
            "floating point or complex.",
            stacklevel=5,
        )
    if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape)):
        raise RuntimeError(
            f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that "
            "are non-overlapping to be able to compute the numerical gradients correctly. You "
            "should call .contiguous on the input before passing it to gradcheck."
        )


def _indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the index of every element, the last dimension fastest."""
    from itertools import product

    return product(*map(range, shape))


def _flat(t: Tensor) -> Tensor:
    """Return the real numbers in ``t`` as a new row of doubles, complex ones as pairs."""
    t = t.detach().to_dense()
    if t.is_complex():
        t = weft.stack((t.real, t.imag), -1)
    return t.reshape(-1).to(weft.float64, copy=True)


def _close(a: Tensor, b: Tensor, atol: float, rtol: float) -> bool:
    """Say whether ``a`` is near ``b`` everywhere; NaN is near nothing."""
    return bool((((a - b).abs() <= atol + rtol * b.abs()) | (a == b)).all())


def _random_like(ts: Sequence[Tensor], scattered: bool, positive: bool = False) -> list[Tensor]:
    """Return random leaves like ``ts``, in (-1, 1) or (0, 1); the global generator stays as is."""
    generator = weft.Generator().manual_seed(0)
    made = []
    for t in ts:
        shape = (*t.shape, 2) if t.is_complex() else tuple(t.shape)
        r = weft.rand(shape, dtype=weft.float64, generator=generator)
        if not positive:
            r = r * 2 - 1
        r = (r[..., 0] + 1j * r[..., 1] if t.is_complex() else r).to(t.dtype)
        if scattered:
            r = weft.stack((r, r), -1)[..., 0]
        made.append(r.detach().requires_grad_())
    return made
