"""A sigmoid with a derivative of one's own."""

import weft


# A sigmoid.
class SigmoidFunction(weft.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 1 / (1 + weft.exp(-input))

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output * (1 - weft.sigmoid(input)) * weft.sigmoid(input)
        return grad_input


# Use it.
x = weft.randn(1, 10, requires_grad=True)
grad_output = weft.randn(1, 10)
sigmoid_output = SigmoidFunction.apply(x)
sigmoid_output.backward(grad_output)
print(x.grad)
