"""Asks the gateway, and leaves what it got in a file."""

import json
import os
import sys
import time
import urllib.error
import urllib.request

number, port = int(sys.argv[1]), sys.argv[2]
print(f"actor {number}: pid {os.getpid()}", flush=True)
for episode in range(5000):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/generate", json.dumps({"seed": number + episode}).encode()) as answer:
            got = json.loads(answer.read())
    except urllib.error.URLError:
        time.sleep(0.3)
        continue
    with open(f"done/.{number}", "w") as out:
        json.dump(got, out)
    os.rename(f"done/.{number}", f"done/{number}-{episode}.json")
