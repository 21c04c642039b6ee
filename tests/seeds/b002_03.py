"""`Variable`, the old name of a tensor."""

import weft

# A variable.
x = weft.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
v_x = weft.autograd.Variable(x)
