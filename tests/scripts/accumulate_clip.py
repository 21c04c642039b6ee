"""Gradient accumulation, clipping by norm and value, scaler and autocast switched off."""

import torch
import torch.nn as nn
from common import fill, numbers, report, whole
from torch.nn.utils import clip_grad_norm_, clip_grad_value_, parameters_to_vector
from torch.utils.data import DataLoader, TensorDataset

ACCUMULATION_STEPS = 4
device = "cuda" if torch.cuda.is_available() else "cpu"
use_amp = device == "cuda"


def make_model():
    return fill(
        nn.Sequential(nn.Linear(12, 16), nn.LayerNorm(16), nn.Mish(), nn.Linear(16, 4)), 1
    ).to(device)


def train(clip):
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(device, enabled=use_amp)
    data = TensorDataset(numbers(2, 64, 12), whole(3, 4, 64))
    loader = DataLoader(data, batch_size=4, pin_memory=use_amp)
    norms, total = [], 0.0
    optimizer.zero_grad(set_to_none=True)
    for i, (inputs, labels) in enumerate(loader):
        inputs = inputs.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        with torch.autocast(device_type=device, enabled=use_amp):
            loss = nn.functional.cross_entropy(model(inputs), labels) / ACCUMULATION_STEPS
        scaler.scale(loss).backward()
        total += loss.item()
        if (i + 1) % ACCUMULATION_STEPS == 0:
            scaler.unscale_(optimizer)
            if clip == "norm":
                norms.append(float(clip_grad_norm_(model.parameters(), max_norm=0.5)))
            elif clip == "inf":
                norms.append(
                    float(clip_grad_norm_(model.parameters(), 0.1, norm_type=float("inf")))
                )
            else:
                clip_grad_value_(model.parameters(), 0.05)
                norms.append(max(p.grad.abs().max().item() for p in model.parameters()))
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
    return total, norms, parameters_to_vector(model.parameters())


for clip in ("norm", "inf", "value"):
    total, norms, vector = train(clip)
    report(**{f"{clip}_loss": total, f"{clip}_norms": sum(norms), f"{clip}_w": vector.norm()})

big, small = make_model(), make_model()
x, y = numbers(5, 16, 12), whole(6, 4, 16)
nn.functional.cross_entropy(big(x), y).backward()
for part_x, part_y in zip(x.chunk(4), y.chunk(4)):
    (nn.functional.cross_entropy(small(part_x), part_y) / 4).backward()
pairs = zip(big.parameters(), small.parameters())
report(same=float(all(torch.allclose(p.grad, q.grad, atol=1e-6) for p, q in pairs)))
