"""Actor and critic in one network, with the losses of both over an episode."""

from collections import namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from common import fill, report

SavedAction = namedtuple("SavedAction", ["log_prob", "value"])
rng = np.random.RandomState(1)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(3, 24)
        self.action_head = nn.Linear(24, 3)
        self.value_head = nn.Linear(24, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


def environment(state, action):
    """A point on a ring is pushed left, not at all, or right; it should stay at the top."""
    angle, speed, _ = state
    speed = 0.9 * speed + 0.2 * (action - 1) + 0.05 * np.sin(angle)
    angle = angle + speed
    return np.array([angle, speed, np.cos(angle)]), float(np.cos(angle))


def finish_episode(model, optimizer, gamma=0.97):
    R, policy_losses, value_losses, returns = 0, [], [], []
    for r in model.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    return loss


def main():
    model = fill(Policy(), 5)
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(6):
        state, total = np.array([0.3, 0.0, np.cos(0.3)]), 0.0
        for _ in range(15):
            probs, value = model(torch.from_numpy(state).float())
            cumulative = np.cumsum(probs.detach().numpy())
            action = int(np.searchsorted(cumulative, rng.rand() * cumulative[-1]))
            model.saved_actions.append(SavedAction(probs[action].log(), value))
            state, reward = environment(state, action)
            model.rewards.append(reward)
            total += reward
        loss = finish_episode(model, optimizer)
    report(loss=loss, total=total, head=model.value_head.weight.abs().sum())


if __name__ == "__main__":
    main()
