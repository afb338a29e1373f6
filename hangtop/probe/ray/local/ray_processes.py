"""Ray's daemons and workers on this machine and their sessions, by the process table alone. Works when every API is gone.

A session is told by the command lines and open files of its processes, never by the link `session_latest`, which the next
`ray.init` of any user changes.
"""

from __future__ import annotations

import os
import re
import stat as modes
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from hangtop.probe.ray.local.daemons import LEADING, Daemon, DaemonStart, OfSession, daemon_by_title, daemon_of
from hangtop.probe.ray.local.session_files import SESSION_LOG, WORKER_LOG
from hangtop.probe.ray.local.worker_starts import WorkerStarts
from hangtop.records.ray.titles import WorkerTitle, assigned_title
from hangtop.system.guard import Guard
from hangtop.system.network.connections import is_on_our_network
from hangtop.system.processes.proc_files import status_of
from hangtop.system.processes.table import Identity, OpenFile, ProcessTable, Stat, cwd_of
from hangtop.system.processes.tree import ancestors

UNKNOWN = -1
"""A user id that no user has."""
YOUNG_S = 5.0
"""A younger process may still become another program: its command line is read again."""
NO_JOB = "ffffffff"
"""Stands for the job in the name of the output file of a worker that was started in reserve."""
OF_RANK = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "RAY_RAYLET_PID")


class LocalWorker(OfSession, frozen=True, kw_only=True):
    """A worker process. `ray_pid`: its pid in the namespace of its raylet. `title`: `None` for an idle worker in reserve.
    `raylet`: pid of the raylet above it; an orphan has none."""

    ray_pid: int
    title: WorkerTitle | None = None
    raylet: int | None = None
    job: str | None = None
    log: str | None = None
    environ: Mapping[str, str] = {}


class RayProcesses(Struct, frozen=True):
    """All of Ray at one moment, with daemons that ended. `pids`: the whole process table. `starting`: pid of a raylet → when a
    worker that it starts, or what makes a worker's environment, last moved."""

    daemons: tuple[Daemon, ...] = ()
    workers: tuple[LocalWorker, ...] = ()
    pids: frozenset[int] = frozenset()
    starting: Mapping[int, float] = {}


