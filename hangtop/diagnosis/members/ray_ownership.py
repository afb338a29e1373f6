"""Whose a Ray session is: it belongs to the run only by proof. Pure.

That it is the only one on the machine, or that the framework may use Ray, proves nothing. What counts, the surest first: the word
of the person who gave its address; a process of the run that drives a job of it, works in it or holds its files; what such
processes were seen to do while they lived; what the log says; what the command line or environment of a process of the run names.
The surest facts that there are decide alone. An address, a session or a time in the log that does not fit speaks against a
session, whatever weaker fact speaks for it: "none of these" is an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from os.path import basename
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common.addresses import is_loopback, is_one_of
from hangtop.common.clock import unix_s
from hangtop.common.memo import memoized
from hangtop.common.text import moment, some
from hangtop.records.log import LogReading, RaySaid, RaySpeaker
from hangtop.records.process import Process, ProcessReading, RayTie, Writer
from hangtop.records.ray.cluster import RayActor, RayCluster
from hangtop.state.run_state import RunState

SAME_START_S = 1.0
"""Two sources tell the start of one process by so much apart at most."""
CLOCK_S = 2.0
"""Clocks of one cluster differ by less."""
STARTED_WITHIN_S = 600.0
"""`ray.init` says that it has started a session when all of it is up: after seconds, on a busy machine minutes."""
JOINED_WITHIN_S = 10.0
"""`ray.init` says that it connects before its job begins: by a second, on a busy machine by several."""
_NAMED_AT = re.compile(r"session_(\d{4})-(\d\d)-(\d\d)_(\d\d)-(\d\d)-(\d\d)_\d+_\d+")

By = Literal["person", "process", "past", "log", "naming"]


class OwnedSession(Struct, frozen=True):
    """A session of the run, and why it is the run's. Of its actors only the run's are left.

    `fact`: in words. `jobs`: those of its jobs that are the run's, as far as they are known.
    """

    cluster: RayCluster
    by: By
    fact: str
    jobs: frozenset[str] = frozenset()

    @property
    def whole(self) -> bool:
        """Whether all that runs in it is the run's: all of its drivers are."""
        return _is_whole(self.cluster, self.jobs)


class _Run(Struct, frozen=True):
    """What is known of the run where a cluster was seen. `members`: its processes, by pid, but for those that were found through
    Ray; `writers`: pids of those that write the log; `past`: ties of processes that are gone, where nobody writes the log now."""

    members: dict[int, Process | Writer] = {}
    writers: frozenset[int] = frozenset()
    ties: tuple[RayTie, ...] = ()
    past: tuple[RayTie, ...] = ()
    log: str = "the log"

    @classmethod
    def of(cls, procs: ProcessReading | None, log: str) -> _Run:
        if procs is None:
            return cls()
        proven = [each for each in procs.processes if each.pid not in procs.of_ray and not (each.exited or procs.taken)]
        writers = [writer for writer in procs.writers if writer.alive]
        return cls(
            {process.pid: process for process in proven} | {writer.pid: writer for writer in writers},
            frozenset(writer.pid for writer in writers),
            tuple(tie for tie in procs.ray if not tie.gone),
            () if writers else tuple(tie for tie in procs.ray if tie.gone),
            log,
        )

    def has(self, pid: int | None, started_at: float | None) -> bool:
        """Whether that very process is one of the run: pids are reused."""
        member = self.members.get(pid or 0)
        return member is not None and started_at is not None and abs(member.started_at - started_at) < SAME_START_S


class _Question(Struct, frozen=True):
    """Whether one cluster is the run's. `all`: the clusters that it is told from. `shared_log`: the log lies on a network file
    system, so that another machine may have written it: then 127.0.0.1 in it says nothing."""

    cluster: RayCluster
    run: _Run
    said: RaySaid | None
    named: bool
    all: tuple[RayCluster, ...]
    spoke_at: float | None
    shared_log: bool = False


@memoized
def owned(state: RunState) -> tuple[OwnedSession, ...]:
    """The sessions of the run, living and ended, each with its proof."""
    questions = _questions(state)
    for by, fact_of in WAYS:
        proven = {asked.cluster.session: fact for asked in questions if (fact := fact_of(asked)) is not None}
        if proven:
            return tuple(
                _owned(asked, by, proven[asked.cluster.session]) for asked in questions if asked.cluster.session in proven
            )
    return ()


