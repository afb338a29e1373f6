"""REINFORCE on two processes with a reward model over HTTP; an evaluation on held-out prompts every 30 steps."""

import os
import random
import string

import requests
import torch
import torch.distributed as dist

URL = f"http://127.0.0.1:{os.environ['REWARD_PORT']}/score"


def texts(count: int) -> list[str]:
    return ["".join(random.choices(string.ascii_lowercase, k=20)) for _ in range(count)]


def evaluate(rank: int) -> float:
    """Many small requests: one connection for all of them."""
    with requests.Session() as session:
        total = torch.zeros(())
        for _ in range(5):
            total += sum(session.post(URL, json=texts(2)).json())
        dist.all_reduce(total)
    return total.item() / 20


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    random.seed(rank)
    weight = torch.zeros(8)
    for step in range(1, 301):
        rewards = requests.post(URL, json=texts(4)).json()
        gradient = torch.randn(8) * sum(rewards)
        dist.all_reduce(gradient)
        weight += 0.01 * gradient
        if rank == 0 and step % 5 == 0:
            print(f"step={step} reward={sum(rewards) / 4:.3f} |w|={weight.norm():.3f}", flush=True)
        if step % 30 == 0:
            score = evaluate(rank)
            if rank == 0:
                print(f"eval step={step} score={score:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
