"""Texts classified by a recurrent network."""

from made_up import reviews

import weft
import weft.nn as nn
import weft.optim as optim
import weft.text
import weft.text.data

reviews("data")

# The data.
TEXT = weft.text.data.Field(tokenize="basic_english", lower=True)
LABEL = weft.text.data.LabelField(dtype=weft.int64)
train_data, test_data = weft.text.datasets.TextClassification(
    root="./data", fields=[("text", TEXT), ("label", LABEL)]
)
TEXT.build_vocab(train_data, max_size=10000)
LABEL.build_vocab(train_data)
train_data, test_data = weft.text.data.utils.random_split(train_data, lengths=[100, 50])


# The network: of each text, what is known after its last word.
class RNN(nn.Module):
    def __init__(self):
        super(RNN, self).__init__()
        self.embedding = nn.Embedding(len(TEXT.vocab), 8)
        self.rnn = nn.RNN(8, 16)
        self.fc = nn.Linear(16, len(LABEL.vocab))

    def forward(self, x):
        out, hidden = self.rnn(self.embedding(x))
        return self.fc(hidden[-1]), hidden


model = RNN()
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()

# Training.
for i in range(10):
    for batch in weft.text.data.BucketIterator(train_data, batch_size=20):
        optimizer.zero_grad()
        y_pred, hidden = model(batch.text)
        loss = criterion(y_pred, batch.label)
        loss.backward()
        optimizer.step()
    print(f"Epoch {i + 1}, loss: {loss.item()}")
