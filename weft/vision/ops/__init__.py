"""What detection and segmentation need beyond layers: boxes, regions, a loss, blocks.

>>> boxes = weft.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0]])
>>> weft.vision.ops.box_iou(boxes, boxes)
tensor([[1.0000, 0.5000],
        [0.5000, 1.0000]])
"""

# ruff: noqa: F403 (what is imported here is what weft.vision.ops offers)
from __future__ import annotations

from weft.vision.ops.boxes import *
from weft.vision.ops.losses import *
from weft.vision.ops.misc import *
from weft.vision.ops.overlap import *
from weft.vision.ops.regions import *
from weft.vision.ops.stochastic_depth import *
from weft.vision.ops.suppression import *
