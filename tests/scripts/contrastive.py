"""SimCLR's loss, triplets and supervised contrast on embeddings of the unit sphere."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, numbers, report, whole


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv1d(1, 6, 5, stride=2), nn.BatchNorm1d(6), nn.ReLU(),
            nn.Conv1d(6, 8, 3, dilation=2), nn.ReLU(), nn.AdaptiveMaxPool1d(2), nn.Flatten(),
        )  # fmt: skip
        self.projection = nn.Sequential(nn.Linear(16, 16), nn.ELU(), nn.Linear(16, 6, bias=False))

    def forward(self, x):
        return F.normalize(self.projection(self.backbone(x)), dim=-1)


def info_nce_loss(features, temperature=0.2, n_views=2):
    n = features.shape[0] // n_views
    labels = torch.cat([torch.arange(n) for _ in range(n_views)], dim=0)
    labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
    similarity_matrix = torch.matmul(features, features.T)
    mask = torch.eye(labels.shape[0], dtype=torch.bool)
    labels = labels[~mask].view(labels.shape[0], -1)
    similarity_matrix = similarity_matrix[~mask].view(similarity_matrix.shape[0], -1)
    positives = similarity_matrix[labels.bool()].view(labels.shape[0], -1)
    negatives = similarity_matrix[~labels.bool()].view(similarity_matrix.shape[0], -1)
    logits = torch.cat([positives, negatives], dim=1) / temperature
    return F.cross_entropy(logits, torch.zeros(logits.shape[0], dtype=torch.long))


def supervised_contrast(z, y, temperature=0.5):
    logits = z @ z.t() / temperature
    logits = logits - logits.max(dim=1, keepdim=True)[0].detach()
    others = 1 - torch.eye(len(z))
    same = (y[:, None] == y[None, :]).float() * others
    log_prob = logits - torch.log((logits.exp() * others).sum(1, keepdim=True))
    return -((same * log_prob).sum(1) / same.sum(1).clamp(min=1)).mean()


def main():
    labels = whole(0, 3, 16)
    base = torch.sin(torch.linspace(0, 6, 32) * (1 + labels.view(-1, 1).float()))
    encoder = fill(Encoder(), 1)
    nn.init.ones_(encoder.backbone[1].weight)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=0.01, weight_decay=1e-2)
    triplet = nn.TripletMarginLoss(margin=0.5, p=2)
    for step in range(6):
        views = torch.cat([base + numbers(10 * step + v, 16, 32, scale=0.1) for v in (1, 2)])
        z = encoder(views.unsqueeze(1))
        first = info_nce_loss(z)
        second = supervised_contrast(z, labels.repeat(2))
        third = triplet(z[:16], z[16:], z[:16].roll(1, dims=0))
        fourth = F.cosine_embedding_loss(z[:8], z[8:16], 2 * (labels[:8] == labels[8:16]) - 1.0)
        loss = first + second + third + fourth
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    distances = torch.cdist(z, z)
    report(nce=first, supervised=second, triplet=third, cosine=fourth, distances=distances.sum())


if __name__ == "__main__":
    main()
