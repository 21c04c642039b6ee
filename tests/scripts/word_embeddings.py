"""N-gram, CBOW and skip-gram with negative sampling: three ways to learn word vectors."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from common import fill, report, whole

CONTEXT_SIZE, EMBEDDING_DIM = 2, 8
text = """a river runs to the sea and the sea sends the rain to the hills and the hills send
a river to the sea again so the rain and the river and the sea are one""".split()
vocab = sorted(set(text))
word_to_ix = {word: i for i, word in enumerate(vocab)}
ngrams = [([text[i - 1], text[i - 2]], text[i]) for i in range(CONTEXT_SIZE, len(text))]


class NGramLanguageModeler(nn.Module):
    def __init__(self, vocab_size, embedding_dim, context_size):
        super(NGramLanguageModeler, self).__init__()
        self.embeddings = nn.Embedding(vocab_size, embedding_dim)
        self.linear1 = nn.Linear(context_size * embedding_dim, 16)
        self.linear2 = nn.Linear(16, vocab_size)

    def forward(self, inputs):
        embeds = self.embeddings(inputs).view((1, -1))
        out = F.relu(self.linear1(embeds))
        return F.log_softmax(self.linear2(out), dim=1)


class CBOW(nn.Module):
    def __init__(self, vocab_size, embedding_dim):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab_size, embedding_dim, mode="mean")
        self.out = nn.Linear(embedding_dim, vocab_size)

    def forward(self, words, offsets):
        return self.out(self.bag(words, offsets))


class SkipGram(nn.Module):
    def __init__(self, vocab_size, embedding_dim):
        super().__init__()
        self.center = nn.Embedding(vocab_size, embedding_dim, sparse=True)
        self.context = nn.Embedding(vocab_size, embedding_dim, sparse=True)

    def forward(self, center, positive, negative):
        v = self.center(center)
        score = torch.sum(v * self.context(positive), dim=1)
        noise = torch.bmm(self.context(negative), v.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(score) + F.logsigmoid(-noise).sum(dim=1)).mean()


losses = []
model = fill(NGramLanguageModeler(len(vocab), EMBEDDING_DIM, CONTEXT_SIZE), 1)
optimizer = optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    total_loss = 0
    for context, target in ngrams:
        context_idxs = torch.tensor([word_to_ix[w] for w in context], dtype=torch.long)
        model.zero_grad()
        log_probs = model(context_idxs)
        loss = nn.NLLLoss()(log_probs, torch.tensor([word_to_ix[target]], dtype=torch.long))
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
    losses.append(total_loss)
report(
    ngram_first=losses[0],
    ngram_last=losses[1],
    sea=model.embeddings.weight[word_to_ix["sea"]].sum(),
)

words = torch.tensor([word_to_ix[w] for w in text])
bags = torch.cat([torch.cat((words[i - 2 : i], words[i + 1 : i + 3])) for i in range(2, 20)])
offsets = torch.arange(0, 18 * 4, 4)
cbow = fill(CBOW(len(vocab), EMBEDDING_DIM), 2)
optimizer = optim.Adam(cbow.parameters(), lr=0.02)
for _ in range(10):
    optimizer.zero_grad()
    loss = F.cross_entropy(cbow(bags, offsets), words[2:20])
    loss.backward()
    optimizer.step()
report(cbow=loss)

skip = fill(SkipGram(len(vocab), EMBEDDING_DIM), 3)
optimizer = optim.SparseAdam(list(skip.parameters()), lr=0.02)
for step in range(6):
    optimizer.zero_grad()
    loss = skip(words[:-1], words[1:], whole(step, len(vocab), len(words) - 1, 3))
    loss.backward()
    optimizer.step()
near = F.cosine_similarity(skip.center.weight[0:1], skip.center.weight).topk(3).values.sum()
report(skip=loss, near=near)
