"""A whole run as an SVG picture: rows over one axis of time, each mark with its words as a tooltip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from hangtop.common.clean_text import clean_text
from hangtop.query.whole_run import BINS, RankCourse, Span, WholeRun

LEFT, WIDTH, RIGHT = 150, 1_000, 30
ROW, GAP, CURVE = 16, 10, 90
MOST_CURVE_POINTS = 2_000
LEAST_WIDTH = 0.8
"""What is shorter is drawn so wide, or it would not be seen."""
TICKS = 6
COLOURS: Mapping[str, str] = {
    "works": "ok", "collective": "faint", "behind": "warn", "waits": "warn", "dataloader": "warn", "rendezvous": "warn",
    "loops": "warn", "blocked": "bad", "stopped": "bad", "gone": "bad", "running": "ok", "finished": "ok", "slow": "warn",
    "waiting": "warn", "blind": "muted", "stalled": "bad", "hung": "bad", "crashed": "bad", "no step": "bad",
}  # fmt: skip
"""The role of a theme by what is shown; stages take turns in two others."""
MARKS = {"finding": "bad", "restart": "accent", "save": "data"}


class TimelineDrawing:
    """One picture. `colours`: by role of a theme. `fonts`: families of equal width."""

    def __init__(self, run: WholeRun, title: str, colours: Mapping[str, str], fonts: str) -> None:
        self._run, self._title, self._colours, self._fonts = run, title, colours, fonts
        self._seconds = max(run.end - run.begin, 1e-9)
        self._y = 40.0
        self._parts: list[str] = []

    def svg(self) -> str:
        """The whole picture."""
        self._spans("verdict", self._run.verdicts)
        self._spans("stage", self._run.stages, turns=("accent", "data"))
        self._spans("pause", self._run.pauses)
        self._marks()
        self._curve()
        for course in self._run.ranks:
            self._rank(course)
        if self._run.ranks_left_out:
            self._label(f"… {self._run.ranks_left_out:,} more")
            self._y += ROW
        self._axis()
        height, width = self._y + 30, LEFT + WIDTH + RIGHT
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" height="{height:.0f}" '
            f'font-family="{self._fonts}" font-size="11">'
        )
        ground = f'<rect width="100%" height="100%" fill="{self._colour("background")}"/>'
        title = f'<text x="12" y="22" font-size="14" fill="{self._colour("ink")}">{_safe(self._title)}</text>'
        return "\n".join((head, ground, title, *self._parts, "</svg>\n"))

    def _colour(self, role: str) -> str:
        return self._colours.get(role, "#888888")

    def _x(self, at: float) -> float:
        return LEFT + (at - self._run.begin) / self._seconds * WIDTH

    def _label(self, text: str) -> None:
        self._parts.append(f'<text x="12" y="{self._y + 12:.1f}" fill="{self._colour("muted")}">{_safe(text)}</text>')

    def _box(self, begin: float, end: float, role: str, tip: str) -> None:
        wide = max(LEAST_WIDTH, self._x(end) - self._x(begin))
        self._parts.append(
            f'<rect x="{self._x(begin):.1f}" y="{self._y:.1f}" width="{wide:.1f}" height="{ROW}" fill="{self._colour(role)}">'
            f"<title>{_safe(tip)}</title></rect>"
        )

    def _spans(self, name: str, spans: tuple[Span, ...], turns: tuple[str, ...] = ()) -> None:
        if not spans:
            return
        self._label(name)
        for nth, span in enumerate(spans):
            role = turns[nth % len(turns)] if turns else COLOURS.get(span.name, "muted")
            self._box(span.begin, span.end, role, f"{span.name}, {_clock(span.begin)}, {span.end - span.begin:,.0f} s")
            wide = self._x(span.end) - self._x(span.begin)
            if wide > 7 * len(span.name) + 6:
                self._parts.append(
                    f'<text x="{self._x(span.begin) + 3:.1f}" y="{self._y + 12:.1f}" fill="{self._colour("background")}">'
                    f"{_safe(span.name)}</text>"
                )
        self._y += ROW + GAP

    def _marks(self) -> None:
        if not self._run.marks:
            return
        self._label("events")
        for mark in self._run.marks:
            x = self._x(mark.at)
            self._parts.append(
                f'<path d="M{x:.1f} {self._y:.1f}l5 8l-5 8l-5 -8z" fill="{self._colour(MARKS[mark.kind])}">'
                f"<title>{_safe(f'{mark.kind}: {mark.text}, {_clock(mark.at)}')}</title></path>"
            )
        self._y += ROW + GAP

    def _curve(self) -> None:
        steps = self._run.steps
        if len(steps) < 2:
            return
        thin = max(1, len(steps) // MOST_CURVE_POINTS)
        shown = (*steps[::thin], steps[-1])
        least, most = min(step for _, step in shown), max(step for _, step in shown)
        self._label(f"step {least:,}–{most:,}")
        points = " ".join(
            f"{self._x(at):.1f},{self._y + CURVE - (step - least) / max(1, most - least) * CURVE:.1f}" for at, step in shown
        )
        self._parts.append(f'<polyline points="{points}" fill="none" stroke="{self._colour("accent")}" stroke-width="1.5"/>')
        self._y += CURVE + GAP

    def _rank(self, course: RankCourse) -> None:
        self._label(f"rank {course.rank}")
        for first, last, what in _runs_of(course.bins):
            begin, end = (self._run.begin + place / BINS * self._seconds for place in (first, last))
            self._box(begin, end, COLOURS.get(what, "muted"), f"rank {course.rank}: {what}, {_clock(begin)}")
        self._y += ROW + 2

    def _axis(self) -> None:
        self._y += GAP
        for tick in range(TICKS + 1):
            at = self._run.begin + self._seconds * tick / TICKS
            x = self._x(at)
            self._parts.append(f'<path d="M{x:.1f} 34V{self._y:.1f}" stroke="{self._colour("faint")}" stroke-width="0.5"/>')
            anchor = "start" if tick == 0 else "end" if tick == TICKS else "middle"
            self._parts.append(
                f'<text x="{x:.1f}" y="{self._y + 14:.1f}" text-anchor="{anchor}" fill="{self._colour("muted")}">'
                f"{_clock(at)}</text>"
            )


def _runs_of(bins: tuple[str, ...]) -> Iterator[tuple[int, int, str]]:
    """Stretches of equal columns: first, behind the last, what; columns without a look are left out."""
    begin = 0
    for place in range(1, len(bins) + 1):
        if place == len(bins) or bins[place] != bins[begin]:
            if bins[begin]:
                yield begin, place, bins[begin]
            begin = place


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%d %b %H:%M:%S}"


def _safe(text: str) -> str:
    from html import escape  # 0.4 MB of names, and the screen, which has the same colours, draws none

    return escape(clean_text(text))
