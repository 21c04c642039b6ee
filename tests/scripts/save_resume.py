"""Checkpoints: a training that is stopped and resumed ends where one without a break ends."""

import os
import random
import tempfile

import torch
import torch.nn as nn
import torch.optim as optim
from common import fill, numbers, report

random.seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(5, 16)
        self.bn = nn.BatchNorm1d(16)
        self.fc2 = nn.Linear(16, 2)
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.steps += 1
        return self.fc2(torch.relu(self.bn(self.fc1(x))))


def setup():
    model = fill(Net(), 1)
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=[3, 6], gamma=0.5)
    return model, optimizer, scheduler


def run(model, optimizer, scheduler, start, end):
    for epoch in range(start, end):
        model.train()
        loss = nn.functional.mse_loss(model(numbers(epoch, 16, 5)), numbers(50 + epoch, 16, 2))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    return loss


def save_checkpoint(path, epoch, model, optimizer, scheduler, loss):
    torch.save(
        {
            "epoch": epoch,
            "model_state_dict": model.state_dict(),
            "optimizer_state_dict": optimizer.state_dict(),
            "scheduler_state_dict": scheduler.state_dict(),
            "loss": loss,
            "rng_state": torch.get_rng_state(),
        },
        path,
    )


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "checkpoint.pth.tar")
    straight = setup()
    straight_loss = run(*straight, 0, 8)

    first = setup()
    loss = run(*first, 0, 4)
    save_checkpoint(path, 4, *first, loss.detach())
    del first

    model, optimizer, scheduler = setup()
    checkpoint = torch.load(path, map_location=torch.device("cpu"), weights_only=True)
    model.load_state_dict(checkpoint["model_state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
    scheduler.load_state_dict(checkpoint["scheduler_state_dict"])
    torch.set_rng_state(checkpoint["rng_state"])
    resumed_loss = run(model, optimizer, scheduler, checkpoint["epoch"], 8)

    torch.save(model.state_dict(), os.path.join(folder, "weights.pt"))
    weights = torch.load(os.path.join(folder, "weights.pt"), map_location={"cuda:0": "cpu"})
    weights2 = torch.load(path, map_location=lambda storage, loc: storage)["model_state_dict"]
    other = Net()
    missing = other.load_state_dict(
        {k: v for k, v in weights.items() if "fc2" not in k}, strict=False
    )

states = zip(straight[0].state_dict().values(), model.state_dict().values())
report(straight=straight_loss, resumed=resumed_loss, stopped=checkpoint["loss"])
report(
    equal=all(torch.equal(a, b) for a, b in states),
    steps=model.steps,
    lr=scheduler.get_last_lr()[0],
)
report(missing=len(missing.missing_keys), keys=len(weights), earlier=weights2["steps"])
try:
    other.load_state_dict({"fc1.weight": torch.zeros(3, 3)})
except RuntimeError as e:
    report(refused="size mismatch" in str(e))
