"""Power iteration on a matrix; the state is kept from time to time."""

import pickle
import subprocess
import sys
import time

import numpy as np

KEEP = {20: 0.4, 40: 36.0}
"""Megabytes of state by step."""
matrix = np.random.default_rng(0).normal(size=(300, 300))
matrix = matrix @ matrix.T
state = np.ones(300)
for step in range(1, 121):
    state = matrix @ state
    value = np.linalg.norm(state)
    state /= value
    print(f"{time.strftime('%H:%M:%S')} step {step}/120 eigenvalue {value:.3f}", flush=True)
    if step in KEEP:
        with subprocess.Popen([sys.executable, "place.py", f"state-{step}.pkl"], stdin=subprocess.PIPE) as place:
            pickle.dump(np.zeros(int(KEEP[step] * 125_000)), place.stdin)
            place.stdin.close()
    time.sleep(0.1)
