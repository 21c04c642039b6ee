"""Adam on a model of two inputs."""

import weft
import weft.nn as nn
import weft.optim as optim


class MyModel(nn.Module):
    def __init__(self):
        super(MyModel, self).__init__()
        self.weight = nn.Parameter(weft.ones(3))

    def forward(self, x, y):
        return self.weight * x * y


x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = weft.tensor([4.0, 5.0, 6.0], requires_grad=True)

model = MyModel()
optimizer = optim.Adam(model.parameters(), lr=0.001)

for epoch in range(100):
    optimizer.zero_grad()
    z = model(x, y)
    loss = weft.mean(z)
    loss.backward()
    optimizer.step()
    print(f"Epoch {epoch}: Loss = {loss.item()}")
