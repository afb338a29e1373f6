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
from hangtop.render.spans import Row

WAITING = ("resources", "argument", "constructing", "restarting")
STATE_WORDS = {
    "constructing": "constructing",
    "resources": "waiting",
    "argument": "waiting",
    "restarting": "restarting",
    "idle": "alive",
    "running": "alive",
    "unknown": "alive",
    "stopped": "stopped",
    "blocked": "blocked, D",
    "zombie": "zombie",
    "gone": "gone",
    "dead": "dead",
}


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


def key_of(actor: RayActor) -> str:
    """The identity of an actor: its id, or without the API its process."""
    return actor.id or f"pid {actor.pid or actor.ray_pid} of {actor.node or ''}"


class ActorRow(Struct, frozen=True):
    """Alike actors as one row. `role`: `bad` if it stands out, `warn` if others wait for it, else empty. `since`: of the first of
    them."""

    actors: tuple[RayActor, ...]
    doing: str
    since: float | None
    seen: bool
    role: str = ""
    stale: bool = False
    now: float = 0.0
    chosen: bool = False

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
    rows = [
        _row(actors, "bad" if id(actors[0]) in odd else "warn" if actors[0].rank in at_work else "", lacks, stale, now, chosen)
        for actors in groups.values()
    ]
    rows = [row for row in rows if shape.pattern.casefold() in _names(row).casefold()] if shape.pattern else rows
    return tuple(sorted(rows, key=_ORDER_KEYS[shape.order]))


def _names(row: ActorRow) -> str:
    """The text that a filter searches."""
    actor = row.first
    rank = f"rank {actor.rank}" if actor.rank is not None else ""
    pid = str(actor.pid or actor.ray_pid or "")
    return " ".join((actor.cls, actor.name, rank, pid, actor.host or "", STATE_WORDS[actor.state], row.doing, actor.id or ""))


_ORDER_KEYS: dict[Order, Callable[[ActorRow], tuple[float, ...]]] = {
    "oddness": lambda row: (row.role != "bad", not row.role, row.first.state not in WAITING, row.first.rank is not None),
    "rank": lambda row: (math.inf if row.first.rank is None else row.first.rank,),
    "age": lambda row: (math.inf if row.since is None else row.since,),
    "memory": lambda row: (-(row.first.rss_bytes or 0),),
    "CPU": lambda row: (-(row.first.cpu_percent or 0.0),),
}


def meant_to_end(actor: RayActor) -> bool:
    return actor.state == "dead" and actor.death is not None and actor.death.intended and not actor.pid_alive


def _row(actors: list[RayActor], role: str, lacks: dict[str, str], stale: bool, now: float, chosen: str | None) -> ActorRow:
    first = min(actors, key=lambda actor: actor.since or now)
    return ActorRow(
        tuple(actors),
        _doing(actors[0], lacks),
        first.since,
        first.since_seen,
        role,
        stale,
        now,
        chosen is not None and any(key_of(actor) == chosen for actor in actors),
    )


def _doing(actor: RayActor, lacks: dict[str, str]) -> str:
    match actor.state:
        case "resources":
            asks = resources(actor.resources) or "a worker process"
            lack = lacks.get(asks, "")
            return f"for {asks}{': ' + lack if lack else ''}"
        case "argument":
            return "for an argument"
        case "dead":
            death = actor.death
            said = "" if death is None else f"{death.cause}{', ' + death.detail if death.detail else ''}"
            return f"process lives, {said}" if actor.pid_alive else said
        case "gone":
            return "Ray calls it alive, its process is gone"
        case "unknown":
            return text.UNKNOWN
        case "running" if actor.method is None:
            return "at work"
    return actor.method or text.NOT_APPLICABLE


def _name(row: ActorRow) -> Row:
    role = f"{row.role} bold" if row.role else "stale" if row.stale else "ink"
    role = "accent bold reverse" if row.chosen else role
    count = len(row.actors)
    return ((row.first.cls, role), *(((f" ×{count}", row.role or "muted"),) if count > 1 else ()))


def _ranks(row: ActorRow) -> Row:
    known = [actor.rank for actor in row.actors if actor.rank is not None]
    return ((text.rank_ranges(known), _role(row, "ink", bold=True)),) if known else ((text.NOT_APPLICABLE, "stale"),)


