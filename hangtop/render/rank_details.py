"""The rows of a rank's page: its facts against its peers, and beside them the stack of its main thread and its last minutes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median

from msgspec import Struct
from rich.cells import cell_len

from hangtop.common import text
from hangtop.common.text import MEGA
from hangtop.diagnosis.members.rank_gpus import gpu_of
from hangtop.records.gpu import Gpu
from hangtop.records.rank import Rank
from hangtop.records.stack import Stack
from hangtop.render.charts import Chart, chart_rows
from hangtop.render.rank_rows import metric_of
from hangtop.render.spans import BLANK, Row, align, cut
from hangtop.render.stack_rows import place_of, stacks_of
from hangtop.render.view import View
from hangtop.render.wrap import section
from hangtop.stacks.activity import activity_of
from hangtop.stacks.frames import own
from hangtop.stacks.stack_classes import library_summary, motion
from hangtop.state.run_state import RunState
from hangtop.translations import say

LEAST_FRAMES = 4
PLACE_CELLS = 24
FULL_PERCENT = 100.0
LABEL, MINE, PEERS = 12, 14, 14
"""Cells of the columns; the two value columns grow with their content."""
WIDEST = 44
A_MINUTE = 60 / 1.7e9
"""One minute as a fraction of unix time."""


class Fact(Struct, frozen=True):
    """One fact. Numbers are alike within `slack`, a fraction of the median, plus `least`. `news`: shown only where ranks differ
    in it."""

    label: str
    read: Callable[[Rank, float], object]
    shown: Callable[[object], str] = str
    slack: float = 0.0
    least: float = 0.0
    news: bool = False


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _mega(value: object) -> str:
    return f"{_number(value) / MEGA:,.1f}"


def _below(rank: Rank, now: float) -> float | None:
    """CPU of what it started: data loader workers, compilers and so on."""
    process = rank.process
    if process is None or process.subtree_cpu_percent is None or process.subtree_size < 2:
        return None
    return max(0.0, process.subtree_cpu_percent - (process.cpu_percent or 0.0))


FACTS: tuple[Fact, ...] = (
    Fact("stage", lambda r, now: r.stage),
    Fact("step", lambda r, now: r.step, lambda v: f"{v:,}"),
    Fact("of", lambda r, now: r.total, lambda v: f"{v:,}", news=True),
    Fact("s/step", lambda r, now: r.step_s, lambda v: text.pace(_number(v)), slack=0.25, news=True),
    Fact("last line", lambda r, now: r.silence_s(now), lambda v: say(f"{text.age(_number(v))} ago"), slack=1.0, least=5.0),
    Fact("host", lambda r, now: r.host, news=True),
    Fact("doing", lambda r, now: r.shorter[-1] if r.shorter else r.doing),
    Fact("state", lambda r, now: _state(r)),
    Fact("CPU", lambda r, now: r.cpu_percent, lambda v: f"{_number(v):.0f} %", slack=0.5, least=10.0),
    Fact("CPU below", _below, lambda v: f"{_number(v):.0f} %", slack=0.5, least=10.0),
    Fact("memory", lambda r, now: r.process and r.process.rss_bytes, lambda v: text.size(int(_number(v))), slack=0.25),
    Fact("threads", lambda r, now: r.process and r.process.threads, lambda v: f"{v:,}", slack=0.5, least=4.0),
    Fact("reads MB/s", lambda r, now: r.process and r.process.read_b_s, _mega, slack=1.0, least=MEGA),
    Fact("writes MB/s", lambda r, now: r.process and r.process.write_b_s, _mega, slack=1.0, least=MEGA),
    Fact("started", lambda r, now: r.started_at, lambda v: text.clock(_number(v)), slack=A_MINUTE),
    Fact("lines", lambda r, now: r.lines or None, lambda v: f"{v:,}", slack=0.5),
)


def _state(rank: Rank) -> str | None:
    """`S futex_wait_queue`; in words where the letter means trouble."""
    if rank.state is None or rank.state in "RSI":
        return " ".join(part for part in (rank.state, rank.wchan) if part) or None
    return rank.process.doing if rank.process else rank.state


def gpu_facts(state: RunState) -> tuple[Fact, ...]:
    """Facts of the rank's GPU."""

    def of(read: Callable[[Gpu], object]) -> Callable[[Rank, float], object]:
        return lambda rank, now: read(known[0]) if (known := gpu_of(rank, state)) is not None else None

    return (
        Fact(say("GPU status"), of(lambda g: None if g.status == "ok" else g.status)),
        Fact(say("GPU util"), of(lambda g: g.util_percent), lambda v: f"{_number(v):.0f} %", slack=0.25, least=10.0),
        Fact(say("GPU power"), of(lambda g: g.power_w), lambda v: f"{_number(v):.0f} W", slack=0.25, least=30.0),
        Fact(say("GPU memory"), of(lambda g: g.used_bytes), lambda v: text.size(int(_number(v))), slack=0.1),
        Fact("GPU °C", of(lambda g: g.temperature_c), lambda v: f"{_number(v):.0f}", slack=0.3),
        Fact(say("GPU clock"), of(lambda g: g.sm_clock_mhz), lambda v: f"{v:,} MHz", slack=0.2, least=100.0),
        Fact(say("held back"), of(lambda g: ", ".join(g.throttle) or "no"), news=True),
        Fact(say("ECC errors"), of(lambda g: g.ecc_uncorrected), news=True),
        Fact("Xid", of(lambda g: "none" if g.xid is None else str(g.xid)), news=True),
        Fact("PCIe", of(lambda g: _both(g.pcie_rx_bytes_s, g.pcie_tx_bytes_s)), _rate, slack=1.0, least=100 * MEGA),
        Fact("NVLink", of(lambda g: _both(g.nvlink_rx_bytes_s, g.nvlink_tx_bytes_s)), _rate, slack=0.5, least=100 * MEGA),
    )


