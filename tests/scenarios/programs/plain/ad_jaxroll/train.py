"""Learns a controller by differentiating through the simulator; the horizon grows."""

import logging
import sys

import jax
import jax.numpy as jnp

logging.basicConfig(
    stream=sys.stdout,
    level=logging.INFO,
    format="%(levelname).1s%(asctime)s.%(msecs)03d %(process)d %(filename)s:%(lineno)d] %(message)s",
    datefmt="%m%d %H:%M:%S",
)
log = logging.getLogger("diffsim")
logging.getLogger("jax").setLevel(logging.WARNING)


def spring(state, force, stiff):
    position, speed = state
    acceleration = -stiff * jnp.sin(position) - 0.1 * speed + force
    acceleration = acceleration + 0.01 * jnp.tanh(jnp.roll(position, 1) - position)
    return position + 0.02 * speed, speed + 0.02 * acceleration


def control(params, state):
    hidden = jnp.tanh(jnp.concatenate(state) @ params["in"])
    return hidden @ params["out"]


def cost(params, start, horizon):
    state, total = start, 0.0
    for tick in range(horizon):
        state = spring(state, control(params, state), 1.0 + 0.001 * tick)
        total = total + jnp.sum(state[0] ** 2)
    return total / horizon


def main() -> None:
    keys = jax.random.split(jax.random.PRNGKey(3), 3)
    params = {"in": jax.random.normal(keys[0], (16, 32)) * 0.1, "out": jax.random.normal(keys[1], (32, 8)) * 0.1}
    start = (jax.random.normal(keys[2], (8,)), jnp.zeros(8))
    update = jax.jit(jax.value_and_grad(cost), static_argnums=2)
    iteration = 0
    for horizon in (4, 8, HORIZON, 8):
        for _ in range(6):
            value, grads = update(params, start, horizon)
            params = jax.tree.map(lambda weight, grad: weight - 0.01 * grad, params, grads)
            iteration += 1
            log.info("iter %d horizon %d cost %.5f", iteration, horizon, value)


HORIZON = 50

if __name__ == "__main__":
    main()