def clusters_of_run(state: RunState, *, ended: bool = False) -> tuple[RayCluster, ...]:
    """The clusters that the run lives in, or with `ended` those it lived in. An address in an environment is inherited, so it
    counts only where the log is one of a framework on Ray."""
    return tuple(
        session.cluster
        for session in owned(state)
        if (session.cluster.ended_at is not None) == ended and (session.by != "naming" or uses_ray(state))
    )


def strangers(state: RunState) -> tuple[RayCluster, ...]:
    """The living sessions that nothing proves to be the run's."""
    own = {session.cluster.session for session in owned(state)}
    known = (asked.cluster for asked in _questions(state))
    return tuple(cluster for cluster in known if cluster.ended_at is None and cluster.session not in own)


def said_of(others: Sequence[RayCluster], now: float) -> str:
    """`1 Ray session on this machine, not this run's: session_… of alice, since 12:45:10`. Empty where there is none."""
    if not others:
        return ""
    first, begun = others[0], started_at(others[0])
    user = first.user or ("" if first.uid is None else str(first.uid))
    whose = f"{first.session}{f' of {user}' if user else ''}{f', since {moment(begun, now)}' if begun is not None else ''}"
    more = f" and {len(others) - 1} more" if len(others) > 1 else ""
    named = f": {whose}{more}" if first.session else ""
    unseen = "; its processes may not be looked into: sudo hangtop" if first.hidden else ""
    return f"{some(len(others), 'Ray session')} on this machine, not this run's{named}{unseen}"


def uses_ray(state: RunState) -> bool:
    """Whether the log is that of a framework that runs on Ray: its profile contains Ray's. Says nothing of whose a session is."""
    return state.log is not None and "ray" in state.log.profiles


def is_on_ray(state: RunState) -> bool:
    """Whether a session of Ray must be there, to which the run's workers belong: the log says so, or its driver holds files of
    one."""
    procs = state.procs
    drives = procs is not None and any(tie.kind == "drives" and not tie.gone for tie in procs.ray)
    return drives or uses_ray(state) or (state.log is not None and state.log.ray is not None)


def rank_actors(state: RunState) -> dict[int, RayActor]:
    """The actor of each rank of this run, where one is known."""
    actors = (actor for cluster in clusters_of_run(state) for actor in cluster.actors)
    return {actor.rank: actor for actor in actors if actor.rank is not None and actor.state != "dead"}


def started_at(cluster: RayCluster) -> float | None:
    """When the session began: with the first of its daemons that were seen here."""
    return min((part.started_at for part in cluster.parts), default=None)


def _questions(state: RunState) -> list[_Question]:
    log = state.log or LogReading(files=())
    name = basename(log.files[0].path) if log.files else "the log"
    everything = tuple(cluster for reading in state.ray.values() for cluster in reading.clusters)
    shared = any(file.network for file in log.files)
    found = []
    for host, reading in state.ray.items():
        run = _Run.of(state.processes.get(host) if state.processes else state.procs, name)
        found += [
            _Question(cluster, run, log.ray, reading.named, everything, log.last_output_at, shared)
            for cluster in reading.clusters
        ]
    return found


def _owned(question: _Question, by: By, fact: str) -> OwnedSession:
    jobs = _jobs(question)
    cluster, run = question.cluster, question.run
    whole = by == "person" and not jobs
    alone = _is_whole(cluster, jobs)  # then a task whose job nobody tells is the run's
    actors = tuple(
        a
        for a in cluster.actors
        if whole or a.job in jobs or run.has(a.pid, a.started_at) or (alone and a.id is None and not a.job)
    )
    if len(actors) < len(cluster.actors):
        cluster = replace(cluster, actors=actors, actors_total=len(actors))
    return OwnedSession(cluster, by, fact, jobs)


def _is_whole(cluster: RayCluster, jobs: frozenset[str]) -> bool:
    return bool(cluster.drivers) and {driver.job for driver in cluster.drivers} <= jobs


