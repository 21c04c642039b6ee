"""LSTM cells learn sine waves with L-BFGS in float64, and continue them."""

import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from common import fill, report


class Sequence(nn.Module):
    def __init__(self, hidden=6):
        super(Sequence, self).__init__()
        self.lstm1 = nn.LSTMCell(1, hidden)
        self.lstm2 = nn.LSTMCell(hidden, hidden)
        self.linear = nn.Linear(hidden, 1)
        self.hidden = hidden

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), self.hidden, dtype=torch.double)
        c_t = torch.zeros(input.size(0), self.hidden, dtype=torch.double)
        h_t2 = torch.zeros(input.size(0), self.hidden, dtype=torch.double)
        c_t2 = torch.zeros(input.size(0), self.hidden, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3)
    opt = parser.parse_args()
    np.random.seed(0)
    shift = np.random.randint(-10, 10, 5).reshape(5, 1)
    data = np.sin((np.arange(14) + shift) / 2.0).astype("float64")
    input, target = torch.from_numpy(data[1:, :-1]), torch.from_numpy(data[1:, 1:])
    test_input, test_target = torch.from_numpy(data[:1, :-1]), torch.from_numpy(data[:1, 1:])
    seq = fill(Sequence().double(), 2)
    criterion = nn.MSELoss()
    optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=4, line_search_fn="strong_wolfe")
    for i in range(opt.steps):
        print("STEP: ", i)

        def closure():
            optimizer.zero_grad()
            out = seq(input)
            loss = criterion(out, target)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
    with torch.no_grad():
        pred = seq(test_input, future=5)
        test_loss = criterion(pred[:, :-5], test_target)
    report(loss=loss, test_loss=test_loss, future=pred[0, -1], norm=pred.norm())


if __name__ == "__main__":
    main()
