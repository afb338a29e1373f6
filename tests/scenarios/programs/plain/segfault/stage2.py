"""Uses a small C library of the lab by ctypes."""

import ctypes
import subprocess
import time

CODE = """
double score(const double *x, long n) { double s = 0; for (long i = 0; i < n; i++) s += x[i] * x[i]; return s; }
"""
with open("score.c", "w") as out:
    out.write(CODE)
subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", "libscore.so", "score.c"], check=True)
library = ctypes.CDLL("./libscore.so")
library.score.restype = ctypes.c_double
library.score.argtypes = [ctypes.POINTER(ctypes.c_double), ctypes.c_long]
rows = (ctypes.c_double * 256)(*[k / 256 for k in range(256)])
for step in range(1, 41):
    time.sleep(0.25)
    count = 256 if step != 23 else 256_000_000
    print(f"step {step}/40 score {library.score(rows, count):.3f}", flush=True)
