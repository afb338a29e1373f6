"""Logistic regression with a rate that grows; when a number is no number any more, somebody is to look at it."""

import code
import time

import numpy as np

dice = np.random.default_rng(2)
points = dice.normal(size=(400, 12))
labels = (points[:, 0] + 0.3 * dice.normal(size=400) > 0).astype(float)
weights, rate = np.zeros(12), 0.1
for it in range(1, 1001):
    scores = 1 / (1 + np.exp(-points @ weights))
    loss = -np.mean(labels * np.log(scores) + (1 - labels) * np.log(1 - scores))
    if not np.isfinite(loss):
        code.interact(f"loss is {loss} at iter {it}, rate {rate:.1f}. Look at weights, scores, rate; Ctrl-D goes on with half the rate.", local=globals())
        rate, weights = rate / 2, np.zeros(12)
    weights -= rate * points.T @ (scores - labels) / 400
    rate *= 1.12
    print(f"iter {it:>4} loss {loss:.5f} rate {rate:.2f}")
    time.sleep(0.08)
