"""Asynchronous updates."""

import weft
import weft.distributed

weft.distributed.init_process_group(backend="gloo")
model = weft.nn.Linear(4, 2)
criterion = weft.nn.CrossEntropyLoss()
optimizer = weft.distributed.DistributedOptimizer(weft.optim.SGD(model.parameters(), lr=0.1))
outputs, labels = model(weft.randn(3, 4)), weft.tensor([0, 1, 0])
before = [p.detach().clone() for p in model.parameters()]

loss = criterion(outputs, labels)
loss.backward()
optimizer.synchronize()
optimizer.step()
weft.distributed.destroy_process_group()
