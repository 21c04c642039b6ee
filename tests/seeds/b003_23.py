"""A sequence-to-sequence model with attention."""

import weft
import weft.nn as nn
import weft.optim as optim
from weft.nn import functional as F


# How much each step of the encoder counts.
class SimpleAttention(nn.Module):
    def __init__(self, hidden_size):
        super(SimpleAttention, self).__init__()
        self.hidden_size = hidden_size
        self.attn = nn.Linear(hidden_size * 2, 1)

    def forward(self, hidden, encoder_outputs):
        steps = encoder_outputs.size(1)
        hidden = hidden.unsqueeze(1).expand(-1, steps, -1)
        attn_energies = self.attn(weft.cat((hidden, encoder_outputs), 2)).squeeze(2)
        return F.softmax(attn_energies, dim=1)


# Encoder, decoder, attention.
class SimpleSeq2Seq(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(SimpleSeq2Seq, self).__init__()
        self.hidden_size = hidden_size
        self.encoder = nn.GRU(input_size, hidden_size, num_layers=1, batch_first=True)
        self.decoder = nn.GRU(output_size, hidden_size, num_layers=1, batch_first=True)
        self.attn = SimpleAttention(hidden_size)
        self.fc = nn.Linear(hidden_size, output_size)

    def forward(self, input_seq, target_seq):
        encoder_output, hidden = self.encoder(input_seq)
        decoder_output, hidden = self.decoder(target_seq, hidden)
        attn_weights = self.attn(hidden[0], encoder_output)
        decoder_output = decoder_output * attn_weights.unsqueeze(-1)
        return self.fc(decoder_output)


# Model, loss and optimiser.
model = SimpleSeq2Seq(input_size=10, hidden_size=20, output_size=1)
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.001)

# The data.
input_seq = weft.randn(32, 5, 10)
target_seq = weft.randn(32, 5, 1)

# Training.
for epoch in range(100):
    optimizer.zero_grad()
    z = model(input_seq, target_seq)
    loss = criterion(z, target_seq)
    loss.backward()
    optimizer.step()
    print(f"Epoch {epoch}: Loss = {loss.item()}")

# The parameters.
print(list(model.parameters()))
