"""Gradients added up over processes."""

import weft
import weft.distributed
from weft.distributed import ReduceOp

weft.distributed.init_process_group(backend="gloo")
model = weft.nn.Linear(4, 2)
criterion = weft.nn.CrossEntropyLoss()
optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
outputs, labels = model(weft.randn(3, 4)), weft.tensor([0, 1, 0])

loss = criterion(outputs, labels)
loss.backward()
before = [p.grad.clone() for p in model.parameters()]
for p in model.parameters():
    weft.distributed.all_reduce(p.grad, op=ReduceOp.SUM)
optimizer.step()
weft.distributed.destroy_process_group()
