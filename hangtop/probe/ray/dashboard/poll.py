"""What is asked of a dashboard, and how often: as little as tells what changed.

The server caches its answers for 2 s and agents report every 5 s (ray dashboard consts), so a node's own page is read only when
its `now` moved. Lists that cost the GCS work (`/api/v0/…`: 100 ms of CPU with 1,000 actors) are asked for seldom, or once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hangtop.probe.ray.dashboard import api_schema
from hangtop.probe.ray.dashboard.http import Answer, Dashboard
from hangtop.records.ray import ApiAnswer, Demand, RayApi

Data = TypeVar("Data")

HEALTH, ACTORS, NODES, VERSION = "/api/gcs_healthz", "/logical/actors", "/nodes?view=summary", "/api/version"
PAGE = "/nodes/<id>"
GROUPS, STATUS = "/api/v0/placement_groups?detail=1&timeout=2&limit=1000", "/api/cluster_status"
"""With `timeout=2` the server waits one second for the GCS; `timeout=1` would be none, which Ray 2.38 refuses."""
JOBS = "/api/jobs/"
ESSENTIAL, NOT_THERE = (ACTORS, NODES, GROUPS), (404, 405)
"""A version of Ray may have removed a path."""
STATE_LIMIT = 2_000
"""With more actors than this, no list of the state API is asked for."""
_RUNNING = "filter_keys=state&filter_predicates=%3D&filter_values=RUNNING"
TASKS = f"/api/v0/tasks?detail=1&timeout=2&limit={STATE_LIMIT}&{_RUNNING}"
DETAILS = f"/api/v0/actors?detail=1&timeout=2&limit={STATE_LIMIT}"
MOST_PAGES = 128
"""Node pages in one read; of more nodes the rest comes with the next one."""
SELDOM_S, WAITING_S = 10.0, 4.0
"""How often pending resources are asked for; the second while anything is pending."""
VERSION_S = 30.0
LOOK_S = 2.0
S_PER_MB = 1.0
"""An actor list of 6 MB (10,000 actors) is asked for every 6 s."""


class NodeView(Struct, frozen=True):
    """`moved_at`: when the `now` of its report last changed, by our clock."""

    summary: api_schema.Node
    moved_at: float
    detail: api_schema.Node | None = None


class ApiView(Struct, frozen=True):
    """The answers of a dashboard so far. Old parts stay; `api` says how old they are."""

    api: RayApi = RayApi()
    session: str = ""
    actors: tuple[api_schema.Actor, ...] = ()
    nodes: dict[str, NodeView] = {}
    logical: dict[str, str] = {}
    groups: tuple[api_schema.PlacementGroupRow, ...] = ()
    demand: tuple[Demand, ...] = ()
    running_since: dict[str, float] = {}
    runtime_envs: dict[str, str] = {}
    jobs: tuple[api_schema.Job, ...] = ()


class DashboardPoll:
    """One dashboard, read again and again. For one calling thread."""

    def __init__(self, dashboard: Dashboard) -> None:
        self.dashboard = dashboard
        self.view = ApiView(RayApi(dashboard.address))
        self._due: dict[str, float] = {}
        self._envs_of: frozenset[str] = frozenset()
        self._unread: set[str] = set()
        self._strange: set[str] = set()
        """Paths whose last answer had an unknown shape."""
        self._late: set[str] = set()
        self._actors_body = b""

    def read(self, now: float) -> ApiView:
        """Ask for what is due at unix time `now`. Takes at most two deadlines."""
        paths = (HEALTH, ACTORS, NODES, VERSION, GROUPS, STATUS, *(() if self._tells_drivers() else (JOBS,)))
        asked = [path for path in paths if now >= self._due.get(path, 0.0)]
        answers = dict(zip(asked, self.dashboard.get_all(asked), strict=True))
        self._read_actors(answers.get(ACTORS), now)
        moved = self._read_nodes(answers.get(NODES), now)
        self._read_rest(answers, now)
        api = self._judge(answers, now)
        if api.answer == "ok":
            self._second_round(moved, api)
        self.view = replace(self.view, api=replace(api, strange=tuple(sorted(self._strange))))
        return self.view

    def _tells_drivers(self) -> bool:
        """Whether the pages of the nodes tell the drivers, as since Ray 2.50; else the list of jobs is needed."""
        pages = (seen.detail.workers or () for seen in self.view.nodes.values() if seen.detail)
        cores = (core for workers in pages for worker in workers for core in worker.core_worker_stats)
        return not self.view.actors or any(core.worker_type == "DRIVER" for core in cores)

    def _waiting(self) -> bool:
        """Whether anything waits for resources."""
        pending = any(actor.state in ("PENDING_CREATION", "DEPENDENCIES_UNREADY", "RESTARTING") for actor in self.view.actors)
        return pending or any(group.state in ("PENDING", "RESCHEDULING") for group in self.view.groups)

    def _read_actors(self, answer: Answer | None, now: float) -> None:
        if answer is None or not answer.ok:
            return
        pause_s = max(S_PER_MB * len(answer.body) / 1e6, 20 * answer.took_s)
        self._due[ACTORS] = now + pause_s if pause_s > LOOK_S else 0.0
        if answer.body != self._actors_body:
            data = self._decoded(answer, api_schema.Actors, ACTORS)
            if data is None:
                return
            self._actors_body = answer.body
            self.view = replace(self.view, actors=tuple(data.actors.values()))
        self.view = replace(self.view, api=replace(self.view.api, actors_at=now))

    def _read_nodes(self, answer: Answer | None, now: float) -> list[str]:
        """The nodes whose report moved."""
        if answer is None or (data := self._decoded(answer, api_schema.Summary, NODES)) is None:
            return []
        nodes, moved = {}, []
        for summary in data.summary:
            known = self.view.nodes.get(summary.raylet.node_id)
            fresh = known is None or known.summary.now != summary.now
            if (fresh or summary.raylet.node_id in self._unread) and summary.raylet.state == "ALIVE":
                moved.append(summary.raylet.node_id)
            moved_at = now if known is None or fresh else known.moved_at
            nodes[summary.raylet.node_id] = NodeView(summary, moved_at, known.detail if known else None)
        self.view = replace(self.view, nodes=nodes, logical=data.node_logical_resources)
        return moved

    def _read_rest(self, answers: dict[str, Answer], now: float) -> None:
        if VERSION in answers and answers[VERSION].ok:
            self._due[VERSION] = now + VERSION_S
        for path in {GROUPS, STATUS, JOBS} & answers.keys():
            self._due[path] = now + (WAITING_S if self._waiting() else SELDOM_S)
        if (version := answers.get(VERSION)) and version.ok and (said := _version(version.body)):
            api = replace(self.view.api, version=said.ray_version)
            self.view = replace(self.view, session=said.session_name, api=api)
        if (answer := answers.get(GROUPS)) and (rows := self._rows(answer, api_schema.PlacementGroupRow, GROUPS)) is not None:
            self.view = replace(self.view, groups=rows)
        if (answer := answers.get(STATUS)) and (status := self._decoded(answer, api_schema.Status, STATUS)) is not None:
            self.view = replace(self.view, demand=_demand(status))

        if answer := answers.get(JOBS):
            jobs = self._known(answer, lambda: api_schema.jobs_of(answer.body), JOBS)
            self.view = replace(self.view, jobs=self.view.jobs if jobs is None else jobs)

    def _second_round(self, moved: list[str], api: RayApi) -> None:
        """The pages of nodes that moved, and once what only the state API tells: start times of tasks, and runtime
        environments."""
        self._unread = set(moved[MOST_PAGES:])
        moved = moved[:MOST_PAGES]
        pages = [f"/nodes/{node}" for node in moved]
        alive = frozenset(actor.actor_id for actor in self.view.actors if actor.state == "ALIVE")
        lists = api.gcs_ok and len(self.view.actors) <= STATE_LIMIT
        more = [TASKS] if lists and alive and TASKS not in self._due else []
        if lists and alive - self._envs_of and len(self.view.nodes) > 1:
            more.append(DETAILS)
        answers = self.dashboard.get_all([*pages, *more]) if pages or more else []
        nodes = dict(self.view.nodes)
        self._unread |= {node for node, answer in zip(moved, answers, strict=False) if not answer.ok}
        for node, answer in zip(moved, answers, strict=False):
            if (data := self._decoded(answer, api_schema.Detail, PAGE)) is not None:
                nodes[node] = replace(nodes[node], detail=data.detail)
        self.view = replace(self.view, nodes=nodes)
        for path, answer in zip(more, answers[len(pages) :], strict=True):
            self._read_once(path, answer, alive)

    def _read_once(self, path: str, answer: Answer, alive: frozenset[str]) -> None:
        rows = self._rows(answer, api_schema.StateRow, path)
        if rows is None:
            return
        if path == TASKS:
            self._due[TASKS] = float("inf")
            since = {
                row.worker_id: api_schema.number(row.start_time_ms) / 1000 for row in rows if row.worker_id and row.start_time_ms
            }
            self.view = replace(self.view, running_since=since)
        else:
            self._envs_of = alive
            envs = {row.actor_id: row.serialized_runtime_env for row in rows if row.actor_id and row.serialized_runtime_env}
            self.view = replace(self.view, runtime_envs=envs)

    def _judge(self, answers: dict[str, Answer], now: float) -> RayApi:
        """How the dashboard answers, in one word, and since when."""
        before = self.view.api
        asked = [answer for path, answer in answers.items() if path != HEALTH]
        word = _word(asked, self.dashboard.has_token)
        if word == "ok":
            self._strange |= {path for path in ESSENTIAL if path in answers and answers[path].status in NOT_THERE}
            word = "strange" if ACTORS in self._strange else "ok"
        health = answers[HEALTH]
        gcs_ok = health.ok if health.status in (200, 503) else (False if health.late and word == "ok" else None)
        failed = next((answer for answer in asked if not answer.ok), None) if word != "ok" else None
        failing = {path for path, answer in answers.items() if answer.late or (answer.status >= 500 and path != HEALTH)}
        self._late = self._late - answers.keys() | failing if word == "ok" else set()
        return replace(
            before,
            answer=word,
            since=before.since if word == before.answer and before.since else now,
            gcs_ok=gcs_ok,
            gcs_since=before.gcs_since if gcs_ok == before.gcs_ok and before.gcs_since else now,
            late=tuple(sorted(map(plain, self._late))),
            problem=failed.in_words if failed else "",
        )

    def _decoded(self, answer: Answer, shape: type[Data], what: str) -> Data | None:
        return self._known(answer, lambda: api_schema.data_of(answer.body, shape), what)

    def _rows(self, answer: Answer, shape: type[Data], what: str) -> tuple[Data, ...] | None:
        return self._known(answer, lambda: api_schema.rows_of(answer.body, shape), what)

    def _known(self, answer: Answer, read: Callable[[], Data], what: str) -> Data | None:
        """The decoded answer; `None` for an error, or for an unknown shape, which is remembered."""
        if not answer.ok:
            return None
        try:
            data = read()
        except msgspec.DecodeError:
            self._strange.add(what)
            return None
        self._strange.discard(what)
        return data


def _word(answers: Iterable[Answer], has_token: bool) -> ApiAnswer:
    answers = tuple(answers)
    if any(answer.status == 403 for answer in answers) or (has_token and any(answer.status == 401 for answer in answers)):
        return "wrong_token"
    if any(answer.status == 401 for answer in answers):
        return "needs_token"
    if any(answer.ok for answer in answers):
        return "ok"
    if all(answer.late for answer in answers):
        return "silent"
    return "refused" if any(answer.error == "connection refused" for answer in answers) else "error"


def plain(path: str) -> str:
    """The path without its query."""
    return path.partition("?")[0]


def _version(body: bytes) -> api_schema.Version | None:
    try:
        return msgspec.json.decode(body, type=api_schema.Version)
    except msgspec.DecodeError:  # something else listens there; its other answers tell
        return None


def _demand(status: api_schema.Status) -> tuple[Demand, ...]:
    load = status.cluster_status.load_metrics_report if status.cluster_status else None
    if load is None:
        return ()
    return tuple(Demand(resources, count) for resources, count in load.resource_demand)
