"""Language models of words: LSTM and Transformer, with truncated backpropagation through time."""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, report

TEXT = """the cat sat on the mat and the dog sat on the cat while the mat lay on the floor
the dog ran to the cat and the cat ran to the mat and then the dog lay on the mat""".split()


class Dictionary(object):
    def __init__(self):
        self.word2idx = {}
        self.idx2word = []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]


class RNNModel(nn.Module):
    def __init__(self, kind, ntoken, ninp, nhid, nlayers, tie_weights=True):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = getattr(nn, kind)(ninp, nhid, nlayers)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        self.kind, self.nhid, self.nlayers, self.ntoken = kind, nhid, nlayers, ntoken

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.encoder(input), hidden)
        decoded = self.decoder(output).view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        h = weight.new_zeros(self.nlayers, bsz, self.nhid)
        return (h, weight.new_zeros(self.nlayers, bsz, self.nhid)) if self.kind == "LSTM" else h


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=100):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0).transpose(0, 1))

    def forward(self, x):
        return x + self.pe[: x.size(0), :]


class TransformerModel(nn.Module):
    def __init__(self, ntoken, ninp, nhead, nhid, nlayers):
        super().__init__()
        self.pos_encoder = PositionalEncoding(ninp)
        layers = nn.TransformerEncoderLayer(ninp, nhead, nhid, dropout=0.0)
        self.transformer_encoder = nn.TransformerEncoder(layers, nlayers)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.decoder = nn.Linear(ninp, ntoken)
        self.ninp = ninp

    def forward(self, src):
        mask = torch.log(torch.tril(torch.ones(len(src), len(src))))
        src = self.pos_encoder(self.encoder(src) * math.sqrt(self.ninp))
        return F.log_softmax(self.decoder(self.transformer_encoder(src, mask=mask)), dim=-1)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def repackage_hidden(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)


def train(model, source, ntokens, bptt, lr, hidden=None):
    total = 0.0
    for i in range(0, source.size(0) - 1, bptt):
        seq_len = min(bptt, len(source) - 1 - i)
        data, targets = source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)
        model.zero_grad()
        if hidden is None:
            output = model(data).view(-1, ntokens)
        else:
            output, hidden = model(data, repackage_hidden(hidden))
        loss = nn.NLLLoss()(output, targets)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total += loss.item()
    return total, norm


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bptt", type=int, default=5)
    parser.add_argument("--lr", type=float, default=2.0)
    args = parser.parse_args()
    words = Dictionary()
    source = batchify(torch.tensor([words.add_word(w) for w in TEXT], dtype=torch.int64), 2)
    ntokens = len(words.idx2word)
    for kind in ("LSTM", "GRU", "RNN"):
        model = fill(RNNModel(kind, ntokens, 8, 8, 2), 1)
        loss, norm = train(model, source, ntokens, args.bptt, args.lr, model.init_hidden(2))
        report(**{f"{kind}_loss": loss, f"{kind}_norm": norm, f"{kind}_ppl": math.exp(loss / 4)})
    model = fill(TransformerModel(ntokens, 8, 2, 16, 2), 2)
    for p in model.modules():
        if isinstance(p, nn.LayerNorm):
            nn.init.ones_(p.weight)
    loss, norm = train(model, source, ntokens, args.bptt, 0.1)
    report(transformer_loss=loss, transformer_norm=norm)


if __name__ == "__main__":
    main()
