"""The time of one hangtop process: unix seconds that never jump.

Everything in the core takes `now` as an argument. The edges take it from here. It is the wall clock as it stood when the
process started plus the monotonic time since, so that neither NTP nor a suspended laptop makes a silence negative.
"""

from __future__ import annotations

import time

_ANCHOR = time.time() - time.monotonic()


def now() -> float:
    """Unix time in seconds, monotonic within this process."""
    return _ANCHOR + time.monotonic()
