"""Which Ray sessions the pane shows: those of the run. Of others on the machine only their number is told. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop import text
from hangtop.diagnosis.ray import clusters_of_run, uses_ray
from hangtop.panes.rows import Row, cut, dotted
from hangtop.panes.sources import source_line
from hangtop.panes.view import View
from hangtop.records.ray import RayCluster


def clusters_shown(view: View) -> tuple[RayCluster, ...]:
    """The clusters of the run, or the one whose address the person gave. One that ended is shown while there is no other."""
    if view.spec.ray not in ("auto", "off"):
        return tuple(cluster for reading in view.state.ray.values() for cluster in reading.clusters)
    return clusters_of_run(view.state) or clusters_of_run(view.state, ended=True)


def nothing(view: View) -> Row:
    """Why there is no cluster to show. Whose those are that were found is known as soon as the log is read."""
    others = _others(view, ())
    if not others:
        told = view.state.health.get("ray")
        answered = told is not None and told.read_at is not None and not told.problem and not told.absent
        return (("none: no Ray session on this machine", "muted"),) if answered else source_line(view, "ray")
    if not view.reading_yet:
        return (("reading …", "muted"),)
    there = f"{text.some(others, 'Ray session')} on this machine"
    if uses_ray(view.state):
        return ((f"{there}, none has a process of this run: name its own with --ray HOST:PORT", "warn"),)
    return ((f"none: this run does not use Ray ({there}, not this run's)", "muted"),)


def other_lines(view: View, shown: Sequence[RayCluster], width: int) -> list[Row]:
    """A line for each cluster of the run besides the first, and one for all those that are not its own."""
    rows = [_beside(cluster, width) for cluster in shown[1:]]
    if others := _others(view, shown):
        noun = "session" if others == 1 else "sessions"
        rows.append(cut(((f"{others} other Ray {noun} on this machine, not this run's", "muted"),), width))
    return rows


def _others(view: View, shown: Sequence[RayCluster]) -> int:
    """How many sessions live on this machine besides."""
    sessions = {cluster.session for cluster in shown}
    known = (cluster for reading in view.state.ray.values() for cluster in reading.clusters)
    return sum(cluster.ended_at is None and cluster.session not in sessions for cluster in known)


def _beside(cluster: RayCluster, width: int) -> Row:
    where = cluster.session or cluster.api.address or "another cluster"
    state = "ended" if cluster.ended_at is not None else text.some(len(cluster.actors), "actor")
    parts: list[Row] = [((where, "muted"),), ((f"user {cluster.user}", "muted"),) if cluster.user else (), ((state, "muted"),)]
    return cut((("also of this run: ", "muted"), *dotted(part for part in parts if part)), width)
