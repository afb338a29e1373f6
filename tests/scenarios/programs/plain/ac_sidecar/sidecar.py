"""Beside a job: tells the platform every few seconds that this pod is well."""

import json
import os
import time

started = time.time()
while True:
    load = os.getloadavg()[0]
    line = {"ts": round(time.time(), 3), "logger": "sidecar", "event": "probe", "healthy": True, "uptime_s": round(time.time() - started, 1), "load1": load}
    print(json.dumps(line), flush=True)
    time.sleep(3)
