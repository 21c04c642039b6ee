"""A graph network in the older style: sparse.FloatTensor, cuda types by a condition, Variable."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, numbers, report, whole
from torch.autograd import Variable
from torch.nn.parameter import Parameter

cuda = torch.cuda.is_available()
Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor
LongTensor = torch.cuda.LongTensor if cuda else torch.LongTensor


class GraphConvolution(nn.Module):
    def __init__(self, i, o):
        super(GraphConvolution, self).__init__()
        self.weight = Parameter(Tensor(i, o))
        self.bias = Parameter(Tensor(o))
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        self.bias.data.uniform_(-stdv, stdv)

    def forward(self, x, adj):
        return torch.spmm(adj, torch.mm(x, self.weight)) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super(GCN, self).__init__()
        self.gc1, self.gc2 = GraphConvolution(6, 8), GraphConvolution(8, 3)

    def forward(self, x, adj):
        return F.log_softmax(self.gc2(F.relu(self.gc1(x, adj)), adj), dim=1)


def sparse_adjacency(n):
    dense = (np.random.RandomState(0).rand(n, n) < 0.2) | np.eye(n, dtype=bool)
    dense = np.maximum(dense, dense.T).astype(np.float32)
    dense /= dense.sum(1, keepdims=True)
    indices = torch.from_numpy(np.vstack(dense.nonzero()).astype(np.int64))
    return torch.sparse.FloatTensor(indices, torch.from_numpy(dense[dense > 0]), torch.Size((n, n)))


def main():
    adj = sparse_adjacency(20)
    assert isinstance(adj, torch.sparse.FloatTensor)
    x, y = Variable(numbers(1, 20, 6).type(Tensor)), Variable(whole(2, 3, 20).type(LongTensor))
    model = fill(GCN(), 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
    for _ in range(15):
        optimizer.zero_grad()
        output = model(x, adj)
        loss = F.nll_loss(output[:12], y[:12])
        loss.backward()
        optimizer.step()
    correct = output.max(1)[1].type_as(y).eq(y).double().sum()
    report(loss=loss, correct=correct, entries=adj._nnz(), bias=model.gc1.bias.sum())


if __name__ == "__main__":
    main()
