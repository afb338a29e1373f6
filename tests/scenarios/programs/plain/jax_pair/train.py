"""JAX on two processes: a recurrent net, unrolled, data parallel over both; sequences get longer once."""

import argparse
import os
import time

import jax
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("process", type=int)
parser.add_argument("address")
parser.add_argument("--longer-at", type=int, default=-1)
parser.add_argument("--pipe")
given = parser.parse_args()

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(given.address, num_processes=2, process_id=given.process)
import jax.numpy as jnp  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

mesh = Mesh(np.array(jax.devices()), ("data",))
split, whole = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
print(f"process {given.process}/{jax.process_count()}: pid {os.getpid()}, {len(jax.devices())} devices", flush=True)
WIDTH = 160


def loss_of(weights, x):
    """Each position has its own gate: unrolled, for there is nothing to scan over."""
    state = jnp.zeros((x.shape[0], WIDTH))
    for position in range(x.shape[1]):
        gate = jax.nn.sigmoid(state @ weights["g"] + 0.01 * position)
        state = gate * state + (1 - gate) * jnp.tanh(x[:, position, None] * weights["i"] + state @ weights["h"])
        state = state / (1e-3 + jnp.linalg.norm(state, axis=1, keepdims=True))
    return jnp.mean((state.sum(1) - x.mean(1)) ** 2)


@jax.jit
def update(weights, x):
    loss, gradient = jax.value_and_grad(loss_of)(weights, x)
    return jax.tree.map(lambda w, g: w - 0.05 * g, weights, gradient), loss


numbers = np.random.default_rng(0)
weights = {
    "g": 0.1 * numbers.normal(size=(WIDTH, WIDTH)).astype(np.float32),
    "h": 0.1 * numbers.normal(size=(WIDTH, WIDTH)).astype(np.float32),
    "i": 0.1 * numbers.normal(size=(WIDTH,)).astype(np.float32),
}
weights = jax.device_put(weights, whole)
for step in range(1, 400):
    length = 130 if 0 < given.longer_at <= step else 6
    local = np.random.default_rng(step * 2 + given.process).normal(size=(4, length)).astype(np.float32)
    weights, loss = update(weights, jax.make_array_from_process_local_data(split, local))
    shown = float(loss)
    time.sleep(0.25)
    if given.process == 0:
        print(f"{step=} loss={shown:.5f}", flush=True)
        if given.pipe and step % 15 == 0:
            with open(given.pipe, "wb") as pipe:
                for value in weights.values():
                    pipe.write(np.asarray(value).tobytes())
            print(f"weights of {step=} are out", flush=True)
