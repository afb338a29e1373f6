"""Trains with two threads; every so often a copy of the process evaluates, so that training could go on with little memory."""

import multiprocessing
import os
from multiprocessing.sharedctypes import Synchronized

import torch
from torch import nn

torch.set_num_threads(2)


def evaluate(net: nn.Module, x: torch.Tensor, score: "Synchronized[float]") -> None:
    print(f"evaluating in a process of its own, pid {os.getpid()}", flush=True)
    with torch.no_grad():
        score.value = net(x).softmax(1).max(1).values.mean().item()


def main() -> None:
    torch.manual_seed(0)
    context = multiprocessing.get_context("fork")
    net = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    held = torch.randn(4000, 64)
    print(f"pid {os.getpid()}, {torch.get_num_threads()} threads", flush=True)
    for step in range(1, 2001):
        x = torch.randn(256, 64)
        loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:5d}  loss {loss.item():.4f}", flush=True)
        if step % 200 == 0:
            score = context.Value("d", 0.0)
            child = context.Process(target=evaluate, args=(net, held, score))
            child.start()
            child.join()
            print(f"step {step:5d}  confidence {score.value:.4f}", flush=True)


if __name__ == "__main__":
    main()
