"""Data parallel JAX over two processes of the CPU: jax.distributed, one device each, a jitted step over a mesh."""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

WORLD = 2


def load(step, rank):
    """This host's part of the batch."""
    generator = np.random.default_rng(1000 * step + rank)
    features = generator.normal(size=(16, 10)).astype(np.float32)
    target = np.sin(features.sum(axis=1, keepdims=True))
    time.sleep(0.04)
    return features, target


def loss_of(weights, features, target):
    """Of two layers."""
    hidden = jnp.tanh(features @ weights["first"])
    return jnp.mean((hidden @ weights["second"] - target) ** 2)


@jax.jit
def update(weights, features, target):
    """One step of gradient descent; the mean over the hosts comes with it."""
    loss, slopes = jax.value_and_grad(loss_of)(weights, features, target)
    return jax.tree.map(lambda weight, slope: weight - 0.05 * slope, weights, slopes), loss


def save(folder, weights, step):
    """One file for each step that is kept."""
    path = os.path.join(folder, f"weights-{step}.npz")
    np.savez(path, **{name: np.asarray(value) for name, value in weights.items()})
    return path


def train(rank, port, folder, steps):
    """What each process does."""
    jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=WORLD, process_id=rank)
    mesh = Mesh(np.array(jax.devices()), ("data",))
    spread, everywhere = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(10, 16)) * 0.3, generator.normal(size=(16, 1)) * 0.3
    weights = jax.device_put({"first": jnp.float32(first), "second": jnp.float32(second)}, everywhere)
    if rank == 0:
        print(f"devices: {jax.devices()}", flush=True)
    began = time.monotonic()
    for step in range(steps):
        features, target = load(step, rank)
        features = jax.make_array_from_process_local_data(spread, features)
        target = jax.make_array_from_process_local_data(spread, target)
        weights, loss = update(weights, features, target)
        value = float(loss)
        time.sleep(0.12)
        if rank == 0:
            rate = (step + 1) / (time.monotonic() - began)
            now = time.strftime("%m%d %H:%M:%S")
            print(f"I{now} train.py] step = {step}, loss = {value:.5f}, steps/s = {rate:.2f}", flush=True)
        if step % 20 == 19:
            multihost_utils.sync_global_devices(f"save {step}")
            if rank == 0:
                save(folder, weights, step)
    multihost_utils.sync_global_devices("end")
    if rank == 0:
        print("Training finished.", flush=True)


def launch(steps, folder):
    """A process for each rank; the worst exit code."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = [sys.executable, __file__, "--folder", folder, "--steps", str(steps), "--port", str(port)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo"}
    ranks = [subprocess.Popen([*common, "--process-id", str(rank)], env=environment) for rank in range(WORLD)]
    return max(abs(one.wait()) for one in ranks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--port", type=int)
    parser.add_argument("--process-id", type=int)
    given = parser.parse_args()
    if given.process_id is None:
        sys.exit(launch(given.steps, given.folder))
    train(given.process_id, given.port, given.folder, given.steps)


if __name__ == "__main__":
    main()
