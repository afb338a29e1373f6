"""The GPUs of one node as a table: odd ones first, old values with their age, a lost GPU with the reason. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hangtop.common import text
from hangtop.common.text import GIB
from hangtop.diagnosis.facts.gpu_outliers import (
    BAD,
    ODD,
    GpuFact,
    facts,
    is_current,
    lasting,
    power_part,
    status_now,
    status_words,
)
from hangtop.records.gpu import Gpu, GpuStatus, GpuTrack, NodeGpus
from hangtop.records.samples import Samples, over
from hangtop.render.columns import Column, bar_cell, fitting, number_cell, table_row, title_row
from hangtop.render.spans import Row, align, cut, pad, width_of
from hangtop.translations import say

Painted = TypeVar("Painted")
UTIL_BAR, POWER_BAR = 8, 6
TREND, WIDE_TREND, WIDE = 10, 16, 76
ODD_CELLS = 14
GONE = frozenset({"lost", "unknown error", "reset needed", "not supported", "no permission"})
"""For these a reason is shown in place of values."""


class GpuRow(Struct, frozen=True):
    """A GPU as it is painted. `role`: `bad` or `warn` if it stands out. `waits`: role of the busy-wait sign, or empty. `reason`:
    why there are no values. `age_s`: of values that are not current. `past`, `full`: the trend and the value that fills it.
    `works`: its rank is the one that others wait for. `held`: by leftovers of an ended run."""

    gpu: Gpu
    status: GpuStatus
    past: Samples
    full: float
    reason: str | None = None
    age_s: float | None = None
    role: str = ""
    waits: str = ""
    facts: tuple[GpuFact, ...] = ()
    ranks: tuple[int, ...] = ()
    works: bool = False
    held: bool = False
    chosen: bool = False

    @property
    def fresh(self) -> bool:
        return self.status == "ok"

    def plain(self, role: str) -> str:
        """The role of a cell in this row: old values are stale."""
        return role if self.fresh else "stale"


def gpu_rows(
    node: NodeGpus,
    now: float,
    *,
    trouble: bool,
    shown: Mapping[int, Gpu] | None = None,
    ranks: Mapping[int, Collection[int]] | None = None,
    of_run: Collection[int] | None = None,
    odd_ranks: Collection[int] = (),
    at_work: Collection[int] = (),
    held: Collection[int] = (),
) -> tuple[GpuRow, ...]:
    """Odd GPUs first, gravest first; then GPUs of odd ranks; then by index.

    In a healthy run only a fault of the GPU itself makes it odd, or what lasts; GPUs that are all silent do not stand out.
    `shown`: values to paint in place of the current ones. `ranks`: index → ranks that compute on it. `of_run`: the GPUs to
    compare with each other. `odd_ranks`: in the order of the ranks pane, so that a rank and its GPU are on one line.
    `at_work`: ranks that others wait for. `held`: GPUs with leftovers of an ended run.
    """
    said = facts(node, now, of_run)
    waiting = {fact.index for fact in said if fact.kind == "busy-wait"}
    some_answer = any(is_current(gpu, now) for gpu in node.reading.gpus)
    lasts = {(fact.index, fact.kind) for fact in lasting(node, now, of_run or ())}
    standing_out = [
        fact
        for fact in said
        if fact.kind in ODD
        and (trouble or hard(fact) or (fact.index, fact.kind) in lasts)
        and (some_answer or fact.kind != "no answer")
    ]
    working = {index for index, numbers in (ranks or {}).items() if set(numbers) & set(at_work)}
    place = {fact.index: place for place, fact in reversed(list(enumerate(standing_out)))}
    rows = []
    for gpu in node.reading.gpus:
        past, full = _past(node.tracks.get(gpu.index, GpuTrack()), gpu.limit_w)
        fact = standing_out[place[gpu.index]] if gpu.index in place else None
        odd = "" if fact is None else fact.role if trouble or hard(fact) else "warn"
        row = GpuRow(
            gpu=gpu if shown is None else shown.get(gpu.index, gpu),
            status=status_now(gpu, now),
            past=past,
            full=full,
            reason=_reason(gpu, now),
            age_s=None if gpu.read_at is None or is_current(gpu, now) else text.coarse(max(0.0, now - gpu.read_at)),
            role=odd or ("warn" if gpu.index in working or gpu.index in held else ""),
            works=gpu.index in working,
            held=gpu.index in held,
            waits=("warn" if trouble else "muted") if gpu.index in waiting else "",
            facts=tuple(fact for fact in said if fact.index == gpu.index),
            ranks=tuple(sorted((ranks or {}).get(gpu.index, ()))),
        )
        rows.append(row)
    order = list(odd_ranks)
    beside = {
        row.gpu.index: -1 if row.held else min((order.index(n) for n in row.ranks if n in order), default=len(order))
        for row in rows
    }
    return tuple(sorted(rows, key=lambda row: (place.get(row.gpu.index, len(said)), beside[row.gpu.index], row.gpu.index)))


def _past(track: GpuTrack, limit_w: float | None) -> tuple[Samples, float]:
    """The closed slots of power, or of utilisation if power is unknown; and the value that fills the trend."""
    samples, full = (track.power_w, limit_w or 0.0) if track.power_w.means else (track.util_percent, 100.0)
    return replace(samples, means=(*samples.means[:-1], None), open_count=0), full


def _reason(gpu: Gpu, now: float) -> str | None:
    status = status_now(gpu, now)
    if status in GONE:
        return say(status_words(gpu, now))
    if gpu.read_at is None:
        return say("reading …" if status == "reading" else f"{status}: it never gave a value")
    return None


def hard(fact: GpuFact) -> bool:
    """Whether this is a fault of the GPU itself, red in a healthy run too."""
    return fact.kind in BAD and fact.kind not in ("idle", "empty")


@lru_cache(maxsize=1)
def table_rows(rows: tuple[GpuRow, ...], width: int) -> tuple[Row, ...]:
    """Column titles and one row a GPU. Cached: the table is asked for up to four times a second, and seldom has changed."""
    columns = _columns(rows, width)
    return (
        title_row(columns, width),
        *(line for row in rows for line in (_row(row, columns, width), *mig_rows(row.gpu, width))),
    )


def mig_rows(gpu: Gpu, width: int) -> list[Row]:
    """One row for each MIG slice: the driver gives its memory and processes, but no utilisation."""
    rows: list[Row] = []
    for part in gpu.mig or ():
        used = text.UNKNOWN if part.used_bytes is None else f"{part.used_bytes / GIB:.1f}"
        total = text.UNKNOWN if part.total_bytes is None else f"{part.total_bytes / GIB:.1f} G"
        pids = [
            str(process.pid) for process in gpu.processes if process.instance is not None and process.instance == part.instance
        ]
        name = (part.name or "instance").rpartition("MIG ")[2]
        owner = say(f"  pid {' '.join(pids)}" if pids else "")
        said: Row = ((f"{used} of {total}", "ink"), (owner, "muted"))
        rows.append(cut((("      └ ", "faint"), align(say(f"MIG {part.index} {name}"), 18, "muted"), *said), width))
    return rows


def titled(columns: Sequence[Column[Painted]]) -> list[Column[Painted]]:
    """The columns; a number whose bar was dropped takes over the bar's title."""
    bars = {column.title for column in columns}
    names = {"util": say("util %"), "W": say("power W")}
    return [replace(column, title=" " if names.get(column.title) in bars else column.title) for column in columns]


