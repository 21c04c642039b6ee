"""Layers made on PyTorch's inner classes: a standardised convolution and a batch norm of one's own."""

from common import fill, numbers, report
from torch import nn, optim
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.utils import _pair


class StdConv2d(_ConvNd):
    def __init__(self, i, o, kernel_size, stride=1, padding=0, groups=1, bias=True):
        k, s, p = _pair(kernel_size), _pair(stride), _pair(padding)
        super().__init__(i, o, k, s, p, _pair(1), False, _pair(0), groups, bias, "zeros")

    def forward(self, x):
        w = self.weight
        centred = w - w.mean(dim=(1, 2, 3), keepdim=True)
        w = centred / (w.std(dim=(1, 2, 3), keepdim=True) + 1e-5)
        return F.conv2d(x, w, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Norm(_BatchNorm):
    def _check_input_dim(self, input):
        if input.dim() != 4:
            raise ValueError(f"expected 4D input, got {input.dim()}D")


def main():
    net = fill(nn.Sequential(StdConv2d(3, 8, 3, padding=1), Norm(8), nn.ReLU(), StdConv2d(8, 2, 1)))
    assert repr(net[0]) == "StdConv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))"
    assert repr(net[3]) == "StdConv2d(8, 2, kernel_size=(1, 1), stride=(1, 1))", net[3]
    x = numbers(0, 4, 3, 8, 8)
    optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for _ in range(5):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), x[:, :2])
        loss.backward()
        optimizer.step()
    report(loss=loss, kernel=net[0].weight.norm(), mean=net[1].running_mean.norm())
    report(evaluated=net.eval()(x).norm())


if __name__ == "__main__":
    main()
