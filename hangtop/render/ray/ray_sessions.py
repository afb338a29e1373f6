"""The Ray sessions of the run, and how many others there are on this machine. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.common import text
from hangtop.diagnosis.members.ray_ownership import owned, said_of, started_at, strangers
from hangtop.records.ray.cluster import RayCluster
from hangtop.render.columns import Column, fitting, snugged, table_row, title_row
from hangtop.render.source_status import source_line
from hangtop.render.spans import Row, cut, dotted
from hangtop.render.view import View


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
        return (("none: no Ray session on this machine", "muted"),) if answered else source_line(view, "ray")
    if not view.reading_yet:
        return (("reading …", "muted"),)
    return ((said_of(others, view.now), "muted"),)


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
        Column("state", 6, 1, lambda cluster: (("ended" if cluster.ended_at is not None else "alive", "muted"),)),
        Column("driver", 0, 3, lambda cluster: ((drivers(cluster), "muted"),), least=16),
    ]


def drivers(cluster: RayCluster) -> str:
    """The commands of its jobs, as far as the dashboard tells."""
    if cluster.drivers:
        more = f" and {len(cluster.drivers) - 1} more" if len(cluster.drivers) > 1 else ""
        return f"{text.first_line(cluster.drivers[0].command)}{more}"
    return "none" if cluster.api.answer == "ok" else text.UNKNOWN


def other_lines(view: View, shown: Sequence[RayCluster], width: int) -> list[Row]:
    """A line for each further cluster of the run, and one that counts all others."""
    rows = [_beside(cluster, width) for cluster in shown[1:]]
    if others := strangers(view.state):
        rows.append(cut(((f"{text.some(len(others), 'other Ray session')} on this machine, not this run's", "muted"),), width))
    return rows


def _beside(cluster: RayCluster, width: int) -> Row:
    where = cluster.session or cluster.api.address or "another cluster"
    state = "ended" if cluster.ended_at is not None else text.some(len(cluster.actors), "actor")
    parts: list[Row] = [((where, "muted"),), ((f"user {cluster.user}", "muted"),) if cluster.user else (), ((state, "muted"),)]
    return cut((("also of this run: ", "muted"), *dotted(part for part in parts if part)), width)
