"""Part-of-speech tags by an LSTM, with and without characters, then a CRF's forward algorithm."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from common import fill, numbers, report

torch.manual_seed(1)
training_data = [
    ("The dog ate the apple".split(), ["DET", "NN", "V", "DET", "NN"]),
    ("Everybody read that book".split(), ["NN", "V", "DET", "NN"]),
]
word_to_ix = {}
for sent, tags in training_data:
    for word in sent:
        if word not in word_to_ix:
            word_to_ix[word] = len(word_to_ix)
tag_to_ix = {"DET": 0, "NN": 1, "V": 2}
letters = {c: i for i, c in enumerate("abcdefghijklmnopqrstuvwxyz")}


def prepare_sequence(seq, to_ix):
    return torch.tensor([to_ix[w] for w in seq], dtype=torch.long)


class LSTMTagger(nn.Module):
    def __init__(self, embedding_dim, hidden_dim, vocab_size, tagset_size, char_dim=0):
        super(LSTMTagger, self).__init__()
        self.char_dim = char_dim
        self.word_embeddings = nn.Embedding(vocab_size, embedding_dim)
        if char_dim:
            self.char_embeddings = nn.Embedding(26, 4)
            self.char_lstm = nn.LSTM(4, char_dim)
        self.lstm = nn.LSTM(embedding_dim + char_dim, hidden_dim, bidirectional=bool(char_dim))
        self.hidden2tag = nn.Linear(hidden_dim * (2 if char_dim else 1), tagset_size)

    def forward(self, sentence, words):
        embeds = self.word_embeddings(sentence)
        if self.char_dim:
            last = []
            for word in words:
                chars = self.char_embeddings(prepare_sequence(word.lower(), letters))
                _, (h, _) = self.char_lstm(chars.view(len(word), 1, -1))
                last.append(h.view(-1))
            embeds = torch.cat([embeds, torch.stack(last)], dim=1)
        lstm_out, _ = self.lstm(embeds.view(len(sentence), 1, -1))
        tag_space = self.hidden2tag(lstm_out.view(len(sentence), -1))
        return F.log_softmax(tag_space, dim=1)


def train(model, epochs):
    loss_function = nn.NLLLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(epochs):
        for sentence, tags in training_data:
            model.zero_grad()
            tag_scores = model(prepare_sequence(sentence, word_to_ix), sentence)
            loss = loss_function(tag_scores, prepare_sequence(tags, tag_to_ix))
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        inputs = prepare_sequence(training_data[0][0], word_to_ix)
        scores = model(inputs, training_data[0][0])
    return loss, scores


def log_sum_exp(vec):
    max_score = vec[0, torch.max(vec, 1)[1].item()]
    return max_score + torch.log(
        torch.sum(torch.exp(vec - max_score.view(1, -1).expand(1, vec.size(1))))
    )


def crf_forward(feats, transitions):
    alphas = torch.zeros(1, feats.size(1))
    for feat in feats:
        alphas_t = []
        for next_tag in range(feats.size(1)):
            emit = feat[next_tag].view(1, -1).expand(1, feats.size(1))
            alphas_t.append(log_sum_exp(alphas + transitions[next_tag].view(1, -1) + emit).view(1))
        alphas = torch.cat(alphas_t).view(1, -1)
    return log_sum_exp(alphas)


loss, scores = train(fill(LSTMTagger(6, 6, len(word_to_ix), 3), 1), 15)
report(loss=loss, best=scores.max(1)[0].sum(), tags=scores.argmax(dim=1).sum())
loss, scores = train(fill(LSTMTagger(6, 6, len(word_to_ix), 3, char_dim=3), 2), 8)
report(char_loss=loss, char_best=scores.max(1)[0].sum())
transitions = nn.Parameter(numbers(3, 3, 3))
partition = crf_forward(scores, transitions)
partition.backward()
report(partition=partition, slope=transitions.grad.pow(2).sum())