class RayTable:
    """Finds Ray in the process table. For one calling thread."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._commands: Guard[Identity, tuple[str, ...]] = Guard()
        self._environs: Guard[Identity, Mapping[str, str]] = Guard()
        self._files: Guard[Identity, tuple[OpenFile, ...]] = Guard()
        self._plain: set[Identity] = set()
        self._daemons: dict[Identity, Daemon] = {}
        self._workers: dict[Identity, LocalWorker] = {}
        self._owners = SessionOwners()
        self._starts = WorkerStarts()

    def read(self, now: float) -> RayProcesses:
        """All of Ray on this machine, as of unix time `now`."""
        raylets = self._living_raylets()
        children = {pid for pid, stat in self._table.stats.items() if stat.ppid in raylets}
        self._table.refresh({i.pid for i in (*self._daemons, *self._workers)} | children)
        stats = {stat.identity: stat for stat in self._table.stats.values()}
        self._plain &= stats.keys()
        commands = self._read_commands(stats, now)
        self._update_daemons(stats, commands, now)
        self._update_workers(stats, commands)
        owners = self._owners.of(self._daemons.values())
        known = {i.pid: False for i in self._workers} | {i.pid: True for i, d in self._daemons.items() if d.gone_at is None}
        return RayProcesses(  # without processes that name another user's session
            tuple(d for d in self._daemons.values() if d.folder is None or d.uid == owners.get(d.folder, UNKNOWN)),
            tuple(w for w in self._workers.values() if w.folder is None or w.uid == owners.get(w.folder, w.uid)),
            frozenset(self._table.stats),
            self._starts.moved(self._table, self._living_raylets(), known, now),
        )

    def _living_raylets(self) -> set[int]:
        return {d.pid for d in self._daemons.values() if d.kind == "raylet" and d.gone_at is None}

    def _read_commands(self, stats: Mapping[Identity, Stat], now: float) -> dict[Identity, tuple[str, ...]]:
        """Command lines of processes that may be Ray's: titles each time, daemons once."""
        asked: dict[Identity, Callable[[], tuple[str, ...]]] = {}
        for identity, stat in stats.items():
            known = identity in self._plain or identity in self._daemons
            if not stat.kernel and stat.state != "Z" and not known and stat.name.startswith(("ray", "gcs_server", "python")):
                asked[identity] = partial(self._table.command, stat.pid)
        commands = {identity: words for identity, words in self._commands.known(asked).items() if words}
        raylets = {d.pid for d in self._daemons.values() if d.kind == "raylet"}
        for identity, words in commands.items():
            young = now - self._table.started_at(identity.start_ticks) < YOUNG_S or stats[identity].ppid in raylets
            if not words[0].startswith("ray") and daemon_of(words) is None and not young:
                self._plain.add(identity)
        return commands

    def _update_daemons(self, stats: Mapping[Identity, Stat], commands: Mapping[Identity, tuple[str, ...]], now: float) -> None:
        found = {i: daemon for i, words in commands.items() if (daemon := daemon_of(words) or daemon_by_title(words[0]))}
        for identity, daemon in found.items():
            self._daemons[identity] = replace(
                daemon,
                identity=identity,
                started_at=self._table.started_at(identity.start_ticks),
                uid=user_of(self._table, identity.pid),
                cwd=cwd_of(self._table, identity.pid),
                on_our_network=is_on_our_network(identity.pid),
            )
        new = {identity for identity, daemon in found.items() if daemon.start.words}
        late = {i for i, d in self._daemons.items() if d.start.words and i in stats and not d.start.environ}
        for identity, environ in self._environs_of(new | late).items():
            daemon = self._daemons[identity]
            self._daemons[identity] = replace(daemon, start=DaemonStart(daemon.start.words, environ))
        for identity, daemon in self._daemons.items():
            stat = stats.get(identity)
            self._daemons[identity] = replace(
                daemon,
                state=stat.state if stat else daemon.state,
                gone_at=None if stat else daemon.gone_at or now,
            )
        self._name_sessions(stats)

    def _name_sessions(self, stats: Mapping[Identity, Stat]) -> None:
        """A daemon whose command line names no session or node has those of the daemon above it, else the session of its GCS."""
        by_pid = {d.pid: d for d in self._daemons.values()}
        by_gcs = {(d.gcs_address, d.uid): d for d in self._daemons.values() if d.gcs_address and d.folder}
        for identity, daemon in self._daemons.items():
            if daemon.folder is not None and daemon.node is not None:
                continue
            line = ancestors(self._table.stats, identity.pid)
            above = next((by_pid[pid] for pid in line if pid in by_pid and by_pid[pid].folder), None)
            if daemon.folder is None:
                above = above or by_gcs.get((daemon.gcs_address or "", daemon.uid))
            if above and (daemon.folder is None or daemon.session == above.session):
                self._daemons[identity] = replace(daemon, folder=above.folder, node=daemon.node or above.node)
        # one whose ancestors were gone when it was found has the session of its open log
        unnamed = {i: d for i, d in self._daemons.items() if d.folder is None and d.gone_at is None and d.state not in "ZX"}
        for identity, log in self._open_logs(SESSION_LOG, unnamed, outputs_only=False).items():
            self._daemons[identity] = replace(unnamed[identity], folder=log["folder"])

    def _update_workers(self, stats: Mapping[Identity, Stat], commands: Mapping[Identity, tuple[str, ...]]) -> None:
        raylets, known = self._living_raylets(), self._workers
        self._workers = {}
        titled = {identity.pid for identity, words in commands.items() if words[0].startswith("ray::")}
        for identity, stat in stats.items():
            words = commands.get(identity)
            if identity in self._daemons or (identity not in known and identity.pid not in titled):
                continue
            if identity not in known and stat.ppid in titled:  # a data loader: forked by a worker, it keeps that one's title
                continue
            worker = known.get(identity) or LocalWorker(
                identity=identity,
                started_at=self._table.started_at(identity.start_ticks),
                uid=self._table.owner(stat.pid),
                ray_pid=_ray_pid(stat.pid),
            )
            self._workers[identity] = replace(
                worker,
                state=stat.state,
                title=assigned_title(words[0]) if words else worker.title,
                raylet=next((pid for pid in ancestors(self._table.stats, stat.pid) if pid in raylets), None),
            )
        self._read_worker_files()

    def _read_worker_files(self) -> None:
        """Output file and environment, once for each worker with a task or actor: they do not change any more."""
        fresh = {i: w for i, w in self._workers.items() if w.title is not None and w.job is None and w.state != "Z"}
        logs = self._open_logs(WORKER_LOG, fresh, outputs_only=True)
        environs = self._environs_of(fresh)
        for identity, worker in fresh.items():
            environ = environs.get(identity, {})
            worker = replace(worker, environ={name: environ[name] for name in OF_RANK if name in environ})
            if log := logs.get(identity):
                worker = replace(worker, folder=log["folder"], job=log["job"], log=log["path"])
            self._workers[identity] = worker

    def _environs_of(self, asked: Iterable[Identity]) -> dict[Identity, Mapping[str, str]]:
        return self._environs.known({identity: partial(self._table.environ, identity.pid) for identity in asked})

    def _open_logs(
        self, pattern: re.Pattern[str], asked: Iterable[Identity], *, outputs_only: bool
    ) -> dict[Identity, re.Match[str]]:
        """The first log of this kind that each has open, with `outputs_only` as stdout or stderr."""
        held = self._files.known({identity: partial(self._table.open_files, identity.pid) for identity in asked})
        found: dict[Identity, re.Match[str]] = {}
        for identity, files in held.items():
            for file in files:
                counts = file.fd in (1, 2) or (file.writable and not outputs_only)
                if counts and (match := pattern.fullmatch(file.target)):
                    found.setdefault(identity, match)
        return found


