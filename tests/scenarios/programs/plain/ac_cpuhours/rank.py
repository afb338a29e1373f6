"""One of three: matching pursuit; what each found is laid into a folder, where the others look for it."""

import os
import sys
import time
from pathlib import Path

import numpy as np

rank, size = int(sys.argv[1]), int(sys.argv[2])
folder = Path("exchange")
rng = np.random.default_rng(rank)
atoms = rng.standard_normal((400, 2000))
print(f"[rank {rank}] pid {os.getpid()} on {size}", flush=True)


def pursue(signal, atoms_used):
    rest = signal.copy()
    for _ in range(atoms_used):
        best = np.abs(atoms @ rest).argmax()
        atom = atoms[best]
        rest -= (atom @ rest) / (atom @ atom) * atom
    return rest


for step in range(1, 400):
    rest = pursue(rng.standard_normal(2000), 400 if rank == 1 else 20)
    mine = folder / f"{step}-{rank}.npy"
    np.save(folder / f"part-{rank}.npy", rest)
    os.replace(folder / f"part-{rank}.npy", mine)
    total = np.zeros(2000)
    for other in range(size):
        theirs = folder / f"{step}-{other}.npy"
        while not theirs.exists():
            time.sleep(0.05)
        total += np.load(theirs)
    print(f"[rank {rank}] step {step}: residual {np.linalg.norm(total):.3f}", flush=True)
