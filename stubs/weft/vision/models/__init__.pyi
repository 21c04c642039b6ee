# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""Networks for images, with torchvision's names, modules and so names of parameters.

Files of trained weights made by torchvision fit: ``model.load_state_dict(weft.load("….pth"))``.

>>> weft.vision.models.squeezenet1_1(num_classes=5)(weft.ones(1, 3, 64, 64)).shape
torch.Size([1, 5])"""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

from weft.vision.models.alexnet import AlexNet as AlexNet
from weft.vision.models.densenet import DenseNet as DenseNet
from weft.vision.models.googlenet import GoogLeNet as GoogLeNet
from weft.vision.models.googlenet import GoogLeNetOutputs as GoogLeNetOutputs
from weft.vision.models.inception import Inception3 as Inception3
from weft.vision.models.inception import InceptionOutputs as InceptionOutputs
from weft.vision.models.lenet import LeNet as LeNet
from weft.vision.models.mobilenet import MobileNetV2 as MobileNetV2
from weft.vision.models.resnet import ResNet as ResNet
from weft.vision.models.squeezenet import SqueezeNet as SqueezeNet
from weft.vision.models.unet import UNet as UNet
from weft.vision.models.vgg import VGG as VGG
from weft.vision.models.vision_transformer import VisionTransformer as VisionTransformer
from weft.vision.models.yolo import YOLO as YOLO
from weft.vision.models.alexnet import alexnet as alexnet
import weft.vision.models.densenet as _densenet
densenet = _densenet
from weft.vision.models.densenet import densenet121 as densenet121
from weft.vision.models.densenet import densenet161 as densenet161
from weft.vision.models.densenet import densenet169 as densenet169
from weft.vision.models.densenet import densenet201 as densenet201
from weft.vision.models.registry import get_model as get_model
from weft.vision.models.registry import get_model_builder as get_model_builder
from weft.vision.models.googlenet import googlenet as googlenet
import weft.vision.models.inception as _inception
inception = _inception
from weft.vision.models.inception import inception_v3 as inception_v3
from weft.vision.models.lenet import lenet as lenet
from weft.vision.models.registry import list_models as list_models
import weft.vision.models.mobilenet as _mobilenet
mobilenet = _mobilenet
from weft.vision.models.mobilenet import mobilenet_v2 as mobilenet_v2
import weft.vision.models.registry as _registry
registry = _registry
import weft.vision.models.resnet as _resnet
resnet = _resnet
from weft.vision.models.resnet import resnet101 as resnet101
from weft.vision.models.resnet import resnet152 as resnet152
from weft.vision.models.resnet import resnet18 as resnet18
from weft.vision.models.resnet import resnet34 as resnet34
from weft.vision.models.resnet import resnet50 as resnet50
from weft.vision.models.resnet import resnext101_32x8d as resnext101_32x8d
from weft.vision.models.resnet import resnext101_64x4d as resnext101_64x4d
from weft.vision.models.resnet import resnext50_32x4d as resnext50_32x4d
import weft.vision.models.squeezenet as _squeezenet
squeezenet = _squeezenet
from weft.vision.models.squeezenet import squeezenet1_0 as squeezenet1_0
from weft.vision.models.squeezenet import squeezenet1_1 as squeezenet1_1
from weft.vision.models.unet import unet as unet
import weft.vision.models.vgg as _vgg
vgg = _vgg
from weft.vision.models.vgg import vgg11 as vgg11
from weft.vision.models.vgg import vgg11_bn as vgg11_bn
from weft.vision.models.vgg import vgg13 as vgg13
from weft.vision.models.vgg import vgg13_bn as vgg13_bn
from weft.vision.models.vgg import vgg16 as vgg16
from weft.vision.models.vgg import vgg16_bn as vgg16_bn
from weft.vision.models.vgg import vgg19 as vgg19
from weft.vision.models.vgg import vgg19_bn as vgg19_bn
import weft.vision.models.vision_transformer as _vision_transformer
vision_transformer = _vision_transformer
from weft.vision.models.vision_transformer import vit_b_16 as vit_b_16
from weft.vision.models.vision_transformer import vit_b_32 as vit_b_32
from weft.vision.models.vision_transformer import vit_h_14 as vit_h_14
from weft.vision.models.vision_transformer import vit_l_16 as vit_l_16
from weft.vision.models.vision_transformer import vit_l_32 as vit_l_32
from weft.vision.models.resnet import wide_resnet101_2 as wide_resnet101_2
from weft.vision.models.resnet import wide_resnet50_2 as wide_resnet50_2
from weft.vision.models.yolo import yolo as yolo
