"""PPO with two groups of ranks: 0 and 1 train, 2 and 3 roll out. Rank 2 collects what the rollout group played and sends it to rank 0,
which shares it within the trainer group; after the update rank 0 broadcasts the weights to all.

    torchrun --nproc-per-node 4 train.py
"""

import os
import time

import torch
import torch.distributed as dist
from torch import nn

from pole import Pole

TRAINERS, PLAYERS = [0, 1], [2, 3]
HORIZON, MINIBATCH, EPOCHS = 128, 64, 2
ITERATIONS = 300


def say(text: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} [rank{dist.get_rank()}] {text}", flush=True)


class Policy(nn.Module):
    """Two heads."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.actor, self.critic = nn.Linear(32, 2), nn.Linear(32, 1)

    def forward(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.body(seen)
        return self.actor(hidden), self.critic(hidden).squeeze(-1)


def play(policy: Policy, env: Pole) -> torch.Tensor:
    """A horizon of steps; each row: four seen, action, log probability, return."""
    rows, rewards = [], []
    seen = env.seen()
    with torch.no_grad():
        for _ in range(HORIZON):
            chosen = torch.distributions.Categorical(logits=policy(torch.tensor(seen))[0])
            action = chosen.sample()
            rows.append([*seen, float(action), float(chosen.log_prob(action)), 0.0])
            seen, reward = env.step(int(action))
            rewards.append(reward)
    value = 0.0
    for row, reward in zip(reversed(rows), reversed(rewards), strict=True):
        value = reward + 0.97 * value * (reward > 0)
        row[6] = value
    return torch.tensor(rows)


def evaluate(policy: Policy, env: Pole, budget_s: float) -> float:
    """Whole episodes, as many as fit into the time."""
    ends, lengths, length, seen = time.monotonic() + budget_s, [], 0, env.seen()
    while time.monotonic() < ends:
        with torch.no_grad():
            action = int(policy(torch.tensor(seen))[0].argmax())
        seen, reward = env.step(action)
        length += 1
        if reward <= 0:
            lengths.append(length)
            length = 0
    return sum(lengths) / max(1, len(lengths))


def improve(policy: Policy, optimizer: torch.optim.Optimizer, batch: torch.Tensor, group: dist.ProcessGroup) -> float:
    """Each trainer has its half; gradients are averaged within the group."""
    half = batch.chunk(len(TRAINERS))[dist.get_rank()]
    total = 0.0
    for _ in range(EPOCHS):
        for rows in half.split(MINIBATCH):
            seen, action, old, value = rows[:, :4], rows[:, 4], rows[:, 5], rows[:, 6]
            logits, guess = policy(seen)
            chosen = torch.distributions.Categorical(logits=logits)
            gain = value - guess.detach()
            ratio = (chosen.log_prob(action) - old).exp()
            loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean() + 0.5 * (guess - value).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            for weight in policy.parameters():
                dist.all_reduce(weight.grad, group=group)
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
            total += float(loss)
    return total


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    trainers, players = dist.new_group(TRAINERS), dist.new_group(PLAYERS)
    torch.manual_seed(rank)
    torch.set_num_threads(1)
    policy, env = Policy(), Pole(rank)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    say(f"pid {os.getpid()}, {'trainer' if rank in TRAINERS else 'rollout'} group")
    for iteration in range(1, ITERATIONS + 1):
        for weight in policy.parameters():
            dist.broadcast(weight.data, src=0)
        batch = torch.zeros(HORIZON * len(PLAYERS), 7)
        if rank in PLAYERS:
            if rank == 3 and iteration % 20 == 0:
                say(f"iteration {iteration}: mean length {evaluate(policy, env, 50):.1f} in evaluation")
            played = play(policy, env)
            parts = [torch.zeros_like(played) for _ in PLAYERS] if rank == 2 else None
            dist.gather(played, parts, dst=2, group=players)
            if parts is not None:
                dist.send(torch.cat(parts), dst=0)
        else:
            if rank == 0:
                dist.recv(batch, src=2)
            dist.broadcast(batch, src=0, group=trainers)
            loss = improve(policy, optimizer, batch, trainers)
            if rank == 0:
                say(f"iteration {iteration}/{ITERATIONS} return {batch[:, 6].mean():.3f} loss {loss:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
