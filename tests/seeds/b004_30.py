"""Pruning by magnitude."""

from b004_22 import CNN

from weft.nn.utils import pruning_utils

model = CNN()
pruning_utils.prune(model, pruning_method="l1", pruning_percentage=0.2)
