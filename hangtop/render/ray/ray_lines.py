"""What the Ray pane says around its table: its head, what is sick, what waits, why the first of the dead died. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.common import text
from hangtop.diagnosis.facts.ray_health import RayTrouble, stale_since, troubles
from hangtop.diagnosis.facts.ray_pending import PendingResource, pending_resources
from hangtop.records.ray import RayCluster
from hangtop.render.ray.ray_rows import WAITING, ActorRow, meant_to_end
from hangtop.render.source_status import old_row
from hangtop.render.spans import Row, cut, dotted

LATE_S, STUCK_S = 10.0, 30.0


def trouble_rows(cluster: RayCluster, now: float, width: int) -> list[Row]:
    """What is sick, a line each, and the mend behind it where there is room."""
    return [row for trouble in troubles(cluster, now) for row in _trouble_lines(trouble, width)]


def _trouble_lines(trouble: RayTrouble, width: int) -> list[Row]:
    role = "muted" if trouble.part == "session" else "warn" if trouble.part in ("token", "version", "dashboard_part") else "bad"
    said: Row = (("▸ ", role), (trouble.text, role))
    mend: Row = ((f"  {trouble.mend}", "ink"),) if trouble.mend else ()
    return [cut(said, width), *([cut(mend, width)] if mend else [])]


def wish_rows(cluster: RayCluster, width: int) -> list[Row]:
    """Placement groups and tasks that wait; actors that wait have a row of their own in the table."""
    return [
        cut(_wish_line(wish), width) for wish in pending_resources(cluster) if wish.who.startswith(("placement group", "task"))
    ]


def _wish_line(wish: PendingResource) -> Row:
    role = "bad" if wish.impossible else "warn"
    return (("▸ ", role), (f"{wish.who} waits for {wish.asks}", role), (f": {wish.lack}" if wish.lack else "", role))


def death_rows(rows: Sequence[ActorRow], width: int) -> list[Row]:
    """The lines of the traceback of the first actor that died of an error."""
    for row in rows:
        death = row.first.death
        if row.role == "bad" and death is not None and death.traceback:
            return [cut(((f"  {line}", "muted"),), width) for line in death.traceback]
    return []


def summary(cluster: RayCluster, rows: Sequence[ActorRow], now: float) -> Row:
    """`11 alive · 0 pending · 1 node`, what is dead before it, how old it is where it is old."""
    actors = [actor for row in rows for actor in row.actors]
    pending = sum(actor.state in WAITING for actor in actors)
    dead = sum(actor.state in ("dead", "gone", "zombie") for actor in actors)
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
    """Where it is from, when that is not the dashboard."""
    api = cluster.api
    if api.tables_at is not None:
        return ((f"from the GCS {text.age(now - api.tables_at)} ago", "muted"),)
    return (("processes only", "muted"),) if api.answer == "none" else ()


def _age(cluster: RayCluster, now: float) -> Row:
    """Old values say how old they are; where processes alone are known that is said too."""
    if cluster.ended_at is not None:
        return (("ended", "muted"),)
    since = stale_since(cluster, now)
    if since is None:
        return _way(cluster, now)
    return old_row(now - since, LATE_S, STUCK_S)
