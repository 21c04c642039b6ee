"""A policy network that balances a pole."""

import gymnasium as gym

import weft
import weft.nn as nn

num_episodes = 120

# The environment.
env = gym.make("CartPole-v1")
env.reset(seed=0)


# The network.
class PolicyNetwork(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(PolicyNetwork, self).__init__()
        self.fc1 = nn.Linear(input_size, hidden_size)
        self.fc2 = nn.Linear(hidden_size, output_size)

    def forward(self, x):
        x = weft.relu(self.fc1(x))
        x = self.fc2(x)
        return x


def loss_fn(actions, rewards):
    returns = rewards.flip(0).cumsum(0).flip(0)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    return -(actions * returns).sum()


# Training.
model = PolicyNetwork(input_size=4, hidden_size=64, output_size=2)
optimizer = weft.optim.Adam(model.parameters(), lr=0.01)

lengths = []
for episode in range(num_episodes):
    state, _ = env.reset()
    done = False
    chosen, rewards = [], []

    while not done:
        scores = model(weft.from_numpy(state)).log_softmax(0)
        action = scores.detach().exp().multinomial(1).item()
        next_state, reward, fell, late, _ = env.step(action)
        chosen.append(scores[action])
        rewards.append(float(reward))
        done = fell or late
        state = next_state

    optimizer.zero_grad()
    loss = loss_fn(weft.stack(chosen), weft.tensor(rewards))
    loss.backward()
    optimizer.step()
    lengths.append(len(rewards))