def _row(row: GpuRow, columns: Sequence[Column[GpuRow]], width: int) -> Row:
    if row.reason is None:
        return table_row(columns, row, width)
    role = row.role or "muted"
    front: Row = (
        *pad(_sign(row), 1),
        (" ", ""),
        align(str(row.gpu.index), 3, "accent bold reverse" if row.chosen else f"{role} bold", right=True),
        ("  ", ""),
    )
    if row.age_s is None:
        return cut((*front, (row.reason, f"{role} bold")), width)
    age = say(f" {text.age(row.age_s)} ago")
    beside = width - width_of(front) - len(age)
    room = max(_start_of_trend(columns) - width_of(front) - 1, min(len(row.reason), beside))
    return cut((*front, align(row.reason, room, f"{role} bold"), (age, role)), width)


def _start_of_trend(columns: Sequence[Column[GpuRow]]) -> int:
    """The cell where the trend or age column begins; the end of the row if it was dropped."""
    starts = {"": 0}
    end = 0
    for column in columns:
        starts[column.title] = end + column.gap if end else 0
        end = starts[column.title] + column.width
    return starts.get("trend", starts.get("value of", end))


def _columns(rows: Sequence[GpuRow], width: int) -> list[Column[GpuRow]]:
    """The columns that fit and have a value for some GPU."""
    wide, old = width >= WIDE, bool(rows) and not any(row.fresh for row in rows)
    trend = WIDE_TREND if wide else TREND
    ranks = any(row.ranks not in ((), (row.gpu.index,)) for row in rows)
    clock, pstate, pcie, nvlink = (
        any(getattr(row.gpu, field) is not None for row in rows)
        for field in ("sm_clock_mhz", "pstate", "pcie_rx_bytes_s", "nvlink_rx_bytes_s")
    )
    odd = wide and any(_remarks(row) for row in rows if row.reason is None)
    columns: list[Column[GpuRow]] = [
        Column("", 1, 0, _sign),
        Column("gpu", 3, 0, _index, right=True, gap=1),
        Column("rank", 5, 7, lambda row: ((text.rank_ranges(row.ranks) or "–", row.plain("muted")),), right=True, there=ranks),
        Column("util %", UTIL_BAR, 11, lambda row: bar_cell((row.gpu.util_percent or 0.0) / 100, UTIL_BAR, _judged(row, "data"))),
        Column("util", 4, 0, lambda row: number_cell(row.gpu.util_percent, _judged(row, "ink")), right=True, gap=0),
        Column("power W", POWER_BAR + 1, 10, lambda row: bar_cell(power_part(row.gpu), POWER_BAR, _judged(row, "data"))),
        Column("W", 4, 0, lambda row: number_cell(row.gpu.power_w, _judged(row, "ink")), right=True, gap=0),
        Column("mem G", 5, 0, _memory, right=True),
        Column("°C", 3, 8, _temperature, right=True),
        Column("value of" if old else "trend", trend, 9, partial(_trend, trend), gap=2 if wide else 1),
        Column("MHz", 5, 4, lambda row: number_cell(row.gpu.sm_clock_mhz, row.plain("muted"), ","), right=True, there=clock),
        Column("PCIe in/out", 13, 3, _rates(lambda gpu: (gpu.pcie_rx_bytes_s, gpu.pcie_tx_bytes_s)), right=True, there=pcie),
        Column(
            "NVLink in/out",
            13,
            2,
            _rates(lambda gpu: (gpu.nvlink_rx_bytes_s, gpu.nvlink_tx_bytes_s)),
            right=True,
            there=nvlink,
        ),
        Column("P", 2, 1, lambda row: number_cell(row.gpu.pstate, row.plain("muted"), ","), right=True, there=pstate),
        Column("odd", 0, 6, partial(_odd, ODD_CELLS), least=ODD_CELLS, there=odd),
    ]
    shown = fitting(columns, width)
    room = width - sum(column.width + column.gap for column in shown) + shown[0].gap
    return titled([replace(column, cell=partial(_odd, room)) if column.title == "odd" else column for column in shown])


