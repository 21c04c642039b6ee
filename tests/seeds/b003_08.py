"""Linear regression of three points."""

import weft
import weft.nn as nn


# A line.
class LinearRegressionModel(nn.Module):
    def __init__(self):
        super(LinearRegressionModel, self).__init__()
        self.linear = nn.Linear(1, 1)  # one input, one output

    def forward(self, x):
        return self.linear(x)


# Model, loss and optimiser.
model = LinearRegressionModel()
criterion = nn.MSELoss()
optimizer = weft.optim.SGD(model.parameters(), lr=0.01)

# The data.
x = weft.tensor([[1.0], [2.0], [3.0]], requires_grad=True)
y = weft.tensor([[2.0], [4.0], [6.0]], requires_grad=True)

# Training.
for epoch in range(100):
    optimizer.zero_grad()
    z = model(x)
    loss = criterion(z, y)
    loss.backward()
    optimizer.step()
    print(f"Epoch {epoch}: Loss = {loss.item()}")

# The parameters.
print(model.linear.weight)
print(model.linear.bias)
