"""One record for each actor, from what Ray and its process tell. Pure except for what `FirstSeen` remembers.

Ray's `ALIVE` does not mean that an actor works, nor that its process lives; `PENDING_CREATION` does not tell constructing from
waiting. The process and its title do. They are joined by (node, pid in the raylet's namespace, start time), because pids are
reused and containers have their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from hangtop.common.clean_text import clean_text
from hangtop.common.grouped import grouped
from hangtop.common.late_pattern import late_pattern
from hangtop.probe.ray.dashboard import api_schema
from hangtop.probe.ray.dashboard.poll import ApiView
from hangtop.probe.ray.local.ray_processes import NO_JOB, LocalWorker
from hangtop.records.ray.cluster import ActorState, Death, RayActor
from hangtop.records.ray.titles import WorkerTitle, assigned_title, short_class

SAME_START_S = 1.0
LASTING_S = 1.9
"""State D and a missing process count when two reads saw them."""
COUNTS_S = 20.0
"""Counts of running calls are up to 15 s old (NODE_STATS_UPDATE_INTERVAL_SECONDS), titles at most 5 s."""
ENDING_S = 30.0
"""So long an actor that Ray already calls dead may take to end; then Ray itself kills its process
(`actor_graceful_shutdown_timeout_ms`, docs.ray.io "Terminating Actors")."""
LONGEST_TEXT = 400
NO_ENVIRONMENT = "runtime env failed to be created"
SHOW_METHOD = frozenset({"running", "constructing", "restarting", "stopped", "blocked", "zombie"})
_VERL_NAME = late_pattern(r"(?P<prefix>[A-Za-z0-9]{6})?(?P<cls>.*?)_(?P<group>\d+):(?P<local>\d+)")
_EXIT = late_pattern(r"Worker exit type: (?P<type>\w+)\s+Worker exit detail: (?P<detail>.*)", re.DOTALL)
_NODE_ID = late_pattern(r",? ID: [0-9a-f]{56}\b")
_FRAME = late_pattern(r'\s*File "(?P<file>[^"]+)", line \d+, in ')
_ERROR = late_pattern(r"(?:[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning)|[A-Za-z_]\w*\.[\w.]+)(?::|$)")
_OWN = ("/ray/_private/", "/ray/util/tracing/", "/ray/_raylet", "python/ray/")
_INTENDED = (
    "all references to the actor were removed",
    "it was killed by `ray.kill`",
    "INTENDED_USER_EXIT",
    "INTENDED_SYSTEM_EXIT",
    "exit_actor",
    "its owner has died",
    "the job has finished",
)


class Since(Struct, frozen=True, gc=False):
    """`seen`: it was in this state when first read, so the state may have begun earlier."""

    at: float
    seen: bool


class FirstSeen:
    """Remembers the state of each thing and since when, because Ray does not tell. Things that are not asked for between two
    `turn`s are forgotten."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Hashable, Since]] = {}
        self._asked: dict[Hashable, tuple[Hashable, Since]] = {}

    def since(self, thing: Hashable, state: Hashable, now: float, began_at: float | None = None) -> Since:
        """Since when `thing` is in `state`. `began_at`: when it began, if Ray tells."""
        before, since = self._known.get(thing, (None, None))
        if since is None:
            since = Since(began_at or now, seen=began_at is None)
        elif before != state:
            since = Since(now, seen=False)
        elif began_at is not None and (since.seen or began_at > since.at):  # since then it may have ended, and begun again
            since = Since(began_at, seen=False)
        self._asked[thing] = (state, since)
        return since

    def turn(self) -> None:
        """End one read."""
        self._known, self._asked = self._asked, {}


