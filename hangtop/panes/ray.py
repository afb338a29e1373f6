"""Pane 5: Ray's actors, and what is sick in Ray itself. Enlarged: every actor a row of its own, with pid, GPU, CPU and memory."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop import text
from hangtop.diagnosis.ray import clusters_of_run, troubles
from hangtop.panes.arrange import Want
from hangtop.panes.line import Row, cut, dotted
from hangtop.panes.pane import Pane
from hangtop.panes.ranks import one_line
from hangtop.panes.ray_rows import actor_rows, death_rows, summary, table_rows, trouble_rows, wish_rows
from hangtop.panes.sources import source_line
from hangtop.panes.view import View
from hangtop.panes.words import CALM_WORDS
from hangtop.records.ray import RayCluster

MOST_ROWS = 16


class RayPane(Pane):
    """The cluster of the run; other clusters of this machine have a line each."""

    id_, key, title = "ray", "5", "Ray actors"

    def want(self, view: View, width: int) -> Want:
        shown = _clusters(view)
        if not shown:
            return Want(1)
        above, table, below = _lines(view, shown, width)
        return Want(1 + len(above) + min(len(table), MOST_ROWS + 1) + len(below))

    def body(self, view: View, width: int, height: int) -> list[Row]:
        shown = _clusters(view)
        if not shown:
            return one_line(self, source_line(view, "ray"), width)
        full = self.hangtop.enlarged == self.id_
        rows = actor_rows(shown[0], view.now, trouble=_in_trouble(view))
        above, table, below = _lines(view, shown, width, full=full)
        room = max(2, height - 1 - len(above) - len(below))
        if len(table) > room:
            table = [*table[: room - 1], ((f"and {len(table) - room + 1} rows more: 5 enlarges", "stale"),)]
        return [self.head(summary(shown[0], rows, view.now), width), *above, *table, *below]

    def alarm(self, view: View) -> tuple[str, str] | None:
        for cluster in _clusters(view)[:1]:
            odd = [row for row in actor_rows(cluster, view.now, trouble=_in_trouble(view)) if row.role]
            if odd:
                return f"{sum(len(row.actors) for row in odd)} odd", odd[0].role
            sick = [one for one in troubles(cluster, view.now) if one.part != "session"]
            if sick:
                return "sick", "warn"
        return None


def _in_trouble(view: View) -> bool:
    return view.verdict is not None and view.verdict.word not in CALM_WORDS


def _clusters(view: View) -> tuple[RayCluster, ...]:
    """All clusters, those of the run first, then the living."""
    ours = clusters_of_run(view.state)
    named = {cluster.session for cluster in ours}
    others = [c for reading in view.state.ray.values() for c in reading.clusters if c.session not in named]
    return (*ours, *sorted(others, key=lambda c: c.ended_at is not None))


def _lines(view: View, shown: Sequence[RayCluster], width: int, *, full: bool = False) -> tuple[list[Row], list[Row], list[Row]]:
    """(what is sick, the table, what stands under it)."""
    cluster = shown[0]
    rows = actor_rows(cluster, view.now, trouble=_in_trouble(view), folded=not full)
    above = [*trouble_rows(cluster, view.now, width), *wish_rows(cluster, width)]
    table = table_rows(rows, width, full=full) if rows else []
    below = [*death_rows(rows, width), *(_other_line(other, width) for other in shown[1:])]
    return above, table, below


def _other_line(cluster: RayCluster, width: int) -> Row:
    """A cluster beside the one in the table."""
    where = cluster.session or cluster.api.address or "another cluster"
    state = "ended" if cluster.ended_at is not None else text.some(len(cluster.actors), "actor")
    parts: list[Row] = [((where, "muted"),), ((f"user {cluster.user}", "muted"),) if cluster.user else (), ((state, "muted"),)]
    return cut((("also here: ", "muted"), *dotted(parts)), width)
