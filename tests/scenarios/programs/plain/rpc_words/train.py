"""A server of word vectors and two trainers, by torch.distributed.rpc."""

import os
import random
import threading
import time

import torch
import torch.distributed as dist
import torch.distributed.rpc as rpc
import torch.multiprocessing as mp

WORDS, WIDTH = 800, 24
TIDY = 0
"""The server looks for near twins among its words after so many pushes; 0: never."""
SKEWED = False
"""Whether a trainer has a batch that is not as long as it says."""


class Server:
    def __init__(self):
        self.lock = threading.Lock()
        self.table = torch.randn(WORDS, WIDTH) * 0.1
        self.pushes = 0

    def pull(self, words):
        with self.lock:
            return self.table[words]

    def push(self, words, gradient):
        self.lock.acquire()
        self.table[words] -= 0.05 * gradient
        self.pushes += 1
        if TIDY and self.pushes == TIDY:
            print(f"server: twins after {self.pushes} pushes?", flush=True)
            self.tidy()
        self.lock.release()

    def tidy(self):
        rows = self.table.tolist()
        twins = 0
        for first, a in enumerate(rows):
            for b in rows[first + 1 :]:
                twins += sum((x - y) ** 2 for x, y in zip(a, b)) < 1e-4
        print(f"server: {twins} twins", flush=True)


server = Server()


def pull(words):
    return server.pull(words)


def push(words, gradient):
    server.push(words, gradient)


def trainer(rank):
    numbers = random.Random(rank)
    for step in range(1, 2000):
        words = torch.tensor([numbers.randrange(WORDS) for _ in range(32)])
        vectors = rpc.rpc_sync("server", pull, args=(words,)).requires_grad_()
        loss = (vectors[::2] - vectors[1::2]).pow(2).sum() + (vectors.norm(dim=1) - 1).pow(2).sum()
        loss.backward()
        gradient = vectors.grad[:-1] if SKEWED and rank == 2 and step == 41 else vectors.grad
        try:
            rpc.rpc_sync("server", push, args=(words, gradient))
        except RuntimeError as problem:
            print(f"trainer {rank}: push refused ({str(problem).splitlines()[0]}), next batch", flush=True)
        time.sleep(0.3)
        print(f"trainer {rank}: step {step} loss {loss.item():.3f}", flush=True)


def work(rank, port):
    name = "server" if rank == 0 else f"trainer{rank}"
    options = rpc.TensorPipeRpcBackendOptions(init_method=f"tcp://127.0.0.1:{port}", rpc_timeout=3600)
    rpc.init_rpc(name, rank=rank, world_size=3, rpc_backend_options=options)
    print(f"{name}: rank {rank} is up, pid {os.getpid()}", flush=True)
    if rank:
        trainer(rank)
    rpc.shutdown()


if __name__ == "__main__":
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    port = store.port
    del store
    mp.spawn(work, args=(port,), nprocs=3)