def _jobs(question: _Question) -> frozenset[str]:
    """The jobs of the session that are the run's.

    The jobs whose driver writes the log, else whose driver is a process of the run (its output may go through `tee`), else the
    jobs of its workers, else the jobs whose actors speak in the log, else the one whose driver joined when the log says that the
    run did, and has ended.
    """
    cluster, run = question.cluster, question.run
    drives = [tie for tie in _of_session(run.ties, cluster) if tie.kind == "drives"]
    drivers = {tie.job: tie.pid for tie in drives} | {
        driver.job: driver.pid for driver in cluster.drivers if driver.local and run.has(driver.pid, driver.started_at)
    }
    members = (actor.job for actor in cluster.actors if run.has(actor.pid, actor.started_at))
    works = (tie.job for tie in _of_session(run.ties, cluster) if tie.kind == "works")
    gone = (tie.job for tie in _of_session(run.past, cluster))
    speak = (
        actor.job
        for actor in cluster.actors
        if question.said is not None and any(_spoke(actor, s, question) for s in question.said.speakers)
    )
    written = (job for job, pid in drivers.items() if pid in run.writers)
    for known in (written, drivers, (*members, *works), gone, speak, _joined_then(question)):
        if jobs := frozenset(job for job in known if job):
            return jobs
    return frozenset()


def _joined_then(question: _Question) -> tuple[str, ...]:
    """The one past job that began when the log says that the run joined; none where several did."""
    said = question.said
    if said is None or said.at is None or not said.joined or not _is_told_at(question, said.joined):
        return ()
    then = [job.id for job in question.cluster.past_jobs if -CLOCK_S <= job.began_at - said.at <= JOINED_WITHIN_S]
    return tuple(then) if len(then) == 1 else ()


def _by_process(question: _Question) -> str | None:
    cluster, run = question.cluster, question.run
    if ties := _of_session(run.ties, cluster):
        return _driver_words(ties[0].pid, run) if ties[0].kind == "drives" else TIES[ties[0].kind].format(ties[0].pid)
    for driver in cluster.drivers:
        if driver.local and run.has(driver.pid, driver.started_at):
            return _driver_words(driver.pid, run)
    for part in cluster.parts:
        member = run.members.get(part.pid)
        if part.gone_at is None and member is not None and member.start_ticks == part.start_ticks:
            return f"its {part.kind.replace('_', ' ')}, pid {part.pid}, is a process of the run"
    actor = next((actor for actor in cluster.actors if run.has(actor.pid, actor.started_at)), None)
    return None if actor is None else f"its actor {actor.cls}, pid {actor.pid}, is a process of the run"


def _by_past(question: _Question) -> str | None:
    """What was seen of processes that are gone: the run ended, and nothing in the log says that it went on elsewhere."""
    tie = next(iter(_of_session(question.run.past, question.cluster)), None)
    if tie is None or _speaks_against(question):
        return None
    what = {"drives": "its driver", "works": "its worker"}.get(tie.kind, "a process of the run that held its files")
    return f"{what}, pid {tie.pid}, was of the run"


def _by_log(question: _Question) -> str | None:
    cluster, said = question.cluster, question.said
    if said is None or _speaks_against(question):
        return None
    if cluster.session in said.sessions:
        return "the log names its session"
    if said.joined and _is_told_at(question, said.joined):
        return f"the log says that the run joined {said.joined}"
    if said.dashboard and _is_told_at(question, said.dashboard):
        if said.started:
            return f"the log says that the run started it, with the dashboard at {said.dashboard}"
        if said.joined and not is_loopback(said.dashboard):
            return f"the log names its dashboard {said.dashboard}"
    if said.submission and any(actor.name.endswith(said.submission) for actor in cluster.actors):
        return f"the log names its job {said.submission}"
    heard = [speaker for speaker in said.speakers if any(_spoke(actor, speaker, question) for actor in cluster.actors)]
    if heard and 2 * len(heard) >= len(said.speakers):
        return f"its actor {heard[-1].name}, pid {heard[-1].pid}, speaks in the log"
    return None


def _by_naming(question: _Question) -> str | None:
    """An address on a command line or in an environment, of a session that was there when the process began."""
    if _speaks_against(question):
        return None
    begun = started_at(question.cluster)
    for tie in question.run.ties:
        fits = tie.name == question.cluster.session or (_is_at(question.cluster, tie.name) and _is_only(question, tie.name))
        if tie.kind in ("argument", "environment") and fits and (begun is None or begun <= tie.started_at + CLOCK_S):
            where = "command line" if tie.kind == "argument" else "environment"
            return f"the {where} of pid {tie.pid} names {tie.name}"
    return None


