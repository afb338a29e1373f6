"""Ray on one machine: its clusters, with their actors, nodes, placement groups and daemons."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

ActorState = Literal[
    "constructing",
    "resources",
    "argument",
    "restarting",
    "idle",
    "running",
    "stopped",
    "blocked",
    "zombie",
    "gone",
    "dead",
    "unknown",
]
"""`resources` and `argument`: what an actor waits for before its process starts. `blocked`: in state D at two samples in a row.
`zombie` and `gone`: alive by Ray's word, but its process is not. `unknown`: alive, but nothing tells what it does."""

DaemonKind = Literal[
    "raylet",
    "gcs_server",
    "dashboard",
    "dashboard_part",
    "agent",
    "runtime_env_agent",
    "autoscaler",
    "log_monitor",
    "client_server",
]

ApiAnswer = Literal["ok", "none", "refused", "silent", "needs_token", "wrong_token", "error", "strange"]
"""How the dashboard answers. `none`: no dashboard of this cluster is known. `strange`: the answer has an unknown shape."""


class Death(Struct, frozen=True, omit_defaults=True, gc=False):
    """Why an actor is dead, in Ray's own words. `intended`: it was meant to end. `traceback`: the user's last frame and the
    error."""

    cause: str
    detail: str = ""
    traceback: tuple[str, ...] = ()
    intended: bool = False


class RayActor(Struct, frozen=True, omit_defaults=True, gc=False):
    """One actor. Without the API only its process is known: then `id` is `None`.

    `cls`: the class without its module and `<locals>`. `method`: the running one, from the process title. `since`: unix time at
    which this state and method began; `since_seen`: that is when hangtop first saw it, and it may have begun earlier. `pid`: in
    the pid namespace of hangtop, `None` if the process is on another machine or in another container; `ray_pid`: the pid that Ray
    names. `started_at`: unix time of its process; if that is not visible, when Ray called it alive. `gpus`: slots that Ray
    granted. `resources`: what it asks for. `pending_tasks`: calls it made that are not answered yet. `process_state`: letter of
    proc(5). `log`: path of its output on its node. `pid_alive`: dead by Ray's word for longer than its end may take, but its
    process lives.
    """

    cls: str
    state: ActorState
    id: str | None = None
    name: str = ""
    job: str | None = None
    method: str | None = None
    since: float | None = None
    since_seen: bool = True
    pid: int | None = None
    ray_pid: int | None = None
    started_at: float | None = None
    node: str | None = None
    host: str | None = None
    rank: int | None = None
    world: int | None = None
    gpus: tuple[int, ...] = ()
    resources: dict[str, float] = {}
    restarts: int = 0
    pending_tasks: int | None = None
    process_state: str | None = None
    cpu_percent: float | None = None
    rss_bytes: int | None = None
    gpu_memory_bytes: int | None = None
    death: Death | None = None
    log: str | None = None
    pid_alive: bool = False

    @property
    def has_process(self) -> bool:
        """Whether it has a living process, or may have one."""
        return self.state not in ("dead", "gone", "zombie")


class RayDriver(Struct, frozen=True, omit_defaults=True):
    """A program that started a job. `pid`: on its node. `started_at`: unix time, `None` if Ray does not tell."""

    job: str
    pid: int
    node: str
    command: str
    local: bool = False
    started_at: float | None = None


class RayJob(Struct, frozen=True):
    """A job whose driver has ended. `began_at`: when that joined, unix time by the clock of the head."""

    id: str
    began_at: float


class RayNode(Struct, frozen=True, omit_defaults=True):
    """One node. `moved_at`: when its report last changed, by hangtop's clock. `used` and `total`: Ray's logical resources.

    `local`: its raylet runs on this machine.
    """

    id: str
    host: str
    ip: str = ""
    alive: bool = True
    head: bool = False
    local: bool = False
    moved_at: float | None = None
    death: str = ""
    cpu_percent: float | None = None
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    workers: int = 0
    used: dict[str, float] = {}
    total: dict[str, float] = {}


