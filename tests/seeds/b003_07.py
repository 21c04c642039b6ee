"""Two tensors fitted by Adam."""

import weft
import weft.optim as optim

# A dynamic graph.
x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = weft.tensor([4.0, 5.0, 6.0], requires_grad=True)

z = x * y
w = z + y

# Loss and optimiser.
loss_fn = weft.nn.MSELoss()
optimizer = optim.Adam([x, y], lr=0.001)

# Training.
for epoch in range(100):
    optimizer.zero_grad()
    z = x * y
    w = z + y
    loss = loss_fn(w, weft.tensor([10.0]).expand_as(w))
    loss.backward()
    optimizer.step()
    print(f"Epoch {epoch}: Loss = {loss.item()}")

# Gradients.
print(f"x.grad: {x.grad}")
print(f"y.grad: {y.grad}")
