"""Policy optimisation in the manner of verl, in small: a driver, worker groups of Ray actors, gloo between the actors."""

import os
import random
import socket
import threading
import time

import ray
import torch
import torch.distributed as dist

WORLD = 2
PROMPTS = 8
KEPT = {0: 100_000, 1: 100_000}
HARD_AT, HARD = 10_000, 0


class Scores:
    """Answers that were checked once are not checked again."""

    def __init__(self, limit):
        self.lock, self.limit, self.known = threading.Lock(), limit, {}

    def trim(self):
        with self.lock:
            for key in list(self.known)[: self.limit // 2]:
                del self.known[key]

    def score(self, answer):
        with self.lock:
            if answer not in self.known:
                self.known[answer] = self.check(answer)
                if len(self.known) > self.limit:
                    self.trim()
            return self.known[answer]

    def check(self, answer):
        """Whether the number in it is prime, by trial."""
        number = int(answer)
        return float(all(number % by for by in range(2, int(number**0.5) + 1)))


@ray.remote(num_cpus=1)
class WorkerDict:
    def __init__(self, rank):
        self.rank, self.numbers = rank, random.Random(rank)
        self.scores = Scores(KEPT[rank])

    def where(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return os.getpid(), free.getsockname()[1]

    def init_model(self, port):
        dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=self.rank, world_size=WORLD)
        torch.manual_seed(0)
        self.actor = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.Tanh(), torch.nn.Linear(64, 10))
        self.optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)

    def generate_sequences(self, step):
        """Digits, one after the other."""
        states = torch.randn(PROMPTS, 16)
        answers = [""] * PROMPTS
        with torch.no_grad():
            for _ in range(9):
                digits = torch.distributions.Categorical(logits=self.actor(states)).sample().tolist()
                answers = [answer + str(digit) for answer, digit in zip(answers, digits)]
                states = states.roll(1, 1)
        if step == HARD_AT and self.rank == 1:
            answers += [str(10**15 + 1 + 2 * k) for k in range(HARD)]
        return states, answers

    def update_actor(self, step):
        states, answers = self.generate_sequences(step)
        rewards = [self.scores.score(answer) for answer in answers]
        self.between(step)
        wins = torch.tensor([sum(rewards[:PROMPTS]), float(PROMPTS)])
        dist.all_reduce(wins)
        logits = self.actor(states)
        loss = -(torch.tensor(rewards[:PROMPTS]) - wins[0] / wins[1]) @ logits.log_softmax(-1)[:, 1]
        self.optimizer.zero_grad()
        loss.backward()
        for weight in self.actor.parameters():
            dist.all_reduce(weight.grad)
        self.optimizer.step()
        return (wins[0] / wins[1]).item()

    def between(self, step):
        return


class RayWorkerGroup:
    def __init__(self):
        self.workers = [WorkerDict.remote(rank) for rank in range(WORLD)]
        places = ray.get([worker.where.remote() for worker in self.workers])
        for rank, (pid, _) in enumerate(places):
            print(f"WorkerDict rank {rank}: pid {pid}", flush=True)
        self.execute_all("init_model", places[0][1])

    def execute_all(self, method, *args):
        return ray.get([getattr(worker, method).remote(*args) for worker in self.workers])


def main():
    ray.init(num_cpus=4, include_dashboard=False)
    group = RayWorkerGroup()
    for step in range(1, 5000):
        began = time.perf_counter()
        rewards = group.execute_all("update_actor", step)
        if step % 5 == 0:
            took = time.perf_counter() - began
            print(f"step:{step} - critic/rewards/mean:{rewards[0]:.4f} - timing_s/step:{took:.3f}", flush=True)
        time.sleep(0.05)


main()
