"""Rules over one Ray cluster: may its data be trusted, which part of it is sick, which actor stands out. Pure.

A green dashboard proves nothing: with the GCS stopped it goes on answering from its own memory. So its data is trusted only while
the GCS says that it is healthy and a node's report has moved within `STALE_AFTER_S` by our own clock (agents report every 5 s).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from hangtop.common.grouped import grouped
from hangtop.common.memo import memoized
from hangtop.common.text import clock, some
from hangtop.records.ray.cluster import DaemonKind, RayActor, RayCluster, RayPart

STALE_AFTER_S = 15.0
TABLES_STALE_S = 45.0
"""The GCS's tables are read every 20 s where they stand for the dashboard."""
ACTORS = "/logical/actors"
LIVE = ("idle", "running", "constructing", "unknown")
FEWEST_PEERS = 3
MOST_NODES = 8
WANTED = "expected termination"
"""How Ray's word on a node begins that was told to leave."""


class RayTrouble(Struct, frozen=True):
    """A part of Ray that is sick: what is wrong in one line, and what mends it. Times in the text are clock times: it stands
    still. `dead`: it is gone for good; else it may come back."""

    part: str
    text: str
    mend: str = ""
    dead: bool = False


class OutlierActor(Struct, frozen=True):
    """An actor that stands out, and why. `sure`: by its own state; else by difference from its peers. `since`: words for when
    that began, which change as more is learned."""

    actor: RayActor
    why: str
    sure: bool = True
    since: str = ""


def stale_since(cluster: RayCluster, now: float) -> float | None:
    """Since when (unix time) what the dashboard tells is old; `None` while it can be trusted, and where there is no dashboard."""
    api = cluster.api
    if api.answer != "ok" and api.tables_at is not None:
        return None if _told_by_tables(cluster) and now - api.tables_at <= TABLES_STALE_S else api.tables_at
    if api.answer == "none":
        return None
    if api.answer != "ok":
        return api.actors_at or api.since
    if api.gcs_ok is False:
        return api.gcs_since
    if ACTORS in api.late and now - (api.actors_at or 0.0) > STALE_AFTER_S:
        return api.actors_at or api.since
    moved = [node.moved_at for node in cluster.nodes if node.alive and node.moved_at is not None]
    return max(moved) if moved and now - max(moved) > STALE_AFTER_S else None


def troubles(cluster: RayCluster, now: float) -> tuple[RayTrouble, ...]:
    """What is sick, the root first."""
    if cluster.ended_at is not None:
        return (RayTrouble("session", f"this session ended at {clock(cluster.ended_at)}"),)
    return (*_sick_parts(cluster), *_sick_api(cluster), *_sick_nodes(cluster, now), *_leftovers(cluster))


RESTART = "hangtop ray restart starts Ray again with the same options"
STOP_AND_START = "hangtop ray stop ends what is left of this session; then start Ray as before"


class _Daemon(Struct, frozen=True):
    """A kind of daemon. `ends`: what follows when it is gone. `below`: the kind with which it dies."""

    name: str
    ends: str = ""
    below: str | None = None


DAEMONS: dict[str, _Daemon] = {
    "gcs_server": _Daemon("GCS", "drivers and raylets give up 60 s later"),
    "raylet": _Daemon("raylet", "its workers end with it, or stay behind"),
    "dashboard": _Daemon("dashboard", "of other nodes nobody tells what runs there"),
    "dashboard_part": _Daemon("dashboard's", below="dashboard"),
    "agent": _Daemon("agent", "its node reports nothing more", below="raylet"),
    "runtime_env_agent": _Daemon("runtime environment agent", below="raylet"),
}
"""The parts without which we or the run see less, roots first. An autoscaler or client server that is gone hurts nobody here."""


def _sick_parts(cluster: RayCluster) -> list[RayTrouble]:
    """Daemons here that are stopped, gone or a zombie, and that no other has replaced. What follows from another is left out."""
    ordered = [part for kind in DAEMONS for part in cluster.parts if part.kind == kind]
    sick = [(part, trouble) for part in ordered if (trouble := _trouble_of(part, cluster)) is not None]

    def node_of(part: RayPart) -> str | None:  # a cluster has one dashboard
        return None if part.kind.startswith("dashboard") else part.node

    roots = {(part.kind, node_of(part)) for part, _ in sick}
    missing = [_missing(kind) for kind in cluster.missing]
    return [*missing, *(trouble for part, trouble in sick if (DAEMONS[part.kind].below, node_of(part)) not in roots)]


