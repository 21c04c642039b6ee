"""A learning rate that falls in steps."""

import weft.nn as nn
import weft.optim as optim

optimizer = optim.Adam(nn.Linear(10, 3).parameters(), lr=0.001)

scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.1)
