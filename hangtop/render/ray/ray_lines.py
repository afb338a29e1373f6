"""The lines around the tables of Ray: head, faults, what waits, why the first dead actor died, which sessions there are. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.common import text
from hangtop.diagnosis.facts.ray_health import stale_since, troubles
from hangtop.diagnosis.facts.ray_pending import pending_resources
from hangtop.diagnosis.members.ray_ownership import owned, said_of, started_at, strangers
from hangtop.records.ray.cluster import RayCluster
from hangtop.render.columns import Column, fitting, snugged, table_row, title_row
from hangtop.render.ray.ray_rows import WAITING, ActorRow, meant_to_end
from hangtop.render.source_status import old_row, source_line
from hangtop.render.spans import Row, cut, dotted
from hangtop.render.view import View
from hangtop.translations import say

LATE_S, STUCK_S = 10.0, 30.0


def trouble_rows(cluster: RayCluster, now: float, width: int) -> list[Row]:
    """The faults of Ray, each with its remedy."""
    rows: list[Row] = []
    for trouble in troubles(cluster, now):
        role = (
            "muted" if trouble.part == "session" else "warn" if trouble.part in ("token", "version", "dashboard_part") else "bad"
        )
        rows.append((("▸ ", role), (trouble.text, role)))
        if trouble.mend:
            rows.append(((f"  {trouble.mend}", "ink"),))
    return [cut(row, width) for row in rows]


def wish_rows(cluster: RayCluster, width: int) -> list[Row]:
    """Waiting placement groups and tasks; waiting actors are in the table."""
    rows: list[Row] = []
    for wish in pending_resources(cluster):
        if wish.who.startswith(("placement group", "task")):
            role = "bad" if wish.impossible else "warn"
            lack = f": {wish.lack}" if wish.lack else ""
            rows.append(cut((("▸ ", role), (say(f"{wish.who} waits for {wish.asks}"), role), (lack, role)), width))
    return rows


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
        ((say(f"{dead} dead"), "bad bold"),) if dead else (),
        ((say(f"{alive} alive"), "muted"),) if actors or cluster.actors_total == 0 else (),
        ((say(f"{pending} pending"), "warn" if pending else "muted"),),
        ((say(f"{ended} ended"), "muted"),) if ended else (),
        ((say(f"{hidden:,} more"), "muted"),) if hidden else (),
        ((say(text.some(nodes, "node")), "muted"), (" (a)" if nodes > 1 else "", "muted")) if nodes else (),
    ]
    return dotted(part for part in parts if part)


def _age(cluster: RayCluster, now: float) -> Row:
    """The age of old values, or their source, if it is not the dashboard."""
    api = cluster.api
    if cluster.ended_at is not None:
        return ((say("ended"), "muted"),)
    if (since := stale_since(cluster, now)) is not None:
        return old_row(now - since, LATE_S, STUCK_S)
    if api.tables_at is not None:
        return ((say(f"from the GCS {text.age(now - api.tables_at)} ago"), "muted"),)
    return ((say("processes only"), "muted"),) if api.answer == "none" else ()


def clusters_shown(view: View) -> tuple[RayCluster, ...]:
    """The clusters of the run; an ended one only if there is no other."""
    own = tuple(session.cluster for session in owned(view.state))
    return tuple(cluster for cluster in own if cluster.ended_at is None) or own


def nothing(view: View) -> Row:
    """Why there is no cluster to show. Whose a session is, is known once the log is read."""
    others = strangers(view.state)
    if not others:
        told = view.state.health.get("ray")
        answered = told is not None and told.read_at is not None and not told.problem and not told.absent
        return ((say("none: no Ray session on this machine"), "muted"),) if answered else source_line(view, "ray")
    if not view.reading_yet:
        return ((say("reading …"), "muted"),)
    return ((say(said_of(others, view.now)), "muted"),)


def session_table(known: Sequence[RayCluster], now: float, width: int) -> tuple[Row, list[Row]]:
    """(column titles, a row for each session) to choose from."""
    columns = fitting(snugged(_columns(now), known), width)
    return title_row(columns, width), [table_row(columns, cluster, width) for cluster in known]


def _columns(now: float) -> list[Column[RayCluster]]:
    def started(cluster: RayCluster) -> Row:
        at = started_at(cluster)
        return ((text.UNKNOWN, "stale"),) if at is None else ((text.moment(at, now), "muted"),)

    return [
        Column("session", 48, 0, lambda cluster: ((cluster.session, "ink"),), snug=True),
        Column("user", 10, 5, lambda cluster: ((cluster.user or str(cluster.uid), "muted"),), snug=True),
        Column("started", 16, 4, started, snug=True),
        Column(
            "nodes", 5, 2, lambda cluster: ((str(len(cluster.nodes)) if cluster.nodes else text.UNKNOWN, "muted"),), right=True
        ),
        Column("state", 6, 1, lambda cluster: ((say("ended" if cluster.ended_at is not None else "alive"), "muted"),)),
        Column("driver", 0, 3, lambda cluster: ((drivers(cluster), "muted"),), least=16),
    ]


def drivers(cluster: RayCluster) -> str:
    """The commands of its jobs, as far as the dashboard tells."""
    if cluster.drivers:
        more = say(f" and {len(cluster.drivers) - 1} more" if len(cluster.drivers) > 1 else "")
        return f"{text.first_line(cluster.drivers[0].command)}{more}"
    return "none" if cluster.api.answer == "ok" else text.UNKNOWN


def other_lines(view: View, shown: Sequence[RayCluster], width: int) -> list[Row]:
    """A line for each further cluster of the run, and one that counts all others."""
    rows: list[Row] = []
    for cluster in shown[1:]:
        where = cluster.session or cluster.api.address or say("another cluster")
        user: Row = ((say(f"user {cluster.user}"), "muted"),) if cluster.user else ()
        state = "ended" if cluster.ended_at is not None else text.some(len(cluster.actors), "actor")
        said = dotted(part for part in (((where, "muted"),), user, ((say(state), "muted"),)) if part)
        rows.append(cut(((say("also of this run: "), "muted"), *said), width))
    if others := strangers(view.state):
        rows.append(
            cut(((say(f"{text.some(len(others), 'other Ray session')} on this machine, not this run's"), "muted"),), width)
        )
    return rows
