"""Balances a pole by learning what each action is worth (deep Q-learning), with CartPole of Gymnasium.

Steps are remembered and learnt from in random order. A slow copy of the network says what the next state
is worth. The training ends as soon as ten episodes in a row go well.

Goal: a mean of at least 400 of 500 steps over 20 new episodes.

    python -m weft examples dqn
"""

import copy
import random

from common import arguments, conclude, figure, rounds, say

import weft
from weft import nn
from weft.nn import functional as F

DISCOUNT, MEMORY, BATCH = 0.99, 20000, 128


class Memory:
    """The last steps: state, action, whether it ended, next state."""

    def __init__(self, size: int) -> None:
        self.states, self.nexts = weft.zeros(size, 4), weft.zeros(size, 4)
        self.actions = weft.zeros(size, 1, dtype=weft.int64)
        self.ended = weft.zeros(size)
        self.count = 0

    def add(self, state: weft.Tensor, action: int, ended: bool, after: weft.Tensor) -> None:
        at = self.count % len(self.states)
        self.states[at], self.nexts[at] = state, after
        self.actions[at, 0], self.ended[at] = action, float(ended)
        self.count += 1

    def some(self, count: int) -> tuple[weft.Tensor, ...]:
        at = weft.randint(0, min(self.count, len(self.states)), (count,))
        return self.states[at], self.actions[at], self.ended[at], self.nexts[at]


def test(env, worth: nn.Module) -> int:
    """The steps of an episode without chance."""
    state, steps, over = env.reset()[0], 0, False
    while not over:
        with weft.no_grad():
            action = int(worth(weft.from_numpy(state)).argmax())
        state, _, fell, late, _ = env.step(action)
        over, steps = fell or late, steps + 1
    return steps


def main() -> None:
    import gymnasium

    args = arguments(__doc__, steps=40000)
    weft.manual_seed(1)
    random.seed(1)
    weft.set_num_threads(1)  # the network is too small for more
    env, trial = gymnasium.make("CartPole-v1"), gymnasium.make("CartPole-v1")
    trial.reset(seed=2)
    state = weft.from_numpy(env.reset(seed=1)[0])
    worth = nn.Sequential(
        nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2)
    )
    slow = copy.deepcopy(worth)
    optimizer = weft.optim.Adam(worth.parameters(), lr=5e-4)
    scheduler = weft.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, args.steps)
    memory, lengths, steps = Memory(MEMORY), [], 0
    for step in (bar := rounds(args.steps, "step")):
        chance = max(0.02, 1 - step / (0.2 * args.steps))
        if random.random() < chance:
            action = random.randrange(2)
        else:
            with weft.no_grad():
                action = int(worth(state).argmax())
        after, _, fell, late, _ = env.step(action)
        after = weft.from_numpy(after)
        memory.add(state, action, fell, after)
        state, steps = after, steps + 1
        if fell or late:
            state = weft.from_numpy(env.reset()[0])
            lengths.append(steps)
            steps = 0
        if memory.count < BATCH:
            continue
        states, actions, ended, nexts = memory.some(BATCH)
        with weft.no_grad():  # the network chooses, its slow copy says what that is worth
            best = slow(nexts).gather(1, worth(nexts).argmax(1, keepdim=True)).squeeze(1)
            target = 1 + DISCOUNT * (1 - ended) * best
        loss = F.smooth_l1_loss(worth(states).gather(1, actions).squeeze(1), target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(worth.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        with weft.no_grad():
            for mine, its in zip(slow.parameters(), worth.parameters()):
                mine.lerp_(its, 0.01)
        if step % 1000 == 999:
            trials = [test(trial, worth) for _ in range(10)]
            if min(trials) >= 450:
                break
        if lengths:
            say(bar, steps=sum(lengths[-10:]) / len(lengths[-10:]))

    tests = [test(trial, worth) for _ in range(20)]
    picture, axes = figure()
    axes.plot(lengths or [0])
    axes.set(xlabel="episode", ylabel="steps until the pole falls")
    conclude("mean steps over 20 new episodes", sum(tests) / 20, at_least=400, picture=picture)


if __name__ == "__main__":
    main()
