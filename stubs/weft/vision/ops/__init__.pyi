# Written by `python -m tools.stubs`. Do not edit.
# mypy: disable-error-code="misc, no-redef, overload-cannot-match, overload-overlap, override"
"""What detection and segmentation need beyond layers: boxes, regions, a loss, blocks.

>>> boxes = weft.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0]])
>>> weft.vision.ops.box_iou(boxes, boxes)
tensor([[1.0000, 0.5000],
        [0.5000, 1.0000]])"""
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
import numpy.typing as npt

from weft.vision.ops.misc import Conv2dNormActivation as Conv2dNormActivation
from weft.vision.ops.misc import Conv3dNormActivation as Conv3dNormActivation
from weft.vision.ops.misc import FrozenBatchNorm2d as FrozenBatchNorm2d
from weft.vision.ops.misc import MLP as MLP
from weft.vision.ops.misc import Permute as Permute
from weft.vision.ops.regions import RoIAlign as RoIAlign
from weft.vision.ops.regions import RoIPool as RoIPool
from weft.vision.ops.misc import SqueezeExcitation as SqueezeExcitation
from weft.vision.ops.stochastic_depth import StochasticDepth as StochasticDepth
from weft.vision.ops.suppression import batched_nms as batched_nms
from weft.vision.ops.boxes import box_area as box_area
from weft.vision.ops.boxes import box_convert as box_convert
from weft.vision.ops.overlap import box_iou as box_iou
import weft.vision.ops.boxes as _boxes
boxes = _boxes
from weft.vision.ops.boxes import clip_boxes_to_image as clip_boxes_to_image
from weft.vision.ops.overlap import complete_box_iou as complete_box_iou
from weft.vision.ops.losses import complete_box_iou_loss as complete_box_iou_loss
from weft.vision.ops.overlap import distance_box_iou as distance_box_iou
from weft.vision.ops.losses import distance_box_iou_loss as distance_box_iou_loss
from weft.vision.ops.overlap import generalized_box_iou as generalized_box_iou
from weft.vision.ops.losses import generalized_box_iou_loss as generalized_box_iou_loss
import weft.vision.ops.losses as _losses
losses = _losses
from weft.vision.ops.boxes import masks_to_boxes as masks_to_boxes
import weft.vision.ops.misc as _misc
misc = _misc
from weft.vision.ops.suppression import nms as nms
import weft.vision.ops.overlap as _overlap
overlap = _overlap
import weft.vision.ops.regions as _regions
regions = _regions
from weft.vision.ops.boxes import remove_small_boxes as remove_small_boxes
from weft.vision.ops.regions import roi_align as roi_align
from weft.vision.ops.regions import roi_pool as roi_pool
from weft.vision.ops.losses import sigmoid_focal_loss as sigmoid_focal_loss
from weft.vision.ops.stochastic_depth import stochastic_depth as stochastic_depth
import weft.vision.ops.suppression as _suppression
suppression = _suppression
