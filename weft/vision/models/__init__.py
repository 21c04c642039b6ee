"""Networks for images, with torchvision's names, modules and so names of parameters.

Files of trained weights made by torchvision fit: ``model.load_state_dict(weft.load("….pth"))``.

>>> weft.vision.models.squeezenet1_1(num_classes=5)(weft.ones(1, 3, 64, 64)).shape
torch.Size([1, 5])
"""

# ruff: noqa: F403 (what is imported here is what weft.vision.models offers)
from __future__ import annotations

from weft.vision.models.alexnet import *
from weft.vision.models.densenet import *
from weft.vision.models.googlenet import *
from weft.vision.models.inception import *
from weft.vision.models.lenet import *
from weft.vision.models.mobilenet import *
from weft.vision.models.registry import *
from weft.vision.models.resnet import *
from weft.vision.models.squeezenet import *
from weft.vision.models.unet import *
from weft.vision.models.vgg import *
from weft.vision.models.vision_transformer import *
from weft.vision.models.yolo import *
