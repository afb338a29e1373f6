"""The table of ranks, row by row: odd ones first; a column only where it tells ranks apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common import text
from hangtop.common.memo import memoized
from hangtop.common.text import NOT_APPLICABLE
from hangtop.diagnosis.status.kernel_block import is_blocked
from hangtop.records.nodes import pid_there
from hangtop.records.rank import Rank
from hangtop.records.verdict import Verdict
from hangtop.render.columns import Column, bar_cell, fitting, number_cell, snugged, table_of, value_cell
from hangtop.render.spans import Row, dotted, width_of
from hangtop.render.view import View
from hangtop.translations import say

QUIET_BAR = 5
BAD_STATES = frozenset("ZTX")


class RankRow(Struct, frozen=True):
    """A rank as it is painted. `role`: `bad` for a culprit, `warn` for a rank at work or behind, else empty. `quiet_s`: rounded
    as ages are shown, so that a row stays equal until it looks different. `works`: other ranks wait for it."""

    rank: Rank
    quiet_s: float | None
    limit_s: float | None
    role: str = ""
    doing: str | None = None
    stage: str | None = None
    chosen: bool = False
    silent: bool = False
    works: bool = False


@memoized
def rank_rows(view: View, chosen: int | None = None) -> tuple[RankRow, ...]:
    """All ranks: odd ones in the order of the verdict, then by number."""
    verdict = view.verdict
    odd = {rank: place for place, rank in enumerate(verdict.apart)} if verdict else {}
    titles = {stage.id: stage.title for stage in view.state.log.plan} if view.state.log else {}
    says = _last_lines(view) if verdict and not verdict.state.healthy else {}
    role = odd_role(verdict)
    rows = [
        RankRow(
            rank=rank,
            quiet_s=None if (silence_s := rank.silence_s(view.now)) is None else text.coarse(silence_s),
            limit_s=verdict.limit_s if verdict and verdict.word != "finished" else None,
            role=role if rank.rank in odd else "",
            doing=say(rank.doing or (_why(verdict, rank.rank) if rank.rank in odd else None) or "") or says.get(rank.rank),
            stage=say(titles.get(rank.stage or "", rank.stage) or "") or None,
            chosen=rank.rank == chosen,
            works=bool(verdict and rank.rank in verdict.at_work),
            silent=bool(verdict and verdict.state.trouble),
        )
        for rank in view.ranks
    ]
    return tuple(sorted(rows, key=lambda row: (odd.get(row.rank.rank, len(odd)), row.rank.rank)))


def world_of(view: View) -> int:
    """World size, as far as the log says."""
    log = view.state.log
    named = log.world if log is not None and log.world is not None else 0
    return max(named, max((rank.rank for rank in view.ranks), default=-1) + 1)


def odd_role(verdict: Verdict | None) -> str:
    """The colour of odd ranks: red in trouble, else amber."""
    return "bad" if verdict and verdict.state.trouble else "warn"


def _why(verdict: Verdict | None, rank: int) -> str | None:
    culprits = verdict.culprits if verdict else ()
    return next((text.first_line(c.why[0]) for c in culprits if c.rank == rank and c.why), None)


def _last_lines(view: View) -> dict[int, str]:
    """The last log line of each rank."""
    return {line.rank: line.text for line in view.state.tail[-2_000:] if line.rank is not None}


def _number(row: RankRow) -> Row:
    if row.chosen:
        return ((f"{row.rank.rank:>3}", "accent bold reverse"),)
    return ((str(row.rank.rank), f"{row.role} bold" if row.role else "ink"),)


def _lag(row: RankRow) -> Row:
    return ((f"−{row.rank.lag}", f"{row.role or 'warn'} bold"),) if row.rank.lag else ()


def _quiet_bar(row: RankRow) -> Row:
    if row.quiet_s is None or not row.limit_s:
        return (("─" * QUIET_BAR, "faint"),)
    return bar_cell(max(1.0, row.quiet_s) / row.limit_s, QUIET_BAR, row.role or ("muted" if row.silent else "data"))


def metric_of(rank: Rank, name: str) -> float | None:
    """In the records `None` stands for NaN."""
    value = rank.metrics.get(name)
    return math.nan if value is None and name in rank.metrics else value


def _loss(row: RankRow) -> Row:
    if (loss := metric_of(row.rank, "loss")) is None:
        return ((NOT_APPLICABLE, "stale"),)
    return ((text.metric(loss), "ink" if math.isfinite(loss) else "bad bold"),)


def _state(row: RankRow) -> Row:
    process = row.rank.process
    if process is not None and process.exit_code == 0:
        return ((row.rank.state or "?", "stale"),)
    bad = row.rank.state in BAD_STATES or (process is not None and is_blocked(process))
    return ((row.rank.state or "?", "bad" if bad else "ink"),)


def _cpu(row: RankRow) -> Row:
    return ((NOT_APPLICABLE, "stale"),) if row.rank.state in ("Z", "X") else number_cell(row.rank.cpu_percent, "ink")


def _total(row: RankRow) -> Row:
    return value_cell(row.rank.total or None, "muted", ",", NOT_APPLICABLE)


def _value(field: str, role: str, form: str = "", unknown: str = text.UNKNOWN) -> Callable[[RankRow], Row]:
    """A field of the rank. `role`: empty for that of the row."""
    return lambda row: value_cell(getattr(row.rank, field), role or row.role or "ink", form, unknown)


def _pid(row: RankRow) -> Row:
    """On its own node."""
    return value_cell(None if row.rank.pid is None else pid_there(row.rank.pid), "muted", "", text.UNKNOWN)


BAR: Column[RankRow] = Column("quiet", QUIET_BAR, 7, _quiet_bar)
QUIET: Column[RankRow] = Column(
    "quiet", 6, 0, lambda row: ((text.age(row.quiet_s), row.role or "ink"),), right=True, gap=1, snug=True
)
DOING_CELLS = 12


def columns_for(rows: Sequence[RankRow], *, hosts: bool = False) -> list[Column[RankRow]]:
    """The columns; those that do not tell ranks apart are not there. `hosts`: with the host in any case."""
    ranks = [row.rank for row in rows]

    def known(field: str) -> bool:
        return any(getattr(rank, field) is not None for rank in ranks)

    def differs(field: str) -> bool:
        return len({getattr(rank, field) for rank in ranks}) > 1

    gpus, stages = any(r.gpu is not None and r.gpu != r.rank for r in ranks), len({row.stage for row in rows if row.stage}) > 1
    losses = len({rank.metrics.get("loss", "none") for rank in ranks}) > 1
    doing_title = "doing" if any(row.rank.doing for row in rows) or not any(row.doing for row in rows) else "says"
    return [
        Column("", 1, 0, lambda row: (("▸", row.role),) if row.role else ()),
        Column("rank", 4, 0, _number, right=True, gap=1),
        Column("host", 8, 5, _value("host", "muted"), snug=True, there=hosts or differs("host")),
        Column("pid", 7, 8, _pid, right=True, snug=True, gap=1, there=known("pid")),
        Column("gpu", 3, 3, _value("gpu", "ink"), right=True, there=gpus),
        Column("stage", 14, 4, lambda row: ((row.stage or "?", row.role or "ink"),), snug=True, there=stages),
        Column("step", 7, 0, _value("step", "", ",", NOT_APPLICABLE), right=True, snug=True),
        Column("of", 7, 2, _total, right=True, snug=True, there=differs("total")),
        Column("lag", 4, 0, _lag, right=True, gap=1, snug=True),
        replace(BAR, there=any(row.limit_s for row in rows)),
        QUIET,
        Column("s/step", 7, 2, lambda row: ((text.pace(row.rank.step_s), "ink"),), right=True, there=differs("step_s")),
        Column("loss", 8, 1, _loss, right=True, there=losses),
        Column("cpu", 3, 6, _cpu, right=True, there=known("cpu_percent")),
        Column("s", 1, 0, _state, gap=1, there=known("state")),
        Column(doing_title, 0, 0, partial(_doing, 0), least=DOING_CELLS, there=any(row.doing for row in rows)),
    ]


def _doing(shortened: int, row: RankRow) -> Row:
    """What the rank does, in its n-th shorter form."""
    forms = (row.doing or "", *map(say, row.rank.shorter))
    return ((forms[min(shortened, len(forms) - 1)], f"{row.role} bold" if row.role else "muted"),)


def _with_doing_that_fits(columns: list[Column[RankRow]], rows: Sequence[RankRow], width: int) -> list[Column[RankRow]]:
    """The longest form that fits in every row, else the shortest."""
    room = width - sum(column.width + column.gap for column in columns) + columns[0].gap
    forms = max((len(row.rank.shorter) for row in rows), default=0)
    shortened = next((n for n in range(forms) if all(width_of(_doing(n, row)) <= room for row in rows)), forms)
    return [replace(column, cell=partial(_doing, shortened)) if not column.width else column for column in columns]


def _step_beside_pid(columns: list[Column[RankRow]]) -> list[Column[RankRow]]:
    """One cell between pid and step is enough, for a pid is grey; function names need the other."""
    before = ["", *(column.title for column in columns)]
    return [
        replace(column, gap=1) if (column.title, title) == ("step", "pid") else column
        for column, title in zip(columns, before, strict=False)
    ]


@memoized
def table_rows(rows: Sequence[RankRow], width: int, *, shown: slice = slice(None), hosts: bool = False) -> list[Row]:
    """Column titles and the ranks in `shown`; columns are chosen for all ranks, so that scrolling moves none."""
    columns = _with_doing_that_fits(_step_beside_pid(fitting(snugged(columns_for(rows, hosts=hosts), rows), width)), rows, width)
    if BAR in columns:
        columns = [replace(column, title="") if column.cell is QUIET.cell else column for column in columns]
    return table_of(columns, rows[shown], width)


def summary(view: View, rows: Sequence[RankRow]) -> Row:
    """`1 behind · 7 wait in step 120 · all on n1`."""
    ranks = [row.rank for row in rows]
    odd = [row for row in rows if row.role]
    hosts = {rank.host for rank in ranks if rank.host}
    stages = {row.stage for row in rows if row.stage}
    parts: tuple[Row, ...] = (
        ((say(f"{len(odd)} {odd_word(view, odd)}"), f"{odd[0].role} bold"),) if odd else (),
        ((_together(view, rows), "muted"),),
        ((say(f"all on {next(iter(hosts))}"), "muted"),) if len(hosts) == 1 and len(ranks) > 1 else (),
        ((say(f"all in {next(iter(stages))}"), "muted"),)
        if len(stages) == 1 and all(rank.step is None for rank in ranks)
        else (),
    )
    return dotted(parts)


def odd_word(view: View, odd: Sequence[RankRow]) -> str:
    """How the odd ranks differ: `behind`, `works`, `odd`."""
    if view.verdict is not None and view.verdict.at_work:
        return "works" if len(odd) == 1 else "work"
    return "behind" if any(row.rank.lag for row in odd) else "odd"


def _together(view: View, rows: Sequence[RankRow]) -> str:
    world = world_of(view)
    if view.verdict is not None and view.verdict.at_work:
        waiting = sum(not row.role for row in rows)
        return say(f"{waiting:,} wait{'s' if waiting == 1 else ''}")
    steps = [row.rank.step for row in rows if row.rank.step is not None]
    if not steps:
        started = view.state.log is not None and view.state.log.progress.step is not None
        return say(f"{len(rows):,} of {world:,} seen") + (say("" if started else " · no step yet"))
    furthest = max(steps)
    in_step = [row for row in rows if row.rank.step == furthest]
    if view.verdict and view.verdict.state.silent and any(row.role for row in rows):
        return say(f"{sum(not row.role for row in in_step):,} wait in step {furthest:,}")
    return say(f"{len(in_step):,} of {world:,} in step {furthest:,}")
