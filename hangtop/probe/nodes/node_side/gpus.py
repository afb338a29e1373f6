"""What nvidia-smi says of the GPUs, where it is there: asked seldom, in a thread of its own. One that does not end is asked no
second time: a driver that hangs would keep each."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

EVERY_S = 10.0
LATE_S = 30.0
"""Without persistence mode the driver is started for each question, which takes seconds where there are eight GPUs."""
FIELDS = (
    "index,uuid,name,pci.bus_id,utilization.gpu,utilization.memory,memory.used,memory.total,power.draw,power.limit,"
    "temperature.gpu,clocks.sm,clocks.max.sm,pstate,driver_version"
)
MOST_ROWS = 1_000


def tell_gpus(say: Callable[[dict[str, Any]], None], wanted: Callable[[], bool]) -> None:
    """Until there is no such program. `wanted`: whether a rank is here; without one nobody asks."""
    while shutil.which("nvidia-smi"):
        if wanted() and (told := gpus_now(say)) is not None:
            say({"gpus": told})
        time.sleep(EVERY_S)


def gpus_now(say: Callable[[dict[str, Any]], None]) -> dict[str, Any] | None:
    """`None` where nothing is told this time. What takes too long is said meanwhile."""
    began_at = time.time()

    def late() -> None:
        say({"gpus": {"at": began_at, "late": True}})

    rows = said("--query-gpu=" + FIELDS, late)
    apps = said("--query-compute-apps=gpu_uuid,pid,used_memory", late) if rows else []
    held = [[*row, os.path.exists("/proc/" + row[1])] for row in apps if len(row) == 3 and row[1].isdigit()]
    minors = {row[3]: minor_of(row[3]) for row in rows if len(row) > 3}
    return {"at": time.time(), "rows": rows, "held": held, "minors": minors} if rows else None


def said(query: str, late: Callable[[], None]) -> list[list[str]]:
    """Its lines, split at commas; none where it fails. `late` is called once it takes too long."""
    argv = ["nvidia-smi", query, "--format=csv,noheader,nounits"]
    try:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return []
    timer = threading.Timer(LATE_S, late)
    timer.daemon = True
    timer.start()
    text = child.communicate()[0].decode("utf-8", "replace")
    timer.cancel()
    if child.returncode:
        return []
    return [[word.strip() for word in line.split(",")] for line in text.splitlines()[:MOST_ROWS] if line.strip()]


def minor_of(bus: str) -> int | None:
    """N of its /dev/nvidiaN, as the driver's own file says (its name has a shorter domain)."""
    name = bus.lower()[-12:]
    try:
        with open("/proc/driver/nvidia/gpus/" + name + "/information", encoding="ascii", errors="replace") as file:
            lines = [line.partition(":") for line in file]
    except OSError:
        return None
    return next((int(value) for key, _, value in lines if key.strip() == "Device Minor" and value.strip().isdigit()), None)
