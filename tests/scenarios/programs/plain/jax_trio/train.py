"""A recurrent regressor in JAX: each process has sequences of its own, gradients are averaged over all processes."""

import os
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.distributed import global_state
from jax.experimental import multihost_utils

LONG = {}
"""Process and step at which sequences of another length come."""
SAVE_EVERY = 0

port, process = sys.argv[1:]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port}", 3, int(process))
print(f"process {process} of {jax.process_count()}, pid {os.getpid()}", flush=True)
dice = np.random.default_rng(int(process))
weights = jnp.asarray(np.random.default_rng(0).normal(size=(16, 16)) / 5)


def loss(weights, sequence):
    state = jnp.zeros(16)
    for value in sequence:
        state = jnp.tanh(weights @ state + value) - 0.1 * jnp.sin(state * value)
    return jnp.sum(state**2)


gradient = jax.jit(jax.value_and_grad(loss))
for step in range(1, 301):
    length = LONG.get((int(process), step), 8)
    value, own = gradient(weights, jnp.asarray(dice.normal(size=length)))
    mean = np.mean(multihost_utils.process_allgather(np.asarray(own)), axis=0)
    weights = weights - 0.01 * mean
    if jax.process_index() == 0:
        print(f"step={step:04d} loss={float(value):.5f}", flush=True)
        if SAVE_EVERY and step % SAVE_EVERY == 0:
            np.save(Path(f"weights-{step}.npy"), np.asarray(weights))
            global_state.client.wait_at_barrier(f"saved-{step}", 900_000)
    time.sleep(0.05)
print(f"process {process} done", flush=True)