class PlacementGroup(Struct, frozen=True, omit_defaults=True):
    """A group that is not placed. `infeasible`: no node could hold it, even if it were empty. `bundles`: (resources, count)."""

    id: str
    name: str
    infeasible: bool
    bundles: tuple[tuple[dict[str, float], int], ...] = ()
    since: float | None = None


class Demand(Struct, frozen=True, omit_defaults=True):
    """Resources that tasks or actors wait for; `count`: how many ask for the same."""

    resources: dict[str, float]
    count: int


class RayPart(Struct, frozen=True, omit_defaults=True):
    """A daemon of the cluster on this machine. `state`: letter of proc(5). `gone_at`: when hangtop saw that it is gone."""

    kind: DaemonKind
    pid: int
    started_at: float
    start_ticks: int = 0
    state: str = "S"
    node: str | None = None
    name: str = ""
    gone_at: float | None = None


class RayApi(Struct, frozen=True, omit_defaults=True):
    """How the dashboard of the cluster answers. `since`: when this kind of answer began; `gcs_since`: the same for the GCS.

    `gcs_ok`: `None` if the dashboard refused the question. `actors_at`: when the actor list was last read. `late`: endpoints that
    failed or did not answer in time while others did. `problem`: the HTTP or system error in words. `strange`: paths that do not
    exist, or answered in an unknown shape. `tables_at`: when Ray's own Python last read from the GCS what the dashboard does not
    tell, while that is needed; `tables_problem`: why it could not.
    """

    address: str | None = None
    answer: ApiAnswer = "none"
    since: float | None = None
    gcs_ok: bool | None = None
    gcs_since: float | None = None
    actors_at: float | None = None
    late: tuple[str, ...] = ()
    problem: str = ""
    version: str = ""
    strange: tuple[str, ...] = ()
    tables_at: float | None = None
    tables_problem: str = ""


class RayCluster(Struct, frozen=True, omit_defaults=True):
    """One cluster, as this machine and its dashboard show it. A session is one start of a cluster, with a name and a folder.

    `actors_total`: more than `actors` holds if there are too many to send; the rest are dead or like others. `orphans`: worker
    processes on this machine whose raylet is gone. `ended_at`: when hangtop saw that its last process on this machine is gone.
    `addresses`: every `host:port` by which it is joined or asked, GCS first. `hidden`: open files, arguments and environment of
    its processes may not be read, so there is less proof of whose session it is. `past_jobs`: those that have actors left.
    `starting_at`: when a worker process on this
    machine that has no task or actor yet, or a runtime environment that is being made for one, was last seen to move: it was
    started, or took CPU time. `missing`: daemons that must run on this machine, and were gone before hangtop came.
    """

    session: str
    folder: str | None = None
    gcs_address: str | None = None
    uid: int | None = None
    user: str | None = None
    api: RayApi = RayApi()
    parts: tuple[RayPart, ...] = ()
    actors: tuple[RayActor, ...] = ()
    actors_total: int = 0
    drivers: tuple[RayDriver, ...] = ()
    past_jobs: tuple[RayJob, ...] = ()
    nodes: tuple[RayNode, ...] = ()
    groups: tuple[PlacementGroup, ...] = ()
    demand: tuple[Demand, ...] = ()
    orphans: tuple[int, ...] = ()
    ended_at: float | None = None
    addresses: tuple[str, ...] = ()
    hidden: bool = False
    starting_at: float | None = None
    missing: tuple[DaemonKind, ...] = ()


class RayReading(Struct, frozen=True, omit_defaults=True, tag="ray"):
    """All clusters with a process on this machine, or the one at the address that the user gave (`named`: it is the run's).

    `far_logs`: output files that the run's ranks write on other nodes; `far_logs_read`: how many of them were read so far.
    """

    clusters: tuple[RayCluster, ...] = ()
    named: bool = False
    far_logs: int = 0
    far_logs_read: int = 0


class RayDaemons(Struct, frozen=True, tag="ray_daemons"):
    """Recordings of older versions hold it; nothing reads it. `RaySession.starts` tells how daemons are started again."""