def _both(received: float | None, sent: float | None) -> float | None:
    return None if received is None or sent is None else received + sent


def _rate(value: object) -> str:
    return text.rate(_number(value))


def collective_facts(state: RunState) -> tuple[Fact, ...]:
    """Collectives that the rank has enqueued, by the flight recorder's dumps, in the group where ranks differ most."""
    dumps = state.nccl[-1].dumps if state.nccl else ()
    counts: dict[str, dict[int, int]] = {}
    for dump in dumps:
        for group in dump.groups:
            if group.enqueued is not None:
                counts.setdefault(group.id, {})[dump.rank] = group.enqueued
    if not counts:
        return ()
    most = max(counts.values(), key=lambda known: (max(known.values()) - min(known.values()), len(known)))
    return (Fact("collective", lambda rank, now: most.get(rank.rank), lambda v: f"{v:,}"),)


def fact_rows(rank: Rank, peers: Sequence[Rank], now: float, width: int, role: str, more: Sequence[Fact] = ()) -> list[Row]:
    """The facts as rows, differences first. `more`: further facts."""
    known = []
    for fact in (*FACTS, *more, *(metric_fact(name) for name in sorted(rank.metrics))):
        mine, others = fact.read(rank, now), [value for peer in peers if (value := fact.read(peer, now)) is not None]
        if mine is None or (fact.news and len({fact.shown(value) for value in (mine, *others)}) == 1):
            continue
        known.append((differs(fact, mine, others), fact.label, say(fact.shown(mine)), _shown(fact, others)))
    beside = min(max([PEERS, *(cell_len(theirs) for *_, theirs in known)]), max(PEERS, (width - LABEL - 4) // 2))
    room = max(MINE, width - LABEL - beside - 4)
    own = min(room, WIDEST, max([MINE, *(cell_len(value) for *_, value, _ in known)]))
    head = (align("", LABEL, ""), align(f"rank {rank.rank}", own, "muted", right=True), ("  ", ""))
    rows: list[Row] = [(("  ", ""), *head, align(say("peers") if peers else "", beside, "muted", right=True))]
    for odd, label, value, theirs in sorted(known, key=lambda fact: not fact[0]):
        sign, colour = ("▸ ", f"{role} bold") if odd else ("  ", "ink")
        cells = (align(say(label), LABEL, "muted"), align(value, own, colour, right=True), ("  ", ""))
        rows.append(((sign, role), *cells, align(theirs, beside, "ink" if odd else "muted", right=True)))
    return [cut(row, width) for row in rows]


def metric_fact(name: str) -> Fact:
    """A number that the log names beside a step."""
    return Fact(name, lambda r, now: metric_of(r, name), lambda v: text.metric(_number(v)), slack=1.0)


def differs(fact: Fact, mine: object, others: Sequence[object]) -> bool:
    """Whether a value is none of the others', or a number further from their median than is usual."""
    if not others:
        return False
    if not isinstance(mine, int | float):
        return mine not in others
    usual = median(_number(value) for value in others)
    return math.isnan(mine) or abs(mine - usual) > fact.slack * abs(usual) + fact.least


def _shown(fact: Fact, values: Sequence[object]) -> str:
    """The value of the peers, or its range."""
    if not values:
        return ""
    if all(isinstance(value, int | float) for value in values):
        low, high = fact.shown(min(values, key=_number)), fact.shown(max(values, key=_number))
        return low if low == high else f"{_bare(low, high)}-{high}"
    different = sorted({fact.shown(value) for value in values})
    return say(different[0] if len(different) == 1 else f"{len(different)} different")


def _bare(low: str, high: str) -> str:
    """The number without the unit that both share: `90-94 W`."""
    number, _, unit = low.partition(" ")
    return number if unit and high.endswith(f" {unit}") else low


def beside_rows(rank: Rank, view: View, width: int, role: str) -> list[Row]:
    """Stack and past of a rank, as far as known."""
    parts = [part for part in (stack_rows(rank, view, width, role), past_rows(rank, view, width, role)) if part]
    return [row for place, part in enumerate(parts) for row in ([BLANK, *part] if place else part)]


def stack_rows(rank: Rank, view: View, width: int, role: str) -> list[Row]:
    """Frames from the innermost to the user's outermost; library frames around them are counted."""
    known = [stack for stack in stacks_of(rank.process, view.state.looks) if stack.threads] if rank.process is not None else []
    if not known or (now := activity_of(known[-1])) is None:
        return []
    frames, mine = now.thread.frames, frozenset(own(now.thread.frames))
    end = max(max(mine, default=0), min(LEAST_FRAMES, len(frames)) - 1)
    rows: list[Row] = [_stack_head(known, now.thread.name, view.now, width)]
    for place, frame in enumerate(frames[: end + 1]):
        colour = f"{role} bold" if role and place in mine else "ink" if place in mine else "muted"
        at = align(place_of(frame, mine=place in mine), PLACE_CELLS, colour.removesuffix(" bold"))
        rows.append(cut((("  ", ""), align(frame.name, max(12, width - PLACE_CELLS - 4), colour), ("  ", ""), at), width))
    if rest := frames[end + 1 :]:
        rows.append(cut(((f"  ⋯ {library_summary(rest)}", "stale"),), width))
    return rows


def _stack_head(known: Sequence[Stack], thread: str, now: float, width: int) -> Row:
    still = 1
    while still < len(known) and motion(known[-1 - still], known[-1]) == "still":
        still += 1
    same = say(f" · same in {text.some(still, 'look')}" if still > 1 else "")
    return section("Stack", width, say(f"{thread} · {text.age(now - known[-1].at)} ago{same}"))


def past_rows(rank: Rank, view: View, width: int, role: str) -> list[Row]:
    """Charts of GPU utilisation and CPU, with the beginning of the silence."""
    known = gpu_of(rank, view.state)
    past = [] if known is None else [(say("GPU util"), known[1].util_percent)]
    process = rank.process
    if process is not None:
        tracks = (track for key, track in view.state.tracks.items() if key[1:] == (process.pid, process.start_ticks))
        past += [("CPU", track.cpu_percent) for track in tracks]
    charts = [Chart(label, samples, FULL_PERCENT, "{:.0f} %".format) for label, samples in past]
    return chart_rows(charts, view.now, width, role, rank.silence_s(view.now))
