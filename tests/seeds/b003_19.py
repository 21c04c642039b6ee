"""A softplus with a derivative of one's own."""

import weft
from weft.autograd import Function


class SoftplusFunction(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return weft.log(1 + weft.exp(input))

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output / (1 + weft.exp(-input))
        return grad_input


# Use it.
x = weft.randn(1, 10, requires_grad=True)
grad_output = weft.randn(1, 10)
softplus_output = SoftplusFunction.apply(x)
softplus_output.backward(grad_output)
print(x.grad)
