"""Three activations."""

import weft
import weft.nn as nn

x = weft.tensor([[1.0, 2.0], [3.0, 4.0]])

sigmoid = nn.Sigmoid()
relu = nn.ReLU()
tanh = nn.Tanh()

output_sigmoid = sigmoid(x)
output_relu = relu(x)
output_tanh = tanh(x)

print(output_sigmoid)
print(output_relu)
print(output_tanh)
