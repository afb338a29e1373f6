"""Limits, umask, nice value and OOM score of a process: read from a living one, and set in our own before it becomes another
program.

Linux tells them of every process of the same user; elsewhere only some of them are known, and the rest is left as it is.
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
    """Of a living process. What cannot be read is not known; never raises."""
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
    """Make them those of this process, as far as it may. One line for each that it may not; raises nothing."""
    return [*_take_limits(wanted), *_take_others(wanted)]


def _limits(pid: int) -> Iterator[tuple[str, tuple[int, int]]]:
    if not hasattr(resource, "prlimit"):
        return
    for name, number in LIMITS.items():
        with contextlib.suppress(OSError, ValueError):  # another user's, or unknown to this kernel
            yield name, resource.prlimit(pid, number)


def _take_limits(wanted: Conditions) -> Iterator[str]:
    for name, (soft, hard) in wanted.limits.items():
        number = LIMITS.get(name)
        if number is None or resource.getrlimit(number) == (soft, hard):
            continue
        try:
            resource.setrlimit(number, (soft, hard))
        except (OSError, ValueError) as error:
            yield from _take_lower(name, number, (soft, hard), error)


def _take_lower(name: str, number: int, wanted: tuple[int, int], error: Exception) -> Iterator[str]:
    """As near as the own hard limit lets it come. A lower hard limit alone changes nothing for who does not raise it."""
    ceiling = resource.getrlimit(number)[1]
    soft, hard = (_lesser(value, ceiling) for value in wanted)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(number, (soft, hard))
    now = resource.getrlimit(number)
    if now[0] != wanted[0]:
        what = name.removeprefix("RLIMIT_").lower()
        yield f"its limit {what} was {_said(wanted[0])}, the new run's is {_said(now[0])}: only root may raise it ({error})"


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


def _lesser(value: int, ceiling: int) -> int:
    """-1 is no limit at all."""
    if ceiling == resource.RLIM_INFINITY:
        return value
    return ceiling if value == resource.RLIM_INFINITY else min(value, ceiling)


def _said(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else f"{value:,}"


def _whole(path: str) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(read_optional(path) or b"")
    return None