class ActorJoin:
    """The actors and processes of one cluster by key, at unix time `now`.

    `workers`: on this machine. `nodes`: pid of a living raylet → id of its node. `pids`: the whole process table, so that a
    worker that could not be read in time does not count as gone.
    """

    def __init__(
        self,
        workers: Sequence[LocalWorker],
        nodes: Mapping[int, str],
        pids: frozenset[int],
        view: ApiView,
        first_seen: FirstSeen,
        now: float,
    ) -> None:
        self.workers, self.nodes, self.pids, self.view, self.first_seen, self.now = workers, nodes, pids, view, first_seen, now
        self.by_pid = grouped(workers, lambda worker: worker.ray_pid)
        self.by_actor: dict[str, tuple[str, api_schema.WorkerStats]] = {}
        self.by_node_pid: dict[tuple[str, int], api_schema.WorkerStats] = {}
        for node, seen in view.nodes.items():
            for stats in seen.workers:
                self.by_node_pid[node, stats.pid] = stats
                for core in stats.core_worker_stats:
                    if core.worker_type != "DRIVER" and core.actor_id not in api_schema.NIL:
                        self.by_actor[core.actor_id] = (node, stats)
        self.verl = verl_ranks(actor.name for actor in view.actors.values())
        self.begun = _begun(workers, view)

    def told_of(self, actor: api_schema.Actor) -> tuple[str | None, api_schema.WorkerStats | None]:
        """The node of an actor, and what the node's agent tells of the actor's process."""
        node, stats = self.by_actor.get(actor.actor_id) or (
            None if actor.address.node in api_schema.NIL else actor.address.node,
            self.by_node_pid.get((actor.address.node, actor.pid or 0)),
        )
        return node, None if stats and actor.state == "DEAD" and stats.pid != actor.pid else stats

    def worker_of(self, node: str | None, pid: int, stats: api_schema.WorkerStats | None) -> LocalWorker | None:
        """The local process with this pid, if node and start time agree."""
        for worker in self.by_pid.get(pid, ()):
            same_node = worker.raylet is None or node is None or self.nodes.get(worker.raylet) == node
            born = stats.create_time if stats and stats.pid == pid else None
            if same_node and (born is None or abs(born - worker.started_at) < SAME_START_S):
                return worker
        return None

    def lasts(self, thing: Hashable, state: Hashable, seconds: float) -> bool:
        """Whether it has been in this state for so long, as far as we saw it."""
        return self.now - self.first_seen.since(thing, state, self.now).at >= seconds

    def actors(self) -> tuple[RayActor, ...]:
        """All actors that Ray knows; while it does not answer well, also local workers that it did not name."""
        found = [_known(actor, self) for actor in self.view.actors.values()]
        if self.view.api.answer != "ok" or self.view.api.gcs_ok is False or not self.view.actors:
            joined = {actor.pid for actor in found if actor.pid is not None}
            found += [_unknown(w, w.title, self) for w in self.workers if w.title is not None and w.pid not in joined]
        return tuple(found)


def _begun(local: Sequence[LocalWorker], view: ApiView) -> dict[tuple[str, str], LocalWorker]:
    """Workers that construct an actor, by class and name, where these are unique among workers and actors."""
    titled = [((w.title.cls, w.title.name), w) for w in local if w.title is not None and w.title.constructing]
    workers = Counter(key for key, _ in titled)
    starting = (actor for actor in view.actors.values() if actor.starts)
    actors = Counter((short_class(actor.class_name), actor.name) for actor in starting) if titled else Counter()
    return {key: worker for key, worker in titled if workers[key] == 1 and actors[key] == 1}


def _known(actor: api_schema.Actor, join: ActorJoin) -> RayActor:
    node, stats = join.told_of(actor)
    pid = (stats.pid if actor.starts and stats else actor.pid) or 0  # of one that starts Ray tells the old life's pid, or none
    worker = join.worker_of(node, pid, stats) if pid else None
    cls = short_class(actor.class_name)
    if stats is None and actor.starts and (begun := join.begun.get((cls, actor.name))):  # before Ray itself tells
        worker, pid, node = begun, begun.ray_pid, join.nodes.get(begun.raylet or 0)
    title = worker.title if worker else assigned_title(stats.title) if stats and stats.pid == pid else None
    core = stats.core_worker_stats[0] if stats and stats.core_worker_stats else api_schema.CoreStats()
    away = worker is None and node in join.nodes.values() and pid not in join.pids
    gone = away and join.lasts(("away", actor.actor_id), pid, LASTING_S)
    state = _state(actor.state, title, _of_process(worker, join), gone=gone, busy=_busy(actor.actor_id, title, core, join))
    restarts = api_schema.number(actor.num_restarts)
    method = title.method if title is not None and state in SHOW_METHOD else None
    since = join.first_seen.since(actor.actor_id, (state, method, restarts), join.now, _began(actor, state, core, join.view))
    environ = worker.environ if worker and worker.environ else _runtime_env(join.view.runtime_envs.get(actor.actor_id))
    seen = join.view.nodes.get(node or "")
    return RayActor(
        cls=clean_text(cls),
        state=state,
        id=actor.actor_id,
        name=clean_text(actor.name),
        job=actor.job_id or None,
        method=method,
        since=since.at,
        since_seen=since.seen,
        pid=worker.pid if worker else None,
        ray_pid=pid or None,
        started_at=worker.started_at if worker else api_schema.number(actor.start_time) / 1000 or None,
        node=node,
        host=seen.summary.hostname or None if seen else None,
        rank=_int(environ.get("RANK"), join.verl.get(actor.name)),
        world=_int(environ.get("WORLD_SIZE"), None),
        gpus=gpu_slots(core.used_resources or {}),
        resources=actor.required_resources or {},
        restarts=restarts,
        pending_tasks=None if core.num_pending_tasks is None else api_schema.number(core.num_pending_tasks),
        process_state=worker.state if worker else None,
        cpu_percent=None if stats is None or stats.cpu_percent is None else round(stats.cpu_percent),
        rss_bytes=int(stats.memory_info.rss) >> 20 << 20 if stats and stats.memory_info else None,
        gpu_memory_bytes=api_schema.number(stats.gpu_memory_usage) << 20 if stats and stats.gpu_memory_usage else None,
        death=death_of(_death_words(actor, join.view)) if state == "dead" else None,
        log=worker.log if worker else None,
        pid_alive=state == "dead" and worker is not None and worker.state not in "ZX" and join.now - since.at > ENDING_S,
    )


