"""A network of one's own cells reads names letter by letter and tells their language."""

import string
import unicodedata

import torch
import torch.nn as nn
from common import fill, report

all_letters = string.ascii_letters + " .,;'"
n_letters = len(all_letters)
category_lines = {
    "French": ["Lefèvre", "Durand", "Moreau", "Beaumont"],
    "Italian": ["Rossi", "Bianchi", "Esposito", "Ricci"],
    "Czech": ["Novák", "Dvořák", "Černý", "Svoboda"],
}
all_categories = list(category_lines)
n_categories = len(all_categories)


def unicode_to_ascii(s):
    return "".join(
        c
        for c in unicodedata.normalize("NFD", s)
        if unicodedata.category(c) != "Mn" and c in all_letters
    )


def line_to_tensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for li, letter in enumerate(line):
        tensor[li][0][all_letters.find(letter)] = 1
    return tensor


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        return self.softmax(self.i2o(combined)), torch.tanh(self.i2h(combined))

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)


rnn = fill(RNN(n_letters, 16, n_categories), 1)
criterion = nn.NLLLoss()
learning_rate = 0.05


def category_from_output(output):
    top_n, top_i = output.topk(1)
    category_i = top_i[0].item()
    return all_categories[category_i], category_i


def train(category_tensor, line_tensor):
    hidden = rnn.initHidden()
    rnn.zero_grad()
    for i in range(line_tensor.size()[0]):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-learning_rate)
    return output, loss.item()


current_loss, guesses = 0, 0
for iter in range(60):
    category = all_categories[iter % n_categories]
    line = unicode_to_ascii(category_lines[category][iter // n_categories % 4])
    category_tensor = torch.tensor([all_categories.index(category)], dtype=torch.long)
    output, loss = train(category_tensor, line_to_tensor(line))
    current_loss += loss
    guesses += category_from_output(output)[0] == category
report(loss=loss, mean=current_loss / 60, guesses=guesses, weight=rnn.i2h.weight.norm())
