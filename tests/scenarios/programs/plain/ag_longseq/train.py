"""A small recurrent model in JAX, unrolled by Python; the sequences grow by a curriculum."""

import logging
import sys
import time

import jax
import jax.numpy as jnp

CURRICULUM = {0: 6, 40: 16, 80: 60}


def unrolled(weights: jax.Array, inputs: jax.Array) -> jax.Array:
    state = jnp.zeros(weights.shape[0])
    total = jnp.float32(0)
    for step in range(inputs.shape[0]):
        state = jnp.tanh(weights @ state + inputs[step] + jnp.sin(state * (step + 1)))
        total += jnp.mean((state[:-1] - inputs[step, 1:]) ** 2)
    return total / inputs.shape[0]


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout)
    update = jax.jit(jax.value_and_grad(unrolled))
    weights = 0.1 * jax.random.normal(jax.random.PRNGKey(0), (24, 24))
    length = 0
    for step in range(160):
        if step in CURRICULUM:
            length = CURRICULUM[step]
            logging.info("curriculum: length %d", length)
        inputs = jax.random.normal(jax.random.PRNGKey(step), (length, 24))
        loss, slope = update(weights, inputs)
        weights = weights - 0.01 * slope
        time.sleep(0.08)
        if step % 10 == 0:
            logging.info("step %d loss %.4f len %d", step, float(loss), length)


if __name__ == "__main__":
    main()
