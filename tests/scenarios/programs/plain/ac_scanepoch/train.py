"""JAX; an epoch is one compiled scan, so nothing comes from within it. Lines as absl writes them."""

import os
import sys
import time

import jax
import jax.numpy as jnp

EPOCHS = (20, 20, 20, 20, 2400, 2400)


def log(text):
    now = time.time()
    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now))
    print(f"I{stamp}.{int(now % 1 * 1e6):06d} {os.getpid():>7} train.py:16] {text}", file=sys.stderr, flush=True)


def loss(weights, x, y):
    hidden = jnp.tanh(x @ weights["in"])
    for _ in range(4):
        hidden = jnp.tanh(hidden @ weights["mid"])
    return jnp.mean((hidden @ weights["out"] - y) ** 2)


@jax.jit
def epoch(weights, keys):
    def step(weights, key):
        x = jax.random.normal(key, (256, 128))
        y = jnp.sin(x[:, :1] * 3)
        value, slope = jax.value_and_grad(loss)(weights, x, y)
        return jax.tree.map(lambda one, down: one - 0.01 * down, weights, slope), value

    return jax.lax.scan(step, weights, keys)


def main():
    key = jax.random.PRNGKey(0)
    weights = {
        "in": jax.random.normal(key, (128, 384)) / 12,
        "mid": jax.random.normal(key, (384, 384)) / 20,
        "out": jax.random.normal(key, (384, 1)) / 20,
    }
    log(f"devices {jax.devices()}")
    for number, steps in enumerate(EPOCHS):
        key, part = jax.random.split(key)
        weights, values = epoch(weights, jax.random.split(part, steps))
        log(f"[epoch {number}] mean loss over {steps} updates = {float(values.mean()):.5f}")
    log("schedule exhausted, exiting")


main()
