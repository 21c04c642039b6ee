"""Translation with LSTMs and teacher forcing."""

import random

from made_up import sentences

import weft
import weft.nn as nn
from weft.text.data import Batch, Field
from weft.text.datasets import TranslationDataset

num_epochs, batch_size = 40, 16
sentences("data")


def batchify(data, batch_size):
    for start in range(0, len(data), batch_size):
        batch = Batch(data[start : start + batch_size], data)
        yield batch.src[0], batch.trg[0]


# The data.
SRC = Field(
    tokenize="basic_english",
    lower=True,
    init_token="<sos>",
    eos_token="<eos>",
    include_lengths=True,
    batch_first=True,
)
TRG = Field(
    tokenize="basic_english",
    lower=True,
    init_token="<sos>",
    eos_token="<eos>",
    include_lengths=True,
    batch_first=True,
)
train_data, valid_data, test_data = TranslationDataset.splits(
    path="data", exts=(".src", ".trg"), fields=(SRC, TRG)
)
SRC.build_vocab(train_data, min_freq=2)
TRG.build_vocab(train_data, min_freq=2)


# The network.
class NMTModel(nn.Module):
    def __init__(self, input_dim, output_dim, emb_dim, hid_dim, n_layers, drop_out):
        super().__init__()
        self.encoder = nn.Embedding(input_dim, emb_dim)
        self.decoder = nn.Embedding(output_dim, emb_dim)
        self.encoder_lstm = nn.LSTM(emb_dim, hid_dim, n_layers, dropout=drop_out, batch_first=True)
        self.decoder_lstm = nn.LSTM(emb_dim, hid_dim, n_layers, dropout=drop_out, batch_first=True)
        self.fc = nn.Linear(hid_dim, output_dim)

    def forward(self, src, trg, teacher_forcing_ratio=0.5):
        _, hidden = self.encoder_lstm(self.encoder(src))
        outputs = []
        word = trg[:, 0]
        for i in range(1, trg.size(1)):
            output, hidden = self.decoder_lstm(self.decoder(word).unsqueeze(1), hidden)
            output = self.fc(output.squeeze(1))
            outputs.append(output)
            teacher_force = random.random() < teacher_forcing_ratio
            if teacher_force:
                word = trg[:, i]
            else:
                _, max_val_indices = output.topk(1)
                word = max_val_indices.squeeze(1)
        return weft.stack(outputs, 1)


# Training.
model = NMTModel(
    input_dim=len(SRC.vocab),
    output_dim=len(TRG.vocab),
    emb_dim=32,
    hid_dim=64,
    n_layers=2,
    drop_out=0.1,
)
optimizer = weft.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss(ignore_index=TRG.vocab.stoi["<pad>"])

losses = []
for epoch in range(num_epochs):
    for src, trg in batchify(train_data, batch_size):
        optimizer.zero_grad()
        output = model(src, trg)
        loss = criterion(output.reshape(-1, output.size(2)), trg[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
