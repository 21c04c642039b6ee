"""A script in a file."""

from b004_22 import CNN

import weft

model = CNN()
script_module = weft.jit.script(model)
script_module.save("model_scripted.pt")
