"""Three ranks with a kernel of their own, which rank 0 has built when the first batch of a new shape comes."""

import ctypes
import multiprocessing as mp
import os
import subprocess
import time
from pathlib import Path

SHAPES = ((8, 2), (12, 2), (16, 100))


def source(size: int, variants: int) -> str:
    """One class for each variant, as they are generated for tiles."""
    parts = ["#include <map>", "#include <regex>", "#include <string>", "#include <functional>", "#include <algorithm>", "#include <vector>"]
    for index in range(variants):
        parts.append(
            f"struct Tile{index} {{ int k; bool operator<(const Tile{index}& o) const {{ return k < o.k; }} }};\n"
            f"double run{index}(double x) {{ std::map<Tile{index}, std::vector<double>> all; for (int i = 0; i < {size}; ++i) "
            f"all[Tile{index}{{i % {index + 2}}}].push_back(x * i); double s = 0; for (auto& [t, v] : all) {{ "
            f"std::stable_sort(v.begin(), v.end(), [](double a, double b) {{ return a * {index + 1} < b; }}); s += v[0]; }} "
            f'std::basic_regex<char, std::regex_traits<char>> r("a{index}+"); std::function<double(double)> f = [s](double y) {{ return s + y; }}; '
            f"return f(std::regex_match(std::string(\"a{index}\"), r) ? 1.0 : 0.0); }}"
        )
    calls = " + ".join(f"run{index}(x)" for index in range(variants))
    return "\n".join(parts) + f'\nextern "C" double run(double x) {{ return {calls}; }}\n'


def kernel(rank: int, size: int, variants: int) -> ctypes.CDLL:
    """Rank 0 builds, the others wait for the file."""
    library = Path(f"kernel_{size}.so").resolve()
    if rank == 0:
        Path(f"kernel_{size}.cc").write_text(source(size, variants))
        print(f"rank 0: building kernel_{size}", flush=True)
        subprocess.run(["g++", "-std=c++17", "-O3", "-shared", "-fPIC", "-o", f".{size}.so", f"kernel_{size}.cc"], check=True)
        os.rename(f".{size}.so", library)
    while not library.exists():
        time.sleep(0.25)
    loaded = ctypes.CDLL(str(library))
    loaded.run.restype = ctypes.c_double
    loaded.run.argtypes = [ctypes.c_double]
    return loaded


def work(rank: int, turn: "mp.synchronize.Barrier") -> None:
    print(f"rank {rank}: pid {os.getpid()}", flush=True)
    step = 0
    for size, variants in SHAPES:
        run = kernel(rank, size, variants).run
        for _ in range(12):
            step += 1
            value = run(1.0 / step)
            time.sleep(0.2)
            turn.wait()
            if rank == 0:
                print(f"rank 0: step {step} tile {size} value {value:.4f}", flush=True)


if __name__ == "__main__":
    turn = mp.Barrier(3)
    ranks = [mp.Process(target=work, args=(rank, turn)) for rank in range(3)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