def _host(row: ActorRow) -> Row:
    hosts = {actor.host or (actor.node or "")[:6] for actor in row.actors if actor.node}
    if not hosts:
        return ((text.NOT_APPLICABLE, "stale"),)
    return ((min(hosts) if len(hosts) == 1 else text.some(len(hosts), "node"), _role(row, "muted")),)


def _state(row: ActorRow) -> Row:
    restarts = f" {row.first.restarts}" if row.first.state == "restarting" else ""
    return ((f"{STATE_WORDS[row.first.state]}{restarts}", _role(row, "warn" if row.first.state in WAITING else "ink")),)


def _means(row: ActorRow) -> Row:
    known = meaning(row.first.cls, row.first.method) if row.first.method else None
    return ((known.says if known else text.NOT_APPLICABLE, _role(row, "muted" if known else "stale")),)


def _for(row: ActorRow) -> Row:
    if row.since is None:
        return ((text.UNKNOWN, "stale"),)
    age = text.age(row.now - row.since)
    return ((f"≥{age}" if row.seen and not age.startswith("<") else age, _role(row, "ink")),)


def _role(row: ActorRow, plain: str, *, bold: bool = False) -> str:
    return (f"{row.role} bold" if bold else row.role) if row.role else "stale" if row.stale else plain


def _pids(row: ActorRow) -> Row:
    if len(row.actors) > 1:
        return ((text.some(len(row.actors), "pid"), "muted"),)
    pid = row.first.pid or row.first.ray_pid
    return ((str(pid) if pid else text.NOT_APPLICABLE, _role(row, "muted")),)


def _gpus(row: ActorRow) -> Row:
    slots = {slot for actor in row.actors for slot in actor.gpus}
    return ((text.rank_ranges(slots) or text.NOT_APPLICABLE, _role(row, "ink")),)


def _sum_column(title: str, width: int, read: Callable[[RayActor], float | None], unit: int = 1) -> Column[ActorRow]:
    """The sum over the actors of a row, in units of `unit`; `?` if known of none."""

    def cell(row: ActorRow) -> Row:
        known = [value for actor in row.actors if (value := read(actor)) is not None]
        shown = text.UNKNOWN if not known else f"{sum(known) / unit:.1f}" if unit > 1 else f"{sum(known):.0f}"
        return ((shown, _role(row, "ink")),)

    return Column(title, width, 1, cell, right=True)


def columns_for(rows: Sequence[ActorRow], *, full: bool = False) -> list[Column[ActorRow]]:
    """The columns with a value for some actor. `full`: with those that only fit an enlarged pane."""
    actors = [actor for row in rows for actor in row.actors]
    hosts = {actor.host for actor in actors if actor.host}

    def known(read: Callable[[RayActor], object]) -> bool:
        return full and any(read(actor) is not None for actor in actors)

    columns: list[tuple[bool, Column[ActorRow]]] = [
        (True, Column("actor", 24 if full else 15, 0, _name, snug=full)),
        (any(actor.rank is not None for actor in actors), Column("rank", 8, 0, _ranks, snug=True)),
        (len(hosts) > 1, Column("node", 8, 2, _host)),
        (full, Column("pid", 8, 1, _pids, right=True)),
        (full and any(actor.gpus for actor in actors), Column("gpu", 5, 1, _gpus, right=True)),
        (known(lambda actor: actor.cpu_percent), _sum_column("cpu", 5, lambda actor: actor.cpu_percent)),
        (known(lambda actor: actor.rss_bytes), _sum_column("rss G", 6, lambda actor: actor.rss_bytes, GIB)),
        (full and any(actor.gpu_memory_bytes for actor in actors), Column("gpu G", 6, 1, _gpu_memory, right=True)),
        (known(lambda actor: actor.pending_tasks), _sum_column("calls", 5, lambda actor: actor.pending_tasks)),
        (True, Column("state", 12, 0, _state, snug=True)),
        (full, Column("means", 14, 3, _means)),
        (True, Column("doing", 0, 0, lambda row: ((row.doing, _role(row, "muted")),), least=10)),
    ]
    return [column for there, column in columns if there]


def _gpu_memory(row: ActorRow) -> Row:
    known = [actor.gpu_memory_bytes for actor in row.actors if actor.gpu_memory_bytes]
    return ((f"{sum(known) / GIB:.1f}" if known else text.NOT_APPLICABLE, _role(row, "ink") if known else "stale"),)


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
