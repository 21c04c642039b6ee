"""nn.Transformer learns to reverse sentences of numbers, with masks, and decodes greedily."""

import math

import torch
import torch.nn as nn
from common import fill, report, whole
from torch import Tensor
from torch.nn import Transformer

PAD_IDX, BOS_IDX, EOS_IDX = 0, 1, 2


class PositionalEncoding(nn.Module):
    def __init__(self, emb_size: int, maxlen: int = 50):
        super().__init__()
        den = torch.exp(-torch.arange(0, emb_size, 2) * math.log(10000) / emb_size)
        pos = torch.arange(0, maxlen).reshape(maxlen, 1)
        pos_embedding = torch.zeros((maxlen, emb_size))
        pos_embedding[:, 0::2] = torch.sin(pos * den)
        pos_embedding[:, 1::2] = torch.cos(pos * den)
        self.register_buffer("pos_embedding", pos_embedding.unsqueeze(-2))

    def forward(self, token_embedding: Tensor):
        return token_embedding + self.pos_embedding[: token_embedding.size(0), :]


class Seq2SeqTransformer(nn.Module):
    def __init__(self, layers: int, emb_size: int, nhead: int, vocab: int, hidden: int = 32):
        super().__init__()
        self.transformer = Transformer(
            d_model=emb_size, nhead=nhead, num_encoder_layers=layers,
            num_decoder_layers=layers, dim_feedforward=hidden, dropout=0.0,
        )  # fmt: skip
        self.generator = nn.Linear(emb_size, vocab)
        self.embedding = nn.Embedding(vocab, emb_size, padding_idx=PAD_IDX)
        self.positional_encoding = PositionalEncoding(emb_size)
        self.emb_size = emb_size

    def embed(self, tokens: Tensor):
        return self.positional_encoding(self.embedding(tokens.long()) * math.sqrt(self.emb_size))

    def forward(self, src, trg, src_mask, tgt_mask, src_padding, tgt_padding):
        outs = self.transformer(
            self.embed(src), self.embed(trg), src_mask, tgt_mask, None,
            src_padding, tgt_padding, src_padding,
        )  # fmt: skip
        return self.generator(outs)

    def encode(self, src, src_mask):
        return self.transformer.encoder(self.embed(src), src_mask)

    def decode(self, tgt, memory, tgt_mask):
        return self.transformer.decoder(self.embed(tgt), memory, tgt_mask)


def square_subsequent_mask(sz):
    return torch.triu(torch.ones((sz, sz)), diagonal=1).bool()


def make_batch(seed, size=8, length=6):
    words = whole(seed, 7, length, size) + 3
    lengths = whole(seed + 50, 3, size) + length - 2
    inside = torch.arange(length).unsqueeze(1) < lengths
    src = words.masked_fill(~inside, PAD_IDX)
    bos, eos = torch.full((1, size), BOS_IDX), torch.full((1, size), EOS_IDX)
    return src, torch.cat([bos, src.flip(0), eos])


def greedy_decode(model, src, max_len):
    memory = model.encode(src, torch.zeros(len(src), len(src)).bool())
    ys = torch.ones(1, 1).fill_(BOS_IDX).type(torch.long)
    for _ in range(max_len - 1):
        out = model.decode(ys, memory, square_subsequent_mask(ys.size(0))).transpose(0, 1)
        _, next_word = torch.max(model.generator(out[:, -1]), dim=1)
        ys = torch.cat([ys, torch.ones(1, 1).type_as(src).fill_(next_word.item())], dim=0)
    return ys


def main():
    model = fill(Seq2SeqTransformer(2, 16, 2, 10), 1)
    for m in model.modules():
        if isinstance(m, nn.LayerNorm):
            nn.init.constant_(m.weight, 1.0)
    loss_fn = torch.nn.CrossEntropyLoss(ignore_index=PAD_IDX)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001, betas=(0.9, 0.98), eps=1e-9)
    for step in range(4):
        src, tgt = make_batch(step)
        tgt_input = tgt[:-1, :]
        masks = (
            torch.zeros((src.shape[0], src.shape[0])).type(torch.bool),
            square_subsequent_mask(tgt_input.shape[0]),
            (src == PAD_IDX).transpose(0, 1),
            (tgt_input == PAD_IDX).transpose(0, 1),
        )
        logits = model(src, tgt_input, *masks)
        optimizer.zero_grad()
        loss = loss_fn(logits.reshape(-1, logits.shape[-1]), tgt[1:, :].reshape(-1))
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        ys = greedy_decode(model, make_batch(9)[0][:4, :1], 5)
    report(loss=loss, logit=logits[0, 0, 0], tokens=ys.sum(), length=len(ys))


if __name__ == "__main__":
    main()
