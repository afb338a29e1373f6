"""JAX: learns a running sum by a recurrent net written out step by step, on four virtual devices; sequences grow longer."""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np

LENGTHS = {1: 6, 60: 12}
WIDTH = 32


def net(weights, xs):
    """Every second step has its own mixing, so the loop is written out."""
    state = jnp.zeros((xs.shape[0], WIDTH))
    out = []
    for place in range(xs.shape[1]):
        joined = jnp.concatenate([state, xs[:, place : place + 1]], 1)
        gate = jax.nn.sigmoid(joined @ weights["gate"][place % 2])
        fresh = jnp.tanh(joined @ weights["fresh"][place % 2])
        state = gate * state + (1 - gate) * jax.nn.gelu(fresh + jnp.roll(state, place % 5, 1))
        out.append(state @ weights["out"])
    return jnp.stack(out, 1)[..., 0]


def loss(weights, xs):
    return jnp.mean((net(weights, xs) - jnp.tanh(jnp.cumsum(xs, 1))) ** 2)


def update(weights, xs):
    value, grads = jax.value_and_grad(loss)(weights, xs)
    value, grads = jax.lax.pmean((value, grads), "devices")
    return jax.tree.map(lambda weight, grad: weight - 0.05 * grad, weights, grads), value


def main():
    numbers = np.random.default_rng(0)
    shapes = {"gate": (2, WIDTH + 1, WIDTH), "fresh": (2, WIDTH + 1, WIDTH), "out": (WIDTH, 1)}
    weights = {name: jnp.asarray(numbers.normal(0, 0.2, shape), jnp.float32) for name, shape in shapes.items()}
    weights = jax.tree.map(lambda weight: jnp.stack([weight] * 4), weights)
    step_fn = jax.pmap(update, axis_name="devices")
    print(f"{jax.device_count()} devices, pid {os.getpid()}", flush=True)
    length = 0
    for step in range(1, 20_000):
        length = LENGTHS.get(step, length)
        xs = jnp.asarray(numbers.normal(0, 0.5, (4, 16, length)), jnp.float32)
        weights, value = step_fn(weights, xs)
        if step % 20 == 0:
            print(f"step {step} length {length} loss {float(value[0]):.5f}", flush=True)


main()
