"""The gaps between panes, by which a person sizes them: with the mouse, or by a key on a pane. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace
from textual.geometry import Region

from hangtop.tui.pane_choice import PaneChoice
from hangtop.tui.widgets.layout import LEAST_COLUMN, LEAST_LOG, LEAST_PANE

LOG = "log"
"""It has the lines that the others leave, so its size is theirs."""
Places = Mapping[str, Region]


class Divider(Struct, frozen=True):
    """Between panes, by id: those above and those below it; of an `upright` one those to the left and those to the right.
    `between`: lines between it and the panes above: empty panes, of one line each, have no size."""

    upright: bool
    before: tuple[str, ...]
    behind: tuple[str, ...]
    between: int = 0


def divider_at(panes: Places, x: int, y: int) -> Divider | None:
    """The divider at this cell; `None` where there is none."""
    left = [id_ for id_, place in panes.items() if place.y <= y < place.bottom and place.right <= x]
    right = [id_ for id_, place in panes.items() if place.y <= y < place.bottom and x < place.x]
    if left and right:
        return Divider(True, tuple(left), tuple(right))
    above = [place.bottom for place in panes.values() if place.bottom <= y and place.height > 1]
    one_line = [place.y for place in panes.values() if place.height == 1 and place.y < y]
    ends = max(above, default=0)
    between = sum(at > ends for at in one_line)
    if not above or y != ends + between + (between > 0) or any(place.y <= y < place.bottom for place in panes.values()):
        return None
    before = tuple(id_ for id_, place in panes.items() if place.bottom == ends and place.height > 1)
    behind = tuple(id_ for id_, place in panes.items() if place.y == y + 1)
    return Divider(False, before, behind, y - ends) if behind else None


def dragged(choice: PaneChoice, divider: Divider, panes: Places, x: int, y: int, heads: int) -> PaneChoice:
    """The choice after this divider was moved to a cell. `heads`: lines of a pane that are not among its own (its tab). Panes
    may have gone while it was held."""
    if not {*divider.before, *divider.behind} <= panes.keys():
        return choice
    if divider.upright:
        left, right = panes[divider.before[0]], panes[divider.behind[0]]
        room = right.right - left.x - LEAST_COLUMN
        width = min(room, max(LEAST_COLUMN, x - left.x))
        return replace(choice, left=round(width / (right.right - left.x), 3))
    if LOG in divider.before and LOG not in divider.behind:
        return _sized(choice, divider.behind, panes[divider.behind[0]].bottom - y - 1 + heads)
    return _sized(choice, divider.before, y - divider.between - panes[divider.before[0]].y + heads)


def higher(choice: PaneChoice, id_: str, by: int, panes: Places, heads: int) -> PaneChoice:
    """The choice after this pane got so many more lines, which the log gives; of the log those beside it give them."""
    if (place := panes.get(id_)) is None:
        return choice
    if id_ != LOG:
        alike = [each for each, other in panes.items() if (other.y, other.height) == (place.y, place.height)]
        spare = panes[LOG].height - LEAST_LOG if LOG in panes else 0
        return _sized(choice, tuple(alike), place.height + min(by, max(0, spare)) + heads) if place.height > 1 else choice
    above = tuple(each for each, other in panes.items() if other.bottom == place.y - 1 and other.height > 1)
    below = tuple(each for each, other in panes.items() if other.y == place.bottom + 1 and other.height > 1)
    beside = above or below
    return _sized(choice, beside, panes[beside[0]].height - by + heads) if beside else choice


def _sized(choice: PaneChoice, ids: tuple[str, ...], lines: int) -> PaneChoice:
    return replace(choice, lines={**choice.lines, **dict.fromkeys((id_ for id_ in ids if id_ != LOG), max(LEAST_PANE, lines))})
