"""Autograd functions of one's own: values, gradients, second derivatives, gradcheck."""

import math

import torch
from common import numbers, report
from torch.autograd import Function, gradcheck
from torch.autograd.function import once_differentiable


class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


class LinearFunction(Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class StraightThrough(Function):
    @staticmethod
    def forward(ctx, input, threshold):
        ctx.mark_non_differentiable()
        ctx.threshold = threshold
        return (input > threshold).to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return torch.nn.functional.hardtanh(grad_output), None


def sine_by_legendre():
    dtype = torch.float
    x = torch.linspace(-math.pi, math.pi, 200, dtype=dtype)
    y = torch.sin(x)
    a = torch.full((), 0.0, dtype=dtype, requires_grad=True)
    b = torch.full((), -1.0, dtype=dtype, requires_grad=True)
    c = torch.full((), 0.0, dtype=dtype, requires_grad=True)
    d = torch.full((), 0.3, dtype=dtype, requires_grad=True)
    learning_rate = 5e-5
    for _ in range(60):
        P3 = LegendrePolynomial3.apply
        y_pred = a + b * P3(c + d * x)
        loss = (y_pred - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            for p in (a, b, c, d):
                p -= learning_rate * p.grad
            a.grad = b.grad = c.grad = d.grad = None
    return loss, a, b, c, d


loss, a, b, c, d = sine_by_legendre()
report(loss=loss, b=b, d=d)

x = numbers(1, 4, 3).double().requires_grad_()
w = numbers(2, 2, 3).double().requires_grad_()
bias = numbers(3, 2).double().requires_grad_()
report(gradcheck=gradcheck(LinearFunction.apply, (x, w, bias), eps=1e-6, atol=1e-4))
out = LinearFunction.apply(x, w, bias)
(gx,) = torch.autograd.grad(out.pow(3).sum(), x, create_graph=True)
gx.pow(2).sum().backward()
report(first=gx.sum(), second=x.grad.sum(), second_w=w.grad.norm())

z = numbers(4, 10).requires_grad_()
y = StraightThrough.apply(z, 0.2)
(y * torch.arange(10) / 3).sum().backward()
report(ones=y.sum(), straight=z.grad.sum())

jac = torch.autograd.functional.jacobian(lambda t: t.exp() * t.sum(), numbers(5, 3))
hes = torch.autograd.functional.hessian(lambda t: (t**3).sum() * t[0], numbers(6, 3))
report(jacobian=jac.norm(), hessian=hes.sum())
