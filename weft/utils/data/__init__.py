"""Loading data: sets of samples, orders, batches, worker processes. ``docs/data.md`` is the guide.

>>> numbers = weft.utils.data.TensorDataset(weft.arange(4), weft.arange(4) ** 2)
>>> for x, y in weft.utils.data.DataLoader(numbers, batch_size=2):
...     print(x, y)
tensor([0, 1]) tensor([0, 1])
tensor([2, 3]) tensor([4, 9])
"""

from __future__ import annotations

from . import dataloader, dataset, distributed, sampler
from .batches import ShuffledBatches
from .collate import default_collate, default_convert
from .dataloader import DataLoader
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .worker import get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "ShuffledBatches",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "dataloader",
    "dataset",
    "default_collate",
    "default_convert",
    "distributed",
    "get_worker_info",
    "random_split",
    "sampler",
]
