"""Hooks: features taken out of a network, gradients watched and changed, Grad-CAM."""

from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, numbers, report


class FeatureExtractor(nn.Module):
    def __init__(self, model, layers):
        super().__init__()
        self.model = model
        self._features = {layer: torch.empty(0) for layer in layers}
        for layer_id in layers:
            layer = dict([*self.model.named_modules()])[layer_id]
            layer.register_forward_hook(self.save_outputs_hook(layer_id))

    def save_outputs_hook(self, layer_id):
        def fn(_, __, output):
            self._features[layer_id] = output

        return fn

    def forward(self, x):
        _ = self.model(x)
        return self._features


def make():
    return nn.Sequential(
        OrderedDict(
            conv1=nn.Conv2d(3, 4, 3, padding=1),
            relu1=nn.ReLU(),
            conv2=nn.Conv2d(4, 6, 3, padding=1),
            relu2=nn.ReLU(),
            pool=nn.AdaptiveAvgPool2d(1),
            flat=nn.Flatten(),
            head=nn.Linear(6, 5),
        )
    )


def grad_cam(model, image, target):
    kept = {}
    layer = model.relu2
    handles = [
        layer.register_forward_hook(lambda m, i, o: kept.update(activation=o.detach())),
        layer.register_full_backward_hook(lambda m, gi, go: kept.update(gradient=go[0].detach())),
    ]
    scores = model(image)
    model.zero_grad()
    scores[0, target].backward()
    for handle in handles:
        handle.remove()
    weights = kept["gradient"].mean(dim=(2, 3), keepdim=True)
    cam = F.relu((weights * kept["activation"]).sum(dim=1, keepdim=True))
    return F.interpolate(cam, size=image.shape[2:], mode="bilinear", align_corners=False)


model = fill(make(), 1)
image = numbers(2, 1, 3, 10, 10)
features = FeatureExtractor(model, layers=["conv1", "relu2", "head"])(image)
report(**{f"feature_{name}": output.norm() for name, output in features.items()})
report(cam=grad_cam(model, image, 2).sum())

norms = []
handle = model.conv1.weight.register_hook(lambda g: norms.append(g.norm().item()) or g * 2)
pre = model.register_forward_pre_hook(lambda m, args: (args[0] * 0.5,))
loss = model(image).pow(2).sum()
loss.backward()
report(watched=norms[0], doubled=model.conv1.weight.grad.norm(), loss=loss)
handle.remove()
pre.remove()

saliency_input = image.clone().requires_grad_()
model(saliency_input).max().backward()
report(saliency=saliency_input.grad.abs().max(dim=1).values.sum())

frozen = fill(make(), 3)
for name, p in frozen.named_parameters():
    p.requires_grad = name.startswith("head")
frozen.head = fill(nn.Linear(6, 2), 4)
optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, frozen.parameters()), lr=0.1)
frozen(image).logsumexp(dim=1).backward()
optimizer.step()
trained = [name for name, p in frozen.named_parameters() if p.grad is not None]
report(trained=len(trained), head=frozen.head.weight.sum())
report(total=sum(p.numel() for p in frozen.parameters() if p.requires_grad))
