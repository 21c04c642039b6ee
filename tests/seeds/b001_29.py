"""Arithmetic by functions."""

from b001_28 import x, y

import weft

# Sum, difference, product, quotient.
add = weft.add
sub = weft.sub
mul = weft.mul
div = weft.div

# Use them.
result_add = add(x, y)
result_sub = sub(x, y)
result_mul = mul(x, y)
result_div = div(x, y)

print(result_add)
print(result_sub)
print(result_mul)
print(result_div)
