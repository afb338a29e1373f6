"""Children that hangtop does not wait for: they end in milliseconds, or are stuck in the kernel for ever. Exit waits for
neither."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

_abandoned: list[subprocess.Popen[bytes]] = []


def reap_later(process: subprocess.Popen[bytes]) -> None:
    """Reap this child whenever it ends: it is no longer needed. Never blocks."""
    _abandoned.append(process)
    _abandoned[:] = [left for left in _abandoned if left.poll() is None]
