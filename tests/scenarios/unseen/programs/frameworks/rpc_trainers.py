"""torch.distributed.rpc: a master that keeps the weights, and two workers that it asks for gradients."""

from __future__ import annotations

import argparse
import os
import socket
import time

import torch
import torch.distributed.rpc as rpc
import torch.multiprocessing as mp

WORKERS = 2


def gradient(weights, step, shard):
    """Loss and slope on this worker's part."""
    generator = torch.Generator().manual_seed(100 * step + shard)
    features = torch.randn(32, 6, generator=generator)
    target = features @ torch.arange(1.0, 7.0)
    error = features @ weights - target
    time.sleep(0.08)
    slope = 2 * features.T @ error / len(error)
    return float((error**2).mean()), slope


def held_out(weights):
    """Error on what is never trained on."""
    features = torch.randn(64, 6, generator=torch.Generator().manual_seed(1))
    target = features @ torch.arange(1.0, 7.0)
    return float((features @ weights - target).abs().mean())


def coordinate(steps):
    """The loop of the master."""
    weights = torch.zeros(6)
    for step in range(1, steps + 1):
        began = time.monotonic()
        asked = [rpc.rpc_async(f"worker{number}", gradient, (weights, step, number)) for number in range(1, WORKERS + 1)]
        answers = torch.futures.wait_all(asked)
        loss = sum(answer[0] for answer in answers) / WORKERS
        slope = torch.stack([answer[1] for answer in answers]).mean(0)
        weights = weights - 0.005 * slope
        time.sleep(0.08)
        print(f"[master] it {step:>5} | loss {loss:10.5f} | {1000 * (time.monotonic() - began):.0f} ms", flush=True)
        if step % 12 == 0:
            error = rpc.rpc_sync("worker1", held_out, (weights,))
            print(f"[master] held-out error {error:.4f}", flush=True)
    print("[master] all iterations done", flush=True)


def member(rank, port, steps):
    """One process: rank 0 leads, the others answer."""
    torch.set_num_threads(1)
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    name = "master" if rank == 0 else f"worker{rank}"
    options = rpc.TensorPipeRpcBackendOptions(num_worker_threads=4, rpc_timeout=3600)
    rpc.init_rpc(name, rank=rank, world_size=WORKERS + 1, rpc_backend_options=options)
    if rank == 0:
        coordinate(steps)
    rpc.shutdown()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    given = parser.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(member, args=(port, given.steps), nprocs=WORKERS + 1)


if __name__ == "__main__":
    main()
