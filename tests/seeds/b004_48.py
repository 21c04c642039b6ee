"""A model optimised for inference."""

import weft
import weft.nn as nn


# The model.
class InferenceOptimizedModel(nn.Module):
    def __init__(self):
        super(InferenceOptimizedModel, self).__init__()
        self.fc1 = nn.Linear(10, 10)
        self.fc2 = nn.Linear(10, 3)

    def forward(self, x):
        return self.fc2(self.fc1(x))


# Optimised.
model = InferenceOptimizedModel().eval()
optimized_model = weft.jit.optimize_for_inference(weft.jit.script(model))
