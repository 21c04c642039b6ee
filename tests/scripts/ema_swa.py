"""Averaged weights: exponential and stochastic, with batch norm updated afterwards."""

import copy

import torch
import torch.nn as nn
from common import fill, numbers, report
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
from torch.utils.data import DataLoader, TensorDataset


class EMA:
    """Shadow weights by hand, as many training scripts have it."""

    def __init__(self, model, decay):
        self.module = copy.deepcopy(model).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values()):
            if ema_v.dtype.is_floating_point:
                ema_v.copy_(self.decay * ema_v + (1.0 - self.decay) * model_v)
            else:
                ema_v.copy_(model_v)


def main():
    model = fill(
        nn.Sequential(nn.Linear(4, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 1)), 1
    )
    nn.init.ones_(model[1].weight)
    data = TensorDataset(numbers(2, 40, 4), numbers(3, 40, 1))
    loader = DataLoader(data, batch_size=10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    swa_model = AveragedModel(model)
    ema_model = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    by_hand = EMA(model, 0.9)
    swa_start, swa_scheduler = 2, SWALR(optimizer, swa_lr=0.05, anneal_epochs=2)
    for epoch in range(5):
        for input, target in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(input), target)
            loss.backward()
            optimizer.step()
            ema_model.update_parameters(model)
            by_hand.update(model)
        if epoch > swa_start:
            swa_model.update_parameters(model)
            swa_scheduler.step()
        else:
            scheduler.step()
    update_bn(loader, swa_model)
    swa_model.eval()
    x, y = data[:]
    with torch.no_grad():
        report(
            loss=loss,
            swa=nn.functional.mse_loss(swa_model(x), y),
            ema=sum(p.sum() for p in ema_model.parameters()),
            hand=by_hand.module(x).sum(),
            averaged=swa_model.n_averaged,
            rate=optimizer.param_groups[0]["lr"],
            mean=swa_model.module[1].running_mean.sum(),
        )


if __name__ == "__main__":
    main()
