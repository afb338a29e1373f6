"""The layout of the watch screen: sizes in, rectangles out. It changes only with the state or the terminal's size. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from msgspec import Struct
from textual.geometry import Region

from hangtop.render.spans import BLANK, Row, pad

LEAST_WIDTH, LEAST_HEIGHT = 60, 15
WIDE_WIDTH, WIDE_HEIGHT = 100, 30
ROOMY_HEIGHT = 24
LEAST_LOG = 5
LEAST_PANE = 4
LEAST_COLUMN = 30
REASON_LINES = 3
"""Lines under the tab of a pane that only says why it is empty."""
RIGHT_WIDTH = 56
VERDICT_LINES = 6
GAP = 3


class PaneNeed(Struct, frozen=True):
    """What a pane needs: `lines` with its head, 1 if it has nothing to show. `wide`: the whole width. `sized`: a person wants so
    many."""

    lines: int
    wide: bool = False
    sized: bool = False


def side_by_side(left: Sequence[Row], right: Sequence[Row], width: int) -> list[Row]:
    """Two blocks of rows; the left one fills `width` cells, and `GAP` cells are between them."""
    return [(*pad(near, width), (" " * GAP, ""), *far) for near, far in zip_longest(left, right, fillvalue=BLANK)]


def too_small(width: int, height: int) -> bool:
    return width < LEAST_WIDTH or height < LEAST_HEIGHT


def is_wide(width: int, height: int) -> bool:
    """Whether there is room for all panes in two columns; else there are tabs."""
    return width >= WIDE_WIDTH and height >= WIDE_HEIGHT


def trouble_lines(height: int) -> int:
    """How many lines may say what is not well."""
    return 2 if height >= ROOMY_HEIGHT else 1


def arrange(
    width: int,
    height: int,
    verdict_lines: int,
    wants: Mapping[str, PaneNeed],
    *,
    active: str,
    maximised: bool,
    trouble: int = 0,
    left: float | None = None,
) -> dict[str, Region]:
    """Rectangles of `status stages verdict footer`, of `tabs` when there are any, and of the panes in `wants` that are shown.

    `wants` is in the order of the panes. The log takes what is left, wherever it stands; it comes last where it is not named.
    `trouble`: so many lines say which source is not well. `left`: the part of the width for the left one of two panes.
    """
    wide = is_wide(width, height)
    verdict_lines = min(verdict_lines, VERDICT_LINES if wide else VERDICT_LINES - 1)
    y = 3 if wide else 2
    inner = width - 2
    places = {
        "status": Region(0, 0, width, 1),
        "stages": Region(0, 1, width, 1),
        "footer": Region(0, height - 1, width, 1),
    }
    if maximised and active == "verdict":
        return places | {"verdict": Region(1, y, inner, height - 1 - y)}
    places["verdict"] = Region(1, y, inner, verdict_lines)
    y += verdict_lines + 1
    bottom = height - 1 - trouble
    places |= {"trouble": Region(1, bottom, inner, trouble)} if trouble else {}
    if wide:
        return places | ({active: Region(1, y, inner, bottom - y)} if maximised else _columns(inner, y, bottom, wants, left))
    wants = {name: want for name, want in wants.items() if name != "log"}
    return places | {"tabs": Region(1, y, inner, 1)} | _tab(inner, y + 1, bottom, wants, active, maximised=maximised)


def _tab(width: int, y: int, bottom: int, wants: Mapping[str, PaneNeed], active: str, *, maximised: bool) -> dict[str, Region]:
    room = bottom - y
    if maximised or active not in wants:
        return {active if active in wants else "log": Region(1, y, width, room)}
    lines = min(wants[active].lines - 1 or REASON_LINES, room)  # the tab is the head
    tail = room - lines - 1
    if tail < 2:
        return {active: Region(1, y, width, room)}
    return {active: Region(1, y, width, lines), "log": Region(1, bottom - tail, width, tail)}


def _columns(width: int, y: int, bottom: int, wants: Mapping[str, PaneNeed], left: float | None) -> dict[str, Region]:
    """Panes in two columns; empty ones, of one line each, below the first row of panes; the log at the bottom, or between."""
    names = [*wants] if "log" in wants else [*wants, "log"]
    above, below = names[: names.index("log")], names[names.index("log") + 1 :]
    bands = [*_bands([(name, wants[name]) for name in above if wants[name].lines > 1])]
    log_at = len(bands)
    bands += _bands([(name, wants[name]) for name in below if wants[name].lines > 1])
    single = [name for name, want in wants.items() if want.lines == 1 and name != "log"]
    gaps = len(bands) + bool(single)
    heights = _fit([_height(band) for band in bands], bottom - y - LEAST_LOG - len(single) - gaps)
    log_lines = max(1, bottom - y - sum(heights) - len(single) - gaps)
    places: dict[str, Region] = {}

    def singles(at: int) -> int:
        for offset, name in enumerate(single):
            places[name] = Region(1, at + offset, width, 1)
        return at + len(single) + bool(single)

    if not bands:
        y = singles(y)
    for index, (band, lines) in enumerate(zip((*bands, []), (*heights, 0), strict=True)):
        if index == log_at:
            places["log"] = Region(1, y, width, log_lines)
            y += log_lines + 1
        if band:
            places |= _band(band, width, y, lines, left)
            y += lines + 1
        if band and index == 0:
            y = singles(y)
    return places


def _height(band: Sequence[tuple[str, PaneNeed]]) -> int:
    """Of the panes side by side the sized ones count, where there are any."""
    sized = [want.lines for _, want in band if want.sized]
    return max(sized or [want.lines for _, want in band])


def _bands(panes: Sequence[tuple[str, PaneNeed]]) -> list[list[tuple[str, PaneNeed]]]:
    bands: list[list[tuple[str, PaneNeed]]] = []
    for name, want in panes:
        joinable = bands and len(bands[-1]) == 1 and not want.wide and not bands[-1][0][1].wide
        if joinable:
            bands[-1].append((name, want))
        else:
            bands.append([(name, want)])
    return bands


def _band(band: Sequence[tuple[str, PaneNeed]], width: int, y: int, lines: int, left: float | None) -> dict[str, Region]:
    if len(band) == 1:
        return {band[0][0]: Region(1, y, width, lines)}
    right = RIGHT_WIDTH if width < 158 else (width - 3) // 2
    if left is not None:
        right = width - 3 - min(width - 3 - LEAST_COLUMN, max(LEAST_COLUMN, round(left * width)))
    near = width - 3 - right
    return {band[0][0]: Region(1, y, near, lines), band[1][0]: Region(near + 4, y, right, lines)}


def _fit(heights: list[int], room: int) -> list[int]:
    """Takes lines from the tallest pane until all fit, but leaves head, titles and two rows."""
    while sum(heights) > room and max(heights, default=0) > LEAST_PANE:
        tallest = heights.index(max(heights))
        heights[tallest] -= 1
    return heights
