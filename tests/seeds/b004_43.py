"""A group of processes."""

import weft
import weft.distributed as dist
from b004_40 import CNN

device = "cpu"
dist.init_process_group(backend="gloo")
model = CNN().to(device)

# One step: gradients are added up over all processes.
optimizer = weft.optim.SGD(model.parameters(), lr=0.01)
model(weft.randn(2, 3, 54, 54)).sum().backward()
for p in model.parameters():
    dist.all_reduce(p.grad)
optimizer.step()
dist.destroy_process_group()
