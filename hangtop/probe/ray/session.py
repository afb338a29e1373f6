"""One session in full, on a question only: its processes, what would start it again, what it leaves behind, what `ray stop` hits.

Told by command lines, parents and open files, never by the API: people want to restart a session that hangs.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain

from msgspec.structs import replace

from hangtop.common.clean_text import clean_text
from hangtop.common.clean_words import command_line
from hangtop.probe.leftovers import leftover_places as places
from hangtop.probe.leftovers.leftover_judge import LeftoverJudge
from hangtop.probe.leftovers.leftover_places import Candidate
from hangtop.probe.leftovers.open_handles import OpenHandles, open_handles
from hangtop.probe.leftovers.orphans import ADOPTERS
from hangtop.probe.ray.local.address_file import LATEST, NAME, read_address
from hangtop.probe.ray.local.daemons import LEADING, Daemon, without_secrets
from hangtop.probe.ray.local.ray_processes import RayProcesses
from hangtop.probe.ray.local.session_files import driver_jobs
from hangtop.probe.ray.local.start_options import environ_of_start, python_of, resources_of, spill_folder, start_command
from hangtop.records.plan import LeftAlone, RayStart, Removal
from hangtop.records.ray.cluster import DaemonKind
from hangtop.records.ray.session import RayKind, RayMatch, RayProcess, RaySession
from hangtop.system.guard import Guard
from hangtop.system.processes.table import OpenFile, ProcessTable, Stat
from hangtop.system.processes.tree import children_of, descendants
from hangtop.system.processes.users import Users
from hangtop.system.stores import launch_store

Words = tuple[str, ...]
LONGEST = 160
NAME_WORDS = ("raylet", "plasma_store", "ray::", "gcs_server")
LINE_WORDS = (
    "monitor.py", "ray.util.client.server", "default_worker.py", "setup_worker.py", "io.ray.runtime.runner.worker.DefaultWorker",
    "log_monitor.py", "ray::DashboardAgent", "dashboard/dashboard.py", "ray::RuntimeEnvAgent", "ray_process_reaper.py",
)  # fmt: skip
"""The plain `ray stop` chooses processes by these words, whoever owns them (Ray 2.60, RAY_PROCESSES)."""
ISOLATED = "it ran with resource isolation, whose reserves are not rebuilt: add --enable-resource-isolation … yourself"
BLOCKED = (
    "ray start --block ends with it, and so may what waits for it, such as a batch job; the new one is started without --block"
)
CLIENTS = "no client server (ray://) of it is seen: the new one listens on 10001"
REDIS = "its GCS keeps its state in Redis: actors and jobs of the old session may come back with the new one"
NO_GCS = "its GCS was gone before hangtop saw it: settings that only it knew (--system-config, Redis) are not rebuilt"
SHARED = "/dev/shm"
ANY_AGE = float("-inf")


class SessionDescriber:
    """Describes sessions. For one calling thread."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table
        self._users = Users()
        self._commands: Guard[int, Words] = Guard()
        self._files: Guard[int, tuple[OpenFile, ...]] = Guard()

    def describe(self, number: int, session: str, here: RayProcesses, now: float) -> RaySession:
        """The session of this name. `here`: all of Ray on this machine. `now`: unix time."""
        known = [daemon for daemon in here.daemons if daemon.session == session]
        workers = [worker for worker in here.workers if worker.session == session]
        if not known and not workers:
            return RaySession(number, session, problem=f"no daemon of {session or 'a Ray session'} was seen on this machine")
        self._table.refresh(tuple(self._table.stats))
        stats = self._table.stats
        folder = next(filter(None, (*(d.folder for d in known), *(w.folder for w in workers))), None)
        alive = [daemon for daemon in known if daemon.gone_at is None]
        kinds = self._kinds(alive, [worker.pid for worker in workers], folder or "")
        commands = self._commands.known({pid: partial(self._table.command, pid) for pid in stats if not stats[pid].kernel})
        blocking = _blocking(alive, stats, commands)
        kinds |= {pid: ("daemon", "ray start") for pid, _ in blocking.values()}
        processes = tuple(self._process(stats[pid], kind, title, commands.get(pid, ())) for pid, (kind, title) in kinds.items())
        holder = _holder(alive, stats, kinds)
        starts, unknown, warnings = starts_of(known, blocking, holder)
        found, kept = left_of_session(known, folder, frozenset(kinds), self._table, now)
        return RaySession(
            number, session, folder, processes, starts, unknown, holder, found, kept, tuple(_matches(stats, commands)), warnings
        )

    def _kinds(self, daemons: Iterable[Daemon], workers: Iterable[int], folder: str) -> dict[int, tuple[RayKind, str]]:
        """Kind and title of each process of the session, by pid."""
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
        living = (pid for pid, stat in self._table.stats.items() if not stat.kernel and stat.state not in "ZX")
        held = self._files.known({pid: partial(self._table.open_files, pid) for pid in living})
        return {pid: job for pid, files in held.items() for where, job in driver_jobs(files) if where == folder}

    def _process(self, stat: Stat, kind: RayKind, title: str, words: Words) -> RayProcess:
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


