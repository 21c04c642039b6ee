"""What scripts check before they start: versions, devices, seeds, flags, compile, types."""

import os
import random
from typing import List, Optional

import numpy as np
import torch
import torch.nn as nn
from common import fill, numbers, report
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.utils import _pair


def seed_everything(seed):
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True, warn_only=True)


def get_device():
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    if getattr(torch.backends, "mps", None) is not None and torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def loss_of(pred: Tensor, target: Tensor, weights: Optional[List[float]] = None) -> Tensor:
    loss = (pred - target).abs()
    return (loss * torch.tensor(weights)).mean() if weights is not None else loss.mean()


version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
assert version >= (1, 10) and torch.__version__ >= "1.10"
seed_everything(42)
torch.set_float32_matmul_precision("high")
torch.set_num_threads(min(2, torch.get_num_threads()))
device = get_device()
model = nn.Sequential(nn.Conv2d(2, 4, _pair(3)), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
model = fill(model, 1).to(device=device, dtype=torch.float32)
norm_layers = [m for m in model.modules() if isinstance(m, _BatchNorm)]
if hasattr(torch, "compile") and os.environ.get("COMPILE"):
    model = torch.compile(model)
model = torch.compile(model, backend="eager", disable=True)
x = numbers(2, 3, 2, 6, 6).to(device, non_blocking=True)
out = model(x.contiguous(memory_format=torch.channels_last))
weights = [1.0] * out.shape[1]
report(out=out.sum(), loss=loss_of(out, torch.zeros_like(out), weights), norms=len(norm_layers))
report(
    gpus=torch.cuda.device_count(), is_cuda=out.is_cuda, cudnn=torch.backends.cudnn.is_available()
)
report(devices=torch.device("cuda:0").index, same=x.device == torch.device("cpu"))
report(
    deterministic=torch.are_deterministic_algorithms_enabled(), cuda=torch.version.cuda is not None
)
with torch.autograd.set_detect_anomaly(True):
    out.sum().backward()
report(grad=sum(p.grad.abs().sum() for p in model.parameters()))
half = model.half()
report(half=half[0].weight.element_size(), eps=torch.finfo(torch.float16).eps)
try:
    torch.zeros(1).cuda()
except (AssertionError, RuntimeError):
    report(no_gpu=1)
