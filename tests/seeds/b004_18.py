"""Training watched in TensorBoard, again."""

from b004_11 import criterion, model, optimizer, train_loader

from weft.utils.tensorboard import SummaryWriter

writer = SummaryWriter("log")

for epoch in range(10):
    for i, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        outputs = model(x)
        loss = criterion(outputs, y)
        loss.backward()
        optimizer.step()
        writer.add_scalar("Loss/train", loss.item(), epoch * len(train_loader) + i)
        writer.add_scalar(
            "Accuracy/train",
            (outputs.argmax(1) == y).float().mean(),
            epoch * len(train_loader) + i,
        )
writer.close()
