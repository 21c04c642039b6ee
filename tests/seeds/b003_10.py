"""An op that doubles."""

import weft
from weft.autograd import Function


class MyCustomOp(Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


input = weft.tensor([1.0], requires_grad=True)
output = MyCustomOp.apply(input)
output.backward(weft.tensor([1.0]))
print(input.grad)
