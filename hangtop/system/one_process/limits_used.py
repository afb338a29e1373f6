"""The limits of a process, with what it uses of them where the kernel counts that: at one of them a run fails in odd words."""

from __future__ import annotations

import resource
from collections.abc import Mapping

from hangtop.records.inspection import Limit, MemoryUse
from hangtop.system.processes.limits import conditions_of


def limits_used(pid: int, status: Mapping[str, str], memory: MemoryUse, files: int | None) -> tuple[Limit, ...]:
    """`status`: the lines of `/proc/PID/status`. `files`: how many descriptors it has. Empty where the limits are
    another user's."""
    queued = status.get("SigQ", "").partition("/")[0]
    used = {
        "nofile": files,
        "as": memory.virtual_bytes,
        "memlock": memory.locked_bytes,
        "sigpending": int(queued) if queued.isdecimal() else None,
    }
    limits = ((name.removeprefix("RLIMIT_").lower(), *both) for name, both in conditions_of(pid).limits.items())
    return tuple(Limit(name, _finite(soft), _finite(hard), used.get(name)) for name, soft, hard in sorted(limits))


def _finite(value: int) -> int | None:
    return None if value == resource.RLIM_INFINITY else value