def _shown(words: Words, stat: Stat, kind: RayKind) -> str:
    """Its command line without secrets; of a daemon only the first words."""
    line = without_secrets(command_line(words))
    if line.startswith("ray-dashboard-"):  # then Python's command in brackets, the same for all of them
        line = line.partition(" (")[0]
    return (line if kind == "driver" else line[:LONGEST]) or clean_text(stat.name)


def _holder(daemons: Iterable[Daemon], stats: Mapping[int, Stat], kinds: Mapping[int, tuple[RayKind, str]]) -> int | None:
    """The driver that started the daemons with `ray.init()`: it is their living parent."""
    parents = (stats[daemon.pid].ppid for daemon in daemons if daemon.kind in LEADING and daemon.pid in stats)
    return next((pid for pid in parents if pid in kinds and kinds[pid][0] == "driver"), None)


def _blocking(
    daemons: Iterable[Daemon], stats: Mapping[int, Stat], commands: Mapping[int, Words]
) -> Mapping[int, tuple[int, Words]]:
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


def _matches(stats: Mapping[int, Stat], commands: Mapping[int, Words]) -> Iterator[RayMatch]:
    """What the plain `ray stop` would end, of any user, and by which word."""
    for pid, words in commands.items():
        name, line = stats[pid].name, " ".join(words)
        word = next((w for w in NAME_WORDS if w in name), None) or next((w for w in LINE_WORDS if w in line), None)
        if word is not None and pid != os.getpid():
            yield RayMatch(pid, stats[pid].start_ticks, command_line(words) or clean_text(name), word)


def starts_of(
    daemons: Sequence[Daemon], blocking: Mapping[int, tuple[int, Words]], holder: int | None
) -> tuple[tuple[RayStart, ...], str, tuple[str, ...]]:
    """The commands that start the nodes of the session again, the head first; why there are none; warnings. Their environments
    are stored for us alone.

    `daemons`: of the session, also those that ended. `blocking`: the `ray start --block` of each raylet. `holder`: the driver
    that started the session.
    """
    if holder is not None:
        return (), f"pid {holder} started it with ray.init(): it has no ray start of its own, its driver brings a new one", ()
    raylets = _latest_of_each_node(daemons)
    if not raylets:
        return (), "its raylet was gone before hangtop saw it, so its options are not known: ray start --head …", ()
    try:
        starts = [_start(raylet, daemons, blocking.get(raylet.pid)) for raylet in raylets]
    except (ValueError, KeyError) as error:
        return (), f"its options cannot be rebuilt: {error}", ()
    except OSError as error:
        return (), f"its environment cannot be kept: {error.strerror}: {error.filename}", ()
    options = {word.partition("=")[0] for daemon in daemons for word in daemon.start.words}
    clients = "--head" not in options or any(daemon.kind == "client_server" for daemon in daemons)
    doubts = {
        BLOCKED: bool(blocking),
        ISOLATED: "--enable-resource-isolation" in options,
        REDIS: "--redis_address" in options,
        CLIENTS: not clients,
        NO_GCS: "--head" in options and not any(daemon.kind == "gcs_server" and daemon.start.words for daemon in daemons),
    }
    return tuple(sorted(starts, key=lambda start: not start.head)), "", tuple(doubt for doubt, holds in doubts.items() if holds)


def _latest_of_each_node(daemons: Iterable[Daemon]) -> list[Daemon]:
    """The raylets to start again: the living ones, or with a head that is gone, that head before them."""
    raylets = sorted((daemon for daemon in daemons if daemon.kind == "raylet"), key=lambda daemon: daemon.started_at)
    found = {daemon.node: daemon for daemon in raylets}.values()
    living = [daemon for daemon in found if daemon.gone_at is None]
    heads = [daemon for daemon in found if "--head" in daemon.start.words]
    return living if any(daemon in living for daemon in heads) else [*heads, *(d for d in living if d not in heads)]


