"""Ray's workers are no children of the driver: they are found by the files that both hold open. Pure.

A driver holds `<session>/logs/python-core-driver-<job>….log`, a worker of its job writes
`<session>/logs/worker-<id>-<job>-<pid>.out` (Ray 2.49 to 2.60). This needs neither the dashboard nor a token, and works when
Ray itself hangs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from hangtop.system.processes.table import OpenFile, Stat

DRIVER_LOG = re.compile(r"(?P<session>.*/session_[^/]+)/logs/python-core-driver-(?P<job>[0-9a-f]{8})[0-9a-f]*_\d+\.log")
WORKER_LOG = re.compile(r"(?P<session>.*/session_[^/]+)/logs/worker-[0-9a-f]+-(?P<job>[0-9a-f]{8})-\d+\.(?:out|err)")


def ray_workers(stats: Mapping[int, Stat], files: Mapping[int, tuple[OpenFile, ...]], members: Collection[int]) -> list[int]:
    """The workers on this machine of the Ray jobs that these processes drive."""
    jobs = {job for pid in members for job in driver_jobs(files.get(pid, ()))}
    if not jobs:
        return []
    return [pid for pid, held in files.items() if pid in stats and not jobs.isdisjoint(_jobs(WORKER_LOG, held))]


def driver_jobs(held: tuple[OpenFile, ...]) -> set[tuple[str, str]]:
    """(folder of the session, job) of what the process that holds these files drives; empty where it is no driver."""
    return _jobs(DRIVER_LOG, held)


def _jobs(pattern: re.Pattern[str], held: tuple[OpenFile, ...]) -> set[tuple[str, str]]:
    inside = [file.target for file in held if "/session_" in file.target]
    return {(match["session"], match["job"]) for target in inside if (match := pattern.fullmatch(target))}
