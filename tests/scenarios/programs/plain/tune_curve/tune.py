"""Ray Tune: three step sizes for a curve, each trial reports its error."""

import math
import time

import ray
from ray import tune


def fit(config):
    weight, bias = 0.0, 0.0
    for step in range(1, 90):
        for k in range(200):
            x = k / 100 - 1
            error = weight * x + bias - math.sin(x)
            weight -= config["rate"] * error * x
            bias -= config["rate"] * error
        total = sum((weight * k / 100 - math.sin(k / 100)) ** 2 for k in range(100))
        if not total < 1e6:
            raise ValueError(f"error is {total} after {step} steps")
        tune.report({"error": total})
        if step % 3 == 0:
            print(f"rate {config['rate']}: step {step}, error {total:.5f}", flush=True)
        time.sleep(1.0)


ray.init(num_cpus=3, include_dashboard=False)
tuner = tune.Tuner(
    fit,
    param_space={"rate": tune.grid_search([0.001, 0.01, 3.5])},
    tune_config=tune.TuneConfig(metric="error", mode="min"),
)
results = tuner.fit()
print(f"best: {results.get_best_result().config}", flush=True)
