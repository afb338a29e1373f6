"""A recurrent net in JAX, written out in Python loops; the length of what it sees grows, and each length is compiled anew."""

import logging
import os
import time

import jax
import jax.numpy as jnp
import numpy as np

logging.basicConfig(format="I%(asctime)s.%(msecs)03d %(process)d train.py:%(lineno)d] %(message)s", datefmt="%m%d %H:%M:%S", level=logging.INFO)
logging.getLogger("jax").setLevel(logging.WARNING)
STAGES = [(8, 40), (36, 3), (16, 20)]
WIDTH = 24


def init(key):
    a, b, c = jax.random.split(key, 3)
    return {
        "in": jax.random.normal(a, (1, WIDTH)) * 0.3,
        "rec": jax.random.normal(b, (WIDTH, WIDTH)) * 0.2,
        "out": jax.random.normal(c, (WIDTH, 1)) * 0.2,
    }


def loss_fn(params, x):
    state, total = jnp.zeros((x.shape[0], WIDTH)), 0.0
    for t in range(x.shape[1] - 1):
        gate = jax.nn.sigmoid(state @ params["rec"] + x[:, t : t + 1] @ params["in"])
        state = gate * state + (1 - gate) * jnp.tanh(state @ params["rec"].T + x[:, t : t + 1])
        total += jnp.square(state @ params["out"] - x[:, t + 1 : t + 2]).mean()
    return total / x.shape[1]


@jax.jit
def train_step(params, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), loss


params, rng, step = init(jax.random.PRNGKey(0)), np.random.default_rng(0), 0
logging.info("JAX %s, %d device(s), pid %d", jax.__version__, jax.device_count(), os.getpid())
for length, steps in STAGES:
    logging.info("sequence length is now %d", length)
    for _ in range(steps):
        step += 1
        start = rng.uniform(0, 6, size=(16, 1))
        x = np.sin(start + 0.2 * np.arange(length)).astype(np.float32)
        params, loss = train_step(params, x)
        logging.info("step %d of 63, loss = %.5f", step, float(loss))
        time.sleep(0.1)
logging.info("done")
