"""Whether code may be run in a process, and whether it can answer: its owner, its state, its agent. Read right before."""

from __future__ import annotations

import os
from typing import Literal

from msgspec import Struct

from hangtop.system.agents.agent_client import OPT_IN, agent_path
from hangtop.system.agents.debugpy_client import adapter_of
from hangtop.system.agents.probing_client import has_probing
from hangtop.system.processes.linux import read_stat
from hangtop.system.processes.proc_files import status_of

Way = Literal["agent", "debugpy", "probing"]


class Answerable(Struct, frozen=True):
    """`start_ticks`: of the process that was looked at. `why_not`: one line, empty where it can be asked; `mend`: what helps.
    `way`: what it has opened itself to."""

    start_ticks: int = 0
    why_not: str = ""
    mend: str = ""
    way: Way = "agent"


def answerable(pid: int) -> Answerable:
    stat = read_stat(pid)
    if stat is None or stat.state in "ZX":
        return Answerable(why_not=f"pid {pid} is gone")
    owner = status_of(pid).get("Uid", "").split()[1:2]
    if not owner or int(owner[0]) != os.geteuid():
        return Answerable(why_not=f"pid {pid} belongs to another user: code is run in your own processes only")
    if stat.state in "tT":
        return Answerable(stat.start_ticks, f"pid {pid} is stopped, so none of its threads can answer", f"kill -CONT {pid}")
    if agent_path(pid) is not None:
        return Answerable(stat.start_ticks)
    if has_probing(pid):
        return Answerable(stat.start_ticks, way="probing")
    adapter = adapter_of(pid)
    if adapter is None:
        mend = f"add `{OPT_IN}` to the script for the next run; without it: hangtop inspect {pid}, hangtop stacks --locals"
        return Answerable(stat.start_ticks, f"pid {pid} cannot be asked: it has not run `{OPT_IN}`", mend)
    if adapter.taken:
        return Answerable(
            stat.start_ticks, f"a debugger is attached to pid {pid}: debugpy serves one at a time", "end its session"
        )
    return Answerable(stat.start_ticks, way="debugpy")
