"""Balances a pole by policy gradients (REINFORCE), with CartPole of Gymnasium.

The network sees position, speed, angle and turn, and says how likely it pushes left or right. After each
round of episodes the pushes that did better than expected are made likelier.

Goal: a mean of at least 450 of 500 steps over 20 new episodes.

    python -m weft examples reinforce
"""

from common import arguments, conclude, figure, rounds, say

import weft
from weft import nn
from weft.nn import functional as F

DISCOUNT, EPISODES = 0.99, 4  # in each round


def play(env, policy: nn.Module, best: bool = False) -> tuple[list, list, int]:
    """One episode: what was seen, what was done, and how many steps it lasted."""
    seen, done = [], []
    state, _ = env.reset()
    over = False
    while not over:
        seen.append(state)
        with weft.no_grad():
            scores = policy(weft.from_numpy(state))
            action = int(scores.argmax() if best else scores.softmax(0).multinomial(1))
        done.append(action)
        state, _, fell, late, _ = env.step(action)
        over = fell or late
    return seen, done, len(done)


def returns(steps: int) -> list[float]:
    """What each step brought until the end, later steps counting less."""
    values, total = [], 0.0
    for _ in range(steps):
        total = 1 + DISCOUNT * total
        values.append(total)
    return values[::-1]


def main() -> None:
    import gymnasium
    import numpy as np

    args = arguments(__doc__, rounds=150)
    weft.manual_seed(0)
    weft.set_num_threads(1)  # the network is too small for more
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=0)
    policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    optimizer = weft.optim.Adam(policy.parameters(), lr=1e-2)
    scheduler = weft.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, args.rounds)
    lengths: list[float] = []
    for _ in (bar := rounds(args.rounds, "round")):
        episodes = [play(env, policy) for _ in range(EPISODES)]
        states = weft.from_numpy(np.concatenate([seen for seen, _, _ in episodes]))
        actions = weft.tensor([action for _, done, _ in episodes for action in done])
        gains = weft.tensor([gain for _, _, steps in episodes for gain in returns(steps)])
        advantage = (gains - gains.mean()) / (gains.std() + 1e-8)
        chosen = F.log_softmax(policy(states), 1).gather(1, actions.unsqueeze(1)).squeeze(1)
        loss = -(chosen * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        lengths.append(sum(steps for _, _, steps in episodes) / EPISODES)
        say(bar, steps=lengths[-1])

    tests = [play(env, policy, best=True)[2] for _ in range(20)]
    picture, axes = figure()
    axes.plot(lengths)
    axes.set(xlabel="round of four episodes", ylabel="steps until the pole falls")
    conclude("mean steps over 20 new episodes", sum(tests) / 20, at_least=450, picture=picture)


if __name__ == "__main__":
    main()
