"""The files of a Ray session, and what a process tells by holding them open (Ray 2.49 to 2.60). Pure.

Ray's workers are no children of the driver. But a driver holds `<session>/logs/python-core-driver-<job>….log` open, and a worker
of its job writes `<session>/logs/worker-<id>-<job>-<pid>.out`. This needs no dashboard and no token, and works when Ray hangs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from hangtop.system.processes.table import OpenFile, Stat

SESSION_NAME = r"session_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_\d+_\d+"
_FOLDER = r"(?P<folder>.*/session_[^/]+)/logs/"
SESSION_LOG = re.compile(_FOLDER + r"[^/]+")
DRIVER_LOG = re.compile(_FOLDER + r"python-core-driver-(?P<job>[0-9a-f]{8})[0-9a-f]*_\d+\.log")
WORKER_LOG = re.compile(rf"(?P<path>{_FOLDER}worker-[0-9a-f]+-(?P<job>[0-9a-f]{{8}})-\d+\.(?:out|err))(?:\.\d+)?")
"""With a number after its path where it was rotated."""


def ray_workers(stats: Mapping[int, Stat], files: Mapping[int, tuple[OpenFile, ...]], members: Collection[int]) -> list[int]:
    """The workers on this machine of the Ray jobs that these processes drive."""
    jobs = {job for pid in members for job in driver_jobs(files.get(pid, ()))}
    if not jobs:
        return []
    return [pid for pid, held in files.items() if pid in stats and not jobs.isdisjoint(_jobs(WORKER_LOG, held))]


def driver_jobs(held: tuple[OpenFile, ...]) -> set[tuple[str, str]]:
    """(folder of the session, job) of what the process with these open files drives; empty where it is no driver."""
    return _jobs(DRIVER_LOG, held)


def _jobs(pattern: re.Pattern[str], held: tuple[OpenFile, ...]) -> set[tuple[str, str]]:
    inside = [file.target for file in held if "/session_" in file.target]
    return {(match["folder"], match["job"]) for target in inside if (match := pattern.fullmatch(target))}
