"""The lines around the table of the Ray pane: head, faults, what waits, why the first dead actor died. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.common import text
from hangtop.diagnosis.facts.ray_health import RayTrouble, stale_since, troubles
from hangtop.diagnosis.facts.ray_pending import PendingResource, pending_resources
from hangtop.records.ray.cluster import RayCluster
from hangtop.render.ray.ray_rows import WAITING, ActorRow, meant_to_end
from hangtop.render.source_status import old_row
from hangtop.render.spans import Row, cut, dotted

LATE_S, STUCK_S = 10.0, 30.0


def trouble_rows(cluster: RayCluster, now: float, width: int) -> list[Row]:
    """The faults of Ray, each with its remedy."""
    return [row for trouble in troubles(cluster, now) for row in _trouble_lines(trouble, width)]


def _trouble_lines(trouble: RayTrouble, width: int) -> list[Row]:
    role = "muted" if trouble.part == "session" else "warn" if trouble.part in ("token", "version", "dashboard_part") else "bad"
    said: Row = (("▸ ", role), (trouble.text, role))
    mend: Row = ((f"  {trouble.mend}", "ink"),) if trouble.mend else ()
    return [cut(said, width), *([cut(mend, width)] if mend else [])]


def wish_rows(cluster: RayCluster, width: int) -> list[Row]:
    """Waiting placement groups and tasks; waiting actors are in the table."""
    return [
        cut(_wish_line(wish), width) for wish in pending_resources(cluster) if wish.who.startswith(("placement group", "task"))
    ]


def _wish_line(wish: PendingResource) -> Row:
    role = "bad" if wish.impossible else "warn"
    return (("▸ ", role), (f"{wish.who} waits for {wish.asks}", role), (f": {wish.lack}" if wish.lack else "", role))


def death_rows(rows: Sequence[ActorRow], width: int) -> list[Row]:
    """The traceback of the first actor that died of an error."""
    for row in rows:
        death = row.first.death
        if row.role == "bad" and death is not None and death.traceback:
            return [cut(((f"  {line}", "muted"),), width) for line in death.traceback]
    return []


def summary(cluster: RayCluster, rows: Sequence[ActorRow], now: float) -> Row:
    """`11 alive · 0 pending · 1 node`; dead ones before it, and the age of old values."""
    actors = [actor for row in rows for actor in row.actors]
    pending = sum(actor.state in WAITING for actor in actors)
    dead = sum(not actor.has_process for actor in actors)
    alive = len(actors) - pending - dead
    ended = sum(meant_to_end(actor) for actor in cluster.actors)
    nodes = sum(node.alive for node in cluster.nodes)
    hidden = cluster.actors_total - len(cluster.actors)
    parts: list[Row] = [
        _age(cluster, now),
        ((f"{dead} dead", "bad bold"),) if dead else (),
        ((f"{alive} alive", "muted"),) if actors or cluster.actors_total == 0 else (),
        ((f"{pending} pending", "warn" if pending else "muted"),),
        ((f"{ended} ended", "muted"),) if ended else (),
        ((f"{hidden:,} more", "muted"),) if hidden else (),
        ((text.some(nodes, "node"), "muted"), (" (a)" if nodes > 1 else "", "muted")) if nodes else (),
    ]
    return dotted(part for part in parts if part)


def _way(cluster: RayCluster, now: float) -> Row:
    """The source of the values, if it is not the dashboard."""
    api = cluster.api
    if api.tables_at is not None:
        return ((f"from the GCS {text.age(now - api.tables_at)} ago", "muted"),)
    return (("processes only", "muted"),) if api.answer == "none" else ()


def _age(cluster: RayCluster, now: float) -> Row:
    """The age of old values, or their source."""
    if cluster.ended_at is not None:
        return (("ended", "muted"),)
    since = stale_since(cluster, now)
    if since is None:
        return _way(cluster, now)
    return old_row(now - since, LATE_S, STUCK_S)
