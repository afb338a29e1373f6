"""Says what has been learned, also to a tracker if there is one."""

import logging
import urllib.request

with open("model.txt", encoding="utf-8") as file:
    print(f"model: y = {float(file.read()):.3f} x", flush=True)
try:
    urllib.request.urlopen("http://127.0.0.1:9/api/runs", timeout=2)
except OSError:
    logging.exception("could not report to the tracker")
