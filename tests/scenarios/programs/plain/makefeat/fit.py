"""Embeds the graph of neighbours in the plane."""

import sys

import numpy as np

table = np.load(sys.argv[1])["table"].astype(float)
places = np.random.default_rng(0).normal(size=(len(table), 2))
for sweep in range(1, 31):
    gap = places[:, None] - places[None]
    far = np.sqrt((gap**2).sum(-1)) + 1e-6
    pull = ((table / far - 1)[..., None] * gap).mean(1)
    places += 0.3 * pull
    print(f"sweep {sweep}/30 stress {np.square(far - table).mean():.3f}", flush=True)
np.savez(sys.argv[2], places=places)
