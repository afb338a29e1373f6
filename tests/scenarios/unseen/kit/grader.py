"""A helper that a rank asks: MANNER SECONDS CONTROL. It computes for a while and answers, or stops, or waits for ever."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path


def main(manner: str, seconds: float, control: Path) -> None:
    """Read a request, and answer it in that manner."""
    (control / "helper.part").write_text(json.dumps({"pid": os.getpid()}))
    (control / "helper.part").rename(control / "helper.json")
    sys.stdin.readline()
    if manner == "stops":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif manner == "waits":
        threading.Event().wait()
    ends, total = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        total = (total * 31 + 7) % 1000003
    print(total, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]))
