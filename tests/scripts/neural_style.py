"""The input is what is optimised: content and style losses inside a fixed network.

In float64: L-BFGS without line search lets the last bits of float32 grow.
"""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from common import fill, numbers, report

torch.set_default_dtype(torch.float64)


class ContentLoss(nn.Module):
    def __init__(self, target):
        super(ContentLoss, self).__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    G = torch.mm(features, features.t())
    return G.div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super(StyleLoss, self).__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, input):
        self.loss = F.mse_loss(gram_matrix(input), self.target)
        return input


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super(Normalization, self).__init__()
        self.mean = mean.clone().detach().view(-1, 1, 1)
        self.std = std.clone().detach().view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std


cnn = fill(
    nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(inplace=True),
        nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2, 2),
        nn.Conv2d(8, 12, 3, padding=1), nn.ReLU(inplace=True),
    ),
    1,
).eval()  # fmt: skip


def get_style_model_and_losses(cnn, style_img, content_img):
    cnn = copy.deepcopy(cnn)
    normalization = Normalization(
        torch.tensor([0.48, 0.46, 0.41]), torch.tensor([0.23, 0.22, 0.22])
    )
    content_losses, style_losses = [], []
    model = nn.Sequential(normalization)
    i = 0
    for layer in cnn.children():
        if isinstance(layer, nn.Conv2d):
            i += 1
            name = "conv_{}".format(i)
        elif isinstance(layer, nn.ReLU):
            name = "relu_{}".format(i)
            layer = nn.ReLU(inplace=False)
        else:
            name = "pool_{}".format(i)
        model.add_module(name, layer)
        if name == "conv_3":
            content_losses.append(ContentLoss(model(content_img)))
            model.add_module("content_loss_{}".format(i), content_losses[-1])
        if name in ("conv_1", "conv_2"):
            style_losses.append(StyleLoss(model(style_img)))
            model.add_module("style_loss_{}".format(i), style_losses[-1])
    return model, style_losses, content_losses


content_img = torch.sigmoid(numbers(2, 1, 3, 16, 16).double())
style_img = torch.sigmoid(numbers(3, 1, 3, 16, 16).double() * 2)
input_img = content_img.clone()
model, style_losses, content_losses = get_style_model_and_losses(cnn, style_img, content_img)
input_img.requires_grad_(True)
model.eval()
model.requires_grad_(False)
optimizer = optim.LBFGS([input_img])
run = [0]
while run[0] <= 20:

    def closure():
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        model(input_img)
        style_score = sum(sl.loss for sl in style_losses) * 1000
        content_score = sum(cl.loss for cl in content_losses)
        loss = style_score + content_score
        loss.backward()
        run[0] += 1
        closure.scores = style_score.item(), content_score.item()
        return loss

    first = optimizer.step(closure)
with torch.no_grad():
    input_img.clamp_(0, 1)
report(first=first, style=closure.scores[0], content=closure.scores[1], image=input_img.mean())
