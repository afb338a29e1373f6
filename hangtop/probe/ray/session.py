"""One session in full, on a question only: its processes, what would start it again, what it leaves behind, what `ray stop` hits.

Told by command lines, parents and open files, never by the API: people want to restart a session that hangs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from hangtop.common.clean_text import clean_text
from hangtop.common.clean_words import command_line
from hangtop.probe.leftovers.orphans import ADOPTERS
from hangtop.probe.ray.local.daemons import Daemon, without_secrets
from hangtop.probe.ray.local.ray_processes import RayProcesses
from hangtop.probe.ray.local.session_files import driver_jobs
from hangtop.probe.ray.local.session_owners import LEADING
from hangtop.probe.ray.node_starts import starts_of
from hangtop.probe.ray.session_cleanup import left_of_session
from hangtop.records.ray.session import RayKind, RayMatch, RayProcess, RaySession
from hangtop.system.guard import Guard
from hangtop.system.processes.table import OpenFile, ProcessTable, Stat
from hangtop.system.processes.tree import children_of, descendants
from hangtop.system.processes.users import Users

LONGEST = 160
NAME_WORDS = ("raylet", "plasma_store", "ray::", "gcs_server")
LINE_WORDS = (
    "monitor.py", "ray.util.client.server", "default_worker.py", "setup_worker.py", "io.ray.runtime.runner.worker.DefaultWorker",
    "log_monitor.py", "ray::DashboardAgent", "dashboard/dashboard.py", "ray::RuntimeEnvAgent", "ray_process_reaper.py",
)  # fmt: skip
"""The plain `ray stop` chooses processes by these words, whoever owns them (Ray 2.60, RAY_PROCESSES)."""


class SessionDescriber:
    """Describes sessions. For one calling thread."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._users = Users()
        self._commands: Guard[int, tuple[str, ...]] = Guard()
        self._files: Guard[int, tuple[OpenFile, ...]] = Guard()

    def describe(self, number: int, session: str, here: RayProcesses, now: float) -> RaySession:
        """The session of this name. `here`: all of Ray on this machine. `now`: unix time."""
        known = [daemon for daemon in here.daemons if daemon.session == session]
        workers = [worker for worker in here.workers if worker.session == session]
        if not known and not workers:
            return RaySession(number, session, problem=f"no daemon of {session or 'a Ray session'} was seen on this machine")
        self._table.refresh(tuple(self._table.stats))
        stats = self._table.stats
        folder = next((d.folder for d in known if d.folder), None) or next((w.folder for w in workers if w.folder), None)
        kinds = self._kinds([d for d in known if d.gone_at is None], [w.pid for w in workers], folder or "")
        commands = self._commands.known({pid: partial(self._table.command, pid) for pid in stats if not stats[pid].kernel})
        blocking = _blocking(known, stats, commands)
        kinds |= {pid: ("daemon", "ray start") for pid, _ in blocking.values()}
        processes = tuple(self._process(stats[pid], kind, title, commands) for pid, (kind, title) in kinds.items())
        held = _holder(known, stats, kinds)
        starts, unknown, warnings = starts_of(known, blocking, held)
        found, kept = left_of_session(known, folder, frozenset(kinds), self._table, now)
        return RaySession(
            number, session, folder, processes, starts, unknown, held, found, kept, tuple(_matches(stats, commands)), warnings
        )

    def _kinds(self, daemons: Iterable[Daemon], workers: Iterable[int], folder: str) -> dict[int, tuple[RayKind, str]]:
        """What each process of the session is, by pid."""
        stats, children = self._table.stats, children_of(self._table.stats)
        found: dict[int, tuple[RayKind, str]] = {}
        for daemon in daemons:
            if daemon.pid in stats and stats[daemon.pid].identity == daemon.identity:
                kind: RayKind = "raylet" if daemon.kind == "raylet" else "gcs_server" if daemon.kind == "gcs_server" else "daemon"
                found[daemon.pid] = (kind, daemon.kind.replace("_", " "))
        for pid in workers:
            found.setdefault(pid, ("worker", "worker"))
        for top, (kind, title) in list(found.items()):
            below: tuple[RayKind, str] = ("worker", "worker") if kind in ("worker", "raylet") else ("daemon", f"of the {title}")
            for pid in descendants(children, top):
                found.setdefault(pid, below)
        for pid, job in self._drivers(folder).items():
            if found.get(pid, ("worker", ""))[0] == "worker":
                found[pid] = ("driver", f"driver {job}")
                for child in descendants(children, pid):
                    found.setdefault(child, ("driver", "of the driver"))
        return {pid: what for pid, what in found.items() if pid in stats and stats[pid].state not in "ZX"}

    def _drivers(self, folder: str) -> dict[int, str]:
        """Jobs by the pid of their drivers, which have a driver's log in the session's folder open."""
        asked = {
            pid: partial(self._table.open_files, pid)
            for pid, stat in self._table.stats.items()
            if not stat.kernel and stat.state not in "ZX"
        }
        return {
            pid: job for pid, files in self._files.known(asked).items() for where, job in driver_jobs(files) if where == folder
        }

    def _process(self, stat: Stat, kind: RayKind, title: str, commands: Mapping[int, tuple[str, ...]]) -> RayProcess:
        words = commands.get(stat.pid, ())
        uid = self._table.owner(stat.pid)
        return RayProcess(
            pid=stat.pid,
            start_ticks=stat.start_ticks,
            started_at=self._table.started_at(stat.start_ticks),
            ppid=stat.ppid,
            command=_shown(words, stat, kind),
            state=stat.state,
            kind=kind,
            title=title,
            uid=uid,
            user=self._users.name(uid),
            rss_bytes=stat.rss_bytes,
            job=title.partition(" ")[2] if title.startswith("driver ") else None,
        )


