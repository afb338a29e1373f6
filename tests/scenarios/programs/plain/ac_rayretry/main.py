"""Self-play on Ray: games are tasks; the driver takes each as it ends, and trains after every round."""

import os
import sys
import time

import numpy as np
import ray


@ray.remote(num_cpus=1, max_retries=2)
def game(round_, seed, folder):
    rng = np.random.default_rng(seed)
    mark = os.path.join(folder, f"lost-{round_}-{seed}")
    long = (round_, seed) == (5, 1)
    if long and not os.path.exists(mark):
        open(mark, "w").close()
        time.sleep(1)
        os._exit(9)
    value = 0.0
    for _ in range(4000 if long else 2):
        field = rng.standard_normal((240, 240))
        value += float(np.linalg.svd(field, compute_uv=False)[0])
    return seed, value


def main():
    folder = os.getcwd()
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    print(f"driver {os.getpid()}", flush=True)
    for round_ in range(1, 10):
        open_ = [game.remote(round_, seed, folder) for seed in range(4)]
        while open_:
            done, open_ = ray.wait(open_)
            seed, value = ray.get(done[0])
            print(f"round {round_}: game {seed} over, value {value:.1f}", flush=True)
        print(f"round {round_}/9 trained", flush=True)
    ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
