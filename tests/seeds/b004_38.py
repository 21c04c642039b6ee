"""Pruning a trained model."""

from b004_23 import model, train_loader

from weft.nn.utils import pruning_utils

pruning_utils.prune(model, pruning_method="l1", pruning_percentage=0.2)