def _ray_pid(pid: int) -> int:
    """Its pid in its innermost pid namespace (proc(5), NSpid), as its raylet knows it."""
    numbers = status_of(pid).get("NSpid", "").split()
    return int(numbers[-1]) if numbers else pid


class SessionOwners:
    """The owners of sessions, by folder, and so whether a process may speak for one. For one calling thread.

    Any command line can name any session, since their names are public. So the owner of the session's folder owns the session,
    and processes of other users count for nothing: an address that they name would get the owner's token.
    """

    def __init__(self) -> None:
        self._guard: Guard[str, os.stat_result] = Guard()
        self._known: dict[str, int] = {}

    def of(self, daemons: Iterable[Daemon]) -> Mapping[str, int | None]:
        """User ids by session folder. If the folder cannot be read, as in another container, the first GCS or raylet decides,
        else the first daemon."""
        speaking: dict[str, list[Daemon]] = {}
        for daemon in daemons:
            if daemon.folder is not None and daemon.uid is not None:
                speaking.setdefault(daemon.folder, []).append(daemon)
        unknown = speaking.keys() - self._known.keys()
        found = self._guard.known({folder: partial(os.lstat, folder) for folder in unknown})
        self._known |= {folder: status.st_uid for folder, status in found.items()}

        def rank(daemon: Daemon) -> tuple[bool, bool, float]:
            return daemon.uid != self._known.get(daemon.folder or ""), daemon.kind not in LEADING, daemon.started_at

        return {folder: min(daemons, key=rank).uid for folder, daemons in speaking.items()}


def user_of(table: ProcessTable, pid: int) -> int | None:
    """The user of this process; `None` when it is gone, or runs a set-user-id program, whose arguments another user chose."""
    if (users := status_of(pid).get("Uid")) is None:  # gone, or no Linux
        return table.owner(pid)
    real, effective = users.split()[:2]
    if real != effective or _sets_user(pid):
        return None
    return int(effective)


def _sets_user(pid: int) -> bool:
    """A set-user-id program may have changed all its ids, as `sudo` does while it asks for a password."""
    try:
        return bool(os.stat(f"/proc/{pid}/exe").st_mode & modes.S_ISUID)
    except OSError:  # another user's
        return False
