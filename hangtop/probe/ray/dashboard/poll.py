"""What is asked of a dashboard, and how often: as little as tells what changed.

The server caches its answers for 2 s and agents report every 5 s (ray dashboard consts), so a node's own page is read only when
its `now` moved. Lists that cost the GCS work (`/api/v0/…`: 100 ms of CPU with 1,000 actors) are asked for seldom, or once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hangtop.probe.http.answer import Answer
from hangtop.probe.ray.dashboard import api_schema
from hangtop.probe.ray.dashboard.http import Dashboard
from hangtop.records.ray.cluster import ApiAnswer, Demand, RayApi

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
_CREATING = "filter_keys=type&filter_predicates=%3D&filter_values=ACTOR_CREATION_TASK"
TASKS = f"/api/v0/tasks?detail=1&timeout=2&limit={STATE_LIMIT}&{_RUNNING}"
CREATIONS = f"/api/v0/tasks?detail=1&timeout=2&limit={STATE_LIMIT}&{_CREATING}"
"""When actors were asked for. Of those that wait nothing else tells."""
DETAILS = f"/api/v0/actors?detail=1&timeout=2&limit={STATE_LIMIT}"
MOST_PAGES = 128
"""Node pages in one read; of more nodes the rest comes with the next one."""
SELDOM_S, WAITING_S = 10.0, 4.0
"""How often pending resources are asked for; the second while anything is pending, and for the tasks that run: a call that ends
between two looks, and comes again, seems to go on."""
VERSION_S = 30.0
LOOK_S = 2.0
S_PER_MB = 1.0
"""An actor list of 6 MB (10,000 actors) is asked for every 6 s."""


class NodeView(Struct, frozen=True):
    """`moved_at`: when the `now` of its report last changed, by our clock."""

    summary: api_schema.Node
    moved_at: float
    detail: api_schema.Node | None = None

    @property
    def workers(self) -> tuple[api_schema.WorkerStats, ...]:
        """The workers on its own page; none before it was read."""
        return (self.detail.workers if self.detail else None) or ()


class ApiView(Struct, frozen=True):
    """All that a dashboard told so far. Old parts stay; `api` says how old they are. `actors` and `nodes`: by their ids.
    `running_since`: by worker, when its call began; `asked_since`: by actor that waits, when it was asked for; `built_since`:
    when its constructor began; `deaths`: by actor that is dead, why, where the list of actors does not tell."""

    api: RayApi = RayApi()
    session: str = ""
    actors: Mapping[str, api_schema.Actor] = {}
    nodes: Mapping[str, NodeView] = {}
    logical: dict[str, str] = {}
    groups: tuple[api_schema.PlacementGroupRow, ...] = ()
    demand: tuple[Demand, ...] = ()
    running_since: dict[str, float] = {}
    asked_since: dict[str, float] = {}
    built_since: dict[str, float] = {}
    deaths: dict[str, str] = {}
    runtime_envs: dict[str, str] = {}
    jobs: tuple[api_schema.Job, ...] = ()


class DashboardPoll:
    """One dashboard, read again and again. For one calling thread."""

    def __init__(self, dashboard: Dashboard) -> None:
        self.dashboard = dashboard
        self.view = ApiView(RayApi(dashboard.address))
        self._due: dict[str, float] = {}
        self._envs_of: frozenset[str] = frozenset()
        self._waiting_of: frozenset[str] = frozenset()
        self._deaths_of: frozenset[str] = frozenset()
        self._unread: set[str] = set()
        """Nodes with a page still to be read."""
        self._strange: set[str] = set()
        """Paths that were last answered in a shape that we do not know."""
        self._late: set[str] = set()
        self._actors_body = b""

    def read(self, now: float) -> ApiView:
        """Ask for what is due at unix time `now`. Takes at most two deadlines."""
        jobs = (JOBS,) if JOBS not in self._due or not self._tells_drivers() else ()  # at first nobody has told of any driver
        paths = (HEALTH, ACTORS, NODES, VERSION, GROUPS, STATUS, *jobs)
        asked = [path for path in paths if now >= self._due.get(path, 0.0)]
        answers = dict(zip(asked, self.dashboard.get_all(asked), strict=True))
        self._read_actors(answers.get(ACTORS), now)
        moved = self._read_nodes(answers.get(NODES), now)
        self._read_rest(answers, now)
        api = self._judge(answers, now)
        if api.answer == "ok":
            self._second_round(moved, now, lists=bool(api.gcs_ok) and len(self.view.actors) <= STATE_LIMIT)
        self._keep(api=replace(api, strange=tuple(sorted(self._strange))))
        return self.view

    def _keep(self, **told: Any) -> None:
        self.view = replace(self.view, **told)

    def _tells_drivers(self) -> bool:
        """Whether the pages of the nodes tell the driver of each job that has actors, as they do since Ray 2.50 or later; else
        the list of jobs must, as of a driver that has ended."""
        workers = (worker for seen in self.view.nodes.values() for worker in seen.workers)
        told = {w.job_id for w in workers if any(core.worker_type == "DRIVER" for core in w.core_worker_stats)}
        return told.issuperset(actor.job_id for actor in self.view.actors.values() if actor.state == "ALIVE" and actor.job_id)

    def _waiting(self) -> bool:
        """Whether anything waits for resources."""
        actors = any(actor.starts or actor.state == "DEPENDENCIES_UNREADY" for actor in self.view.actors.values())
        return actors or any(group.waits for group in self.view.groups)

    def _read_actors(self, answer: Answer | None, now: float) -> None:
        if answer is None or not answer.ok:
            return
        pause_s = max(S_PER_MB * len(answer.body) / 1e6, 20 * answer.took_s)
        self._due[ACTORS] = now + pause_s if pause_s > LOOK_S else 0.0
        if answer.body != self._actors_body:
            actors = self._decoded(ACTORS, answer, lambda body: api_schema.data_of(body, dict[str, api_schema.Actor], "actors"))
            if actors is None:
                return
            self._actors_body = answer.body
            self._keep(actors=actors)
        self._keep(api=replace(self.view.api, actors_at=now))

    def _read_nodes(self, answer: Answer | None, now: float) -> list[str]:
        """The nodes with a page to read: their report moved, or their page was left out before."""
        data = self._decoded(NODES, answer, lambda body: api_schema.data_of(body, api_schema.Summary))
        if data is None:
            return []
        nodes, moved = {}, []
        for summary in data.summary:
            node, known = summary.raylet.node_id, self.view.nodes.get(summary.raylet.node_id)
            fresh = known is None or known.summary.now != summary.now
            if (fresh or node in self._unread) and summary.raylet.state == "ALIVE":
                moved.append(node)
            moved_at = now if known is None or fresh else known.moved_at
            nodes[node] = NodeView(summary, moved_at, known.detail if known else None)
        self._keep(nodes=nodes, logical=data.node_logical_resources)
        return moved

    def _read_rest(self, answers: Mapping[str, Answer], now: float) -> None:
        for path in {GROUPS, STATUS, JOBS} & answers.keys():
            self._due[path] = now + (WAITING_S if self._waiting() else SELDOM_S)
        if (answer := answers.get(VERSION)) and answer.ok:
            self._due[VERSION] = now + VERSION_S
            with suppress(msgspec.DecodeError):  # something else listens there; its other answers tell
                told = msgspec.json.decode(answer.body, type=api_schema.Version)
                self._keep(session=told.session_name, api=replace(self.view.api, version=told.ray_version))
        self._learn("groups", GROUPS, answers, lambda body: api_schema.rows_of(body, api_schema.PlacementGroupRow))
        self._learn("demand", STATUS, answers, _demand)
        self._learn("jobs", JOBS, answers, api_schema.jobs_of)

    def _second_round(self, moved: list[str], now: float, *, lists: bool) -> None:
        """The pages of nodes that moved, and what no other answer tells: now and then since when tasks run, once each since when
        actors are asked for, and remote environments. `lists`: the state API may be asked for lists."""
        moved, self._unread = moved[:MOST_PAGES], set(moved[MOST_PAGES:])
        alive = frozenset(actor.actor_id for actor in self.view.actors.values() if actor.state == "ALIVE")
        waiting = frozenset(actor.actor_id for actor in self.view.actors.values() if actor.waits)
        more = [TASKS] if lists and alive and now >= self._due.get(TASKS, 0.0) else []
        if lists and waiting - self._waiting_of:
            more.append(CREATIONS)
        untold = frozenset(actor.actor_id for actor in self.view.actors.values() if actor.died_untold)
        if lists and (
            (alive - self._envs_of and len(self.view.nodes) > 1)
            or (untold - self._deaths_of and now >= self._due.get(DETAILS, 0.0))
        ):
            more.append(DETAILS)
        asked = [*(f"/nodes/{node}" for node in moved), *more]
        answers = self.dashboard.get_all(asked) if asked else []
        nodes = dict(self.view.nodes)
        for node, answer in zip(moved, answers, strict=False):
            if not answer.ok:
                self._unread.add(node)
            detail = self._decoded(PAGE, answer, lambda body: api_schema.data_of(body, api_schema.Node, "detail"))
            if detail is not None:
                nodes[node] = replace(nodes[node], detail=detail)
        self._keep(nodes=nodes)
        for path, answer in zip(more, answers[len(moved) :], strict=True):
            rows = self._decoded(path, answer, lambda body: api_schema.rows_of(body, api_schema.StateRow))
            if rows is not None:
                self._read_list(path, rows, alive, waiting)
            if path == DETAILS:
                self._deaths_of, self._due[DETAILS] = untold, now + SELDOM_S
            if path == TASKS:
                self._due[TASKS] = now + max(WAITING_S, 100 * answer.took_s)

    def _read_list(
        self, path: str, rows: Collection[api_schema.StateRow], alive: frozenset[str], waiting: frozenset[str]
    ) -> None:
        if path == CREATIONS:
            self._waiting_of = waiting
            asked = ((row.actor_id, api_schema.number(row.creation_time_ms) / 1000) for row in rows)
            built = ((row.actor_id, api_schema.number(row.start_time_ms) / 1000) for row in rows)
            self._keep(
                asked_since={actor: at for actor, at in asked if actor and at},
                built_since={actor: at for actor, at in built if actor and at},
            )
        elif path == TASKS:
            began = ((row.worker_id, api_schema.number(row.start_time_ms) / 1000) for row in rows)
            self._keep(running_since={worker: at for worker, at in began if worker and at})
        else:
            self._envs_of = alive
            envs = {row.actor_id: row.serialized_runtime_env for row in rows if row.actor_id and row.serialized_runtime_env}
            self._keep(
                runtime_envs=envs, deaths={row.actor_id: row.death_words for row in rows if row.actor_id and row.death_words}
            )

    def _judge(self, answers: Mapping[str, Answer], now: float) -> RayApi:
        """How it answers, as one word, and since when."""
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
            late=tuple(sorted(path.partition("?")[0] for path in self._late)),
            problem=failed.in_words if failed else "",
        )

    def _learn(self, field: str, path: str, answers: Mapping[str, Answer], decode: Callable[[bytes], object]) -> None:
        if (told := self._decoded(path, answers.get(path), decode)) is not None:
            self._keep(**{field: told})

    def _decoded(self, path: str, answer: Answer | None, decode: Callable[[bytes], Data]) -> Data | None:
        """What the answer holds; `None` where there is none, or it has a shape that we do not know, which is remembered."""
        if answer is None or not answer.ok:
            return None
        try:
            data = decode(answer.body)
        except msgspec.DecodeError:
            self._strange.add(path)
            return None
        self._strange.discard(path)
        return data


def _word(answers: Collection[Answer], has_token: bool) -> ApiAnswer:
    statuses = {answer.status for answer in answers}
    if 403 in statuses or (has_token and 401 in statuses):
        return "wrong_token"
    if 401 in statuses:
        return "needs_token"
    if any(answer.ok for answer in answers):
        return "ok"
    if all(answer.late for answer in answers):
        return "silent"
    return "refused" if any(answer.error == "connection refused" for answer in answers) else "error"


def _demand(body: bytes) -> tuple[Demand, ...]:
    status = api_schema.data_of(body, api_schema.Status).cluster_status
    load = status.load_metrics_report if status else None
    return tuple(Demand(resources, count) for resources, count in load.resource_demand) if load else ()