def _sign(row: GpuRow) -> Row:
    return (("▸", row.role),) if row.role else (("~", row.waits),) if row.waits and row.fresh else ()


def _index(row: GpuRow) -> Row:
    role = "accent bold reverse" if row.chosen else f"{row.role} bold" if row.role else row.plain("ink")
    return ((str(row.gpu.index), role),)


def _judged(row: GpuRow, plain: str) -> str:
    """Role of utilisation and power: red on an odd GPU that idles, amber while it waits busily."""
    if not row.fresh:
        return "stale"
    return row.role if row.role == "bad" or row.works else row.waits if row.waits == "warn" and plain == "data" else plain


def _memory(row: GpuRow) -> Row:
    kinds = {fact.kind for fact in row.facts}
    role = "warn" if kinds & {"little memory", "grows"} else "ink"
    role = "bad bold" if "empty" in kinds and row.role else "warn bold" if row.held else role
    return number_cell(used_gib(row.gpu), row.plain(role), ".1f")


def used_gib(gpu: Gpu) -> float | None:
    return None if gpu.used_bytes is None else gpu.used_bytes / GIB


def _temperature(row: GpuRow) -> Row:
    hot = any(fact.kind == "hot" for fact in row.facts)
    return number_cell(row.gpu.temperature_c, row.plain("warn" if hot else "muted"))


def _trend(width: int, row: GpuRow) -> Row:
    if not row.fresh:
        age = text.age(row.age_s)
        silent = width == WIDE_TREND and row.status == "no answer"
        return ((say(f"no answer {age}" if silent else f"{age} ago"), row.role or "stale"),)
    return ((_spark(row.past, width, row.full), row.role if row.role == "bad" or row.works else "trend"),)


@lru_cache(maxsize=256)
def _spark(past: Samples, width: int, full: float) -> str:
    """Cached: a slot closes every ten seconds, and rows are painted every second."""
    return text.spark(over(past, width), width, floor=0.0, ceiling=full)


def _rates(read: Callable[[Gpu], tuple[float | None, float | None]]) -> Callable[[GpuRow], Row]:
    """`1.2G/38K`: bytes received and sent each second."""

    def cell(row: GpuRow) -> Row:
        both = "/".join("?" if rate is None else text.size(int(rate)).replace(" ", "") for rate in read(row.gpu))
        return ((both, row.plain("muted")),)

    return cell


def _remarks(row: GpuRow, *, brief: bool = False) -> tuple[str, ...]:
    """Facts in words; in `brief` only those that no number in the row shows."""
    parts = (say("MIG mode, no instance"),) if row.gpu.mig == () else ()
    unspoken = ("busy-wait", "idle", "no answer", "late")
    said = [fact for fact in row.facts if fact.kind not in unspoken]
    return (*(say(fact.short or fact.kind if brief else fact.text) for fact in said), *parts)


def _odd(room: int, row: GpuRow) -> Row:
    """Whole sentences where they fit, else short ones."""
    said = ", ".join(_remarks(row))
    if len(said) > room:
        said = ", ".join(_remarks(row, brief=True))
    return ((said, row.role or row.plain("warn" if row.facts else "muted")),)
