"""Beside the facts of a rank: the stack of its main thread, and the last minutes of its GPU and process. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop.common import text
from hangtop.diagnosis.members.rank_gpus import gpu_of
from hangtop.records.rank import Rank
from hangtop.records.stack import Stack
from hangtop.render.charts import Chart, chart_rows
from hangtop.render.spans import BLANK, Row, align, cut
from hangtop.render.stack_rows import place_of, stacks_of
from hangtop.render.view import View
from hangtop.render.wrap import section
from hangtop.stacks.activity import activity_of
from hangtop.stacks.frames import own
from hangtop.stacks.stack_classes import library_summary, motion

LEAST_FRAMES = 4
PLACE_CELLS = 24
FULL_PERCENT = 100.0


def beside_rows(rank: Rank, view: View, width: int, role: str) -> list[Row]:
    """Stack and past of a rank, as far as known."""
    parts = [part for part in (stack_rows(rank, view, width, role), past_rows(rank, view, width, role)) if part]
    return [row for place, part in enumerate(parts) for row in ([BLANK, *part] if place else part)]


def stack_rows(rank: Rank, view: View, width: int, role: str) -> list[Row]:
    """Frames from the innermost to the user's outermost; library frames around them are counted."""
    known = [stack for stack in stacks_of(rank.process, view.state.looks) if stack.threads] if rank.process is not None else []
    last = known[-1] if known else None
    now = activity_of(last) if last is not None else None
    if last is None or now is None:
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
    same = f" · same in {text.some(still, 'look')}" if still > 1 else ""
    return section("Stack", width, f"{thread} · {text.age(now - known[-1].at)} ago{same}")


def past_rows(rank: Rank, view: View, width: int, role: str) -> list[Row]:
    """Charts of GPU utilisation and CPU, with the beginning of the silence."""
    known = gpu_of(rank, view.state)
    past = [] if known is None else [("GPU util", known[1].util_percent)]
    process = rank.process
    if process is not None:
        tracks = (track for key, track in view.state.tracks.items() if key[1:] == (process.pid, process.start_ticks))
        past += [("CPU", track.cpu_percent) for track in tracks]
    charts = [Chart(label, samples, FULL_PERCENT, "{:.0f} %".format) for label, samples in past]
    return chart_rows(charts, view.now, width, role, rank.silence_s(view.now))