def _state(word: str, title: WorkerTitle | None, hindered: ActorState | None, *, gone: bool, busy: bool) -> ActorState:
    """From Ray's word, and where that says too little, the process. `hindered`: why the process is not running normally."""
    match word:
        case "DEAD":
            return "dead"
        case "DEPENDENCIES_UNREADY":
            return "argument"
        case "RESTARTING":
            return "restarting"
        case "PENDING_CREATION":
            return "constructing" if title is not None else "resources"
    if gone:
        return "gone"
    if hindered is not None:
        return hindered
    if busy or (title is not None and title.method is not None):
        return "running"
    return "idle" if title is not None else "unknown"


def _busy(actor: str, title: WorkerTitle | None, core: api_schema.CoreStats, join: ActorJoin) -> bool:
    """Whether calls run that the title does not tell, as in a threaded actor, for longer than the count may be old."""
    counted = (title is None or title.method is None) and api_schema.number(core.num_running_tasks) > 0
    return counted and join.lasts(("busy", actor), counted, COUNTS_S)


def _of_process(worker: LocalWorker | None, join: ActorJoin) -> ActorState | None:
    """Zombie, stopped or blocked, by the state of its process; `None` when it runs normally."""
    if worker is None:
        return None
    lasting = join.lasts(worker.identity, worker.state, LASTING_S)
    if worker.state in "ZX":
        return "zombie"
    if worker.state in "Tt":
        return "stopped"
    return "blocked" if worker.state == "D" and lasting else None


def _began(actor: api_schema.Actor, state: ActorState, core: api_schema.CoreStats, view: ApiView) -> float | None:
    """When this state began, if Ray tells."""
    if state == "dead" and (ended := api_schema.number(actor.end_time)):
        return ended / 1000
    if state in ("resources", "argument"):
        return view.asked_since.get(actor.actor_id)
    if state == "constructing":
        return view.built_since.get(actor.actor_id)
    return view.running_since.get(actor.address.worker_id or core.worker_id) if state == "running" else None


def _death_words(actor: api_schema.Actor, view: ApiView) -> str:
    """Ray's reason: from the list of actors, else from the actor's own record."""
    return view.deaths.get(actor.actor_id, "") if actor.died_untold else actor.exit_detail or ""


def _unknown(worker: LocalWorker, title: WorkerTitle, join: ActorJoin) -> RayActor:
    """An actor or task that only its process tells of. Between calls its title does not say which it is."""
    state = _of_process(worker, join) or ("constructing" if title.constructing else "running" if title.method else "unknown")
    since = join.first_seen.since(("process", worker.identity), (state, title.method), join.now)
    return RayActor(
        cls=clean_text(title.cls),
        state=state,
        name=clean_text(title.name),
        job=None if worker.job == NO_JOB else worker.job,
        method=title.method,
        since=since.at,
        since_seen=since.seen,
        pid=worker.pid,
        ray_pid=worker.ray_pid,
        started_at=worker.started_at,
        node=join.nodes.get(worker.raylet or 0),
        rank=_int(worker.environ.get("RANK"), None),
        world=_int(worker.environ.get("WORLD_SIZE"), None),
        process_state=worker.state,
        log=worker.log,
    )


