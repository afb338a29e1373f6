"""How much longer a sleep or a poll lasts: its time limit stands in its arguments, or in the memory that they point to."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable

from hangtop.system.waits.calls import Call, int_of

TIMESPEC = struct.Struct("=qq")
"""Seconds and nanoseconds, on machines of 64 bits (timespec(3type))."""
TIMER_ABSTIME = 1
"""Of clock_nanosleep(2): the limit is a moment of that clock. So sleeps Python's `time.sleep` since 3.11."""
ABSOLUTE = "clock_nanosleep"
POINTED = frozenset({"nanosleep", "clock_nanosleep", "ppoll", "pselect6", "epoll_pwait2"})
"""Their limits are a `timespec`. That of `select` is none, and of a futex it depends on the operation."""


def rest_of(
    call: Call, memory: Callable[[int, int], bytes | None], now: Callable[[int], float] = time.clock_gettime
) -> tuple[float | None, bool]:
    """Seconds that this call lasts at most from now on, and whether that is exact: a limit that counts from the start of the call
    is told whole. `None` without a limit, and where it may not be read. `memory`: reads so many bytes at an address.
    `now`: what a clock of that machine shows (clock_gettime(2)); raises `OSError` where it has none such."""
    if call.spec is None:
        return None, False
    if call.spec.timeout_ms is not None:
        limit_ms = int_of(call.arguments[call.spec.timeout_ms])
        return (limit_ms / 1000 if limit_ms >= 0 else None), False
    if call.spec.timeout is None or call.name not in POINTED or not call.arguments[call.spec.timeout]:
        return None, False
    raw = memory(call.arguments[call.spec.timeout], TIMESPEC.size)
    if raw is None or len(raw) < TIMESPEC.size:
        return None, False
    seconds, nanoseconds = TIMESPEC.unpack(raw)
    limit_s = seconds + nanoseconds / 1e9
    if call.name == ABSOLUTE and call.arguments[1] & TIMER_ABSTIME:
        return _from_now(int_of(call.arguments[0]), limit_s, now)
    return max(0.0, limit_s), False


def _from_now(clock: int, moment_s: float, now: Callable[[int], float]) -> tuple[float | None, bool]:
    try:
        return max(0.0, moment_s - now(clock)), True
    except OSError:  # a clock of that process alone
        return None, False