def _shown(words: tuple[str, ...], stat: Stat, kind: RayKind) -> str:
    """Its command line without secrets; of a daemon only the first words."""
    line = without_secrets(command_line(words))
    if line.startswith("ray-dashboard-"):  # then Python's command in brackets, the same for all of them
        line = line.partition(" (")[0]
    return (line if kind == "driver" else line[:LONGEST]) or clean_text(stat.name)


def _holder(daemons: Iterable[Daemon], stats: Mapping[int, Stat], kinds: Mapping[int, tuple[RayKind, str]]) -> int | None:
    """The driver that started the daemons with `ray.init()`: it is their living parent."""
    for daemon in daemons:
        stat = stats.get(daemon.pid)
        above = kinds.get(stat.ppid) if stat is not None and daemon.kind in LEADING else None
        if stat is not None and above is not None and above[0] == "driver":
            return stat.ppid
    return None


def _blocking(
    daemons: Iterable[Daemon], stats: Mapping[int, Stat], commands: Mapping[int, tuple[str, ...]]
) -> Mapping[int, tuple[int, tuple[str, ...]]]:
    """(pid, words) of the living `ray start --block` above each raylet; its own command line has all options."""
    found = {}
    for daemon in daemons:
        stat = stats.get(daemon.pid)
        if daemon.kind != "raylet" or stat is None or stat.ppid not in stats or stats[stat.ppid].name in ADOPTERS:
            continue
        words = commands.get(stat.ppid, ())
        if "start" in words[1:5] and "--block" in words:
            found[daemon.pid] = (stat.ppid, words)
    return found


def _matches(stats: Mapping[int, Stat], commands: Mapping[int, tuple[str, ...]]) -> Iterator[RayMatch]:
    """What the plain `ray stop` would end, of any user, and by which word."""
    for pid, stat in stats.items():
        words = commands.get(pid)
        if stat.kernel or pid == os.getpid() or words is None:
            continue
        line = " ".join(words)
        word = next((w for w in NAME_WORDS if w in stat.name), None) or next((w for w in LINE_WORDS if w in line), None)
        if word is not None:
            yield RayMatch(pid, stat.start_ticks, command_line(words) or clean_text(stat.name), word)
