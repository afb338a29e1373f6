"""JAX, two processes: the mean of their gradients by a collective; what the first one learns about noise the other is told."""

import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.distributed import global_state
from jax.experimental import multihost_utils

RANK = int(sys.argv[1])
EVERY = 25

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{os.environ['PORT']}", 2, RANK)


def loss(weights, xs, ys):
    return jnp.mean((jnp.tanh(xs @ weights["one"]) @ weights["two"] - ys) ** 2)


grads_of = jax.jit(jax.value_and_grad(loss))


def told(step, value, best, noise):
    """The first process sets the noise of the next steps for both."""
    client = global_state.client
    if RANK == 0:
        if value < best * 0.9:
            noise *= 0.9
        client.key_value_set(f"noise/{step}", str(noise))
        return noise
    return float(client.blocking_key_value_get(f"noise/{step}", 86_400_000))


def main():
    print(f"process {RANK} of {jax.process_count()}: pid {os.getpid()}", flush=True)
    numbers = np.random.default_rng(RANK)
    first = np.random.default_rng(99)
    weights = {"one": jnp.asarray(first.normal(0, 0.3, (8, 24))), "two": jnp.asarray(first.normal(0, 0.3, (24,)))}
    noise, best = 0.5, float("inf")
    for step in range(1, 20_000):
        xs = numbers.normal(0, 1, (32, 8))
        ys = np.sin(xs.sum(1)) + numbers.normal(0, noise, 32)
        value, grads = grads_of(weights, xs, ys)
        value, grads = jax.tree.map(lambda parts: np.asarray(parts).mean(0), multihost_utils.process_allgather((value, grads)))
        weights = jax.tree.map(lambda weight, grad: weight - 0.05 * grad, weights, grads)
        if step % EVERY == 0:
            if RANK == 0:
                print(f"step {step} loss {float(value):.5f} noise {noise:.4f}", flush=True)
            noise = told(step, float(value), best, noise)
            best = min(best, float(value))


main()
