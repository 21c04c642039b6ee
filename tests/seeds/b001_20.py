"""Points on a noisy line, drawn."""

import matplotlib.pyplot as plt
import numpy as np


def make_line(n=100, noise=True, f=1):
    x = np.random.uniform(0, 10, n).reshape(-1, 1)
    y = x * f + np.random.randn(n, 1) * (1 if noise else 0)
    return x, y


x, y = make_line()
plt.figure()
plt.scatter(x, y)
plt.xlabel("Input")
plt.ylabel("Target")
plt.title("Linear Data")
plt.savefig("linear_data.png")
plt.close()
