"""Everything known of one actor of Ray: what it does, asks for and holds, why it died, and the last lines that it printed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hangtop import text
from hangtop.diagnosis.ray import odd_actors, resources, stale_since, wishes
from hangtop.diagnosis.ray_methods import in_words
from hangtop.panes.keys import Key
from hangtop.panes.line import BLANK, Row, align, cut
from hangtop.panes.ray_rows import STATE_WORDS, key_of
from hangtop.panes.ray_sessions import clusters_shown
from hangtop.panes.view import View
from hangtop.records.ask import PageAsk
from hangtop.records.log import BESIDE, LogLine
from hangtop.records.ray import RayActor, RayCluster
from hangtop.screens.help import section
from hangtop.screens.page import PAGE_KEYS, PageScreen
from hangtop.screens.wrap import wrapped

LABEL = 14
LAST_LINES = 20
ASK_AGAIN_S = 2.0
ASKS = 1 << 30
"""Numbers of our asks begin here, so that no other's answer is taken for ours."""
FOR_RAY = re.compile(r":(?:job_id|actor_name|task_name):")
"""Begins a line that a worker prints for Ray's log monitor (python/ray/_private/worker.py)."""


class ActorScreen(PageScreen):
    """An actor stays on its page when it is gone: with the last that was known of it."""

    keys = (Key("", "Enter", "", "its rank", ""), *PAGE_KEYS)

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self._last: tuple[RayCluster, RayActor] | None = None
        self._asked_at = float("-inf")
        self._ask = ASKS
        self._lines: tuple[LogLine, ...] = ()

    @property
    def actor(self) -> RayActor | None:
        """As it was last known."""
        return self._last[1] if self._last is not None else None

    def head(self, view: View) -> Row:
        return ((view.title, "ink bold"), ("   ", ""), (f"actor {self._last[1].cls if self._last else self._key}", "ink"))

    def show(self, view: View) -> None:
        self._last = found(view, self._key) or self._last
        if self._last is not None:
            self._ask_for_lines(view, self._last[1])
        super().show(view)

    def rows(self, view: View, width: int) -> list[Row]:
        if self._last is None:
            return [(("This actor is not known any more.", "muted"),)]
        return page_rows(*self._last, self._lines, view, width)

    def open(self) -> None:
        if self._last is not None and self._last[1].rank is not None:
            self.hangtop.show_rank(self._last[1].rank)

    def _ask_for_lines(self, view: View, actor: RayActor) -> None:
        """The end of its output file, again every few seconds while the page is open."""
        page = view.state.page
        if page is not None and page.ask == self._ask and page.problem is None:
            self._lines = page.lines
        file = file_of(view, actor)
        if file is None or view.now - self._asked_at < ASK_AGAIN_S or self.hangtop.watch_screen.log_pane.book.asks:
            return
        self._asked_at = view.now
        self._ask += 1
        self.hangtop.feed.ask(PageAsk(self._ask, file, 1 << 60, count=LAST_LINES))


def found(view: View, key: str) -> tuple[RayCluster, RayActor] | None:
    """The actor of this key, and its cluster."""
    there = ((cluster, actor) for cluster in clusters_shown(view) for actor in cluster.actors)
    return next(((cluster, actor) for cluster, actor in there if key_of(actor) == key), None)


def file_of(view: View, actor: RayActor) -> int | None:
    """Number of its output file, where that is read; of its two the one that was written to last."""
    if view.state.log is None or actor.log is None:
        return None
    stem = actor.log.rpartition(".")[0]
    own = [(file.modified_at or 0.0, n) for n, file in enumerate(view.state.log.beside) if file.path.rpartition(".")[0] == stem]
    return BESIDE + max(own)[1] if own else None


def page_rows(cluster: RayCluster, actor: RayActor, lines: Iterable[LogLine], view: View, width: int) -> list[Row]:
    odd = next((one for one in odd_actors(cluster) if one.actor == actor and one.sure), None)
    title = f"{actor.cls}{f' rank {actor.rank}' if actor.rank is not None else ''}{f'  {actor.name}' if actor.name else ''}"
    rows: list[Row] = [((title, "bad bold" if odd else "ink bold"), (f"  {odd.why}" if odd else "", "bad")), BLANK]
    since = stale_since(cluster, view.now)
    if since is not None:
        rows += [((f"What Ray tells is as of {text.clock(since)}.", "warn"),), BLANK]
    rows += [cut((align(label, LABEL, "muted"), (value, "ink")), width) for label, value in facts(cluster, actor, view)]
    if actor.death is not None:
        rows += [BLANK, section("Death", width), *wrapped(_of_death(actor), width)]
        rows += [cut((("    ", ""), (line, "muted")), width) for line in actor.death.traceback]
    said = [line for line in lines if not FOR_RAY.match(line.text)]
    if said:
        rows += [BLANK, section(f"Last lines  {actor.log or ''}", width)]
        rows += [cut(((line.prefix, "muted"), (line.text, "ink")), width) for line in said]
    return rows


def _of_death(actor: RayActor) -> str:
    death = actor.death
    assert death is not None
    return f"{death.cause}{': ' + death.detail if death.detail else ''}{' (it was meant to end)' if death.intended else ''}"


def facts(cluster: RayCluster, actor: RayActor, view: View) -> Iterable[tuple[str, str]]:
    """Label and value; what does not apply is left out."""
    since = "" if actor.since is None else f", since {'before ' if actor.since_seen else ''}{text.clock(actor.since)}"
    yield "state", f"{STATE_WORDS[actor.state]}{since}"
    if actor.method:
        yield "runs", in_words(actor.cls, actor.method)
    yield "id", actor.id or "not told: the dashboard does not answer, or this is a task"
    if actor.job:
        yield "job", actor.job
    yield "rank", "none" if actor.rank is None else f"{actor.rank}{f' of {actor.world}' if actor.world else ''}"
    yield "asks for", resources(actor.resources) or "a worker process"
    if actor.state == "resources":
        lack = next((wish.lack for wish in wishes(cluster) if wish.asks == resources(actor.resources)), "")
        yield "lacks", lack or "nothing that is not there: it waits for its turn"
    yield "restarts", str(actor.restarts)
    yield "node", " ".join(filter(None, (actor.host, actor.node and actor.node[:12]))) or "none yet"
    if actor.gpus:
        yield "GPUs", text.rank_ranges(actor.gpus)
    yield "pid", _pid(actor)
    yield "CPU", text.UNKNOWN if actor.cpu_percent is None else f"{actor.cpu_percent:.0f} %"
    yield "memory", text.size(actor.rss_bytes)
    if actor.gpu_memory_bytes:
        yield "GPU memory", text.size(actor.gpu_memory_bytes)
    if actor.pending_tasks is not None:
        yield "waits for", f"{text.some(actor.pending_tasks, 'call')} that it made"
    if actor.log:
        yield "output", actor.log
    elif actor.node and actor.state != "dead":
        yield "output", "on its node: ray logs actor --id " + (actor.id or "ID")


def _pid(actor: RayActor) -> str:
    if actor.pid is None and actor.ray_pid is None:
        return "none yet" if actor.state != "dead" else "none"
    inside = f", {actor.ray_pid} for Ray" if actor.ray_pid not in (None, actor.pid) else ""
    state = f", state {actor.process_state}" if actor.process_state else ""
    return f"{actor.pid if actor.pid is not None else 'not on this machine'}{inside}{state}"
