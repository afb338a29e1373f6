"""Children of ours that nobody waits for: gone in milliseconds, or stuck in the kernel for ever. Exit waits for neither."""

from __future__ import annotations

import subprocess

_abandoned: list[subprocess.Popen[bytes]] = []


def reap_later(process: subprocess.Popen[bytes]) -> None:
    """Look after a child later, should it end: whoever started it needs it no more. Never blocks."""
    _abandoned.append(process)
    _abandoned[:] = [left for left in _abandoned if left.poll() is None]
