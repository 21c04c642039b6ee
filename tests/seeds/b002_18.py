"""Losses logged for TensorBoard."""

from b002_17 import criterion, model, optimizer, train_data, train_labels

from weft.utils.tensorboard import SummaryWriter

# The log.
writer = SummaryWriter("log")

# Training.
for i in range(10):
    optimizer.zero_grad()
    outputs = model(train_data)
    loss = criterion(outputs, train_labels)
    loss.backward()
    optimizer.step()
    writer.add_scalar("train_loss", loss.item(), i)
    print(f"Epoch {i + 1}, loss: {loss.item()}")
writer.close()
