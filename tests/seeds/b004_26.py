"""A learning rate that follows a cosine."""

import weft.nn as nn
import weft.optim as optim

optimizer = optim.Adam(nn.Linear(10, 3).parameters(), lr=0.001)

scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100, eta_min=1e-6)
