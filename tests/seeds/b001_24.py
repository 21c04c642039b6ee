"""Points and prediction, drawn."""

import matplotlib.pyplot as plt
from b001_22 import x, y
from b001_23 import output_new, x_new

# Draw them.
plt.figure()
plt.scatter(x, y, label="Actual")
plt.plot(x_new, output_new.detach().numpy(), "o", label="Predicted", color="red")
plt.xlabel("Input")
plt.ylabel("Target")
legend = plt.legend()
plt.title("Prediction Result")
plt.savefig("prediction.png")
plt.close()
