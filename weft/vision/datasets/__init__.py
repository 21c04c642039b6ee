"""Sets of images, in the file formats in which their authors published them.

>>> weft.vision.datasets.Digits(train=False)
Dataset Digits
    Number of datapoints: 360
    Split: Test
"""

from __future__ import annotations

from . import utils
from .cifar import CIFAR10, CIFAR100
from .digits import Digits
from .fakedata import FakeData
from .folder import DatasetFolder, ImageFolder
from .mnist import EMNIST, KMNIST, MNIST, FashionMNIST
from .vision import VisionDataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "EMNIST",
    "KMNIST",
    "MNIST",
    "DatasetFolder",
    "Digits",
    "FakeData",
    "FashionMNIST",
    "ImageFolder",
    "VisionDataset",
    "utils",
]
