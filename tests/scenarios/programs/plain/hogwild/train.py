"""A3C after the usual recipe: the model in shared memory, workers that push their gradients into it without a lock, and a tester
that plays with a copy of it now and then. Workers rest at a gate while the tester plays, so that its score is of one version."""

import argparse
import math
import os
import random
import time

import torch
import torch.multiprocessing as mp
from torch import nn


class Net(nn.Module):
    """Actor and critic."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.actor, self.critic = nn.Linear(64, 3), nn.Linear(64, 1)

    def forward(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.body(seen)
        return self.actor(hidden), self.critic(hidden).squeeze(-1)


class Car:
    """A weak car in a valley."""

    def __init__(self, seed: int) -> None:
        self.rng, self.place, self.speed, self.steps = random.Random(seed), -0.5, 0.0, 0

    def step(self, action: int) -> tuple[float, bool]:
        self.speed += 0.001 * (action - 1) - 0.0025 * math.cos(3 * self.place)
        self.place += self.speed
        self.steps += 1
        done = self.place > 0.5 or self.steps >= 400
        height = math.sin(3 * self.place)
        if done:
            self.place, self.speed, self.steps = self.rng.uniform(-0.6, -0.4), 0.0, 0
        return height, done

    def seen(self) -> list[float]:
        return [self.place, self.speed * 10, self.steps / 400]


def work(rank: int, shared: Net, updates: "mp.Queue[tuple[int, float]]", gate: mp.Event) -> None:
    torch.manual_seed(rank)
    torch.set_num_threads(1)
    local, car = Net(), Car(rank)
    optimizer = torch.optim.SGD(shared.parameters(), lr=1e-4)
    print(f"worker {rank}: process {os.getpid()}", flush=True)
    while True:
        gate.wait()
        local.load_state_dict(shared.state_dict())
        logs, values, rewards = [], [], []
        for _ in range(40):
            logits, value = local(torch.tensor(car.seen()))
            chosen = torch.distributions.Categorical(logits=logits)
            action = chosen.sample()
            reward, _ = car.step(int(action))
            logs.append(chosen.log_prob(action))
            values.append(value)
            rewards.append(reward)
        total, gains = 0.0, []
        for reward in reversed(rewards):
            total = reward + 0.95 * total
            gains.append(total)
        gain = torch.tensor(gains[::-1]) - torch.stack(values)
        loss = -(torch.stack(logs) * gain.detach()).mean() + 0.5 * gain.pow(2).mean()
        optimizer.zero_grad()
        local.zero_grad()
        loss.backward()
        for ours, theirs in zip(local.parameters(), shared.parameters(), strict=True):
            theirs.grad = ours.grad
        optimizer.step()
        updates.put((rank, float(loss)))
        time.sleep(0.1)


def test(shared: Net, seconds: float) -> tuple[float, int]:
    """The mean height over whole episodes, as many as fit into the time."""
    model, car, ends = Net(), Car(1000), time.monotonic() + seconds
    model.load_state_dict(shared.state_dict())
    total, steps, episodes = 0.0, 0, 0
    while time.monotonic() < ends:
        with torch.no_grad():
            action = int(model(torch.tensor(car.seen()))[0].argmax())
        reward, done = car.step(action)
        total, steps, episodes = total + reward, steps + 1, episodes + done
    return total / steps, episodes


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--num-processes", type=int, default=3)
    parser.add_argument("--test-every", type=int, default=60)
    parser.add_argument("--test-seconds", type=float, default=50.0)
    given = parser.parse_args()
    context = mp.get_context("spawn")
    torch.manual_seed(1)
    torch.set_num_threads(1)
    shared = Net()
    shared.share_memory()
    updates, gate = context.Queue(), context.Event()
    gate.set()
    workers = [
        context.Process(target=work, args=(rank, shared, updates, gate), daemon=True) for rank in range(given.num_processes)
    ]
    for worker in workers:
        worker.start()
    for number in range(1, 2001):
        rank, loss = updates.get()
        print(f"Time {time.strftime('%Hh %Mm %Ss')}, num updates {number}, worker {rank}, loss {loss:.4f}", flush=True)
        if number % given.test_every == 0:
            gate.clear()
            print(f"Time {time.strftime('%Hh %Mm %Ss')}, test after {number} updates", flush=True)
            height, episodes = test(shared, given.test_seconds)
            torch.save(shared.state_dict(), "a3c.pt")
            print(f"Time {time.strftime('%Hh %Mm %Ss')}, mean height {height:.4f}, {episodes} episodes, saved a3c.pt", flush=True)
            gate.set()


if __name__ == "__main__":
    main()