def _missing(kind: DaemonKind) -> RayTrouble:
    """A daemon that was gone before hangtop came. How a raylet was started went with it."""
    daemon = DAEMONS[kind]
    text = f"the {daemon.name} is gone, since before hangtop came: {daemon.ends}"
    return RayTrouble(kind, text, STOP_AND_START if kind == "raylet" else RESTART, dead=True)


def _trouble_of(part: RayPart, cluster: RayCluster) -> RayTrouble | None:
    daemon = DAEMONS[part.kind]
    name = f"{daemon.name} {part.name}".strip()
    if part.gone_at is None and part.state in "Tt":
        return RayTrouble(part.kind, f"the {name} (pid {part.pid}) is stopped", f"kill -CONT {part.pid}")
    if part.gone_at is None and part.state == "D":
        return RayTrouble(part.kind, f"the {name} (pid {part.pid}) is blocked in the kernel")
    if (part.gone_at is None and part.state != "Z") or any(_serves(other, part) for other in cluster.parts):
        return None
    replaced = part.kind == "dashboard" and _told_by_tables(cluster)
    after = f": {daemon.ends}" if daemon.ends and not replaced else ""
    gone = f"gone since {clock(part.gone_at)}{after}"
    how = gone if part.gone_at is not None else "a zombie: it is dead, and nobody collected it"
    mend = BY_TABLES if replaced else RESTART
    return RayTrouble(part.kind, f"the {name} (pid {part.pid}) is {how}", mend, dead=True)


def _serves(other: RayPart, part: RayPart) -> bool:
    """Whether `other` lives and took the place of `part`."""
    same = other.kind == part.kind and other.node == part.node and other.name == part.name
    return same and other is not part and other.gone_at is None and other.state != "Z"


TITLES_ONLY = "without it: titles and states of processes here only"
BY_TABLES = "Ray's own Python reads actors, nodes and placement groups from the GCS instead, every 20 s"
UPGRADE = "pip install -U hangtop"
TOKEN_MEND = "export RAY_AUTH_TOKEN_PATH=FILE, or put the token into ~/.ray/auth_token (ray get-auth-token prints it)"
API_WORDS = {
    "refused": ("dashboard", "the dashboard at {at} refuses connections", TITLES_ONLY),
    "silent": ("dashboard", "the dashboard at {at} does not answer ({problem})", TITLES_ONLY),
    "error": ("dashboard", "the dashboard at {at} fails: {problem}", ""),
    "needs_token": ("token", "the dashboard at {at} needs a token", TOKEN_MEND),
    "wrong_token": ("token", "the dashboard at {at} refuses the token that was found", TOKEN_MEND),
    "strange": ("version", "Ray {version} answers in a shape that hangtop does not know", UPGRADE),
}
"""Answer → part, text, mend."""


def api_refusal(cluster: RayCluster) -> str | None:
    """What the dashboard answers instead of data; `None` where it gives some, and where there is none."""
    api = cluster.api
    if api.answer not in API_WORDS:
        return None
    return API_WORDS[api.answer][1].format(at=api.address, problem=api.problem, version=api.version or "of this version")


def _sick_api(cluster: RayCluster) -> Iterator[RayTrouble]:
    api, known = cluster.api, _broken(cluster)
    version = api.version or "of this version"
    if (said := api_refusal(cluster)) is not None:
        part, _, mend = API_WORDS[api.answer]
        mend = BY_TABLES if _told_by_tables(cluster) else mend
        if part != "dashboard":
            yield RayTrouble(part, said, mend)
        elif "dashboard" not in known:
            yield RayTrouble(part, f"{said} since {clock(api.since)}", mend)
    elif api.answer == "ok" and api.gcs_ok is False and "gcs_server" not in known:
        mend = f"tail {cluster.folder}/logs/gcs_server.out" if cluster.folder else ""
        yield RayTrouble("gcs_server", f"the GCS does not answer since {clock(api.gcs_since)}", mend)
    elif api.gcs_ok is not False and api.late and "dashboard_part" not in known:
        yield RayTrouble("dashboard_part", f"the dashboard does not answer {', '.join(api.late)}")
    if api.strange and api.answer == "ok":
        paths = ", ".join(path.partition("?")[0] for path in api.strange)
        text = f"Ray {version} answers {paths} in a shape that hangtop does not know"
        yield RayTrouble("version", text, UPGRADE if api.tables_at is None else BY_TABLES)
    if api.tables_problem and api.tables_at is None:
        yield RayTrouble("version", f"Ray's own Python could not read the GCS in its place: {api.tables_problem}")


