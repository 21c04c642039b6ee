"""Graph attention: heads that attend over neighbours, masked by the adjacency matrix."""

import torch
import torch.nn.functional as F
from common import fill, numbers, report, whole
from torch import nn
from torch.optim import Adam


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, n_heads, concat=False, leaky_relu_slope=0.2):
        super().__init__()
        self.n_heads, self.concat = n_heads, concat
        self.n_hidden = out_features // n_heads if concat else out_features
        self.W = nn.Parameter(torch.empty(size=(in_features, self.n_hidden * n_heads)))
        self.a = nn.Parameter(torch.empty(size=(n_heads, 2 * self.n_hidden, 1)))
        self.leakyrelu = nn.LeakyReLU(leaky_relu_slope)

    def _attention_scores(self, h):
        source = torch.matmul(h, self.a[:, : self.n_hidden, :])
        target = torch.matmul(h, self.a[:, self.n_hidden :, :])
        return self.leakyrelu(source + target.mT)

    def forward(self, h, adj_mat):
        n_nodes = h.shape[0]
        h = torch.mm(h, self.W).view(n_nodes, self.n_heads, self.n_hidden).permute(1, 0, 2)
        e = self._attention_scores(h)
        mask = -9e16 * torch.ones_like(e)
        attention = F.softmax(torch.where(adj_mat > 0, e, mask), dim=-1)
        h_prime = torch.matmul(attention, h)
        if self.concat:
            return h_prime.permute(1, 0, 2).contiguous().view(n_nodes, self.n_heads * self.n_hidden)
        return h_prime.mean(dim=0)


class GAT(nn.Module):
    def __init__(self, in_features, n_hidden, n_heads, num_classes):
        super().__init__()
        self.gat1 = GraphAttentionLayer(in_features, n_hidden, n_heads, concat=True)
        self.gat2 = GraphAttentionLayer(n_hidden, num_classes, 1)

    def forward(self, x, adj_mat):
        x = F.elu(self.gat1(x, adj_mat))
        return F.log_softmax(self.gat2(x, adj_mat), dim=1)


def main():
    n = 20
    labels = whole(0, 3, n)
    features = numbers(1, n, 5) + F.one_hot(labels, 5).float() * 2
    edges = (labels[:, None] == labels[None, :]) & (numbers(2, n, n) > 0)
    adj = ((edges | edges.T).int() + torch.eye(n, dtype=torch.int)).clamp(max=1)
    net = fill(GAT(5, 8, 4, 3), 3)
    optimizer = Adam(net.parameters(), lr=0.02, weight_decay=5e-4)
    criterion = nn.NLLLoss()
    for _ in range(20):
        net.train()
        optimizer.zero_grad()
        output = net(features, adj)
        loss = criterion(output, labels)
        loss.backward()
        optimizer.step()
    net.eval()
    accuracy = output.argmax(dim=1).eq(labels).sum().float() / len(labels)
    report(loss=loss, accuracy=accuracy, a=net.gat1.a.sum(), w=net.gat2.W.norm())


if __name__ == "__main__":
    main()
