"""The page of one Ray actor: state, method, resources, cause of death, and the end of its output."""

from __future__ import annotations

from collections.abc import Iterable

from hangtop.common import text
from hangtop.diagnosis.facts.ray_health import outlier_actors, stale_since
from hangtop.diagnosis.facts.ray_pending import pending_resources, resources
from hangtop.diagnosis.status.ray_methods import in_words
from hangtop.monitor.questions import end_of, late, unanswered
from hangtop.records.ask import ActorLogAsk
from hangtop.records.ray.cluster import RayActor, RayCluster
from hangtop.records.ray.remote_workers import ActorLogReading, WorkerOutput
from hangtop.render.ray.ray_lines import clusters_shown
from hangtop.render.ray.ray_rows import key_of, state_word
from hangtop.render.spans import BLANK, Row, cut
from hangtop.render.view import View
from hangtop.render.wrap import fact_row, section, wrapped
from hangtop.translations import say
from hangtop.tui.keys import PAGE_KEYS, Key
from hangtop.tui.pages.page import PageScreen
from hangtop.tui.selection import Selection, select_actor

LAST_LINES = 20
ASK_AGAIN_S = 4.0


class ActorScreen(PageScreen):
    """An actor that is gone stays on its page, with what was last known."""

    keys = (Key("enter", "Enter", word="its rank", name="detail"), *PAGE_KEYS)

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self._last: tuple[RayCluster, RayActor] | None = None
        self._asked_at = float("-inf")
        self._ask: ActorLogAsk | None = None
        self._output: ActorLogReading | None = None

    @property
    def selection(self) -> Selection | None:
        return select_actor(self._last[1]) if self._last is not None else None

    def head(self, view: View) -> Row:
        return ((f"actor {self._last[1].cls if self._last else self._key}", "ink"),)

    def show(self, view: View) -> None:
        self._last = found(view, self._key) or self._last
        if self._last is not None:
            self._ask_for_lines(view, *self._last)
        super().show(view)

    def rows(self, view: View, width: int) -> list[Row]:
        if self._last is None:
            return [((say("This actor is not known any more."), "muted"),)]
        return page_rows(*self._last, self._output, view, width)

    def open(self) -> None:
        if self._last is not None and self._last[1].rank is not None:
            self.hangtop.show_rank(self._last[1].rank)

    def _ask_for_lines(self, view: View, cluster: RayCluster, actor: RayActor) -> None:
        """Ask for the end of its output every few seconds while the page is open, and not before the last answer has come."""
        if (ask := self._ask) is not None:
            answer = view.state.actor_log
            if answer is not None and answer.ask == ask.ask:
                self._output = answer
            else:  # what is shown is not replaced by "late"
                why = unanswered(view.state, ask) or ("" if self._output else late(view.state, ask, view.now - self._asked_at))
                self._output = ActorLogReading(ask.ask, problem=why) if why else self._output
                if end_of(view.state, ask) is None:
                    return
        if view.now - self._asked_at < ASK_AGAIN_S or self.hangtop.replay is not None or (actor.id is None and actor.log is None):
            return
        self._asked_at, self._ask = view.now, ActorLogAsk(int(view.now * 1000), cluster.session, actor.id or "", actor.log)
        self.hangtop.feed.ask(self._ask)


def found(view: View, key: str) -> tuple[RayCluster, RayActor] | None:
    """The actor of this key, and its cluster."""
    there = ((cluster, actor) for cluster in clusters_shown(view) for actor in cluster.actors)
    return next(((cluster, actor) for cluster, actor in there if key_of(actor) == key), None)


def page_rows(cluster: RayCluster, actor: RayActor, answer: ActorLogReading | None, view: View, width: int) -> list[Row]:
    odd = next((outlier for outlier in outlier_actors(cluster) if outlier.actor == actor and outlier.sure), None)
    title = f"{actor.cls}{f' rank {actor.rank}' if actor.rank is not None else ''}{f'  {actor.name}' if actor.name else ''}"
    rows: list[Row] = [((title, "bad bold" if odd else "ink bold"), (f"  {odd.why}" if odd else "", "bad")), BLANK]
    since = stale_since(cluster, view.now)
    if since is not None:
        rows += [((say(f"Values from Ray are of {text.clock(since)}."), "warn"),), BLANK]
    rows += [fact_row(label, value, width) for label, value in facts(cluster, actor)]
    if (death := actor.death) is not None:
        why = f"{death.cause}{': ' + death.detail if death.detail else ''}{' (intended)' if death.intended else ''}"
        rows += [BLANK, section("Death", width), *wrapped(why, width)]
        rows += [cut((("    ", ""), (line, "muted")), width) for line in death.traceback]
    return [*rows, *_output_rows(answer, width)]


def _output_rows(answer: ActorLogReading | None, width: int) -> list[Row]:
    """The last lines of each output file, and their age."""
    if answer is None:
        return []
    if answer.problem:
        return [BLANK, section(say("Last lines"), width), ((answer.problem, "muted"),)]
    return [row for output in answer.outputs for row in _of_output(output, width)]


def _of_output(output: WorkerOutput, width: int) -> list[Row]:
    age = say("" if output.age_s is None else f"  written {text.age(output.age_s)} ago")
    rows: list[Row] = [BLANK, section(say(f"Last lines{age}"), width), cut(((output.path, "muted"),), width)]
    if output.problem:
        return [*rows, ((output.problem, "warn"),)]
    return [*rows, *(cut(((line, "ink"),), width) for line in output.lines[-LAST_LINES:])]


def facts(cluster: RayCluster, actor: RayActor) -> Iterable[tuple[str, str]]:
    """(label, value) of all that applies."""
    since = say("" if actor.since is None else f", since {'before ' if actor.since_seen else ''}{text.clock(actor.since)}")
    yield say("state"), f"{say(state_word(actor))}{since}"
    if actor.method:
        yield "runs", say(in_words(actor.cls, actor.method))
    yield "id", actor.id or say("unknown: the dashboard does not answer, or this is a task")
    if actor.job:
        yield say("job"), actor.job
    yield "rank", say("none") if actor.rank is None else f"{actor.rank}{f' of {actor.world}' if actor.world else ''}"
    yield say("asks for"), resources(actor.resources) or say("a worker process")
    if actor.state == "resources":
        lack = next((wish.lack for wish in pending_resources(cluster) if wish.asks == resources(actor.resources)), "")
        yield "lacks", lack or say("nothing: its worker process is being started, or the environment of that made")
    yield "restarts", str(actor.restarts)
    yield "node", " ".join(filter(None, (actor.host, actor.node and actor.node[:12]))) or say("none yet")
    if actor.gpus:
        yield "GPUs", text.rank_ranges(actor.gpus)
    yield "pid", _pid(actor)
    yield "CPU", text.UNKNOWN if actor.cpu_percent is None else f"{actor.cpu_percent:.0f} %"
    yield "memory", text.size(actor.rss_bytes)
    if actor.gpu_memory_bytes:
        yield say("GPU memory"), text.size(actor.gpu_memory_bytes)
    if actor.pending_tasks is not None:
        yield say("waits for"), say(f"{text.some(actor.pending_tasks, 'call')} of its own")


def _pid(actor: RayActor) -> str:
    if actor.pid is None and actor.ray_pid is None:
        return say("none yet" if actor.state != "dead" else "none")
    inside = say(f", {actor.ray_pid} for Ray" if actor.ray_pid not in (None, actor.pid) else "")
    state = say(f", state {actor.process_state}" if actor.process_state else "")
    return f"{actor.pid if actor.pid is not None else 'not on this machine'}{inside}{state}"
