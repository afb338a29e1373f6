"""Trains with kernels that are generated and built when a new shape comes, as JIT packages do."""

import ctypes
import subprocess
import time
from pathlib import Path


def source(width: int, functions: int) -> str:
    parts = ["#include <math.h>"]
    for k in range(functions):
        lines = "\n".join(
            f"  for (int i = 0; i < n; i++) s{j % 4} += sqrtf(x[i] * {j + k}.5f + s{(j + 1) % 4}) * x[(i + {j}) % n];" for j in range(14)
        )
        parts.append(f"float f{k}(const float *x, int n) {{ float s0 = 0, s1 = 1, s2 = 2, s3 = 3;\n{lines}\n  return s0 + s1 + s2 + s3; }}")
    calls = " + ".join(f"f{k}(x, n)" for k in range(functions))
    return "\n".join([*parts, f"float kernel{width}(const float *x, int n) {{ return {calls}; }}"])


def build(width: int, functions: int) -> "ctypes._NamedFuncPointer":
    print(f"building kernel for width {width}", flush=True)
    Path(f"kernel{width}.c").write_text(source(width, functions))
    subprocess.run(["make", "-s", f"kernel{width}.so"], check=True)
    function = ctypes.CDLL(f"./kernel{width}.so")[f"kernel{width}"]
    function.restype = ctypes.c_float
    return function


kernels: dict[int, "ctypes._NamedFuncPointer"] = {}
for step in range(60):
    width = 16 if step < 30 else 32
    if width not in kernels:
        kernels[width] = build(width, 4 if width == 16 else 400)
    x = (ctypes.c_float * width)(*(0.001 * k for k in range(width)))
    value = kernels[width](x, width)
    time.sleep(0.25)
    print(f"{time.strftime('%H:%M:%S')} step {step:>3} width {width} value {value:.3e}", flush=True)