WAYS: tuple[tuple[By, Callable[[_Question], str | None]], ...] = (
    ("person", lambda question: "its address was given with --ray" if question.named else None),
    ("process", _by_process),
    ("past", _by_past),
    ("log", _by_log),
    ("naming", _by_naming),
)


TIES = {
    "drives": "",  # `_driver_words` says more
    "works": "its worker, pid {}, is a process of the run",
    "holds": "pid {} of the run holds a file of its folder open",
    "log": "the log lies in its folder",
}
"""The kinds of ties to files of a session, drivers first."""


def _of_session(ties: Iterable[RayTie], cluster: RayCluster) -> list[RayTie]:
    """The ties to files of this session, drivers first. A container may know the folder by another path: the name is unique."""
    inside = [tie for tie in ties if tie.kind in TIES and cluster.session and basename(tie.name) == cluster.session]
    return sorted(inside, key=lambda tie: list(TIES).index(tie.kind))


def _driver_words(pid: int, run: _Run) -> str:
    return f"its driver, pid {pid}, {f'writes {run.log}' if pid in run.writers else 'is a process of the run'}"


def _speaks_against(question: _Question) -> bool:
    """Whether the log says another thing: it joined another address, it started one of its own at another time, it names other
    sessions."""
    cluster, said = question.cluster, question.said
    if said is None:
        return False
    there = is_one_of(said.joined, _places(cluster)) if said.joined and _places(cluster) else None
    if there is False or _up(cluster, said) is False:
        return True
    return bool(said.sessions) and not there and bool(cluster.session) and cluster.session not in said.sessions


def _is_told_at(question: _Question, address: str) -> bool:
    """Whether the log means this session with this address: no other has it, and it was there when the log named it."""
    if question.said is None or (question.shared_log and is_loopback(address)):
        return False
    return _is_at(question.cluster, address) and _is_only(question, address) and _up(question.cluster, question.said) is True


def _up(cluster: RayCluster, said: RaySaid) -> bool | None:
    """Whether the session was there when the log said that the run joined it; or had just been started, where the run started it.
    `None` where no clock tells.

    By the clock of this machine, and by the clock times in the log and in the session's name, which are of one zone: a copy of a
    log has another time of its last change.
    """
    if not (said.joined or said.started):
        return None
    named = _NAMED_AT.match(cluster.session)
    begun = unix_s(*map(int, named.groups())) if named else None
    clocks = ((begun, said.stamp), (started_at(cluster), said.at))
    ages_s = [told - begun for begun, told in clocks if begun is not None and told is not None]
    latest_s = STARTED_WITHIN_S if said.started else float("inf")
    return all(-CLOCK_S <= age_s <= latest_s for age_s in ages_s) if ages_s else None


def _places(cluster: RayCluster) -> tuple[str, ...]:
    return cluster.addresses or tuple(filter(None, (cluster.gcs_address, cluster.api.address)))


def _is_at(cluster: RayCluster, address: str) -> bool:
    return is_one_of(address, _places(cluster)) is True


def _is_only(question: _Question, address: str) -> bool:
    """Whether no other living session has this address: containers may have the same."""
    living = (cluster for cluster in question.all if cluster.ended_at is None)
    return not any(_is_at(cluster, address) for cluster in living if cluster.session != question.cluster.session)


def _spoke(actor: RayActor, speaker: RaySpeaker, question: _Question) -> bool:
    """Whether this actor is the one that spoke: class, pid and node fit, and it lived when its line was written."""
    at = speaker.at if speaker.at is not None else question.spoke_at
    if actor.ray_pid != speaker.pid or actor.started_at is None or at is None or actor.started_at > at + CLOCK_S:
        return False
    if speaker.name not in (actor.cls, actor.name) and not speaker.name.startswith(f"{actor.cls}("):
        return False
    node = next((node for node in question.cluster.nodes if node.id == actor.node), None)
    return not speaker.ip or node is None or speaker.ip == node.ip
