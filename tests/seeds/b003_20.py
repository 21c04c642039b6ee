"""A square with a derivative of one's own."""

import weft
from weft.autograd import Function


class MyCustomOperation(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input**2

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output * 2 * input
        return grad_input


x = weft.randn(3, 3, requires_grad=True)
grad_output = weft.randn(3, 3)
y = MyCustomOperation.apply(x)
y.backward(grad_output)
print(x.grad)
