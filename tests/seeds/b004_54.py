"""Batches for several devices."""

import weft
import weft.nn as nn
from weft.utils.data import DataLoader, TensorDataset

dataset = TensorDataset(weft.arange(20.0).view(10, 2), weft.arange(10))
batch_size, device_ids = 4, None
model = nn.Linear(2, 3)

train_loader = DataLoader(dataset, batch_size=batch_size, shuffle=True)
parallel = nn.DataParallel(model, device_ids=device_ids)
batches = [(x, y, parallel(x)) for x, y in train_loader]
