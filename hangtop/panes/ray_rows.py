"""The Ray table, row by row: actors grouped by class and what they do, alike ones folded, odd ones first. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from hangtop import text
from hangtop.diagnosis.ray import OddActor, RayTrouble, odd_actors, stale_since, troubles
from hangtop.diagnosis.ray_methods import meaning
from hangtop.diagnosis.ray_wishes import Wish, resources, wishes
from hangtop.kept import kept
from hangtop.panes.columns import Column, fitting, snugged, table_row, title_row
from hangtop.panes.rows import Row, cut, dotted
from hangtop.records.ray import RayActor, RayCluster

LATE_S, STUCK_S = 10.0, 30.0
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
G = 2**30


Order = Literal["oddness", "rank", "age", "memory", "CPU"]
ORDERS: tuple[Order, ...] = ("oddness", "rank", "age", "memory", "CPU")


class Shape(Struct, frozen=True):
    """How a person wants to see the actors. `opened`: classes whose actors have a row each, even where they are alike.

    `nodes`: the nodes instead, with a cell for each of their ranks.
    """

    order: Order = "oddness"
    pattern: str = ""
    opened: frozenset[str] = frozenset()
    nodes: bool = False

    @property
    def single(self) -> bool:
        """An order or a filter is one of actors, not of groups."""
        return self.order != "oddness" or bool(self.pattern)


PLAIN = Shape()


def key_of(actor: RayActor) -> str:
    """What stays the same for as long as it is the same actor: its id; without the API, its process."""
    return actor.id or f"pid {actor.pid or actor.ray_pid} of {actor.node or ''}"


class ActorRow(Struct, frozen=True):
    """Actors that are alike, as one row. `role`: `bad` for one that stands out, `warn` for one at work, else empty.

    `since`: of the first of them.
    """

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


@kept
def actor_rows(
    cluster: RayCluster,
    now: float,
    *,
    trouble: bool,
    at_work: tuple[int, ...] = (),
    folded: bool = True,
    shape: Shape = PLAIN,
    chosen: str | None = None,
) -> tuple[ActorRow, ...]:
    """Those that stand out first, then what waits, then the rest, or in the order asked for. Actors whose end was meant are left
    out. `chosen`: key of an actor. `at_work`: ranks for which the others wait.

    An actor that only differs from its peers counts as odd while the run is in `trouble`: peers part for moments in every run.
    """
    odd = {id(one.actor): one for one in odd_actors(cluster) if one.sure or trouble}
    lacks = {wish.asks: wish.lack for wish in wishes(cluster)}
    stale = stale_since(cluster, now) is not None
    groups: dict[object, list[RayActor]] = {}
    for number, actor in enumerate(a for a in cluster.actors if not meant_to_end(a)):
        alike = (
            actor.cls,
            actor.job,
            actor.state,
            actor.method,
            actor.death,
            actor.pid_alive,
            id(actor) in odd,
            actor.rank in at_work,
        )
        alone = not folded or shape.single or actor.cls in shape.opened
        key = (*alike, tuple(sorted(actor.resources.items())), number if alone else None)
        groups.setdefault(key, []).append(actor)
    rows = [_row(actors, _role_of(actors[0], odd, at_work), lacks, stale, now, chosen) for actors in groups.values()]
    rows = [row for row in rows if shape.pattern.casefold() in _names(row).casefold()] if shape.pattern else rows
    return tuple(sorted(rows, key=_ORDER_KEYS[shape.order]))


def _names(row: ActorRow) -> str:
    """All that names an actor or what it does: a filter looks for its text here."""
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


def _role_of(actor: RayActor, odd: Mapping[int, OddActor], at_work: tuple[int, ...]) -> str:
    """`odd`: by the id of the record."""
    return "bad" if id(actor) in odd else "warn" if actor.rank in at_work else ""


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
    waiting = row.first.state in WAITING
    return ((f"{STATE_WORDS[row.first.state]}{restarts}", _role(row, "warn" if waiting else "ink")),)


def _does(row: ActorRow) -> Row:
    return ((row.doing, _role(row, "muted")),)


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
    pid = row.first.pid or row.first.ray_pid
    if len(row.actors) > 1:
        return ((f"{len(row.actors)} pids", "muted"),)
    return ((str(pid) if pid else text.NOT_APPLICABLE, _role(row, "muted")),)


def _gpus(row: ActorRow) -> Row:
    slots = sorted({slot for actor in row.actors for slot in actor.gpus})
    return ((text.rank_ranges(slots) or text.NOT_APPLICABLE, _role(row, "ink")),)


def _cpu(row: ActorRow) -> Row:
    known = [actor.cpu_percent for actor in row.actors if actor.cpu_percent is not None]
    return ((f"{sum(known):.0f}" if known else text.UNKNOWN, _role(row, "ink")),)


def _memory(row: ActorRow) -> Row:
    known = [actor.rss_bytes for actor in row.actors if actor.rss_bytes is not None]
    return ((f"{sum(known) / G:.1f}" if known else text.UNKNOWN, _role(row, "ink")),)


def _gpu_memory(row: ActorRow) -> Row:
    known = [actor.gpu_memory_bytes for actor in row.actors if actor.gpu_memory_bytes]
    return ((f"{sum(known) / G:.1f}" if known else text.NOT_APPLICABLE, _role(row, "ink") if known else "stale"),)


def _calls(row: ActorRow) -> Row:
    known = [actor.pending_tasks for actor in row.actors if actor.pending_tasks is not None]
    return ((str(sum(known)) if known else text.UNKNOWN, _role(row, "ink")),)


def columns_for(rows: Sequence[ActorRow], *, full: bool = False) -> list[Column[ActorRow]]:
    """`full`: with what there is no room for beside other panes. What nobody tells of any actor has no column."""
    actors = [actor for row in rows for actor in row.actors]
    hosts = {actor.host for actor in actors if actor.host}
    columns: list[tuple[bool, Column[ActorRow]]] = [
        (True, Column("actor", 24 if full else 15, 0, _name, snug=full)),
        (any(actor.rank is not None for actor in actors), Column("rank", 8, 0, _ranks, snug=True)),
        (len(hosts) > 1, Column("node", 8, 2, _host)),
        (full, Column("pid", 8, 1, _pids, right=True)),
        (full and any(actor.gpus for actor in actors), Column("gpu", 5, 1, _gpus, right=True)),
        (full and any(actor.cpu_percent is not None for actor in actors), Column("cpu", 5, 1, _cpu, right=True)),
        (full and any(actor.rss_bytes is not None for actor in actors), Column("rss G", 6, 1, _memory, right=True)),
        (full and any(actor.gpu_memory_bytes for actor in actors), Column("gpu G", 6, 1, _gpu_memory, right=True)),
        (full and any(actor.pending_tasks is not None for actor in actors), Column("calls", 5, 1, _calls, right=True)),
        (True, Column("state", 12, 0, _state, snug=True)),
        (full, Column("means", 14, 3, _means)),
        (True, Column("doing", 0, 0, _does, least=10)),
    ]
    return [column for there, column in columns if there]


FOR: Column[ActorRow] = Column("for", 7, 0, _for, right=True)


def table_rows(rows: Sequence[ActorRow], width: int, *, full: bool = False, shown: slice = slice(None)) -> list[Row]:
    """Column titles and a row for each group in `shown`; how long it lasts stands at the right edge."""
    left = width - FOR.width - FOR.gap
    columns = fitting(snugged(columns_for(rows, full=full), rows), left)
    gap = (" " * FOR.gap, "")

    def joined(row: Row, last: Row) -> Row:
        return (*row, gap, *last)

    titles = joined(title_row(columns, left), title_row([FOR], FOR.width))
    return [titles, *(joined(table_row(columns, row, left), table_row([FOR], row, FOR.width)) for row in rows[shown])]


def trouble_rows(cluster: RayCluster, now: float, width: int) -> list[Row]:
    """What is sick, a line each, and the mend behind it where there is room."""
    return [row for trouble in troubles(cluster, now) for row in _trouble_lines(trouble, width)]


def _trouble_lines(trouble: RayTrouble, width: int) -> list[Row]:
    role = "muted" if trouble.part == "session" else "warn" if trouble.part in ("token", "version", "dashboard_part") else "bad"
    said: Row = (("▸ ", role), (trouble.text, role))
    mend: Row = ((f"  {trouble.mend}", "ink"),) if trouble.mend else ()
    return [cut(said, width), *([cut(mend, width)] if mend else [])]


def wish_rows(cluster: RayCluster, width: int) -> list[Row]:
    """Placement groups and tasks that wait; actors that wait have a row of their own in the table."""
    return [cut(_wish_line(wish), width) for wish in wishes(cluster) if wish.who.startswith(("placement group", "task"))]


def _wish_line(wish: Wish) -> Row:
    role = "bad" if wish.impossible else "warn"
    return (("▸ ", role), (f"{wish.who} waits for {wish.asks}", role), (f": {wish.lack}" if wish.lack else "", role))


def death_rows(rows: Sequence[ActorRow], width: int) -> list[Row]:
    """The lines of the traceback of the first actor that died of an error."""
    for row in rows:
        death = row.first.death
        if row.role == "bad" and death is not None and death.traceback:
            return [cut(((f"  {line}", "muted"),), width) for line in death.traceback]
    return []


def summary(cluster: RayCluster, rows: Sequence[ActorRow], now: float) -> Row:
    """`11 alive · 0 pending · 1 node`, what is dead before it, how old it is where it is old."""
    actors = [actor for row in rows for actor in row.actors]
    pending = sum(actor.state in WAITING for actor in actors)
    dead = sum(actor.state in ("dead", "gone", "zombie") for actor in actors)
    alive = len(actors) - pending - dead
    ended = sum(meant_to_end(actor) for actor in cluster.actors)
    nodes = sum(node.alive for node in cluster.nodes)
    hidden = cluster.actors_total - len(cluster.actors)
    parts: list[Row] = [
        _age(cluster, now),
        ((f"{dead} dead", "bad bold"),) if dead else (),
        ((f"{alive} alive", "muted"),) if actors or cluster.actors_total == 0 else (),
        ((f"{pending} pending", "warn" if pending else "muted"),),
        ((f"{ended} ended", "muted"),) if ended else (),
        ((f"{hidden:,} more", "muted"),) if hidden else (),
        ((text.some(nodes, "node"), "muted"), (" (a)" if nodes > 1 else "", "muted")) if nodes else (),
    ]
    return dotted(part for part in parts if part)


def _way(cluster: RayCluster, now: float) -> Row:
    """Where it is from, when that is not the dashboard."""
    api = cluster.api
    if api.tables_at is not None:
        return ((f"from the GCS {text.age(now - api.tables_at)} ago", "muted"),)
    return (("processes only", "muted"),) if api.answer == "none" else ()


def _age(cluster: RayCluster, now: float) -> Row:
    """Old values say how old they are; where processes alone are known that is said too."""
    if cluster.ended_at is not None:
        return (("ended", "muted"),)
    since = stale_since(cluster, now)
    if since is None:
        return _way(cluster, now)
    old_s = now - since
    if old_s < LATE_S:
        return ()
    return (
        ((f"no answer for {text.age(old_s)}", "bad bold"),) if old_s >= STUCK_S else ((f"late: {text.age(old_s)} old", "warn"),)
    )
