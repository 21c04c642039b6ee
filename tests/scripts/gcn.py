"""A graph convolutional network on a graph of two communities, with a sparse adjacency matrix."""

import argparse
import math

import numpy as np
import torch
import torch.nn.functional as F
from common import fill, numbers, report
from torch import nn
from torch.nn.parameter import Parameter
from torch.optim import Adam


class GraphConv(nn.Module):
    def __init__(self, input_dim, output_dim, use_bias=False):
        super(GraphConv, self).__init__()
        self.kernel = Parameter(torch.Tensor(input_dim, output_dim))
        self.bias = None
        if use_bias:
            self.bias = Parameter(torch.Tensor(output_dim))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_normal_(self.kernel, gain=math.sqrt(2))
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, input_tensor, adj_mat):
        support = torch.mm(input_tensor, self.kernel)
        output = torch.spmm(adj_mat, support)
        if self.bias is not None:
            output = output + self.bias
        return output


class GCN(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, use_bias=True, dropout_p=0.0):
        super(GCN, self).__init__()
        self.gc1 = GraphConv(input_dim, hidden_dim, use_bias=use_bias)
        self.gc2 = GraphConv(hidden_dim, output_dim, use_bias=use_bias)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input_tensor, adj_mat):
        x = F.relu(self.gc1(input_tensor, adj_mat))
        return F.log_softmax(self.gc2(self.dropout(x), adj_mat), dim=1)


def load_graph(n=24):
    rng = np.random.RandomState(0)
    labels = np.arange(n) % 2
    same = labels[:, None] == labels[None, :]
    edges = (rng.rand(n, n) < np.where(same, 0.4, 0.05)).astype("float32")
    adj = torch.from_numpy(np.maximum(edges, edges.T))
    adj = adj + torch.eye(n)
    deg = adj.sum(dim=1).pow(-0.5)
    adj = deg.unsqueeze(1) * adj * deg.unsqueeze(0)
    features = numbers(1, n, 6)
    features = features + 0.5 * torch.from_numpy(labels).float().unsqueeze(1)
    return features / features.abs().sum(1, keepdim=True), torch.LongTensor(labels), adj


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--l2", type=float, default=5e-4)
    args = parser.parse_args()
    features, labels, adj = load_graph()
    sparse = adj.to_sparse()
    idx_train, idx_test = torch.arange(0, 12), torch.arange(12, 24)
    model = fill(GCN(6, 8, 2), 1)
    optimizer = Adam(model.parameters(), lr=0.05, weight_decay=args.l2)
    for epoch in range(args.epochs):
        optimizer.zero_grad()
        output = model(features, sparse)
        loss = nn.NLLLoss()(output[idx_train], labels[idx_train])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        output = model(features, adj)
        test_loss = F.nll_loss(output[idx_test], labels[idx_test])
        correct = (output[idx_test].argmax(dim=1) == labels[idx_test]).sum().item()
    report(loss=loss, test_loss=test_loss, correct=correct, kernel=model.gc1.kernel.norm())


if __name__ == "__main__":
    main()
