"""Physics-informed network for a heated rod, in JAX. One line for each block of iterations."""

import time

import jax
import jax.numpy as jnp


def init(key, sizes=(2, 48, 48, 1)):
    keys = jax.random.split(key, len(sizes))
    return [(jax.random.normal(k, (a, b)) / a**0.5, jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]


def net(params, x, t):
    hidden = jnp.stack([x, t])
    for weight, bias in params[:-1]:
        hidden = jnp.tanh(hidden @ weight + bias)
    weight, bias = params[-1]
    return (hidden @ weight + bias)[0]


def residual(params, x, t):
    u_t = jax.grad(net, 2)(params, x, t)
    u_xx = jax.grad(jax.grad(net, 1), 1)(params, x, t)
    return u_t - 0.1 * u_xx


def loss(params, points):
    inner = jax.vmap(lambda p: residual(params, p[0], p[1]) ** 2)(points).mean()
    start = jax.vmap(lambda p: (net(params, p[0], 0.0) - jnp.sin(jnp.pi * p[0])) ** 2)(points).mean()
    return inner + 10 * start


@jax.jit
def block(params, key):
    def one(params, key):
        value, grads = jax.value_and_grad(loss)(params, jax.random.uniform(key, (64, 2)))
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, grads), value

    params, values = jax.lax.scan(one, params, jax.random.split(key, 30_000))
    return params, values.mean()


def main() -> None:
    key = jax.random.key(0)
    params = init(key)
    print(f"backend {jax.default_backend()}, {sum(w.size + b.size for w, b in params)} parameters", flush=True)
    for number in range(1, 41):
        began = time.perf_counter()
        params, value = block(params, jax.random.fold_in(key, number))
        print(f"it={number * 30_000:>7d}  loss={float(value):.6e}  ({time.perf_counter() - began:.2f} s)", flush=True)


if __name__ == "__main__":
    main()
