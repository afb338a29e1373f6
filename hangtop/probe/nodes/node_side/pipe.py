"""The pipe to whoever started this: one JSON object a line, each way. It ends the process when it closes."""

from __future__ import annotations

import json
import os
import platform
import queue
import sys
import threading
from typing import Any

from hangtop.probe.nodes.node_side.proc import TICKS_PER_S, as_text, link, read

_lock = threading.Lock()


def say(record: dict[str, Any]) -> None:
    line = json.dumps(record, separators=(",", ":")).encode("utf-8", "backslashreplace") + b"\n"
    with _lock:
        try:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
        except OSError:
            os._exit(0)


def say_who() -> None:
    """Which machine this is, and as whom it looks: the first line. A signal goes nowhere else than where a plan was made. What a
    shell has printed before it may lack its end."""
    sys.stdout.buffer.write(b"\n")
    boot, pids = as_text(read("/proc/sys/kernel/random/boot_id").strip()), link("/proc/self/ns/pid")
    net = link("/proc/self/ns/net")
    who = {"boot": boot, "pids": pids, "net": net, "uid": os.geteuid()}
    say(dict(who, hello=True, ticks_per_s=TICKS_PER_S, machine=platform.machine()))


def listen(asks: queue.Queue[dict[str, Any]]) -> None:
    """Puts what comes into this queue, in a thread of its own."""

    def take() -> None:
        for line in iter(sys.stdin.buffer.readline, b""):
            asks.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=take, daemon=True).start()
