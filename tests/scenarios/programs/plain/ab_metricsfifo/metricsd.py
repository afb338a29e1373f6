"""Takes lines from a named pipe, and keeps a mean of each name."""

import json
import os
import sys

means: dict[str, float] = {}
print(f"metricsd: pid {os.getpid()}, takes {sys.argv[1]}", flush=True)
with open(sys.argv[1]) as source:
    for line in source:
        told = json.loads(line)
        for name, value in told["values"].items():
            means[name] = 0.99 * means.get(name, value) + 0.01 * value
        with open(sys.argv[2], "a") as kept:
            kept.write(json.dumps({"step": told["step"], "rank": told["rank"], "loss": means["loss"]}) + "\n")
