"""Two branches at once by `jit.fork`."""

import weft
from weft.jit import ScriptModule

x = weft.randn(3, 3)
y = weft.randn(3, 3)


def add(x, y):
    return x + y


@weft.jit.script
def my_function(x, y):
    future = weft.jit.fork(add, x, y)
    w = x * y
    z = weft.jit.wait(future)
    return z, w


z, w = my_function(x, y)
print(z)
print(w)
