"""A pendulum that is driven, with a step that is made smaller until the end no longer changes."""

import math
import sys

METHOD = sys.argv[1]
WANTED = {"euler": 2e-3, "heun": 1e-9, "rk4": 1e-16}[METHOD]


def slope(t, x, v):
    return v, -math.sin(x) - 0.1 * v + 0.5 * math.cos(t)


def run(count):
    x, v, h = 0.1, 0.0, 12.0 / count
    for k in range(count):
        t = k * h
        a, b = slope(t, x, v)
        if METHOD == "euler":
            x, v = x + h * a, v + h * b
            continue
        if METHOD == "rk4":
            c, d = slope(t + h / 2, x + h * a / 2, v + h * b / 2)
            e, f = slope(t + h / 2, x + h * c / 2, v + h * d / 2)
            p, q = slope(t + h, x + h * e, v + h * f)
            x, v = x + h * (a + 2 * c + 2 * e + p) / 6, v + h * (b + 2 * d + 2 * f + q) / 6
            continue
        c, d = slope(t + h, x + h * a, v + h * b)
        x, v = x + h * (a + c) / 2, v + h * (b + d) / 2
    return x


count, last = 64, math.inf
while True:
    here = run(count)
    print(f"{METHOD} n={count} x={here:.10f} change={abs(here - last):.2e}", flush=True)
    if abs(here - last) < WANTED:
        break
    count, last = count * 2, here
print(f"{METHOD} converged at n={count}", flush=True)
