"""Recommendation by factors of users and items, with biases and early stopping."""

import numpy as np
import torch
from common import fill, report
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class Ratings(Dataset):
    def __init__(self, users, items, scores):
        self.users, self.items, self.scores = users, items, scores

    def __len__(self):
        return len(self.scores)

    def __getitem__(self, i):
        return {"user": self.users[i], "item": self.items[i], "score": np.float32(self.scores[i])}


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_items, n_factors=4):
        super().__init__()
        self.user_factors = nn.Embedding(n_users, n_factors)
        self.item_factors = nn.Embedding(n_items, n_factors, max_norm=2.0)
        self.user_biases = nn.Embedding(n_users, 1)
        self.item_biases = nn.Embedding(n_items, 1)

    def forward(self, user, item):
        dot = (self.user_factors(user) * self.item_factors(item)).sum(dim=1, keepdim=True)
        return (dot + self.user_biases(user) + self.item_biases(item)).squeeze(1)


def main():
    rng = np.random.RandomState(0)
    n_users, n_items, count = 12, 15, 90
    taste, kind = rng.randn(n_users, 2), rng.randn(n_items, 2)
    users, items = rng.randint(0, n_users, count), rng.randint(0, n_items, count)
    scores = (taste[users] * kind[items]).sum(1) + 0.1 * rng.randn(count)
    train = Ratings(users[:70], items[:70], scores[:70])
    test = Ratings(users[70:], items[70:], scores[70:])
    sampler = WeightedRandomSampler(torch.ones(70), 70)
    assert sorted(set(len(list(sampler)) for _ in range(2))) == [70]
    loader = DataLoader(train, batch_size=10)
    model = fill(MatrixFactorization(n_users, n_items), 1)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.2)
    best, patience, epochs = float("inf"), 3, 0
    for _ in range(12):
        epochs += 1
        for batch in loader:
            optimizer.zero_grad()
            error = model(batch["user"], batch["item"]) - batch["score"]
            decay = model.user_factors(batch["user"]).pow(2).mean()
            loss = (error**2).mean() + 0.01 * decay
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            whole = next(iter(DataLoader(test, batch_size=len(test))))
            rmse = (model(whole["user"], whole["item"]) - whole["score"]).pow(2).mean().sqrt()
        if rmse.item() < best - 1e-4:
            best, patience = rmse.item(), 3
        else:
            patience -= 1
            if patience == 0:
                break
    ranking = model(torch.zeros(n_items, dtype=torch.long), torch.arange(n_items)).argsort()
    report(
        loss=loss,
        best=best,
        epochs=epochs,
        top=ranking[-1],
        largest=model.item_factors.weight.norm(),
    )


if __name__ == "__main__":
    main()