def _broken(cluster: RayCluster) -> set[str]:
    """Kinds of daemons here of which one is gone, stopped or a zombie, and no other took its place."""
    parts = cluster.parts
    sick = (part for part in parts if part.gone_at is not None or part.state in "TtZ")
    return {part.kind for part in sick if not any(_serves(other, part) for other in parts)} | set(cluster.missing)


def _told_by_tables(cluster: RayCluster) -> bool:
    """Whether Ray's own Python tells what the dashboard does not, and still can."""
    return cluster.api.tables_at is not None and "gcs_server" not in _broken(cluster)


def _sick_nodes(cluster: RayCluster, now: float) -> Iterator[RayTrouble]:
    """Nodes that are dead, or that Ray calls alive and that have not reported for too long, while the dashboard answers."""
    ours = [part for part in cluster.parts if part.kind in ("raylet", "agent")]
    explained = {part.node for part in ours if part.gone_at is not None or part.state in "TtZ"}
    nodes = [node for node in cluster.nodes if node.id not in explained]
    for node in [node for node in nodes if not node.alive and not node.death.lower().startswith(WANTED)][:MOST_NODES]:
        yield RayTrouble("node", f"node {node.host} is dead for Ray{': ' + node.death if node.death else ''}", dead=True)
    if cluster.api.answer == "ok" and cluster.api.gcs_ok is not False:
        moved = ((node, node.moved_at) for node in nodes if node.alive and node.moved_at is not None)
        silent = [(node, at) for node, at in moved if now - at > STALE_AFTER_S]
        for node, at in silent[:MOST_NODES]:
            why = "its raylet or agent hangs, or it is cut off"
            yield RayTrouble("node", f"node {node.host} does not report since {clock(at)}: {why}")


def _leftovers(cluster: RayCluster) -> Iterator[RayTrouble]:
    if cluster.orphans:
        pids = " ".join(map(str, cluster.orphans[:6])) + (" …" if len(cluster.orphans) > 6 else "")
        text = f"{some(len(cluster.orphans), 'worker')} without a raylet live on (pid {pids}): they hold memory and GPUs"
        yield RayTrouble("orphans", text, "hangtop clean ends them")
    if risen := [actor for actor in cluster.actors if actor.pid_alive and actor.pid not in cluster.orphans]:
        pids = " ".join(str(actor.pid) for actor in risen[:6])
        yield RayTrouble("orphans", f"dead for Ray, yet alive as a process: {some(len(risen), 'actor')} (pid {pids})")


@memoized
def outlier_actors(cluster: RayCluster) -> tuple[OutlierActor, ...]:
    """Actors that stand out: by their own state first, then by difference from their peers of the same class and job."""
    odd = [OutlierActor(actor, why) for actor in cluster.actors if (why := _own_oddness(actor)) is not None]
    living = (actor for actor in cluster.actors if actor.state in LIVE)
    peers = grouped(living, lambda actor: (actor.job, actor.cls))
    return (*odd, *(actor for group in peers.values() for actor in _apart(group)))


def _own_oddness(actor: RayActor) -> str | None:
    match actor.state:
        case "gone":
            return "Ray calls it alive, but its process is gone"
        case "zombie":
            return "Ray calls it alive, but its process is a zombie"
        case "stopped":
            return "its process is stopped"
        case "blocked":
            return "its process is blocked in the kernel"
        case "dead" if actor.pid_alive:
            return "dead for Ray, yet its process lives"
        case "dead" if actor.death is not None and not actor.death.intended:
            return f"dead: {actor.death.cause}{', ' + actor.death.detail if actor.death.detail else ''}"
        case "restarting":
            return f"restarting, {some(actor.restarts, 'restart')} so far"
    return None


def _apart(group: Sequence[RayActor]) -> list[OutlierActor]:
    """The few actors that do something else than most. With fewer than `FEWEST_PEERS` actors nobody can say which is the odd
    one."""
    if len(group) < FEWEST_PEERS:
        return []
    doing = Counter(_doing(actor) for actor in group)
    (common, most), *others = doing.most_common()
    few = sum(count for _, count in others)
    if not others or few > max(1, len(group) // 4):
        return []
    return [
        OutlierActor(actor, f"{_doing(actor)} while {most} others are {common}", sure=False, since=_since(actor))
        for actor in group
        if _doing(actor) != common
    ]


def _doing(actor: RayActor) -> str:
    if actor.state == "constructing":
        return "constructing"
    return f"in {actor.method}" if actor.method else "at work" if actor.state == "running" else "between calls"


def _since(actor: RayActor) -> str:
    return "" if actor.since is None else f" since {'before ' if actor.since_seen else ''}{clock(actor.since)}"