def _start(raylet: Daemon, daemons: Iterable[Daemon], block: tuple[int, Words] | None) -> RayStart:
    if not raylet.start.environ:
        raise ValueError("the environment of its raylet could not be read")
    told = sorted((daemon for daemon in daemons if daemon.start.words), key=lambda daemon: daemon.started_at)
    words: dict[DaemonKind, Sequence[str]] = {daemon.kind: daemon.start.words for daemon in (*told, raylet)}
    raw = tuple(w for w in block[1] if w != "--block") if block else (*_program(raylet), *start_command(words))  # it must return
    shown = tuple(map(without_secrets, raw))
    hidden = {whole.partition("=")[0]: whole for whole, safe in zip(raw, shown, strict=True) if whole != safe}
    named = {word.partition("=")[0].lstrip("-").replace("-", "_") for word in raw}
    resources = resources_of(raylet.start.words).items()
    return RayStart(
        argv=shown,
        cwd=raylet.cwd or "/",
        environ_file=launch_store.keep_environ(environ_of_start(raylet.start.environ) | hidden),
        gcs_address=raylet.gcs_address or "",
        head="--head" in raylet.start.words,
        dashboard=next((d.dashboard for d in daemons if d.kind == "dashboard" and d.dashboard), None),
        # memory only where the command names it: Ray counts what is free when it starts
        resources={name: value for name, value in resources if "memory" not in name or name in named},
    )


def _program(raylet: Daemon) -> Words:
    """The `ray` beside the node's interpreter, else Ray as a module of it. Raises `ValueError`."""
    python = python_of(raylet.start.words)
    if python is None:
        raise ValueError("its command line does not name the interpreter")
    beside = os.path.join(os.path.dirname(python), "ray")
    return (beside,) if os.access(beside, os.X_OK) else (python, "-m", "ray.scripts.scripts")


def left_of_session(
    daemons: Collection[Daemon], folder: str | None, members: frozenset[int], table: ProcessTable, now: float
) -> tuple[tuple[Removal, ...], tuple[LeftAlone, ...]]:
    """(what can go, what stays and why), as if the members had ended: its folder, spilled objects, shared memory that only it
    maps, and what leads the next program to it. The members still write, so file times may change; and they have children, which
    a raylet starts at any moment."""
    real = os.path.realpath(folder) if folder else ""
    going = tuple(_places(daemons, real))
    in_use = open_handles(table, {os.path.dirname(candidate.path) for candidate in going} | {SHARED})
    children = children_of(table.stats)
    members = members.union(*(descendants(children, pid) for pid in members))
    judge = LeftoverJudge(
        in_use.without(members, real), now, ANY_AGE, going=[candidate.path for candidate in going], sure=not members
    )
    judged = [judge.judge(candidate) for candidate in chain(going, _segments(in_use, members))]
    return (
        tuple(replace(each, changing=True) for each in judged if isinstance(each, Removal)),
        tuple(each for each in judged if isinstance(each, LeftAlone)),
    )


def _places(daemons: Iterable[Daemon], folder: str) -> Iterator[Candidate]:
    """The folder comes before the link that leads to it."""
    if folder:
        yield Candidate(folder, places.RAY_SESSION)
        yield from _pointers(daemons, folder)
    spills = {spill_folder(d.start.words) for d in daemons if d.kind == "raylet"}
    for spill in sorted(filter(None, spills)):
        yield Candidate(os.path.realpath(spill), places.RAY_SPILL)


def _pointers(daemons: Iterable[Daemon], folder: str) -> Iterator[Candidate]:
    """What leads to this session: the link of the latest one, and the file with the address that `ray.init()` joins."""
    beside = os.path.dirname(folder)
    link, file = os.path.join(beside, LATEST), os.path.join(beside, NAME)
    if os.path.islink(link) and os.path.realpath(link) == folder:
        yield Candidate(link, places.RAY_LINK)
    with suppress(OSError):  # there is none, or it is not for us
        if (address := read_address(file)) and address in {daemon.gcs_address for daemon in daemons}:
            yield Candidate(file, places.RAY_ADDRESS)


def _segments(in_use: OpenHandles, members: frozenset[int]) -> Iterator[Candidate]:
    """Named shared memory that the members map. The object store has no name: it is freed when the raylet ends."""
    theirs = in_use.held_by(members)
    try:
        entries = sorted(os.scandir(SHARED), key=lambda entry: entry.name)
    except OSError:  # no shared memory here
        return
    for entry in entries:
        if places.SEGMENT.match(entry.name) and not entry.name.startswith("sem."):
            with suppress(FileNotFoundError):  # gone meanwhile
                found = entry.stat(follow_symlinks=False)
                if (found.st_dev, found.st_ino) in theirs:
                    yield Candidate(entry.path, places.SHARED_MEMORY)
