"""Beside the facts of a rank: where its main thread stands, and how busy its GPU and its process were over the last minutes."""

from __future__ import annotations

from collections.abc import Sequence

from hangtop import text
from hangtop.diagnosis.doing import doing
from hangtop.diagnosis.frames import own
from hangtop.diagnosis.stacks import library_summary, motion
from hangtop.panes.gpus import gpu_of
from hangtop.panes.line import BLANK, Row, align, cut
from hangtop.panes.stack_rows import place_of
from hangtop.panes.view import View
from hangtop.ranks import Rank
from hangtop.records.samples import SLOTS, Samples, until
from hangtop.records.stack import Stack
from hangtop.screens.help import section

LABEL = 10
CHART_LINES = 2
LEAST_FRAMES = 4
PLACE_CELLS = 24
FULL_PERCENT = 100.0


def beside_rows(rank: Rank, view: View, width: int, role: str) -> list[Row]:
    """Stack and past of a rank; nothing where nothing is known of either."""
    parts = [part for part in (stack_rows(rank, view, width, role), past_rows(rank, view, width, role)) if part]
    return [row for place, part in enumerate(parts) for row in ([BLANK, *part] if place else part)]


def stack_rows(rank: Rank, view: View, width: int, role: str) -> list[Row]:
    """Innermost frame first, to the outermost of the user's own; the library's frames around are counted."""
    known = _stacks_of(rank, view)
    last = known[-1] if known else None
    now = doing(last) if last is not None else None
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
    same = f" · same in {still} looks" if still > 1 else ""
    return section("Stack", width, f"{thread} · {text.age(now - known[-1].at)} ago{same}")


def _stacks_of(rank: Rank, view: View) -> list[Stack]:
    """Its stacks in all looks that are kept, the latest last."""
    process = rank.process
    if process is None:
        return []
    stacks = (stack for look in view.state.looks for stack in look.stacks if stack.threads and stack.pid == process.pid)
    return [stack for stack in stacks if stack.started_ticks in (0, process.start_ticks)]


def past_rows(rank: Rank, view: View, width: int, role: str) -> list[Row]:
    """Two charts on one axis of time: GPU utilisation and CPU, a column for each slot."""
    columns = min(SLOTS, width - LABEL - 2)
    charts = [(label, values) for label, samples in _tracks(rank, view) if any(values := until(samples, view.now, columns))]
    if not charts or columns < 12:
        return []
    slot_s = _tracks(rank, view)[0][1].slot_s
    first = next(n for n in range(columns) if any(values[n] is not None for _, values in charts))
    shown = columns - first
    rows: list[Row] = [section(f"Last {text.duration(shown * slot_s)}", width, f"one column = {slot_s:.0f} s")]
    for place, (label, values) in enumerate(charts):
        rows += [BLANK] if place else []
        now = next((value for value in reversed(values) if value is not None), None)
        high, low = text.chart(values[first:], CHART_LINES, max(FULL_PERCENT, *(value or 0.0 for value in values)))
        shown_now = "" if now is None else f"{now:.0f} %"
        rows += [(align(label, LABEL, "muted"), (" ", ""), (high, "data"))]
        rows += [(align(shown_now, LABEL, f"{role} bold" if role else "ink", right=True), (" ", ""), (low, "data"))]
    return [cut(row, width) for row in (*rows, _axis(rank, view, shown, slot_s))]


def _axis(rank: Rank, view: View, columns: int, slot_s: float) -> Row:
    """From when to now, and since when the rank has been silent."""
    start, end = f"−{text.duration(columns * slot_s)}", "now"
    silent_s = rank.silence_s(view.now)
    start = start if columns > len(start) + len(end) else ""
    words = list(f"{start}{end:>{max(0, columns - len(start))}}")
    if silent_s is not None and (mark := f"−{text.duration(text.coarse(silent_s))}") and silent_s < columns * slot_s:
        at = columns - int(silent_s // slot_s) - 1
        if len(start) + 1 < at and at + len(mark) + 1 < columns - len(end):
            words[at : at + len(mark)] = mark
    return ((" " * (LABEL + 1), ""), ("".join(words), "stale"))


def _tracks(rank: Rank, view: View) -> list[tuple[str, Samples]]:
    found: list[tuple[str, Samples]] = []
    if (known := gpu_of(rank, view.state)) is not None:
        found.append(("GPU util", known[1].util_percent))
    process = rank.process
    if process is not None:
        tracks = (track for key, track in view.state.cpu.items() if key[1:] == (process.pid, process.start_ticks))
        found += [("CPU", track) for track in tracks]
    return found
