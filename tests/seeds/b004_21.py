"""Texts classified by a Transformer."""

from made_up import reviews

import weft
import weft.nn as nn
import weft.text
from weft.utils.data import DataLoader

reviews("data")
TEXT = weft.text.data.Field(tokenize="basic_english", batch_first=True, fix_length=8)
LABEL = weft.text.data.LabelField()
fields = [("text", TEXT), ("label", LABEL)]
train_data, test_data = weft.text.datasets.TextClassification(root="./data", fields=fields)
TEXT.build_vocab(train_data)
LABEL.build_vocab(train_data)
vocab_size = len(TEXT.vocab)


def together(rows):
    batch = weft.text.data.Batch(rows, train_data)
    return batch.text, batch.label


train_loader = DataLoader(train_data, batch_size=16, shuffle=True, collate_fn=together)
test_loader = DataLoader(test_data, batch_size=16, collate_fn=together)


# The model.
class TextClassifier(nn.Module):
    def __init__(self, vocab_size, embedding_dim, hidden_dim, output_dim):
        super(TextClassifier, self).__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        layer = nn.TransformerEncoderLayer(
            embedding_dim, nhead=2, dim_feedforward=hidden_dim, batch_first=True
        )
        self.transformer = nn.TransformerEncoder(layer, 1)
        self.fc = nn.Linear(embedding_dim, output_dim)

    def forward(self, x):
        x = self.embedding(x)
        x = self.transformer(x)
        x = self.fc(x.mean(1))
        return x


# Training.
model = TextClassifier(vocab_size, embedding_dim=32, hidden_dim=64, output_dim=2)
criterion = nn.CrossEntropyLoss()
optimizer = weft.optim.Adam(model.parameters(), lr=0.005)

for epoch in range(4):
    for i, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        outputs = model(x)
        loss = criterion(outputs, y)
        loss.backward()
        optimizer.step()
        print(f"Epoch [{epoch + 1}/{4}], Step [{i + 1}/{len(train_loader)}], Loss: {loss.item()}")

# Evaluation.
model.eval()
with weft.no_grad():
    correct = 0
    total = 0
    for x, y in test_loader:
        outputs = model(x)
        _, predicted = weft.max(outputs.data, 1)
        total += y.size(0)
        correct += (predicted == y).sum().item()
    print(f"Accuracy: {100 * correct / total}%")