def gpu_slots(used: Mapping[str, object]) -> tuple[int, ...]:
    """GPU numbers that Ray granted: `{"GPU": {"resourceSlots": [{"slot": "3", …}]}}`, also inside a placement group
    (`GPUGroup…`)."""
    found: set[int] = set()
    for name, grant in used.items():
        slots = grant.get("resourceSlots", ()) if name.startswith("GPU") and isinstance(grant, Mapping) else ()
        found |= {int(slot["slot"]) for slot in slots if str(slot.get("slot", "")).isdigit()}
    return tuple(sorted(found))


def _runtime_env(text: str | None) -> Mapping[str, str]:
    """The `env_vars` of a serialised runtime environment."""
    try:
        return msgspec.json.decode(text or "{}", type=api_schema.RuntimeEnv).env_vars or {}
    except msgspec.DecodeError:
        return {}


def _int(text: str | None, otherwise: int | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else otherwise


def cut_to(actors: Sequence[RayActor], most: int) -> tuple[RayActor, ...]:
    """At most so many actors, unusual states first."""
    plain = {"idle": 1, "running": 1, "dead": 2, "resources": 3}
    return tuple(actors if len(actors) <= most else sorted(actors, key=lambda actor: plain.get(actor.state, 0))[:most])


def verl_ranks(names: Iterable[str]) -> dict[str, int]:
    """Actor name → global rank, for names as verl gives them: `<6 letters><class>_<node group>:<local rank>`.

    Ranks count through the groups in order (verl/single_controller/ray/base.py), so a group is left out, and all after it, when
    the one before it has a gap.
    """
    pools: dict[tuple[str, str], dict[int, dict[int, str]]] = {}
    for name in names:
        if match := _VERL_NAME.fullmatch(name):
            pool = pools.setdefault((match["prefix"] or "", match["cls"]), {})
            pool.setdefault(int(match["group"]), {})[int(match["local"])] = name
    ranks: dict[str, int] = {}
    for pool in pools.values():
        first = 0
        for group in range(len(pool)):
            members = pool.get(group, {})
            if set(members) != set(range(len(members))) or not members:
                break
            ranks.update((name, first + local) for local, name in members.items())
            first += len(members)
    return ranks


def death_of(detail: str) -> Death:
    """Why an actor is dead, and the lines of the traceback that matter. `detail`: Ray's `exitDetail`; `-` and empty: not told.

    Texts: src/ray/gcs/gcs_actor_manager.cc and python/ray/exceptions.py.
    """
    text = detail.strip()
    if text in ("", "-"):
        return Death("not told by Ray")
    if NO_ENVIRONMENT in text:
        return Death("its runtime environment could not be made", clean_text(text.splitlines()[-1].strip())[:LONGEST_TEXT])
    intended = any(words in text for words in _INTENDED)
    if text.startswith("Traceback") or "\nTraceback" in text:
        frames = _last_frame(text)
        return Death(
            "its __init__ raised" if "creation task" in text else "an error in Python", frames[-1] if frames else "", frames
        )
    if exit_words := _EXIT.search(text):
        return Death(f"its process ended: {exit_words['type']}", _sentence(exit_words["detail"]), intended=intended)
    return Death(_sentence(text), intended=intended)


def _last_frame(text: str) -> tuple[str, ...]:
    """The user's innermost frame, its source line, and the last error, which is the root cause."""
    lines = [clean_text(line) for line in text.splitlines() if line.strip(" ^~")]
    own = [i for i, line in enumerate(lines) if (frame := _FRAME.match(line)) and not any(part in frame["file"] for part in _OWN)]
    error = next((line for line in reversed(lines) if _ERROR.match(line)), lines[-1])
    if not own:
        return (error[:LONGEST_TEXT],)
    last = own[-1]
    source = [lines[last + 1].strip()] if last + 1 < len(lines) and lines[last + 1].startswith("    ") else []
    return tuple(line[:LONGEST_TEXT] for line in (lines[last].strip(), *source, error))


def _sentence(text: str) -> str:
    """The first two sentences, or lines; the list of common causes after them is the same for every death."""
    lines = (clean_text(" ".join(line.split())) for line in _NODE_ID.sub("", text).splitlines())
    told = [sentence for line in lines if line for sentence in re.split(r"(?<=\.) ", line)]
    return " ".join(told[:2])[:LONGEST_TEXT].removesuffix(" Some common causes include: (1)")
