"""Limits, umask, nice value and OOM score: read from a living process, and set in ours before it becomes another program.

Linux tells them of all processes of the same user; elsewhere some are unknown and left as they are.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator

from hangtop.records.launch import Conditions
from hangtop.system.processes.proc_files import read_optional, status_of

LIMITS = {name: getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE"}
"""By name; RLIMIT_OFILE is the old name of RLIMIT_NOFILE."""


def conditions_of(pid: int) -> Conditions:
    """The conditions of a living process, as far as they can be read; never raises."""
    nice = None
    with contextlib.suppress(OSError):  # it has ended
        nice = os.getpriority(os.PRIO_PROCESS, pid)
    return Conditions(
        limits=dict(_limits(pid)),
        umask=int(umask, 8) if (umask := status_of(pid).get("Umask")) else None,
        nice=nice,
        oom_score_adj=_whole(f"/proc/{pid}/oom_score_adj"),
    )


def take_on(wanted: Conditions) -> list[str]:
    """Set them in this process, as far as permitted. Returns one line for each that is not; never raises."""
    return [*_take_limits(wanted), *_take_others(wanted)]


def _limits(pid: int) -> Iterator[tuple[str, tuple[int, int]]]:
    if not hasattr(resource, "prlimit"):
        return
    for name, number in LIMITS.items():
        with contextlib.suppress(OSError, ValueError):  # another user's, or unknown to this kernel
            yield name, resource.prlimit(pid, number)


def _take_limits(wanted: Conditions) -> Iterator[str]:
    """As near as our hard limit permits. A lower hard limit alone is not told: it matters only to a program that raises its
    limit."""
    for name, (soft, hard) in wanted.limits.items():
        number = LIMITS.get(name)
        if number is None or resource.getrlimit(number) == (soft, hard):
            continue
        try:
            resource.setrlimit(number, (soft, hard))
        except (OSError, ValueError) as error:
            ceiling = resource.getrlimit(number)[1]
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(number, (_lower_of(soft, ceiling), _lower_of(hard, ceiling)))
            if (now := resource.getrlimit(number)[0]) != soft:
                what = name.removeprefix("RLIMIT_").lower()
                yield f"its limit {what} was {_shown(soft)}, the new run's is {_shown(now)}: only root may raise it ({error})"


def _take_others(wanted: Conditions) -> Iterator[str]:
    if wanted.umask is not None:
        os.umask(wanted.umask)
    try:
        if wanted.nice is not None and wanted.nice != os.getpriority(os.PRIO_PROCESS, 0):
            os.setpriority(os.PRIO_PROCESS, 0, wanted.nice)
    except OSError as error:
        yield f"its nice value was {wanted.nice}, the new run's is {os.getpriority(os.PRIO_PROCESS, 0)}: {error.strerror}"
    now = _whole("/proc/self/oom_score_adj")
    if wanted.oom_score_adj is None or now is None or now == wanted.oom_score_adj:
        return
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(str(wanted.oom_score_adj))
    except OSError as error:
        yield f"its oom_score_adj was {wanted.oom_score_adj}, the new run's is {now}: {error.strerror}"


def _lower_of(value: int, ceiling: int) -> int:
    """The lower of two limits, each of which may be none."""
    if ceiling == resource.RLIM_INFINITY:
        return value
    return ceiling if value == resource.RLIM_INFINITY else min(value, ceiling)


def _shown(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else f"{value:,}"


def _whole(path: str) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(read_optional(path) or b"")
    return None
