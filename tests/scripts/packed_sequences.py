"""Sentences of different lengths: collate, pad, pack, a bidirectional LSTM, and unpack."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, report, whole
from torch.nn.utils.rnn import (
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpad_sequence,
)
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __init__(self):
        self.lengths = (whole(0, 6, 20) + 2).tolist()
        self.items = [whole(i + 1, 12, n) + 1 for i, n in enumerate(self.lengths)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i], int(self.items[i].float().mean() > 6)


def collate(batch):
    texts, labels = zip(*batch)
    lengths = torch.tensor([len(t) for t in texts])
    return pad_sequence(texts, batch_first=True, padding_value=0), lengths, torch.tensor(labels)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(13, 6, padding_idx=0)
        self.rnn = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(10, 2)

    def forward(self, text, lengths):
        packed = pack_padded_sequence(
            self.embedding(text), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        packed_output, (hidden, cell) = self.rnn(packed)
        output, output_lengths = pad_packed_sequence(packed_output, batch_first=True)
        assert torch.equal(output_lengths, lengths)
        last = torch.cat((hidden[-2, :, :], hidden[-1, :, :]), dim=1)
        mask = torch.arange(output.size(1))[None, :] < lengths[:, None]
        pooled = (output * mask.unsqueeze(-1)).sum(1) / lengths.unsqueeze(1)
        return self.fc(last + pooled)


model = fill(Classifier(), 1)
with torch.no_grad():
    model.embedding.weight[0].zero_()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
loader = DataLoader(Sentences(), batch_size=5, collate_fn=collate)
for _ in range(3):
    total, right = 0.0, 0
    for text, lengths, labels in loader:
        optimizer.zero_grad()
        logits = model(text, lengths)
        loss = F.cross_entropy(logits, labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
        right += (logits.argmax(1) == labels).sum().item()
report(total=total, right=right, padding=model.embedding.weight[0].abs().sum())

parts = [torch.arange(1.0, n + 1).unsqueeze(1) for n in (4, 2, 1)]
packed = pack_sequence(parts)
gru = fill(nn.GRU(1, 3), 2)
output, h = gru(packed)
padded, sizes = pad_packed_sequence(output, total_length=6)
report(
    sizes=packed.batch_sizes.sum(), data=packed.data.sum(), hidden=h.sum(), padded=padded.shape[0]
)
back = unpad_sequence(padded, sizes)
report(back=sum(len(b) for b in back), last=back[0][-1].sum())
