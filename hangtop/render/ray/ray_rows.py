"""The table of Ray actors: alike ones folded by class and method, odd ones first. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from hangtop.common import text
from hangtop.common.memo import memoized
from hangtop.common.text import GIB
from hangtop.diagnosis.facts.ray_health import outlier_actors, stale_since
from hangtop.diagnosis.facts.ray_pending import pending_resources, resources
from hangtop.diagnosis.status.ray_methods import meaning
from hangtop.records.ray.cluster import RayActor, RayCluster
from hangtop.render.columns import Column, fitting, snugged, table_row, title_row
from hangtop.render.spans import Row, Span
from hangtop.translations import say

WAITING = ("resources", "argument", "constructing", "restarting")
STATE_WORDS = {"resources": "waiting", "argument": "waiting", "blocked": "blocked, D"} | dict.fromkeys(
    ("idle", "running", "unknown"), "alive"
)
"""Of states that are called otherwise on the screen."""
Order = Literal["oddness", "rank", "age", "memory", "CPU"]
ORDERS: tuple[Order, ...] = ("oddness", "rank", "age", "memory", "CPU")


class ActorOptions(Struct, frozen=True):
    """What a person asked for. `opened`: classes whose actors have a row each. `nodes`: nodes in place of actors."""

    order: Order = "oddness"
    pattern: str = ""
    opened: frozenset[str] = frozenset()
    nodes: bool = False

    @property
    def single(self) -> bool:
        """True if each actor has a row: an order or a filter is set."""
        return self.order != "oddness" or bool(self.pattern)


PLAIN = ActorOptions()
NONE: Span = (text.NOT_APPLICABLE, "stale")


def state_word(actor: RayActor) -> str:
    return STATE_WORDS.get(actor.state, actor.state)


def key_of(actor: RayActor) -> str:
    """The identity of an actor: its id, or without the API its process."""
    return actor.id or say(f"pid {actor.pid or actor.ray_pid} of {actor.node or ''}")


class MarkedRow(Struct, frozen=True):
    """A row of a table. `role`: `bad` if it stands out, `warn` if others wait for it, else empty. `stale`: its values are old."""

    role: str
    stale: bool
    chosen: bool

    def role_of(self, plain: str) -> str:
        """Of a cell that is `plain` in a row without a mark."""
        return self.role or ("stale" if self.stale else plain)

    @property
    def name_role(self) -> str:
        return "accent bold reverse" if self.chosen else f"{self.role} bold" if self.role else self.role_of("ink")


class ActorRow(MarkedRow, frozen=True):
    """Alike actors as one row. `since`: of the first of them."""

    actors: tuple[RayActor, ...]
    doing: str
    since: float | None
    seen: bool
    now: float

    @property
    def first(self) -> RayActor:
        return self.actors[0]


@memoized
def actor_rows(
    cluster: RayCluster,
    now: float,
    *,
    trouble: bool,
    at_work: tuple[int, ...] = (),
    folded: bool = True,
    shape: ActorOptions = PLAIN,
    chosen: str | None = None,
) -> tuple[ActorRow, ...]:
    """Odd actors first, then waiting ones, or in the order asked for; without actors that were meant to end.

    An actor that only differs from its peers is odd only while the run is in `trouble`. `chosen`: key of an actor. `at_work`:
    ranks that others wait for.
    """
    odd = {id(outlier.actor): outlier for outlier in outlier_actors(cluster) if outlier.sure or trouble}
    lacks = {wish.asks: wish.lack for wish in pending_resources(cluster)}
    stale = stale_since(cluster, now) is not None
    groups: dict[object, list[RayActor]] = {}
    for number, actor in enumerate(a for a in cluster.actors if not meant_to_end(a)):
        alike = (actor.cls, actor.job, actor.state, actor.method, actor.death, actor.pid_alive, *sorted(actor.resources.items()))
        alone = not folded or shape.single or actor.cls in shape.opened
        key = (alike, id(actor) in odd, actor.rank in at_work, number if alone else None)
        groups.setdefault(key, []).append(actor)
    rows = []
    for actors in groups.values():
        first = min(actors, key=lambda actor: actor.since or now)
        role = "bad" if id(actors[0]) in odd else "warn" if actors[0].rank in at_work else ""
        is_chosen = chosen is not None and any(key_of(actor) == chosen for actor in actors)
        doing = _doing(actors[0], lacks)
        rows.append(ActorRow(role, stale, is_chosen, tuple(actors), doing, first.since, first.since_seen, now))
    rows = [row for row in rows if shape.pattern.casefold() in _names(row).casefold()] if shape.pattern else rows
    return tuple(sorted(rows, key=_ORDER_KEYS[shape.order]))


def _names(row: ActorRow) -> str:
    """The text that a filter searches."""
    actor = row.first
    rank = f"rank {actor.rank}" if actor.rank is not None else ""
    pid = str(actor.pid or actor.ray_pid or "")
    return " ".join((actor.cls, actor.name, rank, pid, actor.host or "", state_word(actor), row.doing, actor.id or ""))


_ORDER_KEYS: dict[Order, Callable[[ActorRow], tuple[float, ...]]] = {
    "oddness": lambda row: (row.role != "bad", not row.role, row.first.state not in WAITING, row.first.rank is not None),
    "rank": lambda row: (math.inf if row.first.rank is None else row.first.rank,),
    "age": lambda row: (math.inf if row.since is None else row.since,),
    "memory": lambda row: (-(row.first.rss_bytes or 0),),
    "CPU": lambda row: (-(row.first.cpu_percent or 0.0),),
}


def meant_to_end(actor: RayActor) -> bool:
    return actor.state == "dead" and actor.death is not None and actor.death.intended and not actor.pid_alive


def _doing(actor: RayActor, lacks: dict[str, str]) -> str:
    match actor.state:
        case "resources":
            asks = resources(actor.resources) or "a worker process"
            lack = lacks.get(asks, "")
            return say(f"for {asks}: {lack}" if lack else "for its worker process")
        case "argument":
            return say("for an argument")
        case "dead":
            death = actor.death
            said = "" if death is None else f"{say(death.cause)}{', ' + death.detail if death.detail else ''}"
            return say(f"process lives, {said}" if actor.pid_alive else said)
        case "gone":
            return say("Ray calls it alive, its process is gone")
        case "unknown":
            return text.UNKNOWN
        case "running" if actor.method is None:
            return say("at work")
    return actor.method or text.NOT_APPLICABLE


def _name(row: ActorRow) -> Row:
    count = len(row.actors)
    return ((row.first.cls, row.name_role), *(((f" ×{count}", row.role or "muted"),) if count > 1 else ()))


def _ranks(row: ActorRow) -> Row:
    known = [actor.rank for actor in row.actors if actor.rank is not None]
    role = f"{row.role} bold" if row.role else row.role_of("ink")
    return ((text.rank_ranges(known), role),) if known else (NONE,)


def _host(row: ActorRow) -> Row:
    hosts = {actor.host or (actor.node or "")[:6] for actor in row.actors if actor.node}
    if not hosts:
        return (NONE,)
    return ((min(hosts) if len(hosts) == 1 else text.some(len(hosts), "node"), row.role_of("muted")),)


def _state(row: ActorRow) -> Row:
    restarts = f" {row.first.restarts}" if row.first.state == "restarting" else ""
    return ((f"{say(state_word(row.first))}{restarts}", row.role_of("warn" if row.first.state in WAITING else "ink")),)


def _means(row: ActorRow) -> Row:
    known = meaning(row.first.cls, row.first.method) if row.first.method else None
    return ((say(known.says) if known else text.NOT_APPLICABLE, row.role_of("muted" if known else "stale")),)


def _for(row: ActorRow) -> Row:
    if row.since is None:
        return ((text.UNKNOWN, "stale"),)
    age = text.age(row.now - row.since)
    return ((f"≥{age}" if row.seen and not age.startswith("<") else age, row.role_of("ink")),)


def _pids(row: ActorRow) -> Row:
    if len(row.actors) > 1:
        return ((text.some(len(row.actors), "pid"), "muted"),)
    pid = row.first.pid or row.first.ray_pid
    return ((str(pid) if pid else text.NOT_APPLICABLE, row.role_of("muted")),)


def _gpus(row: ActorRow) -> Row:
    slots = {slot for actor in row.actors for slot in actor.gpus}
    return ((text.rank_ranges(slots) or text.NOT_APPLICABLE, row.role_of("ink")),)


ReadNumber = Callable[[RayActor], float | None]
Shown = tuple[bool, Column[ActorRow]]
"""Whether a column is shown, and the column."""


def _sum_cell(read: ReadNumber, unit: int, unknown: Span | None) -> Callable[[ActorRow], Row]:
    """The sum over the actors of a row, in units of `unit`; `?` or `unknown` if known of none."""

    def cell(row: ActorRow) -> Row:
        known = [value for actor in row.actors if (value := read(actor)) is not None]
        if not known and unknown:
            return (unknown,)
        shown = text.UNKNOWN if not known else f"{sum(known) / unit:.1f}" if unit > 1 else f"{sum(known):.0f}"
        return ((shown, row.role_of("ink")),)

    return cell


def columns_for(rows: Sequence[ActorRow], *, full: bool = False) -> list[Column[ActorRow]]:
    """The columns with a value for some actor. `full`: with those that only fit an enlarged pane."""
    actors = [actor for row in rows for actor in row.actors]
    hosts = {actor.host for actor in actors if actor.host}

    def summed(title: str, width: int, read: ReadNumber, unit: int = 1, unknown: Span | None = None) -> Shown:
        column = Column(title, width, 1, _sum_cell(read, unit, unknown), right=True)
        return full and any(read(actor) is not None for actor in actors), column

    columns: list[Shown] = [
        (True, Column("actor", 24 if full else 15, 0, _name, snug=full)),
        (any(actor.rank is not None for actor in actors), Column("rank", 8, 0, _ranks, snug=True)),
        (len(hosts) > 1, Column("node", 8, 2, _host)),
        (full, Column("pid", 8, 1, _pids, right=True)),
        (full and any(actor.gpus for actor in actors), Column("gpu", 5, 1, _gpus, right=True)),
        summed("cpu", 5, lambda actor: actor.cpu_percent),
        summed("rss G", 6, lambda actor: actor.rss_bytes, GIB),
        summed("gpu G", 6, lambda actor: actor.gpu_memory_bytes or None, GIB, NONE),  # 0: it has no GPU
        summed("calls", 5, lambda actor: actor.pending_tasks),
        (True, Column("state", 12, 0, _state, snug=True)),
        (full, Column("means", 14, 3, _means)),
        (True, Column("doing", 0, 0, lambda row: ((row.doing, row.role_of("muted")),), least=10)),
    ]
    return [column for there, column in columns if there]


FOR: Column[ActorRow] = Column("for", 7, 0, _for, right=True)


def table_rows(rows: Sequence[ActorRow], width: int, *, full: bool = False, shown: slice = slice(None)) -> list[Row]:
    """Column titles and the rows in `shown`; the duration is at the right edge."""
    left = width - FOR.width - FOR.gap
    columns = fitting(snugged(columns_for(rows, full=full), rows), left)
    gap = (" " * FOR.gap, "")

    def joined(row: Row, last: Row) -> Row:
        return (*row, gap, *last)

    titles = joined(title_row(columns, left), title_row([FOR], FOR.width))
    return [titles, *(joined(table_row(columns, row, left), table_row([FOR], row, FOR.width)) for row in rows[shown])]
