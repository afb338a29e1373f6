"""The shells that people type into. Such a shell belongs to no run; its jobs are told apart by their process groups.

A shell with job control leads its process group on a terminal, gives each job a group of its own, and ignores the signals by
which the terminal would stop it (SIGTSTP, SIGTTOU: POSIX.1-2017, 2.11); its jobs do not. A shell that runs a script does none of
this, and is part of the run like any other launcher.
"""

from __future__ import annotations

import signal
from functools import partial

from hangtop.system.files.open_files import YOUNG_S
from hangtop.system.guard import Guard
from hangtop.system.processes.table import Details, Identity, ProcessTable

JOB_SIGNALS = sum(1 << (number - 1) for number in (signal.SIGTSTP, signal.SIGTTOU))


class LoginShells:
    """Finds them among the processes that lead a group on a terminal. A young process is read again: it may become a shell."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._guard: Guard[Identity, Details] = Guard()
        self._known: dict[Identity, bool] = {}

    def find(self, now: float) -> frozenset[int]:
        """The pids of all shells with job control on this machine. `now`: unix time."""
        stats = self._table.stats.values()
        leaders = {stat.identity: stat for stat in stats if stat.terminal and stat.pid == stat.group and stat.state not in "ZX"}
        self._known = {identity: is_shell for identity, is_shell in self._known.items() if identity in leaders}
        due = {leader: partial(self._table.details, leader.pid) for leader in leaders if leader not in self._known}
        for identity, details in self._guard.known(due).items():
            if details.ignored is not None:
                is_shell = details.ignored & JOB_SIGNALS == JOB_SIGNALS
                if is_shell or now - self._table.started_at(identity.start_ticks) > YOUNG_S:
                    self._known[identity] = is_shell
        return frozenset(identity.pid for identity, is_shell in self._known.items() if is_shell)
