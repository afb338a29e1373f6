"""Why processes of this machine cannot be seen at all: a container shows its own only, and so may /proc. Linux only; elsewhere
nothing is said."""

from __future__ import annotations

from pathlib import Path

from hangtop.system.processes.proc_files import FIRST_PID_NAMESPACE, namespace

HIDES = ("hidepid=2", "hidepid=invisible", "hidepid=4", "hidepid=ptraceable")
"""Options of a mounted /proc that leave out the processes of others (proc(5))."""


def hides_others(mounts: str | None = None) -> bool:
    """Whether /proc leaves out the processes of other users. `mounts`: what /proc/self/mountinfo says (proc(5)); of several
    mounts in one place the last is seen."""
    known = _mounts() if mounts is None else mounts
    rows = [row.split(" ") for row in known.splitlines() if " /proc " in row]
    options = next((row[-1].split(",") for row in reversed(rows) if row[4:5] == ["/proc"]), [])
    return any(option in HIDES for option in options)


def in_container() -> bool:
    """Whether there may be processes outside of our pid namespace."""
    return namespace("self", "pid") not in (None, FIRST_PID_NAMESPACE)


def _mounts() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:  # no Linux
        return ""
