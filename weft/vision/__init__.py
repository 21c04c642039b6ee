"""Images: datasets, transforms, models and ops, under torchvision's names.

>>> weft.vision.models.lenet()(weft.zeros(1, 1, 28, 28)).shape
torch.Size([1, 10])
"""

from __future__ import annotations

from weft.vision import models, ops

__all__ = ["models", "ops"]
