"""REINFORCE on a walk along a line; actions are drawn by NumPy from the policy's probabilities."""

import argparse
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from common import fill, report

parser = argparse.ArgumentParser(description="REINFORCE example")
parser.add_argument("--gamma", type=float, default=0.99)
parser.add_argument("--seed", type=int, default=543)
parser.add_argument("--episodes", type=int, default=12)
args = parser.parse_args()

rng = np.random.RandomState(args.seed)
torch.manual_seed(args.seed)


class Line:
    """Start at 0; reach 3 for a reward, -3 ends without one."""

    def reset(self):
        self.at, self.steps = 0, 0
        return np.array([self.at, self.steps / 10.0, 1.0, abs(self.at)])

    def step(self, action):
        self.at += 1 if action == 1 else -1
        self.steps += 1
        done = abs(self.at) == 3 or self.steps == 20
        reward = 1.0 if self.at == 3 else -0.05
        return np.array([self.at, self.steps / 10.0, 1.0, abs(self.at)]), reward, done


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, 16)
        self.affine2 = nn.Linear(16, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.affine2(x), dim=1)


policy = fill(Policy(), 4)
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
eps = np.finfo(np.float32).eps.item()


def select_action(state):
    probs = policy(torch.from_numpy(state).float().unsqueeze(0))
    action = int(rng.rand() > probs[0, 0].item())
    policy.saved_log_probs.append(torch.log(probs[0, action]).unsqueeze(0))
    return action


def finish_episode():
    R = 0
    returns = deque()
    for r in policy.rewards[::-1]:
        R = r + args.gamma * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    policy_loss = []
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return policy_loss.item()


def main():
    env, running_reward, lengths = Line(), 0.0, 0
    for i_episode in range(args.episodes):
        state, ep_reward, done = env.reset(), 0, False
        while not done:
            state, reward, done = env.step(select_action(state))
            policy.rewards.append(reward)
            ep_reward += reward
            lengths += 1
        running_reward = 0.05 * ep_reward + 0.95 * running_reward
        loss = finish_episode()
    report(loss=loss, running_reward=running_reward, steps=lengths)
    report(weight=policy.affine2.weight.sum(), value=policy(torch.ones(1, 4))[0, 1])


if __name__ == "__main__":
    main()
