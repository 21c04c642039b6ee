"""An op with a derivative of one's own."""

import weft
import weft.autograd as autograd


class MyFunction(autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * y, grad_output * x


x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = weft.tensor([4.0, 5.0, 6.0], requires_grad=True)

z = MyFunction.apply(x, y)

z.backward(weft.tensor([1.0, 1.0, 1.0]))
print(x.grad)  # 4, 5, 6
print(y.grad)  # 1, 2, 3
